//! What is counted beside the books, for people: no decision depends on it.

use std::time::Duration;

use goodarm_core::{AttributeId, Books, Cost, Failure};

use crate::outputs::totals::VerifierTotals;

/// Since the run began, in whatever process.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// Calls that came back.
    pub(super) call_count: u64,
    /// Of these, without a score.
    pub(super) failure_count: u64,
    pub(super) verifiers: Vec<VerifierTotals>,
    /// What was spent when each certificate was reached, in their order.
    pub(super) spent_at: Vec<Cost>,
}

impl Counts {
    pub(super) fn new(verifier_count: usize) -> Self {
        Self {
            call_count: 0,
            failure_count: 0,
            verifiers: vec![VerifierTotals::default(); verifier_count],
            spent_at: Vec::new(),
        }
    }

    /// One more call, which the books know of already.
    pub(super) fn take(
        &mut self,
        books: &Books,
        attribute: AttributeId,
        outcome: Result<f64, Failure>,
        (cost, latency): (Cost, Duration),
    ) {
        self.call_count += 1;
        self.failure_count += u64::from(outcome.is_err());
        self.verifiers[attribute.index()].take(outcome, cost, latency);
        let certified_count = books.certified().len();
        if certified_count > self.spent_at.len() {
            self.spent_at.resize(certified_count, books.ledger().settled());
        }
    }
}
