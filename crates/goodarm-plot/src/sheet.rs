//! The measures of a figure: sizes of type, panels and gaps.

use crate::font::Face;

pub(crate) const FIGURE_TITLE: Face = Face::bold(15.0);
pub(crate) const PANEL_TITLE: Face = Face::bold(13.0);
pub(crate) const AXIS_LABEL: Face = Face::regular(12.5);
pub(crate) const NAME: Face = Face::regular(12.0);
pub(crate) const CAPTION: Face = Face::regular(12.0);
pub(crate) const TICK_LABEL: Face = Face::regular(11.5);
pub(crate) const VALUE: Face = Face::regular(10.5);

/// The margin around everything.
pub(crate) const MARGIN: f64 = 14.0;
/// The gaps between panels.
pub(crate) const COLUMN_GAP: f64 = 20.0;
pub(crate) const ROW_GAP: f64 = 20.0;
/// The gap between a title, a legend, panels and a caption.
pub(crate) const BLOCK_GAP: f64 = 12.0;

/// How much room each panel has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sheet {
    pub(crate) columns: usize,
    /// The width from the left edge of the axis label to the right edge of the names.
    pub(crate) cell_width: f64,
    /// The height of the box between the axes, unless names need more.
    pub(crate) plot_height: f64,
}

impl Sheet {
    /// The more columns there are, the smaller are the panels; all are legible in a page-wide print.
    pub(crate) fn new(columns: usize) -> Self {
        let (cell_width, plot_height) = match columns {
            0 | 1 => (640.0, 320.0),
            2 => (440.0, 240.0),
            3 => (310.0, 200.0),
            _ => (260.0, 180.0),
        };
        Self { columns: columns.max(1), cell_width, plot_height }
    }

    pub(crate) fn content_width(&self) -> f64 {
        let columns = crate::geometry::count(self.columns);
        columns * self.cell_width + (columns - 1.0) * COLUMN_GAP
    }
}
