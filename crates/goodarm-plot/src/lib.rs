//! Figures of a paper: from tables of numbers to SVG text.
//!
//! ```
//! use goodarm_plot::{Axis, Figure, SeriesKind, Panel, Point, Look, Series};
//!
//! let points = [(0.0, 0.0), (1e5, 0.62), (2e5, 0.81), (3e5, 0.84)];
//! let points = points.map(|(x, y)| Point { x, y, error: Some(0.02) });
//! // A method has the same look in every figure.
//! let series = vec![Series::new("BMA-GAI", Look(0), SeriesKind::Line, points)];
//! let (x, y) = (Axis::linear("budget (tokens)"), Axis::linear("certified answers"));
//! let figure = Figure::new(
//!     "Reliable coverage",
//!     "Mean of 200 sessions; bands are one standard error.",
//!     vec![Panel::lines("", x, y, series)],
//! );
//! assert!(goodarm_plot::svg(&figure).contains("BMA-GAI"));
//! ```
//!
//! This crate decides on layout and style. It reads no file, contains no experiment and computes no
//! statistics. The same figure gives the same bytes. No number and no text makes it panic: points that
//! cannot be shown are skipped, and a panel without points shows "no data".

mod area;
mod axis;
mod bars;
mod canvas;
mod chart;
mod figure;
mod font;
mod frame;
mod geometry;
mod layout;
mod legend;
mod lines;
mod look;
mod numbers;
mod place;
#[cfg(test)]
mod random;
mod sheet;
mod ticks;

pub use figure::{
    Axis, Bar, BarChart, BarSeries, Figure, Legend, LineChart, Panel, PanelContent, Point, Scale,
    Series, SeriesKind,
};
pub use look::Look;

/// The figure as a self-contained SVG document on white. All text is escaped, no element has an id, and
/// nothing is loaded.
pub fn svg(figure: &Figure) -> String {
    layout::draw(figure)
}
