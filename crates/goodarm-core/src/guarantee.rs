//! From the evidence of pairs to certified arms: how the error probability is shared.
//!
//! An arm must pass every attribute, so its evidence is the smallest evidence of its attributes. A bad arm fails at
//! least one attribute, and the smallest evidence is at most the evidence of that one. Nothing here depends on
//! policies.

pub(crate) mod false_discovery;
pub(crate) mod family_wise;
pub(crate) mod lending;
pub(crate) mod per_question;

use alloc::vec;
use alloc::vec::Vec;

use crate::guarantee::false_discovery::FalseDiscovery;
use crate::guarantee::family_wise::FamilyWise;
use crate::guarantee::lending::Lending;
use crate::num::real_size;
use crate::problem::{Guarantee, Problem};
use crate::units::{ArmId, AttributeId};

/// An arm that is certified, and the level that its evidence had to reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Certificate {
    pub(crate) arm: ArmId,
    pub(crate) level: f64,
}

/// Decides which arms are certified.
#[derive(Clone, Debug)]
pub(crate) enum Certifier {
    /// One level for all arms and at all times; infinite if nothing is certified.
    Constant(f64),
    FamilyWise(FamilyWise),
    Lent(Lending),
    FalseDiscovery(FalseDiscovery),
}

impl Certifier {
    pub(crate) fn new(problem: &Problem) -> Self {
        match problem.guarantee() {
            // The rule is L ≥ ξ for every attribute; the radius contains the correction for many pairs.
            Guarantee::Paper => Self::Constant(0.0),
            Guarantee::Union if let Some(questions) = problem.questions() => {
                Self::Constant(per_question::level(problem, questions))
            }
            Guarantee::Union => Self::FamilyWise(FamilyWise::new(problem, false)),
            Guarantee::Holm => Self::FamilyWise(FamilyWise::new(problem, true)),
            Guarantee::Lent => Self::Lent(Lending::new(problem)),
            Guarantee::FalseDiscovery => Self::FalseDiscovery(FalseDiscovery::new(problem)),
            Guarantee::Nothing => Self::Constant(f64::INFINITY),
        }
    }

    /// Takes an arm's new evidence (ln of the smallest e-value of its attributes; for the paper,
    /// the smallest L - ξ) and returns the certificates that follow, in order.
    pub(crate) fn update(&mut self, arm: ArmId, evidence: f64) -> Vec<Certificate> {
        match self {
            Self::Constant(level) if evidence >= *level && *level < f64::INFINITY => {
                vec![Certificate { arm, level: *level }]
            }
            Self::Constant(_) => Vec::new(),
            Self::FamilyWise(family) => family.update(arm, evidence),
            Self::Lent(lending) => lending.update(arm, evidence),
            Self::FalseDiscovery(discovery) => discovery.update(arm, evidence),
        }
    }

    /// An exact attribute has shown that the arm is bad: it can never be certified, so the others need not share δ
    /// with it. Returns the certificates that follow.
    pub(crate) fn exclude_exactly_bad(&mut self, arm: ArmId) -> Vec<Certificate> {
        match self {
            Self::FamilyWise(family) => family.exclude_exactly_bad(arm),
            Self::Lent(lending) => {
                lending.exclude_exactly_bad(arm);
                Vec::new()
            }
            Self::Constant(_) | Self::FalseDiscovery(_) => Vec::new(),
        }
    }

    /// An arm takes no more pulls.
    pub(crate) fn leave(&mut self, arm: ArmId) {
        if let Self::Lent(lending) = self {
            lending.leave(arm);
        }
    }

    /// Adds arms. Called only where shares of δ are lent, answers share a question, or nothing is certified.
    pub(crate) fn add_arms(&mut self, count: usize) {
        if let Self::Lent(lending) = self {
            lending.add_arms(count);
        }
    }

    pub(crate) const fn lending(&self) -> Option<&Lending> {
        match self {
            Self::Lent(lending) => Some(lending),
            _ => None,
        }
    }

    pub(crate) const fn lending_mut(&mut self) -> Option<&mut Lending> {
        match self {
            Self::Lent(lending) => Some(lending),
            _ => None,
        }
    }

    /// The level that ln E of every attribute of the arm must reach now; for the paper, the level of L - ξ, which
    /// is 0.
    pub(crate) fn level(&self, arm: ArmId) -> f64 {
        match self {
            Self::Constant(level) => *level,
            Self::FamilyWise(family) => family.level(),
            Self::Lent(lending) => lending.level(arm),
            Self::FalseDiscovery(discovery) => discovery.level(),
        }
    }
}

/// The level that ln of the evidence against one attribute must reach for an arm to be rejected: with
/// probability 1 - δ no good arm is rejected, over all attributes and all arms of the start. Arms that are added
/// share another δ.
#[derive(Clone, Debug)]
pub(crate) struct RejectionLevel {
    first_arm_count: usize,
    level: f64,
    /// For each attribute: the one level for all answers, if its calls are votes.
    of_votes: Vec<Option<f64>>,
}

impl RejectionLevel {
    pub(crate) fn new(problem: &Problem) -> Self {
        let first_arm_count = match problem.questions() {
            Some(questions) => problem.arm_count().max(questions.count()),
            None => problem.arm_count(),
        };
        let pair_count = first_arm_count * problem.attribute_count();
        let level = match problem.guarantee() {
            // The paper's radius contains the correction for many pairs.
            Guarantee::Paper => 0.0,
            _ => libm::log(real_size(pair_count)) + problem.delta().ln_inverse(),
        };
        // All votes count against an answer, including those before it was proposed. So the union is over the good
        // answers, at most 1/ξ for each question.
        let of_votes = |attribute| {
            let threshold = problem.attribute(attribute).threshold;
            problem.are_votes(attribute).then(|| level - libm::log(threshold))
        };
        Self { first_arm_count, level, of_votes: problem.attributes().map(of_votes).collect() }
    }

    /// The rejection level of a pair. All arms q ≥ Q that are added share another δ: Σ Q/(q(q + 1)) over q ≥ Q is
    /// 1.
    pub(crate) fn of(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        if let Some(level) = self.of_votes[attribute.index()] {
            return level;
        }
        if arm.index() < self.first_arm_count {
            return self.level;
        }
        let (first, number) = (real_size(self.first_arm_count), real_size(arm.index()));
        self.level + 2.0 * libm::log((number + 1.0) / first)
    }
}
