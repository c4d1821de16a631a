//! The cost of checking every answer alike: an estimate, and its rule.

use goodarm_core::{AttributeId, Books, Cost};
use serde::Serialize;

use super::VerifierView;

/// What uniform checking would have cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UniformCost {
    /// The estimate, in the run's unit.
    pub cost: f64,
    /// The estimate as a multiple of this run's spend.
    pub times: Option<f64>,
    /// For each verifier, the number of calls that every answer would get.
    pub calls_per_answer: Vec<u64>,
    /// How the estimate is made.
    pub rule: &'static str,
}

/// How the estimate is made.
const RULE: &str = "An estimate. Uniform checking does not know which answers need many calls. So every answer gets, from each verifier, as many calls as the certified answer that needed the most in this run, at this run's mean price.";

/// How the estimate is made where answers belong to questions.
const RULE_OF_QUESTIONS: &str = "An estimate. Uniform checking does not know which questions need many calls. So every question gets, from each verifier that solves it, as many calls as the certified answer that needed the most in this run, and every answer that was tried gets as many from each other verifier, at this run's mean price. Generating the answers costs what it cost here.";

/// The estimate, from the calls that certified answers needed; `None` without certificates.
pub(super) fn uniform(books: &Books, verifiers: &[VerifierView]) -> Option<UniformCost> {
    let certified = books.certified();
    if certified.is_empty() {
        return None;
    }
    let calls = |attribute: AttributeId| {
        let count = |&arm| books.tally(arm, attribute).returned_count;
        certified.iter().map(count).max().unwrap_or(0)
    };
    let problem = books.problem();
    let question_count = problem.questions().map_or(0, |questions| questions.count());
    let questions = problem.questions().into_iter().flat_map(|questions| questions.ids());
    let made = questions.map(|question| books.question(question).spent_on_answers);
    let made = made.fold(Cost::ZERO, Cost::saturating_add);
    let rule = if problem.questions().is_some() { RULE_OF_QUESTIONS } else { RULE };
    let calls_per_answer: Vec<u64> = problem.attributes().map(calls).collect();
    // A call that scores several criteria is paid once.
    let paid = calls_per_answer.iter().zip(verifiers);
    let paid = paid.filter(|(_, verifier)| verifier.paid_with.is_none());
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let cost = paid
        .map(|(&calls, verifier)| {
            let price = verifier.mean_price.unwrap_or(verifier.ceiling.units());
            // A vote is about all answers to a question at once.
            let about = if verifier.votes { question_count } else { problem.arm_count() };
            calls as f64 * about as f64 * price
        })
        .sum::<f64>()
        + made.units();
    let spent = books.ledger().settled().units();
    let times = (spent > 0.0).then_some(cost / spent);
    Some(UniformCost { cost, times, calls_per_answer, rule })
}
