//! How many calls were in flight, and what limited them.

use goodarm_core::{Cost, Options};
use goodarm_files::toml_text;
use serde::Serialize;
use serde_json::Value;

use crate::account::Account;
use crate::job_file;
use crate::terms::RunTerms;

/// How many calls were in flight, and how many might have been.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pace {
    /// On average; `None` before any time has passed.
    pub in_flight_mean: Option<f64>,
    /// The job's limit when the run began.
    pub concurrency: usize,
    /// The limit by money at the start, at the mean price since: the expected cost of calls in flight may be 2 % of
    /// the money that is not spent.
    pub money_allows: Option<f64>,
}

impl Pace {
    pub(super) fn new(terms: &RunTerms, account: &Account) -> Self {
        let others = || account.services().iter().filter(|totals| totals.latency_sum() > 0.0);
        let spent = others().map(|totals| totals.spent).fold(Cost::ZERO, Cost::saturating_add);
        let calls: u64 = others().map(|totals| totals.outcomes.call_count).sum();
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let price = spent.units() / calls as f64;
        let allowed = Options::default().in_flight_share * account.budgets[0].units() / price;
        Self {
            in_flight_mean: None,
            concurrency: concurrency(&terms.job),
            money_allows: (price > 0.0).then_some(allowed.max(1.0)),
        }
    }

    /// By the time that all calls together took.
    pub(super) fn set_seconds(&mut self, seconds: f64, latency_sum: f64) {
        self.in_flight_mean = (seconds > 0.0).then(|| latency_sum / seconds);
    }

    /// Why there were fewer calls in flight than the job allows, if money was the reason.
    pub(super) fn note(&self, seconds: f64) -> Option<String> {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand at most")]
        let concurrency = self.concurrency as f64;
        let (mean, allowed) = (self.in_flight_mean?, self.money_allows?);
        let is_held = seconds >= SECONDS_MIN && allowed < concurrency && mean < 0.75 * concurrency;
        is_held.then(|| {
            format!(
                "On average {mean:.1} calls were in flight, although concurrency = {concurrency}: what calls in flight are expected to cost may be at most 2 % of the money that is not spent, {allowed:.0} calls at first and fewer later. A larger budget has room for more."
            )
        })
    }
}

fn concurrency(job: &str) -> usize {
    let job = toml_text::parse::<Value>(job).unwrap_or_default();
    let number = job.get("concurrency").and_then(Value::as_u64);
    number.and_then(|number| usize::try_from(number).ok()).unwrap_or_else(job_file::concurrency)
}

/// Shorter runs need no note.
const SECONDS_MIN: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_named_whenever_few_were_in_flight_because_of_it() {
        let note = |mean, allowed, seconds| {
            let pace =
                Pace { in_flight_mean: Some(mean), concurrency: 8, money_allows: Some(allowed) };
            pace.note(seconds)
        };
        let text = note(0.9, 1.93, 4.1).expect("it took seconds");
        assert!(text.contains("concurrency = 8") && text.contains("2 % of the money"), "{text}");
        // A resumed run has pauses, so a low mean alone is not a sign of the limit.
        for (mean, allowed, seconds) in [(7.5, 1.93, 4.1), (0.9, 12.0, 4.1), (0.9, 1.93, 2.0)] {
            assert_eq!(note(mean, allowed, seconds), None);
        }
    }
}
