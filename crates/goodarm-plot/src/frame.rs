//! Axes: grid, marks, numbers and labels around the plot.

use crate::axis::AxisSpan;
use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::figure::Axis;
use crate::geometry::{Rect, count, spot};
use crate::look::{GRID, INK, QUIET};
use crate::numbers::whole;
use crate::sheet::{AXIS_LABEL, Sheet, TICK_LABEL};
use crate::ticks::{Tick, rounded, ticks};

/// An axis, ready to be drawn.
pub(crate) struct Ruler {
    pub(crate) span: AxisSpan,
    ticks: Vec<Tick>,
    label: Vec<String>,
}

impl Ruler {
    /// The vertical axis of a panel.
    pub(crate) fn upright(axis: &Axis, span: AxisSpan, sheet: Sheet) -> Self {
        let count_max = fitting(sheet.plot_height, UPRIGHT_SPACING);
        let is_automatic = axis.range.is_none() && axis.ticks.is_none();
        let span = if is_automatic { rounded(span, count_max) } else { span };
        let ticks = shortened(ticks(axis, &span, count_max), UPRIGHT_PART_MAX * sheet.cell_width);
        let label = AXIS_LABEL.wrap(&axis.label, sheet.plot_height, LABEL_LINES_MAX);
        Self { span, ticks, label }
    }

    /// The horizontal axis of a plot of this width, with as many numbers as fit.
    pub(crate) fn level(axis: &Axis, span: AxisSpan, width: f64) -> Self {
        let most = fitting(width, LEVEL_SPACING);
        let fits = |ticks: &Vec<Tick>| {
            let places: Vec<(f64, f64)> = labelled(ticks)
                .map(|tick| (width * span.fraction(tick.at), TICK_LABEL.width(&tick.label)))
                .collect();
            legible(&places).iter().all(|legible| *legible)
        };
        let ticks = (2..=most)
            .rev()
            .map(|count_max| ticks(axis, &span, count_max))
            .find(fits)
            .unwrap_or_else(|| ticks(axis, &span, 2));
        let ticks = shortened(ticks, width);
        Self { span, ticks, label: AXIS_LABEL.wrap(&axis.label, width, LABEL_LINES_MAX) }
    }

    /// Room for numbers and label left of the plot.
    pub(crate) fn left_room(&self) -> f64 {
        self.numbers_width() + label_room(self.label.len())
    }

    /// Room for numbers and label below the plot.
    pub(crate) fn bottom_room(&self) -> f64 {
        MARK + GAP + TICK_LABEL.line_height() + label_room(self.label.len())
    }

    /// The numbers that do not overlap, with their middles; `place` gives the middle and length of a number.
    fn numbers(&self, place: impl Fn(&Tick) -> (f64, f64)) -> impl Iterator<Item = (f64, &Tick)> {
        let mut numbers: Vec<_> = labelled(&self.ticks).map(|tick| (place(tick), tick)).collect();
        numbers.sort_by(|(a, _), (b, _)| a.0.total_cmp(&b.0));
        let places: Vec<(f64, f64)> = numbers.iter().map(|(place, _)| *place).collect();
        let legible = numbers.into_iter().zip(legible(&places)).filter(|(_, legible)| *legible);
        legible.map(|((place, tick), _)| (place.0, tick))
    }

    fn numbers_width(&self) -> f64 {
        let widths = self.ticks.iter().map(|tick| TICK_LABEL.width(&tick.label));
        MARK + GAP + widths.fold(0.0, f64::max)
    }

    /// Grid, marks, numbers and label of a vertical axis.
    pub(crate) fn draw_upright(&self, canvas: &mut Canvas, plot: Rect) {
        let y = |tick: &Tick| plot.y_at(self.span.fraction(tick.at));
        for tick in labelled(&self.ticks) {
            let (from, to) = (spot(plot.left, y(tick)), spot(plot.right, y(tick)));
            canvas.line(from, to, Stroke::solid(GRID, 0.9));
        }
        for tick in &self.ticks {
            let length = if tick.label.is_empty() { MARK / 2.0 } else { MARK };
            let (from, to) = (spot(plot.left - length, y(tick)), spot(plot.left, y(tick)));
            canvas.line(from, to, AXIS);
        }
        let style = TextStyle::new(TICK_LABEL, Anchor::End, QUIET);
        for (y, tick) in self.numbers(|tick| (y(tick), TICK_LABEL.size)) {
            let at = spot(plot.left - MARK - GAP, y + TICK_LABEL.drop());
            canvas.words(at, &tick.label, style);
        }
        canvas.line(spot(plot.left, plot.top), spot(plot.left, plot.bottom), AXIS);
        let mut style = TextStyle::new(AXIS_LABEL, Anchor::Middle, INK);
        style.upward = true;
        let lines_width = count(self.label.len()) * AXIS_LABEL.line_height();
        let first = plot.left - self.numbers_width() - LABEL_GAP - lines_width;
        let at = spot(first + AXIS_LABEL.size, plot.centre().y);
        canvas.text_lines(at, &self.label, style);
    }

    /// Marks, numbers and label of a horizontal axis; numbers stay inside the cell.
    pub(crate) fn draw_level(&self, canvas: &mut Canvas, plot: Rect, cell: Rect) {
        let x = |tick: &Tick| plot.x_at(self.span.fraction(tick.at));
        for tick in &self.ticks {
            let length = if tick.label.is_empty() { MARK / 2.0 } else { MARK };
            let (from, to) = (spot(x(tick), plot.bottom), spot(x(tick), plot.bottom + length));
            canvas.line(from, to, AXIS);
        }
        let inside = |tick: &Tick| {
            let width = TICK_LABEL.width(&tick.label);
            let half = width / 2.0;
            (x(tick).min(cell.right - half).max(cell.left + half), width)
        };
        let baseline = plot.bottom + MARK + GAP + TICK_LABEL.size * ASCENT;
        let style = TextStyle::new(TICK_LABEL, Anchor::Middle, QUIET);
        for (x, tick) in self.numbers(inside) {
            canvas.words(spot(x, baseline), &tick.label, style);
        }
        canvas.line(spot(plot.left, plot.bottom), spot(plot.right, plot.bottom), AXIS);
        let top = plot.bottom + MARK + GAP + TICK_LABEL.line_height();
        draw_level_label(canvas, plot, top, &self.label);
    }
}

/// The label of a horizontal axis whose numbers end at `top`.
pub(crate) fn draw_level_label(canvas: &mut Canvas, plot: Rect, top: f64, lines: &[String]) {
    let style = TextStyle::new(AXIS_LABEL, Anchor::Middle, INK);
    let y = top + LABEL_GAP + AXIS_LABEL.size * ASCENT;
    canvas.text_lines(spot(plot.centre().x, y), lines, style);
}

/// Room for this many lines of an axis label beside the numbers.
pub(crate) fn label_room(lines: usize) -> f64 {
    if lines == 0 { 0.0 } else { LABEL_GAP + count(lines) * AXIS_LABEL.line_height() }
}

/// Cuts labels to this width; only labels that the figure gives can be longer.
fn shortened(mut ticks: Vec<Tick>, width: f64) -> Vec<Tick> {
    for tick in &mut ticks {
        tick.label = TICK_LABEL.cut(&tick.label, width);
    }
    ticks
}

fn labelled(ticks: &[Tick]) -> impl DoubleEndedIterator<Item = &Tick> {
    ticks.iter().filter(|tick| !tick.label.is_empty())
}

/// Which of these labels (middle, length) can be printed without touching the one printed before.
fn legible(places: &[(f64, f64)]) -> Vec<bool> {
    let mut free = f64::NEG_INFINITY;
    let print = |&(middle, length): &(f64, f64)| {
        let legible = middle - length / 2.0 >= free;
        if legible {
            free = middle + length / 2.0 + NUMBER_GAP;
        }
        legible
    };
    places.iter().map(print).collect()
}

/// How many labels at this distance fit into a length.
fn fitting(length: f64, spacing: f64) -> usize {
    usize::try_from(whole(length / spacing)).unwrap_or(0).clamp(2, NUMBERS_MAX)
}

pub(crate) const AXIS: Stroke<'_> = Stroke::solid(QUIET, 0.9);
/// The length of a mark, and the gap between a mark and its number.
pub(crate) const MARK: f64 = 4.0;
pub(crate) const GAP: f64 = 4.0;
/// Height of capitals and digits, as a part of the size.
pub(crate) const ASCENT: f64 = 0.76;
/// The gap between neighbouring numbers, and the gap between numbers and the label.
const NUMBER_GAP: f64 = 8.0;
const LABEL_GAP: f64 = 6.0;
/// More numbers do not help the reader, even on a long axis.
const NUMBERS_MAX: usize = 9;
const LABEL_LINES_MAX: usize = 2;
/// The part of a panel's width that numbers of a vertical axis may take.
const UPRIGHT_PART_MAX: f64 = 0.2;
const UPRIGHT_SPACING: f64 = 28.0;
const LEVEL_SPACING: f64 = 36.0;
