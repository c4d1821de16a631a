//! `lucb-g`: LUCB for good arms, Kano et al. (2019), for several attributes.
//!
//! As [`super::hdoc`], with the radius of the identification bound in place of √(log t/(2N)):
//! σ√(2 log(4 D N²/δ)/N), D the number of pairs (σ = ½ and one attribute give the original).

use crate::books::Books;
use crate::num::real_size;
use crate::policy::Policy;
use crate::policy::hdoc::weakest;
use crate::policy::ranking::{ArmIndex, Ranking, Rating};
use crate::units::ArmId;

/// LUCB-G.
pub(crate) fn lucb_g() -> impl Policy + Send {
    Ranking::new(UpperBound)
}

#[derive(Clone, Debug)]
struct UpperBound;

impl ArmIndex for UpperBound {
    const NAME: &'static str = "lucb-g";
    const BRANCH: &'static str = "ucb";

    fn rate(&mut self, books: &Books, arm: ArmId) -> Option<Rating> {
        let problem = books.problem();
        let scale = 4.0 * real_size(problem.pair_count());
        let log_term = |count: f64| libm::log(scale * count * count) + problem.delta().ln_inverse();
        let (worth, attribute) = weakest(books, arm, log_term)?;
        // The counts in the bound include calls in flight, so each dispatch changes it.
        Some(Rating {
            key: (-worth).max(f64::MIN),
            attribute,
            key_per_call_in_flight: 0.0,
            calls_max: 1,
        })
    }
}
