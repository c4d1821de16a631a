//! What is counted of one verifier's calls, in the order in which they come back.

use std::collections::BTreeMap;
use std::time::Duration;

use goodarm_core::{Cost, Failure};

use crate::outputs::calls::failure_name;

/// One verifier's calls so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifierTotals {
    /// Calls that came back.
    pub call_count: u64,
    /// Paid.
    pub spent: Cost,
    /// Paid for calls without a score.
    pub spent_on_failures: Cost,
    /// Failures by name.
    pub failures: BTreeMap<&'static str, u64>,
    score_count: u64,
    score_sum: f64,
    latency_sum: f64,
}

impl VerifierTotals {
    /// One more call.
    pub fn take(&mut self, outcome: Result<f64, Failure>, cost: Cost, latency: Duration) {
        self.call_count += 1;
        self.spent = self.spent.saturating_add(cost);
        self.latency_sum += latency.as_secs_f64();
        match outcome {
            Ok(score) => {
                self.score_count += 1;
                self.score_sum += score;
            }
            Err(failure) => {
                *self.failures.entry(failure_name(failure)).or_default() += 1;
                if matches!(failure, Failure::Counted(_)) {
                    self.spent_on_failures = self.spent_on_failures.saturating_add(cost);
                }
            }
        }
    }

    /// The mean of all scores.
    pub fn mean_score(&self) -> Option<f64> {
        mean(self.score_sum, self.score_count)
    }

    /// Seconds a call took on the average.
    pub fn mean_latency(&self) -> Option<f64> {
        mean(self.latency_sum, self.call_count)
    }
}

fn mean(sum: f64, count: u64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "means for people")]
    (count > 0).then(|| sum / count as f64)
}
