//! Exact money: integers of 10⁻¹² of the budget's unit (tokens, dollars, seconds).
//!
//! A price written as 0.1 is taken for the decimal 0.1, not for the binary fraction next to it:
//! ten calls at 0.1 fit a budget of 1.0, and no sum drifts.

use alloc::format;
use core::fmt;
use core::ops::{Add, Sub};
use core::str::FromStr;

use thiserror::Error;

/// An exact amount of money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u128);

/// Why a number is not an amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CostError {
    /// NaN, an infinity, or a number below zero.
    #[error("{0} is not a finite number that is at least 0")]
    NotAnAmount(f64),
    /// Above [`Cost::UNITS_MAX`].
    #[error("{0} is more than 10^15")]
    TooLarge(f64),
    /// The text is not a plain decimal number such as `12.5`.
    #[error("not a plain decimal number")]
    NotADecimal,
}

/// What to do with digits beyond the twelfth decimal.
#[derive(Clone, Copy, PartialEq)]
enum Excess {
    /// For prices and bills, which must not become cheaper.
    Up,
    /// For budgets, which must not become larger.
    Down,
}

const DECIMALS: usize = 12;
const SCALE: u128 = 1_000_000_000_000;

impl Cost {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The largest amount that can be written, in whole units; sums may go far beyond it.
    pub const UNITS_MAX: f64 = 1e15;
    /// That amount.
    pub const LARGEST: Self = Self::from_units(1_000_000_000_000_000);

    /// A whole number of units.
    pub const fn from_units(units: u64) -> Self {
        Self(units as u128 * SCALE)
    }

    /// The same amount, if it is at most [`Self::UNITS_MAX`].
    pub(crate) fn checked(self) -> Result<Self, CostError> {
        let units = self.units();
        if units > Self::UNITS_MAX { Err(CostError::TooLarge(units)) } else { Ok(self) }
    }

    /// An amount counted in 10⁻¹² units.
    pub const fn from_picos(picos: u128) -> Self {
        Self(picos)
    }

    /// This amount counted in 10⁻¹² units.
    pub const fn picos(self) -> u128 {
        self.0
    }

    /// The decimal number that `units` is written as; digits beyond the twelfth decimal round up.
    pub fn of_price(units: f64) -> Result<Self, CostError> {
        Self::from_f64(units, Excess::Up)
    }

    /// The decimal number that `units` is written as; digits beyond the twelfth decimal are cut.
    pub fn of_budget(units: f64) -> Result<Self, CostError> {
        Self::from_f64(units, Excess::Down)
    }

    /// The amount in units, to about fifteen digits: for heuristics. `Display` is exact.
    #[expect(clippy::cast_precision_loss, reason = "heuristics only")]
    pub fn units(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }

    /// The sum, or the largest representable amount.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or nothing.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    fn from_f64(units: f64, excess: Excess) -> Result<Self, CostError> {
        if !(units.is_finite() && units >= 0.0) {
            return Err(CostError::NotAnAmount(units));
        }
        if units > Self::UNITS_MAX {
            return Err(CostError::TooLarge(units));
        }
        // `Display` writes the shortest decimal that reads back as the same number: the one that was written.
        parse_decimal(&format!("{units}"), excess)
    }
}

fn parse_decimal(text: &str, excess: Excess) -> Result<Cost, CostError> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits_only = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits_only(whole) || !digits_only(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(CostError::NotADecimal);
    }
    let (kept, cut) = fraction.split_at(fraction.len().min(DECIMALS));
    let padding = core::iter::repeat_n(b'0', DECIMALS - kept.len());
    let mut picos: u128 = 0;
    for digit in whole.bytes().chain(kept.bytes()).chain(padding) {
        picos = picos
            .checked_mul(10)
            .and_then(|tens| tens.checked_add(u128::from(digit - b'0')))
            .ok_or(CostError::TooLarge(f64::INFINITY))?;
    }
    let lost = cut.bytes().any(|digit| digit != b'0');
    Ok(Cost(picos.saturating_add(u128::from(lost && excess == Excess::Up))))
}

impl FromStr for Cost {
    type Err = CostError;

    fn from_str(text: &str) -> Result<Self, CostError> {
        parse_decimal(text, Excess::Up)?.checked()
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:012}", self.0 % SCALE);
        let fraction = fraction.trim_end_matches('0');
        let text = if fraction.is_empty() {
            format!("{}", self.0 / SCALE)
        } else {
            format!("{}.{fraction}", self.0 / SCALE)
        };
        f.pad(&text)
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.checked_add(other.0).expect("amounts stay far below 2^128"))
    }
}

impl Sub for Cost {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("no amount is below zero"))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_price_is_the_decimal_that_was_written() {
        for (units, picos) in
            [(0.1, 100_000_000_000), (100_000.1, 100_000_100_000_000_000), (1.25e-8, 12_500)]
        {
            assert_eq!(Cost::of_price(units), Ok(Cost(picos)));
            assert_eq!(Cost::of_budget(units), Ok(Cost(picos)));
        }
    }

    #[test]
    fn a_hundred_million_dimes_are_ten_million() {
        let dime = Cost::of_price(0.1).unwrap();
        let mut sum = Cost::ZERO;
        for _ in 0..100_000_000 {
            sum = sum + dime;
        }
        assert_eq!(sum, Cost::from_units(10_000_000));
    }

    #[test]
    fn excess_digits_never_make_a_call_cheaper_or_a_budget_larger() {
        let third = 1.0 / 3.0;
        assert_eq!(Cost::of_price(third), Ok(Cost(333_333_333_334)));
        assert_eq!(Cost::of_budget(third), Ok(Cost(333_333_333_333)));
        assert_eq!(Cost::of_price(1e-13), Ok(Cost(1)));
    }

    #[test]
    fn invalid_amounts_are_refused() {
        for bad in [f64::NAN, f64::INFINITY, -1.0, -f64::MIN_POSITIVE, 1.1e15] {
            assert!(Cost::of_price(bad).is_err(), "{bad}");
        }
        for bad in ["", ".", "-1", "1e3", "0x1", "1.2.3", "9999999999999999"] {
            assert!(bad.parse::<Cost>().is_err(), "{bad}");
        }
    }

    #[test]
    fn display_and_parse_are_inverse() {
        for text in ["0", "1", "0.1", "12.000000000001", "883.5"] {
            assert_eq!(text.parse::<Cost>().unwrap().to_string(), text);
        }
    }
}
