//! Lines, staircases and reference lines between two axes, named at their right ends.

mod names;
mod track;

use crate::axis::{self, AxisSpan, error_size};
use crate::canvas::Canvas;
use crate::chart::{Chart, Rooms};
use crate::figure::{Legend, LineChart, Series, SeriesKind};
use crate::frame::Ruler;
use crate::geometry::Rect;
use crate::legend::{LegendEntry, LegendSample};
use crate::look::{REFERENCE, Style};
use crate::sheet::Sheet;
use names::Name;
use track::Track;

/// A line chart whose axes are settled.
pub(crate) struct Lines<'a> {
    chart: &'a LineChart,
    x: AxisSpan,
    y: Ruler,
    names: Vec<Name>,
}

impl<'a> Lines<'a> {
    /// `None` if no point can be shown.
    pub(crate) fn plan(chart: &'a LineChart, sheet: Sheet, legend: Legend) -> Option<Self> {
        let points = || chart.series.iter().flat_map(|series| shown(chart, series));
        let xs: Vec<f64> = points().filter_map(|point| point.x).collect();
        let ys: Vec<_> = points().map(|point| (point.y, point.error)).collect();
        let y = axis::fit(&chart.y, &axis::ends(&ys), Y_MARGIN)?;
        let x = axis::fit(&chart.x, &xs, X_MARGIN).unwrap_or(AxisSpan {
            scale: chart.x.scale,
            start: 0.0,
            end: 1.0,
        });
        let names = match legend {
            Legend::InPanels => names::plan(chart, sheet),
            Legend::Shared => Vec::new(),
        };
        Some(Self { chart, x, y: Ruler::upright(&chart.y, y, sheet), names })
    }

    /// The horizontal axis, once the width is known.
    fn level_ruler(&self, width: f64) -> Ruler {
        Ruler::level(&self.chart.x, self.x, width)
    }
}

impl Chart for Lines<'_> {
    fn rooms(&self) -> Rooms {
        let (left, right) = (self.y.left_room(), names::room(&self.names));
        Rooms { left, right, ..Rooms::default() }
    }

    fn bottom_room(&self, width: f64) -> f64 {
        self.level_ruler(width).bottom_room()
    }

    fn plot_height(&self, sheet: Sheet) -> f64 {
        names::height(&self.names).max(sheet.plot_height)
    }

    fn draw(&self, canvas: &mut Canvas, plot: Rect, cell: Rect) {
        self.y.draw_upright(canvas, plot);
        self.level_ruler(plot.width()).draw_level(canvas, plot, cell);
        let mut tracks: Vec<Track<'_>> = self
            .chart
            .series
            .iter()
            .enumerate()
            .map(|(i, series)| Track::new(self, i, series, plot))
            .collect();
        track::find_crowds(&mut tracks);
        canvas.open_window(plot.grown(WINDOW_RIM));
        for track in &tracks {
            track.draw_band(canvas);
        }
        for track in &tracks {
            canvas.polyline(&track.path(), track.stroke());
        }
        for track in &tracks {
            track.draw_whiskers(canvas);
        }
        canvas.close_window();
        for track in &tracks {
            for at in track.marked().into_iter().filter(|at| plot.grown(0.5).holds(*at)) {
                canvas.marker(at, track.style.marker, track.style.colour);
            }
        }
        names::draw(canvas, &self.names, &tracks, plot);
    }
}

/// The legend entries of these series.
pub(crate) fn entries(chart: &LineChart) -> Vec<LegendEntry> {
    let named = chart.series.iter().filter(|series| shown(chart, series).next().is_some());
    named
        .map(|series| {
            let is_reference = series.kind == SeriesKind::Reference;
            let sample = if is_reference { LegendSample::Reference } else { LegendSample::Line };
            LegendEntry { name: series.name.clone(), style: style_of(series), sample }
        })
        .collect()
}

fn style_of(series: &Series) -> Style {
    if series.kind == SeriesKind::Reference { REFERENCE } else { series.look.style() }
}

/// A point that its axes can show. `x` is `None` for a level line over the whole width.
struct Shown {
    x: Option<f64>,
    y: f64,
    /// 0 without an error.
    error: f64,
}

fn shown<'a>(chart: &'a LineChart, series: &'a Series) -> impl Iterator<Item = Shown> + 'a {
    let level = series.kind == SeriesKind::Reference && series.points.len() == 1;
    series.points.iter().filter_map(move |point| {
        axis::transformed(chart.y.scale, point.y)?;
        if !level {
            axis::transformed(chart.x.scale, point.x)?;
        }
        let x = (!level).then_some(point.x);
        Some(Shown { x, y: point.y, error: error_size(point.error) })
    })
}

/// Room above and below the data, and left and right of them, as parts of their spread.
const Y_MARGIN: f64 = 0.05;
const X_MARGIN: f64 = 0.015;
/// The plot is clipped this far outside, so that a line along its edge keeps its full width.
const WINDOW_RIM: f64 = 3.0;
