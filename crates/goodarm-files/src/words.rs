//! Amounts and counts in messages. Files and JSON have exact decimals instead ([`crate::money`]).

use goodarm_core::Cost;

use crate::Unit;

/// An amount: 60,000 or 0.00089, never 8.9e-4. Two significant digits are enough for small amounts.
pub fn amount(cost: Cost, unit: Unit) -> String {
    let units = cost.units();
    if cost != Cost::ZERO && units < TRIFLE {
        return "≈ 0".into();
    }
    if units >= 1000.0 || units.fract() == 0.0 {
        return thousands(&format!("{units:.0}"));
    }
    if unit == Unit::Dollars && units >= 0.1 {
        // Always two digits of cents.
        let decimals = if units >= 1.0 { 2 } else { 3 };
        return grouped(&format!("{units:.decimals$}"), 2);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "4 to 8")]
    let decimals = if units >= 0.001 { 4 } else { (1.0 - units.log10().floor()) as usize };
    grouped(&format!("{units:.decimals$}"), 0)
}

/// An amount with its unit: 1 token, 0.50 dollars.
pub fn money(cost: Cost, unit: Unit) -> String {
    let amount = amount(cost, unit);
    let name = unit.name();
    let noun = if amount == "1" { name.trim_end_matches('s') } else { name };
    format!("{amount} {noun}")
}

/// The price of a call in a list: a check within this program is free.
pub fn price(cost: Cost, unit: Unit) -> String {
    match unit {
        _ if is_free(cost) => "free".into(),
        Unit::Calls => format!("counted as {}", money(cost, unit)),
        _ => format!("{} a call", money(cost, unit)),
    }
}

/// Whether a price is shown as free; in the books no price is zero.
pub fn is_free(price: Cost) -> bool {
    price.units() <= FREE
}

/// A count with its noun: 1 call, 1,200 calls, 2 retries.
pub fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{} {}", number(count), plural(count, noun))
}

/// The same with a verb in the past tense: 1 bill was, 2 bills were.
pub fn were(count: impl TryInto<u64>, noun: &str) -> String {
    let text = counted(count, noun);
    let verb = if text.starts_with("1 ") { "was" } else { "were" };
    format!("{text} {verb}")
}

/// A number without the noise of binary fractions: 0.15, not 0.15000000000000002.
pub fn short(number: f64) -> String {
    ((number * 1e9).round() / 1e9).to_string()
}

/// A noun in singular or plural.
pub fn plural(count: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == 1 => noun.to_owned(),
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    }
}

/// 1234567 as 1,234,567.
pub fn number(count: u64) -> String {
    thousands(&count.to_string())
}

/// The digits of a whole number with commas between thousands.
pub fn thousands(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A decimal with commas between thousands, and without zeros at the end beyond `decimals_min`.
fn grouped(decimal: &str, decimals_min: usize) -> String {
    let (whole, rest) = decimal.split_at(decimal.find('.').unwrap_or(decimal.len()));
    let kept = rest.trim_end_matches('0').trim_end_matches('.').len();
    let least = if decimals_min == 0 { 0 } else { (decimals_min + 1).min(rest.len()) };
    format!("{}{}", thousands(whole), &rest[..kept.max(least)])
}

/// 1 − δ as a percentage with all its nines, because 99.99 % is not 100 %; never rounded up.
pub fn confidence(delta: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 12")]
    let decimals = (-(100.0 * delta).log10()).ceil().clamp(0.0, 10.0) as usize + 2;
    // The binary form of 0.07 is a little larger than 0.07. More digits are made first, so that 93 % does not
    // become 92.99 %.
    let exact = format!("{:.*}", (decimals + 4).min(13), 100.0 - 100.0 * delta);
    let kept = exact.find('.').map_or(exact.len(), |point| point + 1 + decimals);
    let kept = &exact[..kept.min(exact.len())];
    format!("{} %", kept.trim_end_matches('0').trim_end_matches('.'))
}

/// Smaller amounts are shown as ≈ 0.
const TRIFLE: f64 = 1e-7;
/// The price of a check within this program: a billionth of a unit.
const FREE: f64 = 1e-9;

/// A text on one line. A long one keeps its beginning and its end: servers put the reason first, programs
/// last.
pub fn in_short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = line.chars().count();
    if count <= HEAD_CHARS_MAX + TAIL_CHARS_MAX {
        return line;
    }
    let head: String = line.chars().take(HEAD_CHARS_MAX).collect();
    let tail: String = line.chars().skip(count - TAIL_CHARS_MAX).collect();
    format!("{head} … {tail}")
}

const HEAD_CHARS_MAX: usize = 240;
const TAIL_CHARS_MAX: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, unit: Unit) -> String {
        money(text.parse().unwrap(), unit)
    }

    #[test]
    fn amounts_are_written_as_people_write_them() {
        for (cost, expected) in [
            ("0", "0 tokens"),
            ("1", "1 token"),
            ("60000", "60,000 tokens"),
            ("1234567.4", "1,234,567 tokens"),
            ("999.5", "999.5 tokens"),
            ("12.34567", "12.3457 tokens"),
            ("0.00089", "0.00089 tokens"),
            ("0.000061", "0.000061 tokens"),
            ("0.00000025", "0.00000025 tokens"),
            ("0.000000001", "≈ 0 tokens"),
        ] {
            assert_eq!(shown(cost, Unit::Tokens), expected);
        }
    }

    #[test]
    fn dollars_have_cents() {
        for (cost, expected) in [
            ("1", "1 dollar"),
            ("50", "50 dollars"),
            ("2.5", "2.50 dollars"),
            ("12.3456", "12.35 dollars"),
            ("0.5", "0.50 dollars"),
            ("0.125", "0.125 dollars"),
            ("0.05", "0.05 dollars"),
            ("0.00044", "0.00044 dollars"),
            ("0.0012345", "0.0012 dollars"),
            ("1234.5", "1,234 dollars"),
        ] {
            assert_eq!(shown(cost, Unit::Dollars), expected);
        }
    }

    #[test]
    fn a_check_is_free_and_a_cheap_call_is_not() {
        assert_eq!(price(Cost::from_picos(1000), Unit::Calls), "free");
        assert_eq!(price("0.000061".parse().unwrap(), Unit::Dollars), "0.000061 dollars a call");
        assert_eq!(price(Cost::from_units(1), Unit::Calls), "counted as 1 call");
    }

    #[test]
    fn confidence_is_never_rounded_up() {
        for (delta, expected) in [
            (0.05, "95 %"),
            (0.5, "50 %"),
            (0.07, "93 %"),
            (0.0001, "99.99 %"),
            (1e-10, "99.99999999 %"),
            (0.025, "97.5 %"),
            (0.0125, "98.75 %"),
            (0.123_456, "87.65 %"),
            (0.033_33, "96.66 %"),
            (0.999_999, "0 %"),
        ] {
            assert_eq!(confidence(delta), expected);
        }
        assert_ne!(confidence(1e-12), "100 %");
    }

    #[test]
    fn nouns_have_a_plural() {
        assert_eq!(counted(1_u64, "call"), "1 call");
        assert_eq!(counted(0_u64, "failure"), "0 failures");
        assert_eq!(counted(2_usize, "retry"), "2 retries");
        assert_eq!(
            (were(1_u64, "bill"), were(21_u64, "bill")),
            ("1 bill was".into(), "21 bills were".into())
        );
        assert_eq!(counted(12_345_u64, "certificate"), "12,345 certificates");
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(in_short(" a\n  b "), "a b");
        let text =
            format!("Traceback: {} ZeroDivisionError: division by zero", "é ".repeat(100_000));
        let short = in_short(&text);
        assert!(short.starts_with("Traceback: é é"), "{short}");
        assert!(short.ends_with("é ZeroDivisionError: division by zero"), "{short}");
        assert!(short.chars().count() <= 410, "{}", short.chars().count());
    }
}
