//! Methods, settings and results of trials: a trial is one session in one instance.

use std::collections::BTreeMap;

use goodarm_core::policy::{NAMES, Parameters, PolicyError, by_name};
use goodarm_core::{
    ArmId, AttributeSpec, Call, Design, Guarantee, Options, Policy, Problem, ProblemSpec, Session,
    SpecError, StopReason,
};

use crate::labels::LabelResult;

/// A policy with its guarantee and settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// Its name in figures.
    pub name: String,
    /// One of `goodarm_core::policy::NAMES`.
    pub policy: String,
    /// The guarantee.
    pub guarantee: Guarantee,
    /// Settings of the policy; the means for the oracle are filled in.
    pub parameters: Parameters,
    /// Settings of the session.
    pub options: Options,
    /// The share of the budget at first. The rest is added when the session has ended, as if the user
    /// raised the budget.
    pub raised_at: Option<f64>,
}

impl Method {
    /// Makes the policy; the oracle gets the means.
    pub(crate) fn policy(
        &self,
        seed: u64,
        means: Option<Vec<Vec<f64>>>,
    ) -> Result<Box<dyn Policy + Send>, TrialError> {
        let parameters = Parameters { seed, means, ..self.parameters.clone() };
        by_name(&self.policy, &parameters)
            .map_err(|reason| TrialError::Policy(self.policy.clone(), reason))
    }

    /// The problem of a trial.
    pub(crate) fn problem(
        &self,
        settings: TrialSettings,
        attributes: &[AttributeSpec],
        arms: usize,
        design: Design,
    ) -> Result<Problem, TrialError> {
        let TrialSettings { budget, delta, .. } = settings;
        let (attributes, guarantee) = (attributes.to_vec(), self.guarantee);
        let spec = ProblemSpec { arms, attributes, budget, delta, guarantee, prior_weights: None };
        Ok(Problem::designed(spec, design)?)
    }

    /// Opens a session.
    pub(crate) fn session(
        &self,
        problem: Problem,
        policy: Box<dyn Policy + Send>,
    ) -> Result<Session, TrialError> {
        Session::with_options(problem, policy, self.options).map_err(|reason| self.wrong(reason))
    }

    /// An error in the settings of this method.
    pub(crate) fn wrong(&self, reason: impl ToString) -> TrialError {
        TrialError::Method(self.name.clone(), reason.to_string())
    }
}

/// Records the spending at each certificate, and the branches that chose calls.
#[derive(Default)]
pub(crate) struct Watcher {
    pub(crate) costs: Vec<f64>,
    pub(crate) call_count: u64,
    pub(crate) branches: BTreeMap<&'static str, u64>,
}

impl Watcher {
    /// Records a settled call.
    pub(crate) fn watch(&mut self, session: &Session, call: &Call) {
        *self.branches.entry(call.branch).or_default() += 1;
        self.call_count += 1;
        self.note(session);
    }

    pub(crate) fn note(&mut self, session: &Session) {
        if self.costs.len() < session.certified().len() {
            let spent = session.books().ledger().settled().units();
            self.costs.resize(session.certified().len(), spent);
        }
    }
}

/// The settings of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialSettings {
    /// The budget.
    pub budget: f64,
    /// δ.
    pub delta: f64,
    /// Calls in flight at once.
    pub concurrency: usize,
    /// The seed of all draws, the same for all methods.
    pub seed: u64,
    /// Whether arms are shuffled, so that no method profits from their order.
    pub shuffled: bool,
    /// Whether to stop once every good arm is certified, which a real session could not know.
    pub until_all_good: bool,
    /// The number of calls after which the trial is stopped.
    pub calls_max: u64,
}

/// The result of a trial. Arms are numbered as in the instance, not as in the session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// Good arms in the instance.
    pub good_count: usize,
    /// Certified arms in order, with the spending at each certificate.
    pub certified: Vec<Certified>,
    /// Arms that ended as rejected.
    pub rejected_count: usize,
    /// The budget.
    pub budget: f64,
    /// The settled bills.
    pub spent: f64,
    /// Calls made: the stopping time.
    pub pull_count: u64,
    /// Why it ended; `None` if it was stopped after all good arms were certified, or at the limit of calls.
    pub reason: Option<StopReason>,
    /// `spent_on[type][attribute]`.
    pub spent_on: Vec<Vec<f64>>,
    /// The number of choices of each branch of the policy.
    pub branches: BTreeMap<&'static str, u64>,
    /// Claims from labels on the certified answers, if the experiment has any.
    pub labelled: Vec<LabelResult>,
}

/// One certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certified {
    /// The arm.
    pub arm: ArmId,
    /// Whether it is good.
    pub good: bool,
    /// Whether its answer is right, if that is known.
    pub right: Option<bool>,
    /// The spending so far.
    pub cost: f64,
}

impl Trial {
    /// The number of certified arms that are good.
    pub fn good(&self) -> usize {
        self.certified.iter().filter(|certified| certified.good).count()
    }

    /// Whether it was stopped at this number of calls.
    pub fn is_cut(&self, calls_max: u64) -> bool {
        self.reason.is_none() && self.pull_count >= calls_max
    }

    /// For each certified arm, whether its answer is known to be right.
    pub fn truth(&self) -> Vec<bool> {
        self.certified.iter().map(|certified| certified.right == Some(true)).collect()
    }

    /// The number of certified arms that are bad.
    pub fn bad(&self) -> usize {
        self.certified.len() - self.good()
    }
}

/// Why a trial cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// The problem is invalid.
    #[error(transparent)]
    Problem(#[from] SpecError),
    /// The name of a policy that is unknown or has wrong settings, and the reason.
    #[error("policy {0:?}: {1}; there are {names}", names = NAMES.join(", "))]
    Policy(String, PolicyError),
    /// The name of a method, and what is wrong with it.
    #[error("method {0}: {1}")]
    Method(String, String),
}
