//! P(any certificate is wrong) ≤ δ, by a plain union over arms or by stepping down (count-Holm).
//!
//! An arm is certified when every ln E ≥ ln((Q - certified)/δ); the plain union never subtracts. Why stepping down
//! is allowed: with probability 1 - δ no bad arm's evidence ever reaches Q_bad/δ; on that event all arms certified
//! before the first wrong one are good, so that Q - certified ≥ Q_bad, a contradiction. Arms that merely look bad
//! are never subtracted. Arms that an exact verifier failed are: the bad arms that pass every exact verifier are a
//! fixed set, and these arms are not in it.

use alloc::vec::Vec;

use crate::guarantee::Certificate;
use crate::min_tree::{MinTree, TreeKey};
use crate::num::real_size;
use crate::problem::Problem;
use crate::units::ArmId;

#[derive(Clone, Debug)]
pub(crate) struct FamilyWise {
    steps_down: bool,
    log_inverse_delta: f64,
    /// The arms that share δ.
    left_count: usize,
    level: f64,
    /// Minus the evidence of the arms that are neither certified nor excluded; absent until it reaches ln(1/δ).
    standing: MinTree<f64>,
}

impl FamilyWise {
    pub(crate) fn new(problem: &Problem, steps_down: bool) -> Self {
        let log_inverse_delta = problem.delta().ln_inverse();
        let left_count = problem.arm_count();
        Self {
            steps_down,
            log_inverse_delta,
            left_count,
            level: level(left_count, log_inverse_delta),
            standing: MinTree::new(left_count, f64::ABSENT),
        }
    }

    // ln((Q - certified)/δ), the same for all arms
    pub(crate) const fn level(&self) -> f64 {
        self.level
    }

    pub(crate) fn update(&mut self, arm: ArmId, evidence: f64) -> Vec<Certificate> {
        // No level ever falls below ln(1/δ), so weaker evidence need not be stored.
        if evidence < self.log_inverse_delta {
            return Vec::new();
        }
        self.standing.set(arm.index(), -evidence);
        self.certify_all()
    }

    pub(crate) fn exclude_exactly_bad(&mut self, arm: ArmId) -> Vec<Certificate> {
        self.standing.set(arm.index(), f64::ABSENT);
        self.subtract();
        self.certify_all()
    }

    /// One arm at a time, since each certificate may lower the level for the next.
    fn certify_all(&mut self) -> Vec<Certificate> {
        let mut certified = Vec::new();
        while let Some(index) = self.standing.argmin() {
            if -self.standing.key(index) < self.level {
                break;
            }
            certified.push(Certificate { arm: ArmId::at(index), level: self.level });
            self.standing.set(index, f64::ABSENT);
            self.subtract();
        }
        certified
    }

    fn subtract(&mut self) {
        if self.steps_down {
            self.left_count -= 1;
            self.level = level(self.left_count, self.log_inverse_delta);
        }
    }
}

fn level(left_count: usize, log_inverse_delta: f64) -> f64 {
    libm::log(real_size(left_count.max(1))) + log_inverse_delta
}
