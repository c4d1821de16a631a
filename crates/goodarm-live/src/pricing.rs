//! What a call costs: a fixed price, or a meter with a ceiling. Integers only, rounded up.

use std::fmt;
use std::time::Duration;

use goodarm_core::{Bill, Cost};
use goodarm_data::problem::KeyProblem;
use goodarm_record::job_file::{FailedCalls, MeteredFile, TIMEOUT, Unit};
use goodarm_record::reply::{Contact, Usage};

/// The price of a service's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pricing {
    /// Every call costs this.
    Fixed(Cost),
    /// The cost of a call depends on its usage.
    Metered(Meter),
}

/// Prices for the usage of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meter {
    /// The price of `per` tokens of the prompt.
    pub input: Option<Cost>,
    /// The price of `per` tokens of the reply.
    pub output: Option<Cost>,
    /// The number of tokens that `input` and `output` are prices of.
    pub per: u64,
    /// The price of each second that a call takes.
    pub second: Option<Cost>,
    /// Whether the cost that the reply states is added to the bill.
    pub reported: bool,
    /// The most that a call may cost; by default computed from the most that it can use.
    pub ceiling: Option<Cost>,
    /// What a call is expected to cost; by default computed from what calls typically use.
    pub expected: Option<Cost>,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            input: None,
            output: None,
            per: 1,
            second: None,
            reported: false,
            ceiling: None,
            expected: None,
        }
    }
}

/// How a service's calls are charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tariff {
    /// The most that a call may cost, reserved before it starts; for a fixed price, the price.
    pub ceiling: Cost,
    /// What a failed call costs if its reply does not say.
    pub failed: FailedCalls,
    /// The bill to expect before any is known: more than 0, and at most the ceiling. For a fixed price, the price.
    pub expected: Cost,
    meter: Option<Meter>,
}

/// The most that a call can use, where known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Tokens of all prompts of one call.
    pub input_tokens: Option<u64>,
    /// Tokens of all replies of one call.
    pub output_tokens: Option<u64>,
    /// The time after which a call is cut off.
    pub timeout: Duration,
}

impl Default for Extent {
    fn default() -> Self {
        Self { input_tokens: None, output_tokens: None, timeout: TIMEOUT }
    }
}

impl Pricing {
    /// The default price of a call: one call, or its seconds; `None` for tokens and dollars.
    pub fn by_unit(unit: Unit) -> Option<Self> {
        let one = Cost::from_units(1);
        match unit {
            Unit::Calls => Some(Self::Fixed(one)),
            Unit::Seconds => Some(Self::Metered(Meter { second: Some(one), ..Meter::default() })),
            Unit::Tokens | Unit::Dollars => None,
        }
    }

    /// The price in the keys of a job file, if there is one.
    pub fn of_keys(
        price: Option<f64>,
        metered: Option<&MeteredFile>,
        unit: Unit,
    ) -> Result<Option<Self>, KeyProblem> {
        match (price, metered) {
            (None, Some(metered)) if unit == Unit::Dollars && lacks_per(metered) => {
                Err(KeyProblem::new("metered", PER_MISSING))
            }
            (Some(_), Some(_)) => {
                Err(KeyProblem::new("metered", "either price or metered, not both"))
            }
            (Some(price), None) => Ok(Some(Self::Fixed(amount("price", price)?))),
            (None, Some(metered)) => Ok(Some(Self::Metered(Meter::of_file(metered)?))),
            (None, None) => Ok(None),
        }
    }

    /// What a failed call costs in this unit, if the job does not say. In calls, a call costs its price whatever it
    /// brings.
    pub const fn failed_by_unit(unit: Unit) -> FailedCalls {
        match unit {
            Unit::Calls => FailedCalls::Ceiling,
            Unit::Tokens | Unit::Dollars | Unit::Seconds => FailedCalls::Free,
        }
    }

    /// The key that has this price in a job file.
    pub(crate) const fn key(&self) -> &'static str {
        match self {
            Self::Fixed(_) => "price",
            Self::Metered(_) => "metered",
        }
    }
}

/// Writes the price as a line of a job file.
impl fmt::Display for Pricing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meter = match self {
            Self::Fixed(price) => return write!(f, "price = {price}"),
            Self::Metered(meter) => meter,
        };
        write!(f, "metered = {{ per = {}, reported = {}", meter.per, meter.reported)?;
        let prices = [
            ("input", meter.input),
            ("output", meter.output),
            ("second", meter.second),
            ("ceiling", meter.ceiling),
            ("expected", meter.expected),
        ];
        for (key, price) in prices {
            if let Some(price) = price {
                write!(f, ", {key} = {price}")?;
            }
        }
        f.write_str(" }")
    }
}

impl Tariff {
    /// The tariff for calls of this extent. `extent` is called only if the ceiling depends on it.
    pub fn new(
        pricing: &Pricing,
        failed: FailedCalls,
        extent: impl FnOnce() -> Extent,
    ) -> Result<Self, KeyProblem> {
        let tariff = match pricing {
            Pricing::Fixed(price) => {
                Self { ceiling: *price, expected: *price, failed, meter: None }
            }
            Pricing::Metered(meter) => {
                meter.check()?;
                let most = || meter.most(extent()).ok_or_else(no_ceiling);
                let ceiling = meter.ceiling.map_or_else(most, Ok)?;
                let expected = meter.expected.unwrap_or_else(|| half_of(ceiling));
                Self { ceiling, expected, failed, meter: Some(*meter) }
            }
        };
        if tariff.ceiling == Cost::ZERO {
            let message = "the most that a call may cost must be more than 0";
            return Err(KeyProblem::new(pricing.key(), message));
        }
        if tariff.expected == Cost::ZERO || tariff.expected > tariff.ceiling {
            let (expected, ceiling) = (tariff.expected, tariff.ceiling);
            let message = format!(
                "expected: {expected} is not more than 0 and at most {ceiling}, the ceiling"
            );
            return Err(KeyProblem::new(pricing.key(), message));
        }
        Ok(tariff)
    }

    /// The tariff whose expected bill is that of a typical usage, unless it states one. Where the bill does not
    /// follow from the usage, half the ceiling is expected.
    #[must_use]
    pub fn expecting(self, typical: impl FnOnce() -> Usage) -> Self {
        let Some(meter) = self.meter.filter(|meter| meter.expected.is_none()) else { return self };
        let usage = typical();
        let billed = meter.billed(&usage).map(|billed| billed.saturating_add(meter.time(&usage)));
        let expected = billed.map_or(self.expected, |billed| billed.min(self.ceiling));
        Self { expected: expected.max(Cost::from_picos(1)), ..self }
    }

    /// Whether the expected bill is a guess from what calls typically use.
    pub fn is_guessed(&self) -> bool {
        self.meter.is_some_and(|meter| meter.expected.is_none())
    }

    /// The cost of a call; `None` if it is not known, because the usage is incomplete. Tokens and a reported cost may
    /// exceed the ceiling. The price of time may not: a call ends at its timeout, and a longer time is a delay of this
    /// process. At a fixed price, a call of which all requests were answered with HTTP errors costs nothing. If the job
    /// says that errors cost their ceiling, they cost at least that.
    pub fn charge(&self, usage: &Usage, contact: Contact) -> Option<Cost> {
        let is_error = contact == Contact::Error;
        let least = match self.failed {
            FailedCalls::Ceiling if is_error => self.ceiling,
            _ => Cost::ZERO,
        };
        let Some(meter) = &self.meter else {
            return Some(if is_error { least } else { self.ceiling });
        };
        let Some(billed) = meter.billed(usage) else {
            return Some(least).filter(|least| *least > Cost::ZERO);
        };
        let time = meter.time(usage).min(self.ceiling.saturating_sub(billed));
        Some(billed.saturating_add(time).max(least).min(Cost::LARGEST))
    }

    /// The bill of a call that is not known. `typical` is the mean of the service's bills.
    pub fn unknown_bill(&self, typical: Cost, ceiling: Cost, is_failed: bool) -> Bill {
        match self.failed {
            _ if self.meter.is_none() => Bill::known(ceiling),
            FailedCalls::Ceiling if is_failed => Bill::known(ceiling),
            FailedCalls::Mean if is_failed => Bill::known(typical),
            _ => Bill::unknown(typical, ceiling),
        }
    }

    /// Whether the cost of a call depends on its usage.
    pub const fn is_metered(&self) -> bool {
        self.meter.is_some()
    }
}

impl Meter {
    fn of_file(file: &MeteredFile) -> Result<Self, KeyProblem> {
        let price = |value: Option<f64>| value.map(|value| amount("metered", value)).transpose();
        let per = file.per.unwrap_or(1.0);
        if !(1.0..=PER_MAX).contains(&per) || per.fract() != 0.0 {
            return Err(no_count(per));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        let per = per as u64;
        Ok(Self {
            input: price(file.input)?,
            output: price(file.output)?,
            per,
            second: price(file.second)?,
            reported: file.reported.unwrap_or(false),
            ceiling: price(file.ceiling)?,
            expected: price(file.expected)?,
        })
    }

    fn check(&self) -> Result<(), KeyProblem> {
        if self.per == 0 {
            return Err(no_count(0.0));
        }
        let is_empty = self.input.is_none()
            && self.output.is_none()
            && self.second.is_none()
            && !self.reported;
        if is_empty {
            let hint = "nothing is metered: give input and output, second, or reported = true";
            return Err(KeyProblem::new("metered", hint));
        }
        Ok(())
    }

    /// The bill for tokens and the reported cost; `None` if the usage is incomplete.
    fn billed(&self, usage: &Usage) -> Option<Cost> {
        let tokens = |price: Option<Cost>, count: Option<u64>| match price {
            Some(price) => count.map(|count| self.tokens(price, count)),
            None => Some(Cost::ZERO),
        };
        let mut sum = tokens(self.input, usage.input_tokens)?
            .saturating_add(tokens(self.output, usage.output_tokens)?);
        if self.reported {
            sum = sum.saturating_add(usage.cost?);
        }
        Some(sum)
    }

    /// The price of the time that a call took.
    fn time(&self, usage: &Usage) -> Cost {
        self.second.map_or(Cost::ZERO, |second| seconds(second, usage.worked))
    }

    /// The cost of a call with the largest usage; `None` if that is not known.
    fn most(&self, extent: Extent) -> Option<Cost> {
        let usage = Usage {
            input_tokens: extent.input_tokens,
            output_tokens: extent.output_tokens,
            cost: None,
            worked: extent.timeout + TIMEOUT_SLACK,
        };
        Some(self.billed(&usage)?.saturating_add(self.time(&usage)))
    }

    fn tokens(&self, price: Cost, count: u64) -> Cost {
        let picos = price.picos().saturating_mul(u128::from(count));
        Cost::from_picos(picos.div_ceil(u128::from(self.per)))
    }
}

fn seconds(price: Cost, time: Duration) -> Cost {
    let picos = price.picos().saturating_mul(time.as_nanos());
    Cost::from_picos(picos.div_ceil(1_000_000_000))
}

/// A guess at a bill of which only the most is known.
fn half_of(ceiling: Cost) -> Cost {
    Cost::from_picos(ceiling.picos().div_ceil(2))
}

/// Whether there are prices of tokens, but not the number of tokens that they are for. A vendor's price for a million
/// tokens must not be taken for the price of one.
const fn lacks_per(metered: &MeteredFile) -> bool {
    metered.per.is_none() && (metered.input.is_some() || metered.output.is_some())
}

fn amount(key: &str, value: f64) -> Result<Cost, KeyProblem> {
    Cost::of_price(value).map_err(|error| KeyProblem::new(key, error.to_string()))
}

fn no_ceiling() -> KeyProblem {
    let hint =
        "the most that a call may cost is not known: give a ceiling (or, for an LLM, max_tokens)";
    KeyProblem::new("metered", hint)
}

fn no_count(per: f64) -> KeyProblem {
    KeyProblem::new("metered", format!("per: {per} is not a whole number of tokens"))
}

const PER_MISSING: &str = "how many tokens input and output pay for must be said: per = 1000000 for \
                           prices of a million tokens, as vendors list them, or per = 1";
const PER_MAX: f64 = 1e12;
/// How much longer than its timeout a call may take, because cutting it off takes time.
const TIMEOUT_SLACK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use goodarm_record::reply::NOTHING;

    use super::*;

    fn charged(tariff: &Tariff, usage: &Usage) -> Cost {
        tariff.charge(usage, Contact::Read).unwrap()
    }

    fn dollars() -> MeteredFile {
        MeteredFile {
            input: Some(0.15),
            output: Some(0.6),
            per: Some(1e6),
            ..MeteredFile::default()
        }
    }

    fn metered(file: &MeteredFile, extent: Extent) -> Result<Tariff, KeyProblem> {
        Tariff::new(&Pricing::Metered(Meter::of_file(file)?), FailedCalls::Free, || extent)
    }

    fn usage(input: Option<u64>, output: Option<u64>) -> Usage {
        Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
    }

    #[test]
    fn tokens_are_charged_to_the_last_pico() {
        let file = MeteredFile { ceiling: Some(0.01), ..dollars() };
        let tariff = metered(&file, Extent::default()).unwrap();
        assert_eq!(charged(&tariff, &usage(Some(1000), Some(10))).to_string(), "0.000156");
    }

    #[test]
    fn a_reply_without_usage_has_an_unknown_bill() {
        let file = MeteredFile { ceiling: Some(0.01), ..dollars() };
        let tariff = metered(&file, Extent::default()).unwrap();
        for missing in [usage(None, Some(1)), usage(Some(1), None), usage(None, None)] {
            assert_eq!(tariff.charge(&missing, Contact::Read), None);
        }
        let (typical, ceiling) = (Cost::from_picos(7), tariff.ceiling);
        for (failed, is_failed, settled, possible) in [
            (FailedCalls::Free, true, typical, ceiling),
            (FailedCalls::Mean, true, typical, typical),
            (FailedCalls::Mean, false, typical, ceiling),
            (FailedCalls::Ceiling, true, ceiling, ceiling),
            (FailedCalls::Ceiling, false, typical, ceiling),
        ] {
            let bill = Tariff { failed, ..tariff }.unknown_bill(typical, ceiling, is_failed);
            assert_eq!((bill.settled(), bill.possible()), (settled, possible), "{failed:?}");
        }
    }

    #[test]
    fn an_http_error_costs_nothing_unless_the_job_says_so() {
        let file = MeteredFile { ceiling: Some(0.01), ..dollars() };
        let metered = metered(&file, Extent::default()).unwrap();
        let price = Cost::from_units(2);
        let fixed =
            Tariff::new(&Pricing::Fixed(price), FailedCalls::Mean, Extent::default).unwrap();
        for tariff in [metered, fixed] {
            assert_eq!(tariff.charge(&NOTHING, Contact::Error), Some(Cost::ZERO));
            let dear = Tariff { failed: FailedCalls::Ceiling, ..tariff };
            assert_eq!(dear.charge(&NOTHING, Contact::Error), Some(tariff.ceiling));
        }
        assert_eq!(fixed.charge(&NOTHING, Contact::Nothing), Some(price), "a lost call");
        let used = usage(Some(1000), Some(10));
        let much = usage(Some(1_000_000_000), Some(10));
        let dear = Tariff { failed: FailedCalls::Ceiling, ..metered };
        assert_eq!(dear.charge(&much, Contact::Error), metered.charge(&much, Contact::Read));
        let endless = metered.charge(&usage(Some(u64::MAX), Some(10)), Contact::Read);
        assert!(endless.is_some_and(|cost| cost <= Cost::LARGEST), "{endless:?}");
        assert_eq!(metered.charge(&used, Contact::Error).unwrap().to_string(), "0.000156");
    }

    #[test]
    fn without_a_known_ceiling_nothing_starts() {
        assert!(metered(&dollars(), Extent::default()).is_err());
        let extent =
            Extent { input_tokens: Some(1000), output_tokens: Some(100), ..Extent::default() };
        let tariff = metered(&dollars(), extent).unwrap();
        assert_eq!(tariff.ceiling.to_string(), "0.00021");
        let reported = MeteredFile { reported: Some(true), ..MeteredFile::default() };
        assert!(metered(&reported, extent).is_err());
    }

    #[test]
    fn seconds_are_charged_by_the_nanosecond() {
        let file = MeteredFile { second: Some(0.5), ..MeteredFile::default() };
        let extent = Extent { timeout: Duration::from_secs(9), ..Extent::default() };
        let tariff = metered(&file, extent).unwrap();
        assert_eq!(tariff.ceiling.to_string(), "5");
        let usage = Usage { worked: Duration::from_nanos(3), ..Usage::default() };
        assert_eq!(charged(&tariff, &usage).picos(), 1500);
    }

    /// A process that is stopped for an hour, or a laptop that sleeps.
    #[test]
    fn time_is_charged_up_to_the_ceiling_and_tokens_are_charged_in_full() {
        let seconds = MeteredFile { second: Some(0.5), ..MeteredFile::default() };
        let extent = Extent { timeout: Duration::from_secs(9), ..Extent::default() };
        let hour = Usage { worked: Duration::from_secs(3600), ..Usage::default() };
        let tariff = metered(&seconds, extent).unwrap();
        assert_eq!(charged(&tariff, &hour), tariff.ceiling);
        let both = MeteredFile { second: Some(0.5), input: Some(1.0), ..seconds };
        let tariff = metered(&MeteredFile { ceiling: Some(7.0), ..both }, extent).unwrap();
        for (tokens, expected) in [(2, "7"), (7, "7"), (9, "9")] {
            let usage = Usage { input_tokens: Some(tokens), ..hour };
            assert_eq!(charged(&tariff, &usage).to_string(), expected, "{tokens} tokens");
        }
        let usage = Usage { worked: Duration::from_secs(4), ..usage(Some(2), None) };
        assert_eq!(charged(&tariff, &usage).to_string(), "4");
    }

    #[test]
    fn a_bill_is_expected_as_stated_or_for_a_typical_usage() {
        let extent =
            Extent { input_tokens: Some(10_000), output_tokens: Some(100), ..Extent::default() };
        let typical = || usage(Some(1000), Some(10));
        let guessed = metered(&dollars(), extent).unwrap().expecting(typical);
        assert_eq!(
            (guessed.expected.to_string().as_str(), guessed.is_guessed()),
            ("0.000156", true)
        );
        let more = metered(&dollars(), extent).unwrap().expecting(|| usage(Some(99_999), Some(10)));
        assert_eq!(more.expected, more.ceiling, "never more than the ceiling");
        let stated = MeteredFile { expected: Some(0.0004), ..dollars() };
        let stated = metered(&stated, extent).unwrap().expecting(typical);
        assert_eq!((stated.expected.to_string().as_str(), stated.is_guessed()), ("0.0004", false));
        let reported =
            MeteredFile { reported: Some(true), ceiling: Some(0.5), ..MeteredFile::default() };
        let reported = metered(&reported, extent).unwrap().expecting(typical);
        assert_eq!(reported.expected.to_string(), "0.25", "nothing is known but the ceiling");
        let fixed = Tariff::new(&Pricing::Fixed(Cost::from_units(2)), FailedCalls::Free, || extent)
            .unwrap();
        assert_eq!((fixed.expecting(typical), fixed.expected), (fixed, fixed.ceiling));
        for wrong in [0.0, 0.2] {
            let file = MeteredFile { expected: Some(wrong), ..dollars() };
            let error = metered(&file, extent).unwrap_err().to_string();
            assert!(error.contains("the ceiling"), "{wrong}: {error}");
        }
    }

    #[test]
    fn dollars_for_tokens_say_for_how_many() {
        let bare = MeteredFile { per: None, ..dollars() };
        let error = Pricing::of_keys(None, Some(&bare), Unit::Dollars).unwrap_err();
        assert!(error.to_string().contains("per = 1000000"), "{error}");
        assert!(Pricing::of_keys(None, Some(&bare), Unit::Tokens).is_ok());
        assert!(Pricing::of_keys(None, Some(&dollars()), Unit::Dollars).is_ok());
        let seconds = MeteredFile { second: Some(0.1), ..MeteredFile::default() };
        assert!(Pricing::of_keys(None, Some(&seconds), Unit::Dollars).is_ok());
    }

    #[test]
    fn a_table_that_meters_nothing_is_refused() {
        assert!(metered(&MeteredFile::default(), Extent::default()).is_err());
    }
}
