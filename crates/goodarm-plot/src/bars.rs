//! Groups of bars, each with its value and its whisker.

use crate::area;
use crate::axis::{self, AxisSpan, error_size};
use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::chart::{Chart, Rooms};
use crate::figure::{Bar, BarChart, Scale};
use crate::frame::{self, ASCENT, AXIS, GAP, Ruler};
use crate::geometry::{Rect, count, spot};
use crate::legend::{LegendEntry, LegendSample};
use crate::look::{self, INK, QUIET};
use crate::numbers;
use crate::sheet::{AXIS_LABEL, Sheet, TICK_LABEL, VALUE};

/// A bar chart whose vertical axis is settled.
pub(crate) struct Bars<'a> {
    chart: &'a BarChart,
    y: Ruler,
    /// Above and below the plot, for values that a fixed range pushes out of it.
    overhang: (f64, f64),
    /// Per series and bar.
    values: Vec<Vec<String>>,
}

impl<'a> Bars<'a> {
    /// `None` if no bar can be shown.
    pub(crate) fn plan(chart: &'a BarChart, sheet: Sheet) -> Option<Self> {
        let bars = || chart.series.iter().flat_map(|series| &series.bars);
        let shown = || bars().filter(|bar| axis::transformed(chart.y.scale, bar.value).is_some());
        let ends: Vec<_> = shown().map(|bar| (bar.value, error_size(bar.error))).collect();
        let values = value_labels(chart);
        // Space for values above bars that reach the top; at worst they are written upwards.
        let widest = values.iter().flatten().map(|value| VALUE.width(value)).fold(0.0, f64::max);
        let headroom = widest.max(VALUE.line_height()) + 3.0 * VALUE_GAP;
        let is_fixed = chart.y.range.is_some();
        let mut span = axis::fit(&chart.y, &axis::ends(&ends), 0.0)?;
        if !is_fixed {
            span = with_room(span, headroom / sheet.plot_height);
        }
        let y = Ruler::upright(&chart.y, span, sheet);
        let mut plan = Self { chart, y, overhang: (0.0, 0.0), values };
        if is_fixed {
            let hanging = shown().filter(|bar| plan.hangs(bar)).count();
            plan.overhang.0 = if hanging < shown().count() { headroom } else { 0.0 };
            plan.overhang.1 = if hanging > 0 { headroom } else { 0.0 };
        }
        Some(plan)
    }

    fn group_names_height(&self, width: f64) -> f64 {
        let groups = self.group_names(width);
        let lines = groups.iter().map(Vec::len).max().unwrap_or(0);
        GAP + count(lines) * TICK_LABEL.line_height()
    }

    fn group_names(&self, width: f64) -> Vec<Vec<String>> {
        let each = width / count(self.group_count()) - GAP;
        self.chart.groups.iter().map(|name| TICK_LABEL.wrap(name, each, GROUP_LINES_MAX)).collect()
    }

    /// Includes groups without a name.
    fn group_count(&self) -> usize {
        let bars = self.chart.series.iter().map(|series| series.bars.len()).max().unwrap_or(0);
        bars.max(self.chart.groups.len()).max(1)
    }

    /// Where bars begin, as a part of the height: at zero, or at the end of the axis that is nearest to it.
    fn base(&self) -> f64 {
        let zero = match self.y.span.scale {
            Scale::Linear => 0.0,
            Scale::Log10 => f64::NEG_INFINITY,
        };
        self.y.span.fraction(zero.clamp(self.y.span.low(), self.y.span.high()))
    }

    /// Whether the bar ends below its base.
    fn hangs(&self, bar: &Bar) -> bool {
        self.y.span.place(bar.value).is_some_and(|end| end.clamp(0.0, 1.0) < self.base())
    }

    /// `None` if the bar cannot be shown.
    fn column(&self, bar: &Bar, x: f64, width: f64, plot: Rect) -> Option<Column> {
        let y_of = |value| plot.y_at(self.y.span.place(value).unwrap_or(0.0).clamp(0.0, 1.0));
        self.y.span.place(bar.value)?;
        let (base, end) = (plot.y_at(self.base()), y_of(bar.value));
        let half = width / 2.0 - BAR_GAP / 2.0;
        let area =
            Rect { left: x - half, right: x + half, top: base.min(end), bottom: base.max(end) };
        let error = error_size(bar.error);
        let whisker = (error > 0.0).then(|| (y_of(bar.value + error), y_of(bar.value - error)));
        let hangs = self.hangs(bar);
        let (high, low) = whisker.unwrap_or((end, end));
        let outermost = if hangs { low.max(high) } else { low.min(high) };
        Some(Column { area, whisker, hangs, outermost })
    }

    fn draw_group_names(&self, canvas: &mut Canvas, plot: Rect, group_width: f64) {
        let style = TextStyle::new(TICK_LABEL, Anchor::Middle, INK);
        for (g, lines) in self.group_names(plot.width()).iter().enumerate() {
            let x = plot.left + group_width * (count(g) + 0.5);
            let y = plot.bottom + self.overhang.1 + GAP + TICK_LABEL.size * ASCENT;
            canvas.text_lines(spot(x, y), lines, style);
        }
        let label = AXIS_LABEL.wrap(&self.chart.x_label, plot.width(), LABEL_LINES_MAX);
        let top = plot.bottom + self.overhang.1 + self.group_names_height(plot.width());
        frame::draw_level_label(canvas, plot, top, &label);
    }
}

impl Chart for Bars<'_> {
    fn rooms(&self) -> Rooms {
        let (left, top) = (self.y.left_room(), self.overhang.0);
        Rooms { left, right: 0.0, covers_right: true, top }
    }

    fn bottom_room(&self, width: f64) -> f64 {
        let label = AXIS_LABEL.wrap(&self.chart.x_label, width, LABEL_LINES_MAX).len();
        self.overhang.1 + self.group_names_height(width) + frame::label_room(label)
    }

    fn draw(&self, canvas: &mut Canvas, plot: Rect, _cell: Rect) {
        self.y.draw_upright(canvas, plot);
        let group_width = plot.width() / count(self.group_count());
        let bar_width =
            (group_width * GROUP_FILLED / count(self.chart.series.len())).min(BAR_WIDTH_MAX);
        let room = bar_width - VALUE_GAP;
        let upward = self.values.iter().flatten().any(|value| VALUE.width(value) > room);
        for (s, series) in self.chart.series.iter().enumerate() {
            let style = series.look.style();
            for (g, bar) in series.bars.iter().enumerate() {
                let middle = plot.left + group_width * (count(g) + 0.5);
                let aside = count(s) - (count(self.chart.series.len()) - 1.0) / 2.0;
                let x = middle + aside * bar_width;
                let Some(column) = self.column(bar, x, bar_width, plot) else { continue };
                area::draw(canvas, column.area, style);
                column.draw_whisker(canvas, plot);
                if bar_width > VALUE.size + 1.0 {
                    column.draw_value(canvas, &self.values[s][g], upward);
                }
            }
        }
        let base = plot.y_at(self.base());
        canvas.line(spot(plot.left, base), spot(plot.right, base), AXIS);
        self.draw_group_names(canvas, plot, group_width);
    }
}

/// One bar on the sheet.
struct Column {
    area: Rect,
    /// Upper and lower end.
    whisker: Option<(f64, f64)>,
    /// Below its base.
    hangs: bool,
    /// The end of bar or whisker that is furthest from the base.
    outermost: f64,
}

impl Column {
    fn draw_whisker(&self, canvas: &mut Canvas, plot: Rect) {
        let Some((high, low)) = self.whisker else { return };
        let x = self.area.centre().x;
        // A white line below it makes the dark one visible on a dark bar.
        for stroke in [Stroke::solid(look::WHITE, 3.2), Stroke::solid(INK, 1.2)] {
            canvas.line(spot(x, high), spot(x, low), stroke);
        }
        let cap = f64::min(WHISKER_CAP, self.area.width() / 3.0);
        // A whisker that ends outside the axis has no cap.
        for y in
            [high, low].into_iter().filter(|y| (plot.top + 0.1..=plot.bottom - 0.1).contains(y))
        {
            canvas.line(spot(x - cap, y), spot(x + cap, y), Stroke::solid(INK, 1.2));
        }
    }

    fn draw_value(&self, canvas: &mut Canvas, value: &str, upward: bool) {
        let x = self.area.centre().x;
        let away = if self.hangs { 1.0 } else { -1.0 };
        let near = self.outermost + away * VALUE_GAP;
        let mut style = TextStyle::new(VALUE, Anchor::Middle, QUIET);
        if upward {
            style.upward = true;
            style.anchor = if self.hangs { Anchor::End } else { Anchor::Start };
            canvas.words(spot(x + VALUE.drop(), near + away), value, style);
        } else {
            let baseline = if self.hangs { near + VALUE.size * ASCENT } else { near };
            canvas.words(spot(x, baseline), value, style);
        }
    }
}

/// The legend entries of these series.
pub(crate) fn entries(chart: &BarChart) -> Vec<LegendEntry> {
    let series = chart.series.iter();
    series
        .map(|series| LegendEntry {
            name: series.name.clone(),
            style: series.look.style(),
            sample: LegendSample::Area,
        })
        .collect()
}

/// All in the unit of the largest value.
fn value_labels(chart: &BarChart) -> Vec<Vec<String>> {
    let shown = |bar: &Bar| axis::transformed(chart.y.scale, bar.value).unwrap_or(0.0).is_finite();
    let known = |bar: &Bar| if shown(bar) && bar.value.is_finite() { bar.value } else { 0.0 };
    let values: Vec<f64> = chart.series.iter().flat_map(|series| &series.bars).map(known).collect();
    let mut labels = numbers::value_labels(&values).into_iter();
    let series = chart.series.iter();
    series.map(|series| labels.by_ref().take(series.bars.len()).collect()).collect()
}

/// The span including zero, with this part of it free at each end that bars point to.
fn with_room(span: AxisSpan, part: f64) -> AxisSpan {
    let part = part.min(HEADROOM_PART_MAX);
    let AxisSpan { scale, start, end } = span;
    let (start, end, below, above) = match scale {
        Scale::Linear => (start.min(0.0), end.max(0.0), start < 0.0, end > 0.0),
        Scale::Log10 => (start - LOG_FOOT * (end - start), end, false, true),
    };
    let free = part * (f64::from(below) + f64::from(above));
    let room = (end - start) * part / (1.0 - free);
    let (below, above) = (f64::from(below) * room, f64::from(above) * room);
    AxisSpan { scale, start: start - below, end: end + above }
}

/// The part of a group's width that bars take.
const GROUP_FILLED: f64 = 0.8;
const BAR_WIDTH_MAX: f64 = 64.0;
const BAR_GAP: f64 = 2.5;
const VALUE_GAP: f64 = 4.0;
const WHISKER_CAP: f64 = 4.0;
const HEADROOM_PART_MAX: f64 = 0.3;
/// Height of the smallest bar on a logarithmic axis, as a part of the axis.
const LOG_FOOT: f64 = 0.1;
const GROUP_LINES_MAX: usize = 2;
const LABEL_LINES_MAX: usize = 2;
