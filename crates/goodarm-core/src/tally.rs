//! The scores of one arm and attribute, in any order: for policies, never for evidence.

use crate::cost::Cost;
use crate::num::real;

/// Counts, scores and money of one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    /// Calls dispatched; retries of void calls do not count again.
    pub dispatched_count: u64,
    /// Scores that have come back, counted failures included; N in the paper.
    pub returned_count: u64,
    /// The sum of those scores.
    pub sum: f64,
    /// What the calls have cost.
    pub spent: Cost,
}

impl Tally {
    pub(crate) const START: Self =
        Self { dispatched_count: 0, returned_count: 0, sum: 0.0, spent: Cost::ZERO };

    /// The mean of the scores that have come back, 0 if there are none; μ̂ in the paper.
    pub fn mean(&self) -> f64 {
        if self.returned_count == 0 { 0.0 } else { self.sum / real(self.returned_count) }
    }

    /// Calls without a score: in flight, to be retried, or lost because the stream is blocked or the arm has left.
    pub const fn pending_count(&self) -> u64 {
        self.dispatched_count - self.returned_count
    }
}
