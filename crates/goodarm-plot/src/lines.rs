//! Lines, staircases and reference lines between two axes, named at their right ends.

mod names;
mod track;

use crate::axis::{self, AxisSpan};
use crate::canvas::Canvas;
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
        // Errors must not stretch the axis below zero if no value is negative.
        let floor = if points().all(|point| point.y >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
        let ends = |point: Shown| [point.low.max(floor), point.y, point.high];
        let ys: Vec<f64> = points().flat_map(ends).collect();
        let y = axis::fit(&chart.y, &ys, Y_MARGIN)?;
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

    pub(crate) fn left_room(&self) -> f64 {
        self.y.left_room()
    }

    pub(crate) fn right_room(&self) -> f64 {
        names::room(&self.names)
    }

    /// The horizontal axis, once the width is known.
    pub(crate) fn level_ruler(&self, width: f64) -> Ruler {
        Ruler::level(&self.chart.x, self.x, width)
    }

    pub(crate) fn height_min(&self) -> f64 {
        names::height(&self.names)
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas, plot: Rect, cell: Rect) {
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

/// The entries of these series in a legend.
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

/// A point that its axes can show; `x` is absent for a level line through all of them.
struct Shown {
    x: Option<f64>,
    y: f64,
    low: f64,
    high: f64,
}

fn shown<'a>(chart: &'a LineChart, series: &'a Series) -> impl Iterator<Item = Shown> + 'a {
    let level = series.kind == SeriesKind::Reference && series.points.len() == 1;
    series.points.iter().filter_map(move |point| {
        axis::transformed(chart.y.scale, point.y)?;
        if !level {
            axis::transformed(chart.x.scale, point.x)?;
        }
        let error = point.error.filter(|error| error.is_finite()).unwrap_or(0.0).abs();
        let x = (!level).then_some(point.x);
        Some(Shown { x, y: point.y, low: point.y - error, high: point.y + error })
    })
}

/// Room above and below the data, and on their left and right, as parts of their spread.
const Y_MARGIN: f64 = 0.05;
const X_MARGIN: f64 = 0.015;
/// A line along the edge keeps its full width.
const WINDOW_RIM: f64 = 3.0;
