//! What checking every answer alike would have cost: an estimate, and the rule it follows.

use goodarm_core::{AttributeId, Books};
use serde::Serialize;

use super::VerifierView;

/// What uniform checking would have cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Uniform {
    /// The estimate, in the run's unit.
    pub cost: f64,
    /// How many times the spend of this run that is.
    pub times: Option<f64>,
    /// Calls that every answer would get of each verifier.
    pub calls_per_answer: Vec<u64>,
    /// How the estimate is made.
    pub rule: &'static str,
}

/// How the estimate is made.
const RULE: &str = "An estimate. Someone who checks all answers alike cannot know which of them need many calls, so every answer gets, of each verifier, as many calls as the certified answer that needed the most of them in this run, at this run's mean price.";

/// The estimate for certifying the answers that were certified; none if there are none.
pub(super) fn uniform(books: &Books, verifiers: &[VerifierView]) -> Option<Uniform> {
    let certified = books.certified();
    if certified.is_empty() {
        return None;
    }
    let calls = |attribute: AttributeId| {
        let count = |&arm| books.tally(arm, attribute).returned_count;
        certified.iter().map(count).max().unwrap_or(0)
    };
    let calls_per_answer: Vec<u64> = books.problem().attributes().map(calls).collect();
    // A call that scores several criteria is paid once.
    let paid = calls_per_answer.iter().zip(verifiers);
    let paid = paid.filter(|(_, verifier)| verifier.paid_with.is_none());
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let cost = paid
        .map(|(&calls, verifier)| {
            let price = verifier.mean_price.unwrap_or(verifier.ceiling.units());
            calls as f64 * books.problem().arm_count() as f64 * price
        })
        .sum();
    let spent = books.ledger().settled().units();
    let times = (spent > 0.0).then_some(cost / spent);
    Some(Uniform { cost, times, calls_per_answer, rule: RULE })
}
