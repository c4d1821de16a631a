//! `oracle`: with the true means it certifies the good arms, the cheapest first. No real policy can do
//! that; it shows the cost of discovering the means.

use alloc::vec::Vec;

use crate::books::Books;
use crate::num::real;
use crate::policy::ranking::{ArmIndex, Ranking, Rating};
use crate::policy::{Choice, Policy, noise};
use crate::problem::ScoreModel;
use crate::units::{ArmId, AttributeId, Share};

/// The oracle with `means[arm][attribute]`; a mean that is missing counts as bad.
pub(crate) fn oracle(means: Vec<Vec<f64>>) -> impl Policy + Send {
    Ranking::new(KnownCost { means })
}

#[derive(Clone, Debug)]
struct KnownCost {
    means: Vec<Vec<f64>>,
}

impl KnownCost {
    fn gap(&self, books: &Books, arm: ArmId, attribute: AttributeId) -> f64 {
        let mean = self.means.get(arm.index()).and_then(|row| row.get(attribute.index()));
        mean.map_or(f64::NEG_INFINITY, |mean| mean - books.problem().attribute(attribute).threshold)
    }
}

impl ArmIndex for KnownCost {
    const NAME: &'static str = "oracle";
    const BRANCH: &'static str = "cheapest-good";

    // Σ c/growth(gap): h_q for sub-Gaussian scores with σ = 1, as in the paper
    fn rate(&mut self, books: &Books, arm: ArmId) -> Option<Rating> {
        let mut cost = 0.0;
        let mut next = None;
        for attribute in books.problem().attributes() {
            let gap = self.gap(books, arm, attribute);
            let declared = books.problem().attribute(attribute);
            let exact = declared.is_exact();
            if gap < 0.0 || (gap <= 0.0 && !exact) {
                return None;
            }
            let growth = if exact { 1.0 } else { growth(declared, gap) };
            cost += declared.price.units() / growth;
            if books.is_resolved(arm, attribute) {
                continue;
            }
            if !books.is_affordable(attribute) || !books.is_open(arm, attribute) {
                return None;
            }
            let tally = books.tally(arm, attribute);
            let ahead = real(tally.dispatched_count - books.evidence_count(arm, attribute));
            let needed = (books.level(arm, attribute) - books.evidence(arm, attribute)) / growth;
            // The calls in flight will probably be enough; another attribute may need some.
            if (ahead == 0.0 || ahead < needed) && !books.lane_of(attribute).is_held() {
                next = next.or(Some(attribute));
            }
        }
        next.map(|attribute| Rating {
            key: cost,
            attribute,
            key_per_call_in_flight: 0.0,
            calls_max: 1,
        })
    }

    /// The oracle pulls only good arms, whose shares come back, so it lends most of the pool at once.
    fn lend(&mut self, books: &Books, _: Choice) -> Option<Share> {
        let share = Share::of(LENT_PART * books.pool()?.fraction());
        (share > Share::NONE).then_some(share)
    }
}

/// Evidence for each score, on average.
fn growth(declared: &crate::problem::Attribute, gap: f64) -> f64 {
    match declared.scores {
        ScoreModel::Binary => {
            let (threshold, mean) = (declared.threshold, declared.threshold + gap);
            let rest = if mean < 1.0 {
                (1.0 - mean) * libm::log((1.0 - mean) / (1.0 - threshold))
            } else {
                0.0
            };
            mean * libm::log(mean / threshold) + rest
        }
        _ => gap * gap / (2.0 * noise(declared) * noise(declared)),
    }
}

const LENT_PART: f64 = 0.9;
