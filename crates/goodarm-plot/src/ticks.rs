//! Round numbers along an axis.

use crate::axis::{AxisSpan, transformed};
use crate::figure::{Axis, Scale};
use crate::geometry::count;
use crate::numbers::{self, ten_to, whole};

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// A value or its logarithm, as in [`AxisSpan`].
    pub(crate) at: f64,
    /// Empty for a mark between the numbers.
    pub(crate) label: String,
}

/// The marks that the axis asks for, or about `count_max` labelled ones at round numbers; in rising order.
pub(crate) fn ticks(axis: &Axis, span: &AxisSpan, count_max: usize) -> Vec<Tick> {
    match &axis.ticks {
        Some(asked) => asked_ticks(asked, span),
        None => match span.scale {
            Scale::Linear => linear_ticks(span, count_max),
            Scale::Log10 => log_ticks(span, count_max),
        },
    }
}

/// The span, extended to round numbers at its ends if they are near.
pub(crate) fn rounded(span: AxisSpan, count_max: usize) -> AxisSpan {
    if span.scale == Scale::Log10 {
        return span;
    }
    let (step, values) = round_values(span.start, span.end, count_max);
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return span };
    let near = |gap: f64| gap > ROUNDING * step && gap < NEAR_STEP * step;
    let mut rounded = span;
    if near(last + step - span.end) {
        rounded.end = last + step;
    }
    if near(span.start - (first - step)) {
        rounded.start = first - step;
    }
    // With one more number the step may change; then the span stays.
    let (new_step, _) = round_values(rounded.start, rounded.end, count_max);
    if (new_step - step).abs() < ROUNDING * step { rounded } else { span }
}

fn asked_ticks(asked: &[(f64, String)], span: &AxisSpan) -> Vec<Tick> {
    let mut ticks: Vec<Tick> = asked
        .iter()
        .filter_map(|(value, label)| {
            let at = transformed(span.scale, *value)?;
            let seen = (-ROUNDING..=1.0 + ROUNDING).contains(&span.fraction(at));
            seen.then(|| Tick { at, label: label.clone() })
        })
        .collect();
    ticks.sort_by(|a, b| a.at.total_cmp(&b.at));
    ticks
}

fn linear_ticks(span: &AxisSpan, count_max: usize) -> Vec<Tick> {
    let (step, values) = round_values(span.start, span.end, count_max);
    let labels = numbers::tick_labels(&values, step);
    labelled(values, labels)
}

fn labelled(at: impl IntoIterator<Item = f64>, labels: Vec<String>) -> Vec<Tick> {
    at.into_iter().zip(labels).map(|(at, label)| Tick { at, label }).collect()
}

/// The step, which is 1, 2 or 5 times a power of ten, and its multiples from `low` to `high`.
fn round_values(low: f64, high: f64, count_max: usize) -> (f64, Vec<f64>) {
    let exponent = whole(libm::floor(libm::log10((high - low) / count(count_max.max(2)))));
    let steps: Vec<f64> = (exponent - 1..=exponent + 1)
        .flat_map(|exponent| [1.0, 2.0, 5.0].map(|lead| lead * ten_to(exponent)))
        .collect();
    chosen(&steps, low, high, count_max)
}

/// The first step that leaves at most `count_max` marks, or an earlier step if this one leaves fewer than two.
fn chosen(steps: &[f64], low: f64, high: f64, count_max: usize) -> (f64, Vec<f64>) {
    let mut marks: Vec<(f64, Vec<f64>)> =
        steps.iter().map(|&step| (step, multiples(step, low, high))).collect();
    let first = marks.iter().position(|(_, values)| values.len() <= count_max);
    marks.truncate(first.map_or(marks.len(), |first| first + 1));
    marks.retain(|(_, values)| values.len() > 1);
    marks.pop().unwrap_or((high - low, vec![low, high]))
}

/// Whole multiples of the step from `low` to `high`, both of them included.
fn multiples(step: f64, low: f64, high: f64) -> Vec<f64> {
    let last = libm::floor(high / step + ROUNDING);
    let mut multiple = libm::ceil(low / step - ROUNDING);
    let mut values = Vec::new();
    while multiple <= last && values.len() < TICKS_MAX {
        values.push((multiple * step).clamp(low, high));
        multiple += 1.0;
    }
    values
}

/// Powers of ten on a long axis. On a short axis there is also 3, or 2 and 5, between them; if these are too few or
/// too many, round numbers as on a linear axis.
fn log_ticks(span: &AxisSpan, count_max: usize) -> Vec<Tick> {
    let decades = span.end - span.start;
    if decades >= DECADES_FOR_POWERS {
        return powers_of_ten(span, count_max);
    }
    let leads: &[f64] = if decades >= 1.5 { &[1.0, 3.0] } else { &[1.0, 2.0, 5.0] };
    let first = whole(libm::floor(span.start));
    let values: Vec<f64> = (first..=whole(span.end) + 1)
        .flat_map(|exponent| leads.iter().map(move |lead| lead * ten_to(exponent)))
        .filter(|value| (span.start..=span.end).contains(&libm::log10(*value)))
        .collect();
    if (2..=count_max).contains(&values.len()) {
        let labels = numbers::log_labels(&values);
        return labelled(values.into_iter().map(libm::log10), labels);
    }
    narrow_log_ticks(span, count_max)
}

fn narrow_log_ticks(span: &AxisSpan, count_max: usize) -> Vec<Tick> {
    let (low, high) = (libm::pow(10.0, span.start), libm::pow(10.0, span.end));
    let (step, values) = round_values(low, high, count_max);
    let labels = numbers::tick_labels(&values, step);
    let at = |value: f64| libm::log10(value).clamp(span.start, span.end);
    labelled(values.into_iter().map(at), labels)
}

fn powers_of_ten(span: &AxisSpan, count_max: usize) -> Vec<Tick> {
    let (stride, exponents) = chosen(&STRIDES, span.start, span.end, count_max);
    let values: Vec<f64> = exponents.iter().map(|&e| ten_to(whole(libm::round(e)))).collect();
    let mut ticks = labelled(exponents, numbers::log_labels(&values));
    // Unlabelled marks show that the axis is logarithmic.
    let between: Vec<f64> = if stride > 1.0 {
        multiples(if stride > 10.0 { 10.0 } else { 1.0 }, span.start, span.end)
    } else {
        multiples(1.0, span.start - 1.0, span.end)
            .into_iter()
            .flat_map(|e| {
                (2..10).map(move |lead| libm::floor(e + 0.5) + libm::log10(f64::from(lead)))
            })
            .filter(|at| (span.start..=span.end).contains(at))
            .collect()
    };
    let is_new = |at: &f64| ticks.iter().all(|tick| (tick.at - at).abs() > ROUNDING);
    let marks: Vec<f64> = between.into_iter().filter(is_new).collect();
    ticks.extend(marks.into_iter().map(|at| Tick { at, label: String::new() }));
    ticks.sort_by(|a, b| a.at.total_cmp(&b.at));
    ticks
}

/// Decades between labels.
const STRIDES: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 50.0, 100.0, 200.0, 400.0];
const DECADES_FOR_POWERS: f64 = 2.5;

/// A round number nearer than this part of a step extends the span.
const NEAR_STEP: f64 = 0.45;

/// Rounding errors of quotients that should be whole numbers are below this.
const ROUNDING: f64 = 1e-9;
const TICKS_MAX: usize = 200;

#[cfg(test)]
mod tests;
