//! P(any certificate is wrong) ≤ δ, by a plain union over arms or by stepping down (count-Holm).
//!
//! Arm q with prior weight v is certified when every ln E ≥ ln((V - V_certified)/(v δ)), V the sum
//! of all weights; the plain union never subtracts. Why stepping down is allowed: with probability
//! 1 - δ no bad arm's evidence ever reaches V_bad/(v δ); on that event all arms certified before
//! the first wrong one are good, so that V - V_certified ≥ V_bad, a contradiction. Arms that merely
//! look bad are never subtracted; arms that an exact verifier failed are, since the bad arms which
//! pass every exact verifier are a fixed set that they are not in.

use alloc::vec;
use alloc::vec::Vec;

use crate::guarantee::Certificate;
use crate::min_tree::{MinTree, TreeKey};
use crate::num::real_size;
use crate::problem::Problem;
use crate::units::ArmId;

#[derive(Clone, Debug)]
pub(crate) struct FamilyWise {
    steps_down: bool,
    weights: Option<Vec<f64>>,
    log_inverse_delta: f64,
    left: WeightLeft,
    log_weight_left: f64,
    /// Minus (evidence + ln v) of the arms not yet certified that could ever be.
    standing: MinTree<f64>,
}

impl FamilyWise {
    pub(crate) fn new(problem: &Problem, steps_down: bool) -> Self {
        let weights = problem.prior_weights().map(<[f64]>::to_vec);
        let left = match &weights {
            Some(weights) => WeightLeft::of(weights),
            None => WeightLeft::Count(problem.arm_count()),
        };
        Self {
            steps_down,
            weights,
            log_inverse_delta: problem.delta().ln_inverse(),
            log_weight_left: libm::log(left.total()),
            left,
            standing: MinTree::new(problem.arm_count(), f64::ABSENT),
        }
    }

    // ln((V - V_certified)/(v δ)), where v is never more than what is left
    pub(crate) fn level(&self, arm: ArmId) -> f64 {
        (self.level_over_weight() - self.log_weight(arm)).max(self.log_inverse_delta)
    }

    pub(crate) fn update(&mut self, arm: ArmId, evidence: f64) -> Vec<Certificate> {
        // No level ever falls below ln(1/δ), so weaker evidence need not be sorted in.
        if evidence < self.log_inverse_delta {
            return Vec::new();
        }
        self.standing.set(arm.index(), -(evidence + self.log_weight(arm)));
        self.certify_all()
    }

    pub(crate) fn exclude_exactly_bad(&mut self, arm: ArmId) -> Vec<Certificate> {
        self.standing.set(arm.index(), f64::ABSENT);
        self.subtract(arm);
        self.certify_all()
    }

    /// One arm at a time, since each certificate may lower the level for the next.
    fn certify_all(&mut self) -> Vec<Certificate> {
        let mut certified = Vec::new();
        while let Some(index) = self.standing.argmin() {
            if -self.standing.key(index) < self.level_over_weight() {
                break;
            }
            let arm = ArmId::at(index);
            certified.push(Certificate { arm, level: self.level(arm) });
            self.standing.set(index, f64::ABSENT);
            self.subtract(arm);
        }
        certified
    }

    fn subtract(&mut self, arm: ArmId) {
        if !self.steps_down {
            return;
        }
        self.left.subtract(arm.index());
        self.log_weight_left = libm::log(self.left.total().max(f64::MIN_POSITIVE));
    }

    fn level_over_weight(&self) -> f64 {
        self.log_weight_left + self.log_inverse_delta
    }

    fn log_weight(&self, arm: ArmId) -> f64 {
        self.weights.as_ref().map_or(0.0, |weights| libm::log(weights[arm.index()]))
    }
}

/// V less what has been certified or exactly failed. Nothing is subtracted from a sum, where a large
/// weight would take the digits of the small ones with it: what is left is added up.
#[derive(Clone, Debug)]
enum WeightLeft {
    /// All weights are 1.
    Count(usize),
    /// A tree of sums: the root first, node n above nodes 2n and 2n + 1, the weights last.
    Sums(Vec<f64>),
}

impl WeightLeft {
    fn of(weights: &[f64]) -> Self {
        let width = weights.len().next_power_of_two();
        let mut sums = vec![0.0; 2 * width];
        sums[width..width + weights.len()].copy_from_slice(weights);
        for node in (1..width).rev() {
            sums[node] = sums[2 * node] + sums[2 * node + 1];
        }
        Self::Sums(sums)
    }

    fn subtract(&mut self, index: usize) {
        match self {
            Self::Count(count) => *count -= 1,
            Self::Sums(sums) => {
                let mut node = sums.len() / 2 + index;
                sums[node] = 0.0;
                while node > 1 {
                    node /= 2;
                    sums[node] = sums[2 * node] + sums[2 * node + 1];
                }
            }
        }
    }

    /// Rounding must not make it less than it is.
    fn total(&self) -> f64 {
        match self {
            Self::Count(count) => real_size(*count),
            Self::Sums(sums) => sums[1] * ROUND_UP,
        }
    }
}

/// Far above the rounding of a sum of sums.
const ROUND_UP: f64 = 1.0 + 1e-12;
