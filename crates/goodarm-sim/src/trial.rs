//! What one session in one instance is, and everything about it that a figure may ask for.

use std::collections::BTreeMap;

use goodarm_core::policy::{NAMES, Parameters, PolicyError, by_name};
use goodarm_core::{
    ArmId, AttributeSpec, Call, Design, Guarantee, Options, Policy, Problem, ProblemSpec, Session,
    SpecError, StopReason,
};

use crate::labels::LabelResult;

/// How an instance is worked on.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// What figures call it.
    pub name: String,
    /// One of `goodarm_core::policy::NAMES`.
    pub policy: String,
    /// What δ bounds, and with which evidence.
    pub guarantee: Guarantee,
    /// Settings of the policy; the oracle is given the means without asking.
    pub parameters: Parameters,
    /// Settings of the session.
    pub options: Options,
    /// The share of the budget that the session is given at first. It gets the rest when it has ended,
    /// as if its owner had thought again.
    pub raised_at: Option<f64>,
}

impl Method {
    /// Makes the policy; the oracle is given the means.
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

/// Notes what had been spent at each certificate, and which branches chose.
#[derive(Default)]
pub(crate) struct Watcher {
    pub(crate) costs: Vec<f64>,
    pub(crate) call_count: u64,
    pub(crate) branches: BTreeMap<&'static str, u64>,
}

impl Watcher {
    /// A call was settled.
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

/// The setting of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialSettings {
    /// What may be spent.
    pub budget: f64,
    /// δ.
    pub delta: f64,
    /// Calls in flight at once.
    pub concurrency: usize,
    /// Where all randomness comes from; the same for all methods.
    pub seed: u64,
    /// Whether arms are shuffled, so that no method profits from their order.
    pub shuffled: bool,
    /// Whether to stop once every good arm is certified, which no session could know.
    pub until_all_good: bool,
    /// It is cut off after so many calls, whatever may still be spent.
    pub calls_max: u64,
}

/// What became of it. Arms are those of the instance, whatever order the session saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// Good arms in the instance.
    pub good_count: usize,
    /// Certified arms and what had been spent when they were, in order.
    pub certified: Vec<Certified>,
    /// Arms that ended as rejected.
    pub rejected_count: usize,
    /// What might have been spent.
    pub budget: f64,
    /// The bill.
    pub spent: f64,
    /// Calls made: the stopping time.
    pub pull_count: u64,
    /// Why it ended; none if every good arm was certified and that was enough, or if it was cut off.
    pub reason: Option<StopReason>,
    /// `spent_on[type][attribute]`.
    pub spent_on: Vec<Vec<f64>>,
    /// How often each branch of the policy chose.
    pub branches: BTreeMap<&'static str, u64>,
    /// What labels on the certified answers claim, if the experiment has any.
    pub labelled: Vec<LabelResult>,
}

/// One certificate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certified {
    /// Which arm.
    pub arm: ArmId,
    /// Whether it is good.
    pub good: bool,
    /// Whether its answer is right, where that is known.
    pub right: Option<bool>,
    /// What had been spent.
    pub cost: f64,
}

impl Trial {
    /// Certified arms that are good.
    pub fn good(&self) -> usize {
        self.certified.iter().filter(|certified| certified.good).count()
    }

    /// Whether it was cut off after this many calls.
    pub fn is_cut(&self, calls_max: u64) -> bool {
        self.reason.is_none() && self.pull_count >= calls_max
    }

    /// Of each certified arm whether its answer is right; not where that is not known.
    pub fn truth(&self) -> Vec<bool> {
        self.certified.iter().map(|certified| certified.right == Some(true)).collect()
    }

    /// Certified arms that are not.
    pub fn bad(&self) -> usize {
        self.certified.len() - self.good()
    }
}

/// Why a trial cannot be run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// The problem does not make sense.
    #[error(transparent)]
    Problem(#[from] SpecError),
    /// There is no such policy, or its settings are wrong.
    #[error("policy {0:?}: {1}; there are {names}", names = NAMES.join(", "))]
    Policy(String, PolicyError),
    /// The name of a method, and what is wrong with it.
    #[error("method {0}: {1}")]
    Method(String, String),
}
