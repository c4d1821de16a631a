//! `apt-g`: anytime parameter-free thresholding for good arms, Kano et al. (2019), for several attributes.
//!
//! The unresolved pair whose side of its threshold is least clear is pulled: the smallest
//! √N |μ̂ - ξ|/σ. Costs play no part.

use crate::books::{ArmStatus, Books};
use crate::min_tree::TreeKey;
use crate::num::real;
use crate::policy::least::{Least, Measure};
use crate::policy::noise;
use crate::units::{ArmId, AttributeId};

/// APT-G. It must be created with `unresolved_only`.
pub(crate) type AptG = Least<Clarity>;

/// √N |μ̂ - ξ|/σ.
#[derive(Clone, Debug)]
pub(crate) struct Clarity;

impl Measure for Clarity {
    type Key = f64;
    const NAME: &'static str = "apt-g";
    const BRANCH: &'static str = "least-clear";
    const KEYED_BY_ANSWERS: bool = true;

    fn key(books: &Books, arm: ArmId, attribute: AttributeId) -> f64 {
        if books.status(arm) == ArmStatus::Rejected {
            return f64::ABSENT;
        }
        let declared = books.problem().attribute(attribute);
        let tally = books.tally(arm, attribute);
        let distance = libm::fabs(tally.mean() - declared.threshold);
        libm::sqrt(real(tally.dispatched_count)) * distance / noise(declared)
    }
}
