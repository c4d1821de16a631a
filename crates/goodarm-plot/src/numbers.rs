//! Numbers for readers: few digits, one unit along an axis, raised exponents.

use crate::font::{PLAIN, SUPERSCRIPTS};

/// Labels of multiples of `step`, all with the same unit and number of digits, such as `0.2 M` or `10⁻⁴`;
/// zero is `0`.
pub(crate) fn tick_labels(values: &[f64], step: f64) -> Vec<String> {
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let (unit, suffix) = unit_of(largest);
    let digits = usize::try_from(-exponent_of(step / unit)).unwrap_or(0).min(DIGITS_MAX);
    let label = |value: &f64| {
        if value.abs() < step / 2.0 {
            return "0".to_owned();
        }
        signed(format!("{:.digits$}", value / unit)) + &suffix
    };
    values.iter().map(label).collect()
}

/// Labels of values along a logarithmic axis.
pub(crate) fn log_labels(values: &[f64]) -> Vec<String> {
    let plain = values.iter().all(|value| (PLAIN_MIN..=PLAIN_MAX).contains(value));
    let label = |value: &f64| {
        if plain {
            return format!("{value}");
        }
        let exponent = exponent_of(*value);
        let lead = value / ten_to(exponent);
        let power = format!("10{}", raised(exponent));
        if lead < 1.5 { power } else { format!("{lead:.0}×{power}") }
    };
    values.iter().map(label).collect()
}

/// Labels of single values, about three digits each, all in one unit.
pub(crate) fn value_labels(values: &[f64]) -> Vec<String> {
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let (unit, suffix) = unit_of(largest);
    let digits = match largest / unit {
        scaled if scaled < 9.995 => 2,
        scaled if scaled < 99.95 => 1,
        _ => 0,
    };
    let label = |value: &f64| {
        let text = format!("{:.digits$}", value / unit);
        let is_nought = text.bytes().all(|byte| b"-0.".contains(&byte));
        match value.abs() > 0.0 {
            false => "0".to_owned(),
            // "0.00" would look like zero.
            true if is_nought => format!("<{:.digits$}{suffix}", ten_to(-as_i32(digits))),
            true => signed(text) + &suffix,
        }
    };
    values.iter().map(label).collect()
}

/// The power of ten, correctly rounded, which `pow` does not guarantee.
pub(crate) fn ten_to(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(0.0)
}

/// A float that is a whole number, as an integer.
#[expect(clippy::cast_possible_truncation, reason = "clamped to what fits")]
pub(crate) fn whole(value: f64) -> i32 {
    value.clamp(-100_000.0, 100_000.0) as i32
}

fn as_i32(digits: usize) -> i32 {
    i32::try_from(digits).unwrap_or(i32::MAX)
}

/// The power of ten of the first digit. Rounding must not turn 1000 into 999.999…
fn exponent_of(value: f64) -> i32 {
    whole(libm::floor(libm::log10(value) + 1e-9))
}

/// The unit of the numbers of an axis, and its suffix.
fn unit_of(largest: f64) -> (f64, String) {
    match largest {
        _ if largest >= 0.9995e12 || (largest > 0.0 && largest < 0.9995e-3) => {
            let exponent = exponent_of(largest);
            let unit = ten_to(exponent);
            if unit > 0.0 {
                (unit, format!("×10{}", raised(exponent)))
            } else {
                (1.0, String::new())
            }
        }
        _ if largest >= 0.9995e9 => (1e9, format!("{NARROW_SPACE}G")),
        _ if largest >= 0.9995e6 => (1e6, format!("{NARROW_SPACE}M")),
        _ if largest >= 0.9995e4 => (1e3, format!("{NARROW_SPACE}k")),
        _ => (1.0, String::new()),
    }
}

/// The number with a minus sign instead of a hyphen.
fn signed(text: String) -> String {
    text.strip_prefix('-').map_or(text.clone(), |rest| format!("−{rest}"))
}

fn raised(exponent: i32) -> String {
    let raise = |letter: char| {
        let letter = if letter == '-' { '−' } else { letter };
        let mut pairs = SUPERSCRIPTS.chars().zip(PLAIN.chars());
        pairs.find(|(_, plain)| *plain == letter).map_or(letter, |(raised, _)| raised)
    };
    exponent.to_string().chars().map(raise).collect()
}

/// The space between a number and its unit, at which no line is broken.
const NARROW_SPACE: &str = "\u{a0}";

/// More digits than any axis can show.
const DIGITS_MAX: usize = 12;

/// Powers of ten outside this range are easier to read with an exponent.
const PLAIN_MIN: f64 = 0.9e-3;
const PLAIN_MAX: f64 = 1.1e3;

#[cfg(test)]
mod tests;
