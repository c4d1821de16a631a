//! Names at the right ends of lines, without overlaps, with thin lines that lead to them.

use super::shown;
use super::track::Track;
use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::figure::LineChart;
use crate::geometry::{Rect, Spot, count, spot};
use crate::legend::{SAMPLE_GAP, SAMPLE_WIDTH, draw_line_sample};
use crate::look::{FAINT, INK};
use crate::place::{LabelBox, spread};
use crate::sheet::{NAME, Sheet};

/// The name of one series, in lines.
pub(super) struct Name {
    /// The index of the series in the chart.
    series: usize,
    lines: Vec<String>,
}

impl Name {
    fn height(&self) -> f64 {
        count(self.lines.len().max(1)) * NAME.line_height() + NAME_GAP
    }
}

/// The names of all visible series.
pub(super) fn plan(chart: &LineChart, sheet: Sheet) -> Vec<Name> {
    let width = NAME_WIDTH_PART_MAX * sheet.cell_width;
    let series = chart.series.iter().enumerate();
    series
        .filter(|(_, series)| shown(chart, series).next().is_some())
        .map(|(i, series)| Name {
            series: i,
            lines: NAME.wrap(&series.name, width, NAME_LINES_MAX),
        })
        .collect()
}

/// The width that the names need to the right of the plot.
pub(super) fn room(names: &[Name]) -> f64 {
    let widths = names.iter().flat_map(|name| &name.lines).map(|line| NAME.width(line));
    widths.reduce(f64::max).map_or(NO_NAMES, |widest| LEADER + SAMPLE_WIDTH + SAMPLE_GAP + widest)
}

pub(super) fn height(names: &[Name]) -> f64 {
    names.iter().map(Name::height).sum()
}

pub(super) fn draw(canvas: &mut Canvas, names: &[Name], tracks: &[Track<'_>], plot: Rect) {
    let mut ends: Vec<(&Name, &Track<'_>, Spot)> = names
        .iter()
        .filter_map(|name| {
            let track = &tracks[name.series];
            Some((name, track, track.end(plot)?))
        })
        .collect();
    ends.sort_by(|a, b| a.2.y.total_cmp(&b.2.y)); // stable: lines that end at the same height keep their order
    let labels: Vec<LabelBox> = ends
        .iter()
        .map(|(name, _, end)| LabelBox { middle: end.y, height: name.height() })
        .collect();
    let middles = spread(&labels, plot.top, plot.bottom);
    for ((name, track, end), middle) in ends.into_iter().zip(middles) {
        let at = spot(plot.right + LEADER, middle);
        draw_leader(canvas, end, at, plot);
        draw_line_sample(canvas, at, track.stroke(), track.marker());
        let style = TextStyle::new(NAME, Anchor::Start, INK);
        let first = middle - (count(name.lines.len()) - 1.0) * NAME.line_height() / 2.0;
        let words = spot(at.x + SAMPLE_WIDTH + SAMPLE_GAP, first + NAME.drop());
        canvas.text_lines(words, &name.lines, style);
    }
}

/// Draws a thin line from the end of a line to its name. If the line ends early, a dotted line first leads to the
/// edge.
fn draw_leader(canvas: &mut Canvas, end: Spot, name: Spot, plot: Rect) {
    let stroke = Stroke::solid(FAINT, 0.8);
    let edge = spot(f64::max(end.x + LEADER_GAP, plot.right + 2.0), end.y);
    if plot.right - end.x > EARLY {
        let dotted = Stroke { dashes: &[1.2, 2.4], ..stroke };
        canvas.line(spot(end.x + LEADER_GAP, end.y), edge, dotted);
    }
    canvas.line(edge, spot(name.x - 2.5, name.y), stroke);
}

/// The gap between the plot and the samples.
const LEADER: f64 = 18.0;
/// The gap between the end of a line, with its marker, and its leader.
const LEADER_GAP: f64 = 5.5;
/// A line that ends further than this from the edge ends early.
const EARLY: f64 = 12.0;
const NAME_GAP: f64 = 3.0;
const NAME_WIDTH_PART_MAX: f64 = 0.27;
const NAME_LINES_MAX: usize = 4;
/// Width right of the plot without names: half of a number on the axis.
const NO_NAMES: f64 = 12.0;
