//! Policies choose the next call. All of them are heuristics: a policy reads the [`Books`] and names a pair or a
//! question. It can waste money, but it can neither overspend nor make a certificate wrong.

pub mod bma_gai;
pub mod fixed;
pub mod rcb;

mod apt_g;
mod hdoc;
mod least;
mod lucb_g;
mod oracle;
mod ranking;
mod round_robin;
mod uniform;

use alloc::boxed::Box;
use alloc::vec::Vec;

use thiserror::Error;

use crate::books::{Books, Change};
use crate::call::Target;
use crate::problem::{Attribute, Guarantee, ScoreModel};
use crate::units::{ArmId, AttributeId, Share};

/// The next call that a policy wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Which arm to score by which attribute, or which question to ask. A vote may also be chosen for an arm: the
    /// call is then about the arm's question, and the arm may be lent a share of δ.
    pub target: Target,
    /// Which branch of the policy chose it; shown in traces.
    pub branch: &'static str,
}

impl Choice {
    /// The choice to score an arm by an attribute.
    pub const fn pair(arm: ArmId, attribute: AttributeId, branch: &'static str) -> Self {
        Self { target: Target::Arm(arm, attribute), branch }
    }

    /// The arm of the choice; `None` for a question.
    pub const fn arm(&self) -> Option<ArmId> {
        match self.target {
            Target::Arm(arm, _) => Some(arm),
            Target::Question(..) => None,
        }
    }
}

/// An allocation policy.
///
/// `choose` may be called any number of times without a call being dispatched (the session may have
/// to wait), so a policy counts calls in `on_change`.
pub trait Policy {
    /// Its name in files and reports.
    fn name(&self) -> &'static str;

    /// Called before anything else, and again when arms were added or a service was declared slow. The policy reads
    /// the books from scratch.
    fn begin(&mut self, _books: &Books) {}

    /// Chooses an open, affordable pair or question; `None` to wait for calls in flight, or to stop if there are
    /// none.
    fn choose(&mut self, books: &Books) -> Option<Choice>;

    /// The share of δ to lend to the arm of this choice before the call; only asked if shares are lent and the arm
    /// has none. Only calls after a loan can prove anything; with `None` the call is a look.
    ///
    /// By default every arm is lent an equal share at its first call.
    fn lend(&mut self, books: &Books, _choice: Choice) -> Option<Share> {
        books.lending()?.equal_share()
    }

    /// Called after every change, in order.
    fn on_change(&mut self, _books: &Books, _change: Change) {}

    /// Called for an answer that was made or proposed during the run: a new arm, the last.
    ///
    /// By default the policy begins again.
    fn on_birth(&mut self, books: &Books, _arm: ArmId) {
        self.begin(books);
    }
}

impl<P: Policy + Send + 'static> From<P> for Box<dyn Policy + Send> {
    fn from(policy: P) -> Self {
        Box::new(policy)
    }
}

/// The names that [`by_name`] knows, the default first.
pub const NAMES: [&str; 10] = [
    "rcb",
    "bma-gai",
    "cb-gai",
    "uniform",
    "round-robin",
    "hdoc",
    "lucb-g",
    "apt-g",
    "fixed",
    "oracle",
];

/// The default guarantee of a policy. Shares of δ are worth lending only if the policy chooses the arms
/// that get them. A policy that tries all arms would end with an equal share for each, which is
/// `Union`, and stepping down beats that. A fixed design is for a recording, which certifies nothing.
pub fn natural_guarantee(name: &str) -> Guarantee {
    match name {
        "rcb" | "oracle" => Guarantee::Lent,
        "fixed" => Guarantee::Nothing,
        _ => Guarantee::Holm,
    }
}

/// Parameters of the named policies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// The constant 8 of the paper's allocation intervals; `bma-gai` and `cb-gai` only.
    pub allocation_constant: Option<f64>,
    /// Explore only attributes that are not resolved; `bma-gai`, `cb-gai`, `uniform` and
    /// `round-robin`. The paper explores all.
    pub unresolved_only: bool,
    /// The seed of the random order in which arms with the same index are tried; `rcb` only.
    pub seed: u64,
    /// When a question gets another answer; `rcb` only.
    pub fresh: rcb::FreshRule,
    /// The number of calls of every pair, and of each solver and generator on every question; `fixed` only.
    /// `None` for as many as there is money for.
    pub calls_per_pair: Option<u64>,
    /// The true means, arm by arm; `oracle` only, which needs them.
    pub means: Option<Vec<Vec<f64>>>,
}

/// Why a policy cannot be made.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// Not one of [`NAMES`].
    #[error("there is no policy of that name")]
    Unknown,
    /// The allocation constant must be positive and finite.
    #[error("the allocation constant {0} is not a positive number")]
    AllocationConstant(f64),
    /// The oracle was not told the means.
    #[error("the oracle needs the true means")]
    MeansMissing,
}

/// Makes one of the built-in policies.
pub fn by_name(name: &str, parameters: &Parameters) -> Result<Box<dyn Policy + Send>, PolicyError> {
    let constant = parameters.allocation_constant.unwrap_or(bma_gai::ALLOCATION_CONSTANT);
    if !(constant > 0.0 && constant.is_finite()) {
        return Err(PolicyError::AllocationConstant(constant));
    }
    let unresolved_only = parameters.unresolved_only;
    let settings = bma_gai::BmaGaiSettings { allocation_constant: constant, unresolved_only };
    Ok(match name {
        "rcb" => Box::new(rcb::Rcb::with_fresh_rule(parameters.seed, parameters.fresh)),
        "bma-gai" => Box::new(bma_gai::BmaGai::new(settings)),
        "cb-gai" => Box::new(bma_gai::BmaGai::cost_blind(settings)),
        "uniform" => Box::new(uniform::Uniform::new(unresolved_only)),
        "round-robin" => Box::new(round_robin::RoundRobin::new(unresolved_only)),
        "hdoc" => Box::new(hdoc::Hdoc),
        "lucb-g" => Box::new(lucb_g::lucb_g()),
        "apt-g" => Box::new(apt_g::AptG::new(true)),
        "fixed" => Box::new(fixed::Fixed::new(parameters.calls_per_pair)),
        "oracle" => {
            let means = parameters.means.clone().ok_or(PolicyError::MeansMissing)?;
            Box::new(oracle::oracle(means))
        }
        _ => return Err(PolicyError::Unknown),
    })
}

/// Whether the attribute is in U_q ∩ M_t and can be pulled now: the pair is not closed (exact and asked, or
/// blocked), and its service is not at its limit.
fn may_resolve(books: &Books, arm: ArmId, attribute: AttributeId) -> bool {
    books.is_affordable(attribute)
        && !books.lane_of(attribute).is_held()
        && books.is_open(arm, attribute)
        && !books.is_resolved(arm, attribute)
}

/// σ of an attribute's scores; half of their range is enough.
fn noise(attribute: &Attribute) -> f64 {
    match attribute.scores {
        ScoreModel::SubGaussian { sigma, .. } => sigma,
        ScoreModel::Bounded { .. } | ScoreModel::Binary | ScoreModel::Exact => {
            0.5 * attribute.width()
        }
    }
}
