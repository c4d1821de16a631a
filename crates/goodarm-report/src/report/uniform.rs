//! What checking every answer alike would have cost: an estimate, and the rule it follows.

use serde::Serialize;

use super::data::{Answer, Status, VerifierData};

/// What uniform checking would have cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Uniform {
    /// The estimate, in the run's unit.
    pub(crate) cost: f64,
    /// How many times the spend of this run that is.
    pub(crate) times: Option<f64>,
    /// Calls that every answer would get of each verifier.
    pub(crate) calls_per_answer: Vec<u64>,
    /// How the estimate is made.
    pub(crate) rule: &'static str,
}

/// How the estimate is made.
const RULE: &str = "An estimate. Checking all answers alike means not knowing which of them need many calls, so every answer gets, of each verifier, as many calls as the certified answer that needed the most of them in this run, at this run's mean price.";

/// The estimate for certifying the answers that were certified; none if there are none.
pub(crate) fn uniform(
    answers: &[Answer],
    verifiers: &[VerifierData],
    spent: f64,
) -> Option<Uniform> {
    let certified = || answers.iter().filter(|answer| answer.status == Status::Certified);
    certified().next()?;
    let calls_per_answer: Vec<u64> = (0..verifiers.len())
        .map(|index| certified().map(|answer| answer.evidence[index].calls).max().unwrap_or(0))
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let cost = calls_per_answer
        .iter()
        .zip(verifiers)
        .map(|(&calls, verifier)| {
            calls as f64 * answers.len() as f64 * verifier.mean_price.unwrap_or(verifier.ceiling)
        })
        .sum();
    let times = (spent > 0.0).then_some(cost / spent);
    Some(Uniform { cost, times, calls_per_answer, rule: RULE })
}
