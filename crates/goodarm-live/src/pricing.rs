//! What a call costs: a fixed price, or a meter with a ceiling. Integers only, rounded up.

use std::time::Duration;

use goodarm_core::Cost;

use crate::job_file::MeteredFile;
use crate::verifier::Usage;

/// How a verifier's calls are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tariff {
    /// Reserved before a call starts.
    pub ceiling: Cost,
    meter: Option<Meter>,
}

/// Prices for what a call turns out to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meter {
    input: Option<Cost>,
    output: Option<Cost>,
    tokens_per_price: u64,
    second: Option<Cost>,
    reported: bool,
}

/// The most that a call can take, if that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Tokens of all prompts of one call.
    pub input_tokens: Option<u64>,
    /// Tokens of all replies of one call.
    pub output_tokens: Option<u64>,
    /// Until it is cut off.
    pub timeout: Duration,
}

/// What is wrong with a price: the key, and what was expected.
pub type Wrong = (&'static str, String);

impl Tariff {
    /// Every call costs the same.
    pub fn fixed(price: f64) -> Result<Self, Wrong> {
        let ceiling = amount("price", price)?;
        if ceiling == Cost::ZERO {
            return Err(("price", "a price must be more than 0".into()));
        }
        Ok(Self { ceiling, meter: None })
    }

    /// A call costs what it says, and at most `ceiling`: a recording's own cost.
    pub fn recorded(ceiling: Cost) -> Self {
        let meter =
            Meter { input: None, output: None, tokens_per_price: 1, second: None, reported: true };
        Self { ceiling: writable(ceiling), meter: Some(meter) }
    }

    /// A call costs what it takes.
    pub fn metered(file: &MeteredFile, extent: Extent) -> Result<Self, Wrong> {
        let price = |value: Option<f64>| value.map(|value| amount("metered", value)).transpose();
        let per = file.per.unwrap_or(1.0);
        if !(1.0..=PER_MAX).contains(&per) || per.fract() != 0.0 {
            return Err(("metered", format!("per: {per} is not a whole number of tokens")));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let meter = Meter {
            input: price(file.input)?,
            output: price(file.output)?,
            tokens_per_price: per as u64,
            second: price(file.second)?,
            reported: file.reported.unwrap_or(false),
        };
        let is_empty = meter.input.is_none()
            && meter.output.is_none()
            && meter.second.is_none()
            && !meter.reported;
        if is_empty {
            let hint = "nothing is metered: give input and output, second, or reported = true";
            return Err(("metered", hint.into()));
        }
        let ceiling = match file.ceiling {
            Some(ceiling) => amount("metered", ceiling)?,
            None => writable(meter.most(extent).ok_or_else(no_ceiling)?),
        };
        if ceiling == Cost::ZERO {
            return Err(("metered", "the ceiling of a call must be more than 0".into()));
        }
        Ok(Self { ceiling, meter: Some(meter) })
    }

    /// What a call has cost; the ceiling if the reply does not say enough.
    pub fn charge(&self, usage: &Usage) -> Cost {
        let Some(meter) = &self.meter else { return self.ceiling };
        meter.bill(usage).unwrap_or(self.ceiling)
    }

    /// Whether calls cost what they take.
    pub const fn is_metered(&self) -> bool {
        self.meter.is_some()
    }
}

impl Meter {
    fn bill(&self, usage: &Usage) -> Option<Cost> {
        let tokens = |price: Option<Cost>, count: Option<u64>| match price {
            Some(price) => count.map(|count| self.tokens(price, count)),
            None => Some(Cost::ZERO),
        };
        let mut sum = tokens(self.input, usage.input_tokens)?
            .saturating_add(tokens(self.output, usage.output_tokens)?);
        if let Some(second) = self.second {
            sum = sum.saturating_add(seconds(second, usage.worked));
        }
        if self.reported {
            sum = sum.saturating_add(Cost::of_price(usage.cost?).ok()?);
        }
        Some(sum)
    }

    /// The bill of a call that takes all it can.
    fn most(&self, extent: Extent) -> Option<Cost> {
        let usage = Usage {
            input_tokens: extent.input_tokens,
            output_tokens: extent.output_tokens,
            cost: None,
            worked: extent.timeout + TIMEOUT_SLACK,
        };
        self.bill(&usage)
    }

    fn tokens(&self, price: Cost, count: u64) -> Cost {
        let picos = price.picos().saturating_mul(u128::from(count));
        Cost::from_picos(picos.div_ceil(u128::from(self.tokens_per_price)))
    }
}

/// The next amount that a float can say exactly: a ceiling is written down as one.
fn writable(cost: Cost) -> Cost {
    let up = |factor: f64| Cost::of_price(cost.units() * factor).ok().filter(|up| *up >= cost);
    up(1.0).or_else(|| up(1.0 + 1e-14)).unwrap_or(cost)
}

fn seconds(price: Cost, time: Duration) -> Cost {
    let picos = price.picos().saturating_mul(time.as_nanos());
    Cost::from_picos(picos.div_ceil(1_000_000_000))
}

fn amount(key: &'static str, value: f64) -> Result<Cost, Wrong> {
    Cost::of_price(value).map_err(|error| (key, error.to_string()))
}

fn no_ceiling() -> Wrong {
    let hint =
        "the most that a call may cost is not known: give a ceiling (or, for an llm, max_tokens)";
    ("metered", hint.into())
}

const PER_MAX: f64 = 1e12;
/// A call that is cut off at its timeout takes a little longer than that.
const TIMEOUT_SLACK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn dollars() -> MeteredFile {
        MeteredFile {
            input: Some(0.15),
            output: Some(0.6),
            per: Some(1e6),
            ..MeteredFile::default()
        }
    }

    fn usage(input: Option<u64>, output: Option<u64>) -> Usage {
        Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
    }

    #[test]
    fn tokens_are_charged_to_the_last_pico() {
        let file = MeteredFile { ceiling: Some(0.01), ..dollars() };
        let tariff = Tariff::metered(&file, Extent::default()).unwrap();
        assert_eq!(tariff.charge(&usage(Some(1000), Some(10))).to_string(), "0.000156");
    }

    #[test]
    fn a_reply_without_usage_costs_the_ceiling() {
        let file = MeteredFile { ceiling: Some(0.01), ..dollars() };
        let tariff = Tariff::metered(&file, Extent::default()).unwrap();
        for missing in [usage(None, Some(1)), usage(Some(1), None), usage(None, None)] {
            assert_eq!(tariff.charge(&missing), tariff.ceiling);
        }
    }

    #[test]
    fn without_a_known_ceiling_nothing_starts() {
        assert!(Tariff::metered(&dollars(), Extent::default()).is_err());
        let extent =
            Extent { input_tokens: Some(1000), output_tokens: Some(100), ..Extent::default() };
        let tariff = Tariff::metered(&dollars(), extent).unwrap();
        assert_eq!(tariff.ceiling.to_string(), "0.00021");
        let reported = MeteredFile { reported: Some(true), ..MeteredFile::default() };
        assert!(Tariff::metered(&reported, extent).is_err());
    }

    #[test]
    fn seconds_are_charged_by_the_nanosecond() {
        let file = MeteredFile { second: Some(0.5), ..MeteredFile::default() };
        let extent = Extent { timeout: Duration::from_secs(9), ..Extent::default() };
        let tariff = Tariff::metered(&file, extent).unwrap();
        assert_eq!(tariff.ceiling.to_string(), "5");
        let usage = Usage { worked: Duration::from_nanos(3), ..Usage::default() };
        assert_eq!(tariff.charge(&usage).picos(), 1500);
    }

    #[test]
    fn a_table_that_meters_nothing_is_refused() {
        assert!(Tariff::metered(&MeteredFile::default(), Extent::default()).is_err());
    }
}
