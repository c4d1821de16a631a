//! `hdoc`: the hybrid algorithm for the "dilemma of confidence" by Kano et al. (2019), for several attributes.
//!
//! In the original, with one attribute, the arm with the largest upper confidence bound μ̂ + √(log t/(2N)) is
//! pulled. Here an arm is worth what its weakest unresolved attribute is worth, max over arms of min over
//! unresolved attributes of μ̂ + σ√(2 log t/N) - ξ (σ = ½ gives the original), and that attribute is pulled. Pairs
//! never pulled come first. Costs play no part. The bounds of all arms move with t, so this baseline scans all
//! pairs for each pull.

use crate::books::{ArmStatus, Books};
use crate::num::real;
use crate::policy::{Choice, Policy, may_resolve, noise};
use crate::units::{ArmId, AttributeId};

/// HDoC.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hdoc;

impl Policy for Hdoc {
    fn name(&self) -> &'static str {
        "hdoc"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let log_time = libm::log(real(books.observation_count()).max(1.0));
        let mut best: Option<(f64, Choice)> = None;
        for arm in books.problem().arms().filter(|&arm| books.is_active(arm)) {
            let Some((worth, attribute)) = weakest(books, arm, |_| log_time) else { continue };
            if best.is_none_or(|(most, _)| worth > most) {
                best = Some((worth, Choice::pair(arm, attribute, "ucb")));
            }
        }
        best.map(|(_, choice)| choice)
    }
}

/// The unresolved attribute of an arm with the least worth μ̂ + σ√(2 log/N) - ξ, and its worth; ∞ and the first
/// attribute that was never pulled, if there is one.
pub(super) fn weakest(
    books: &Books,
    arm: ArmId,
    log_term: impl Fn(f64) -> f64,
) -> Option<(f64, AttributeId)> {
    if books.status(arm) == ArmStatus::Rejected {
        return None;
    }
    let mut weakest: Option<(f64, AttributeId)> = None;
    for attribute in books.problem().attributes() {
        if !may_resolve(books, arm, attribute) {
            continue;
        }
        let tally = books.tally(arm, attribute);
        if tally.dispatched_count == 0 {
            return Some((f64::INFINITY, attribute));
        }
        let declared = books.problem().attribute(attribute);
        let count = real(tally.dispatched_count);
        let radius = noise(declared) * libm::sqrt(2.0 * log_term(count) / count);
        let worth = tally.mean() + radius - declared.threshold;
        if weakest.is_none_or(|(least, _)| worth < least) {
            weakest = Some((worth, attribute));
        }
    }
    weakest
}
