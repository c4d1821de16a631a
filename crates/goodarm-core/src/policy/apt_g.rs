//! `apt-g`: anytime parameter-free thresholding for good arms, Kano et al. (2019), carried over
//! plainly.
//!
//! The unresolved pair whose side of its threshold is least clear is pulled: the smallest
//! √N |μ̂ - ξ|/σ. Costs play no part.

use crate::books::{ArmStatus, Books, Change};
use crate::min_tree::Key;
use crate::num::real;
use crate::policy::least::{Least, Measure};
use crate::policy::{Choice, Policy, noise};
use crate::units::{ArmId, AttributeId};

/// APT-G.
#[derive(Clone, Debug)]
pub struct AptG {
    least: Least<Clarity>,
}

impl AptG {
    /// It has nothing to set.
    pub fn new() -> Self {
        Self { least: Least::new(true) }
    }
}

/// √N |μ̂ - ξ|/σ.
#[derive(Clone, Debug)]
struct Clarity;

impl Measure for Clarity {
    type Key = f64;
    const KEYED_BY_ANSWERS: bool = true;

    fn key(books: &Books, arm: ArmId, attribute: AttributeId) -> f64 {
        if books.status(arm) == ArmStatus::Rejected {
            return f64::ABSENT;
        }
        let declared = books.problem().attribute(attribute);
        let tally = books.tally(arm, attribute);
        let distance = libm::fabs(tally.mean() - declared.threshold());
        libm::sqrt(real(tally.dispatched_count)) * distance / noise(declared)
    }
}

impl Default for AptG {
    fn default() -> Self {
        Self::new()
    }
}

impl Policy for AptG {
    fn name(&self) -> &'static str {
        "apt-g"
    }

    fn begin(&mut self, books: &Books) {
        self.least.begin(books);
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let (_, arm, attribute) = self.least.find(books)?;
        Some(Choice::pair(arm, attribute, "least-clear"))
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        self.least.on_change(books, change);
    }
}
