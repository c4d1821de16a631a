//! Groups of bars, each with its value and its whisker.

use crate::area;
use crate::axis::{self, AxisSpan, error_size};
use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::chart::{Chart, Rooms};
use crate::figure::{Axis, Bar, BarChart, Scale};
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
    /// The printed value of each bar, series by series.
    values: Vec<Vec<String>>,
}

impl<'a> Bars<'a> {
    /// `None` if no bar can be shown.
    pub(crate) fn plan(chart: &'a BarChart, sheet: Sheet) -> Option<Self> {
        let bars = chart.series.iter().flat_map(|series| &series.bars);
        let ends: Vec<_> =
            bars.filter_map(|bar| Some((shown(bar)?, error_size(bar.error)))).collect();
        let values = value_labels(chart);
        // Space for values above bars that reach the top; at worst they are written upwards.
        let widest = values.iter().flatten().map(|value| VALUE.width(value)).fold(0.0, f64::max);
        let headroom = widest.max(VALUE.line_height()) + 3.0 * VALUE_GAP;
        let part = (headroom / sheet.plot_height).min(HEADROOM_PART_MAX);
        let axis = Axis::linear(chart.y_label.as_str());
        let span = axis::fit(&axis, &axis::ends(&ends), 0.0)?;
        let end = span.end + span.end * part / (1.0 - part);
        let y = Ruler::upright(&axis, AxisSpan { start: 0.0, end, ..span }, sheet);
        Some(Self { chart, y, values })
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

    /// The number of groups, including groups without a name.
    fn group_count(&self) -> usize {
        let bars = self.chart.series.iter().map(|series| series.bars.len()).max().unwrap_or(0);
        bars.max(self.chart.groups.len()).max(1)
    }

    /// `None` if the bar cannot be shown.
    fn column(&self, bar: &Bar, x: f64, width: f64, plot: Rect) -> Option<Column> {
        let y_of = |value| plot.y_at(self.y.span.place(value).unwrap_or(0.0).clamp(0.0, 1.0));
        let value = shown(bar)?;
        let half = width / 2.0 - BAR_GAP / 2.0;
        let area = Rect { left: x - half, right: x + half, top: y_of(value), bottom: plot.bottom };
        let error = error_size(bar.error);
        let whisker = (error > 0.0).then(|| (y_of(value + error), y_of(value - error)));
        Some(Column { area, whisker })
    }

    fn draw_group_names(&self, canvas: &mut Canvas, plot: Rect, group_width: f64) {
        let style = TextStyle::new(TICK_LABEL, Anchor::Middle, INK);
        for (g, lines) in self.group_names(plot.width()).iter().enumerate() {
            let x = plot.left + group_width * (count(g) + 0.5);
            let y = plot.bottom + GAP + TICK_LABEL.size * ASCENT;
            canvas.text_lines(spot(x, y), lines, style);
        }
        let label = AXIS_LABEL.wrap(&self.chart.x_label, plot.width(), LABEL_LINES_MAX);
        let top = plot.bottom + self.group_names_height(plot.width());
        frame::draw_level_label(canvas, plot, top, &label);
    }
}

impl Chart for Bars<'_> {
    fn rooms(&self) -> Rooms {
        Rooms { left: self.y.left_room(), right: 0.0, covers_right: true }
    }

    fn bottom_room(&self, width: f64) -> f64 {
        let label = AXIS_LABEL.wrap(&self.chart.x_label, width, LABEL_LINES_MAX).len();
        self.group_names_height(width) + frame::label_room(label)
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
        canvas.line(spot(plot.left, plot.bottom), spot(plot.right, plot.bottom), AXIS);
        self.draw_group_names(canvas, plot, group_width);
    }
}

/// One bar on the sheet.
struct Column {
    area: Rect,
    /// Upper and lower end.
    whisker: Option<(f64, f64)>,
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
        let top = self.whisker.map_or(self.area.top, |(high, _)| high) - VALUE_GAP;
        let mut style = TextStyle::new(VALUE, Anchor::Middle, QUIET);
        if upward {
            style.upward = true;
            style.anchor = Anchor::Start;
            canvas.words(spot(x + VALUE.drop(), top - 1.0), value, style);
        } else {
            canvas.words(spot(x, top), value, style);
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

/// The printed values of all bars, in the unit of the largest.
fn value_labels(chart: &BarChart) -> Vec<Vec<String>> {
    let bars = chart.series.iter().flat_map(|series| &series.bars);
    let values: Vec<f64> = bars.map(|bar| shown(bar).unwrap_or(0.0)).collect();
    let mut labels = numbers::value_labels(&values).into_iter();
    let series = chart.series.iter();
    series.map(|series| labels.by_ref().take(series.bars.len()).collect()).collect()
}

/// The value of a bar that can be shown.
fn shown(bar: &Bar) -> Option<f64> {
    axis::transformed(Scale::Linear, bar.value).filter(|value| *value >= 0.0)
}

/// The part of a group's width that bars take.
const GROUP_FILLED: f64 = 0.8;
const BAR_WIDTH_MAX: f64 = 64.0;
const BAR_GAP: f64 = 2.5;
const VALUE_GAP: f64 = 4.0;
const WHISKER_CAP: f64 = 4.0;
const HEADROOM_PART_MAX: f64 = 0.3;
const GROUP_LINES_MAX: usize = 2;
const LABEL_LINES_MAX: usize = 2;
