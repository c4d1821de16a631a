//! What the layout asks of each kind of chart.

use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::geometry::{Rect, spot};
use crate::look::{FAINT, GRID};
use crate::sheet::{AXIS_LABEL, Sheet};

/// What a chart needs around its plot.
#[derive(Default)]
pub(crate) struct Rooms {
    pub(crate) left: f64,
    /// All plots of a column leave the largest of their right rooms free.
    pub(crate) right: f64,
    /// Whether the plot covers the right room of its column: bars have no names there.
    pub(crate) covers_right: bool,
}

/// A chart whose axes and texts are settled. `plot` is the box between the axes, `cell` the box of the whole panel.
pub(crate) trait Chart {
    fn rooms(&self) -> Rooms {
        Rooms::default()
    }

    /// Height that the chart needs below a plot of this width.
    fn bottom_room(&self, _width: f64) -> f64 {
        0.0
    }

    /// Height of the plot.
    fn plot_height(&self, sheet: Sheet) -> f64 {
        sheet.plot_height
    }

    fn draw(&self, canvas: &mut Canvas, plot: Rect, cell: Rect);
}

/// Replaces a chart that has nothing to show.
pub(crate) struct NoData;

impl Chart for NoData {
    fn plot_height(&self, sheet: Sheet) -> f64 {
        sheet.plot_height / 2.0
    }

    fn draw(&self, canvas: &mut Canvas, plot: Rect, _cell: Rect) {
        canvas.rect(plot, None, Some(Stroke { colour: GRID, width: 1.0, dashes: &[4.0, 4.0] }));
        let at = spot(plot.centre().x, plot.centre().y + AXIS_LABEL.drop());
        canvas.words(at, "no data", TextStyle::new(AXIS_LABEL, Anchor::Middle, FAINT));
    }
}
