//! From values to distances: the range of an axis and the position of a value on it.

use crate::figure::{Axis, Scale};

/// The range of an axis, in the numbers of its scale: values, or their logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisSpan {
    pub(crate) scale: Scale,
    /// Left or bottom.
    pub(crate) start: f64,
    /// Right or top.
    pub(crate) end: f64,
}

impl AxisSpan {
    /// The place of a value: 0 at the start of the axis, 1 at the end, less or more outside. `None` if the axis
    /// cannot show the value.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        transformed(self.scale, value).map(|number| self.fraction(number))
    }

    /// The place of a number that is already in the scale of the axis.
    pub(crate) fn fraction(&self, number: f64) -> f64 {
        (number - self.start) / (self.end - self.start)
    }
}

/// The range that the axis asks for, or the range of these values with a margin on both sides. The margin is given as
/// a part of the spread of the values. `None` if no value can be shown.
pub(crate) fn fit(axis: &Axis, values: &[f64], margin: f64) -> Option<AxisSpan> {
    let scale = axis.scale;
    let numbers: Vec<f64> = values.iter().filter_map(|&value| transformed(scale, value)).collect();
    let low = numbers.iter().copied().reduce(f64::min)?;
    let high = numbers.iter().copied().reduce(f64::max)?;
    let (start, end) = asked_range(axis).unwrap_or_else(|| match scale {
        Scale::Linear => around_values(low, high, margin),
        Scale::Log10 => around_logarithms(low, high, margin),
    });
    Some(AxisSpan { scale, start, end })
}

/// The value in the numbers of the scale. `None` if an axis cannot show it.
pub(crate) fn transformed(scale: Scale, value: f64) -> Option<f64> {
    match scale {
        Scale::Linear if value.abs() <= VALUE_MAX => Some(value),
        Scale::Log10 if value > 0.0 && value <= VALUE_MAX => Some(libm::log10(value)),
        _ => None,
    }
}

/// The values that an axis must include to show these pairs of a value and its error. Errors do not stretch the axis
/// below zero if no value is negative.
pub(crate) fn ends(values: &[(f64, f64)]) -> Vec<f64> {
    let is_positive = values.iter().all(|(value, _)| *value >= 0.0);
    let floor = if is_positive { 0.0 } else { f64::NEG_INFINITY };
    let ends = |&(value, error): &(f64, f64)| [(value - error).max(floor), value, value + error];
    values.iter().flat_map(ends).collect()
}

/// The size of an error; 0 without one, or if it cannot be shown.
pub(crate) fn error_size(error: Option<f64>) -> f64 {
    error.filter(|error| error.is_finite()).unwrap_or(0.0).abs()
}

fn asked_range(axis: &Axis) -> Option<(f64, f64)> {
    let (start, end) = axis.range?;
    let (start, end) = (transformed(axis.scale, start)?, transformed(axis.scale, end)?);
    (start < end && !is_point(start, end)).then_some((start, end))
}

fn around_values(low: f64, high: f64, margin: f64) -> (f64, f64) {
    if is_point(low, high) {
        return match low {
            _ if low > SPREAD_MIN => (0.0, 2.0 * low),
            _ if low < -SPREAD_MIN => (2.0 * low, 0.0),
            _ => (0.0, 1.0),
        };
    }
    // A zero that is near is shown: without it differences look larger than they are.
    let low = if low > 0.0 && low < ZERO_IS_NEAR * high { 0.0 } else { low };
    let high = if high < 0.0 && high > ZERO_IS_NEAR * low { 0.0 } else { high };
    let room = margin * (high - low);
    let low_end = if low.abs() > 0.0 { low - room } else { low };
    let high_end = if high.abs() > 0.0 { high + room } else { high };
    (low_end, high_end)
}

fn around_logarithms(low: f64, high: f64, margin: f64) -> (f64, f64) {
    let room = if high - low < DECADES_MIN { 0.5 } else { margin * (high - low) };
    (low - room, high + room)
}

/// Whether the two are too close to tell values between them apart.
fn is_point(a: f64, b: f64) -> bool {
    (a - b).abs() <= f64::max(SPREAD_MIN, SPREAD_PART_MIN * f64::max(a.abs(), b.abs()))
}

/// Sums and differences of values up to this are finite.
const VALUE_MAX: f64 = 1e300;
/// Quotients by a spread of at least this are finite.
const SPREAD_MIN: f64 = 1e-290;
/// Ticks closer than this part of their value would be printed with the same digits.
const SPREAD_PART_MIN: f64 = 1e-9;
const DECADES_MIN: f64 = 1e-3;
const ZERO_IS_NEAR: f64 = 0.4;

#[cfg(test)]
mod tests;
