//! `lucb-g`: LUCB for good arms, Kano et al. (2019), carried over plainly.
//!
//! As [`super::hdoc`], with the radius of the identification bound in place of √(log t/(2N)):
//! σ√(2 log(4 D N²/δ)/N), D the number of pairs (σ = ½ and one attribute give the original).

use crate::books::{ArmStatus, Books, Change};
use crate::num::{real, real_size};
use crate::policy::ranking::{Ranking, Rating, Rule};
use crate::policy::{Choice, Policy, noise};
use crate::units::{ArmId, AttributeId};

/// LUCB-G.
#[derive(Clone, Debug)]
pub struct LucbG {
    ranking: Ranking<UpperBound>,
}

#[derive(Clone, Debug)]
struct UpperBound;

impl LucbG {
    /// It has nothing to set.
    pub fn new() -> Self {
        Self { ranking: Ranking::new(UpperBound) }
    }
}

impl Default for LucbG {
    fn default() -> Self {
        Self::new()
    }
}

impl Rule for UpperBound {
    fn rate(&mut self, books: &Books, arm: ArmId) -> Option<Rating> {
        if books.status(arm) == ArmStatus::Rejected {
            return None;
        }
        let problem = books.problem();
        let scale = 4.0 * real_size(problem.pair_count());
        let mut weakest: Option<Rating> = None;
        for attribute in problem.attributes() {
            if !books.is_open(arm, attribute)
                || !books.is_affordable(attribute)
                || books.lane_of(attribute).is_held()
                || books.is_resolved(arm, attribute)
            {
                continue;
            }
            let declared = problem.attribute(attribute);
            let tally = books.tally(arm, attribute);
            let count = real(tally.dispatched_count);
            if tally.dispatched_count == 0 {
                return Some(rating(f64::MIN, attribute));
            }
            let log_term = libm::log(scale * count * count) + problem.delta().ln_inverse();
            let radius = noise(declared) * libm::sqrt(2.0 * log_term / count);
            let key = -(tally.mean() + radius - declared.threshold());
            if weakest.is_none_or(|weakest| key > weakest.key) {
                weakest = Some(rating(key, attribute));
            }
        }
        weakest
    }
}

/// The counts in the bound include calls in flight, so each dispatch changes it.
const fn rating(key: f64, attribute: AttributeId) -> Rating {
    Rating { key, attribute, key_per_call_in_flight: 0.0, calls_max: 1 }
}

impl Policy for LucbG {
    fn name(&self) -> &'static str {
        "lucb-g"
    }

    fn begin(&mut self, books: &Books) {
        self.ranking.begin(books);
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let (arm, attribute) = self.ranking.best(books)?;
        Some(Choice::pair(arm, attribute, "ucb"))
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        self.ranking.on_change(books, change);
    }
}
