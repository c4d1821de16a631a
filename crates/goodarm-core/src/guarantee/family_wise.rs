//! P(any certificate is wrong) ≤ δ, by a plain union over arms or by stepping down (count-Holm).
//!
//! Arm q with prior weight v is certified when every ln E ≥ ln((V - V_certified)/(v δ)), V the sum
//! of all weights; the plain union never subtracts. Why stepping down is allowed: with probability
//! 1 - δ no bad arm's evidence ever reaches V_bad/(v δ); on that event all arms certified before
//! the first wrong one are good, so that V - V_certified ≥ V_bad, a contradiction. Arms that merely
//! look bad are never subtracted; arms that an exact verifier failed are, since the bad arms which
//! pass every exact verifier are a fixed set that they are not in.

use alloc::vec::Vec;

use crate::min_tree::{Key, MinTree};
use crate::num::real_size;
use crate::problem::Problem;
use crate::units::ArmId;

#[derive(Clone, Debug)]
pub(crate) struct FamilyWise {
    steps_down: bool,
    weights: Option<Vec<f64>>,
    log_inverse_delta: f64,
    /// V less what has been certified or exactly failed.
    weight_left: f64,
    log_weight_left: f64,
    /// Minus (evidence + ln v) of the arms not yet certified that could ever be.
    standing: MinTree<f64>,
}

impl FamilyWise {
    pub(crate) fn new(problem: &Problem, steps_down: bool) -> Self {
        let weights = problem.prior_weights().map(<[f64]>::to_vec);
        let weight_left = match &weights {
            Some(weights) => weights.iter().sum::<f64>() * ROUND_UP,
            None => real_size(problem.arm_count()),
        };
        Self {
            steps_down,
            weights,
            log_inverse_delta: problem.delta().ln_inverse(),
            weight_left,
            log_weight_left: libm::log(weight_left),
            standing: MinTree::new(problem.arm_count(), f64::ABSENT),
        }
    }

    // ln((V - V_certified)/(v δ))
    pub(crate) fn level(&self, arm: ArmId) -> f64 {
        self.level_over_weight() - self.log_weight(arm)
    }

    pub(crate) fn update(&mut self, arm: ArmId, evidence: f64) -> Vec<ArmId> {
        // No level ever falls below ln(1/δ), so weaker evidence need not be sorted in.
        if evidence < self.log_inverse_delta {
            return Vec::new();
        }
        self.standing.set(arm.index(), -(evidence + self.log_weight(arm)));
        self.certify_all()
    }

    pub(crate) fn exclude_exactly_bad(&mut self, arm: ArmId) -> Vec<ArmId> {
        self.standing.set(arm.index(), f64::ABSENT);
        self.subtract(arm);
        self.certify_all()
    }

    /// One arm at a time, since each certificate may lower the level for the next.
    fn certify_all(&mut self) -> Vec<ArmId> {
        let mut certified = Vec::new();
        while let Some(index) = self.standing.argmin() {
            if -self.standing.key(index) < self.level_over_weight() {
                break;
            }
            let arm = ArmId::at(index);
            self.standing.set(index, f64::ABSENT);
            self.subtract(arm);
            certified.push(arm);
        }
        certified
    }

    fn subtract(&mut self, arm: ArmId) {
        if !self.steps_down {
            return;
        }
        self.weight_left = match &self.weights {
            // Rounding must not make the level lower than it is.
            Some(weights) => (self.weight_left - weights[arm.index()]) * ROUND_UP,
            None => self.weight_left - 1.0,
        };
        self.log_weight_left = libm::log(self.weight_left.max(f64::MIN_POSITIVE));
    }

    fn level_over_weight(&self) -> f64 {
        self.log_weight_left + self.log_inverse_delta
    }

    fn log_weight(&self, arm: ArmId) -> f64 {
        self.weights.as_ref().map_or(0.0, |weights| libm::log(weights[arm.index()]))
    }
}

const ROUND_UP: f64 = 1.0 + 1e-12;
