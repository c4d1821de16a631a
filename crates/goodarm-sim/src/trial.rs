//! Methods, settings and results of trials: a trial is one session in one instance.

use std::collections::BTreeMap;

use goodarm_core::policy::rcb::FreshRule;
use goodarm_core::policy::{NAMES, Parameters, PolicyError, by_name};
use goodarm_core::{
    ArmId, AttributeSpec, Call, Design, Options, Policy, Problem, ProblemSpec, Session, SpecError,
    StopReason,
};
use goodarm_files::GuaranteeName;
use serde::Deserialize;

use crate::labels::LabelResult;

/// A policy with its guarantee and settings: one entry of an experiment's `methods`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// Its name in figures.
    pub name: String,
    /// One of `goodarm_core::policy::NAMES`.
    pub policy: String,
    /// The guarantee; the policy's default if not given.
    pub guarantee: Option<GuaranteeName>,
    /// Replaces the constant 8 in the paper's allocation intervals.
    pub allocation_constant: Option<f64>,
    /// Whether only unresolved attributes are explored.
    #[serde(default)]
    pub unresolved_only: bool,
    /// When a question gets another answer; for worlds of questions.
    #[serde(default)]
    pub answers: AnswersKey,
    /// Whether a session ends when no arm has a chance.
    #[serde(default)]
    pub stop_when_hopeless: bool,
    /// The share of unsettled money that may be reserved at once.
    #[serde(default = "in_flight_share")]
    pub in_flight_share: f64,
    /// The number of calls that may be in flight in any case.
    #[serde(default = "in_flight_min")]
    pub in_flight_min: u32,
    /// The share of the budget that a session begins with. The rest is added when the session has ended, as if the
    /// user raised the budget.
    pub budget_raised_at: Option<f64>,
}

/// When a question gets another answer.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswersKey {
    /// When that is the cheapest way to one more certificate.
    #[default]
    Joint,
    /// When the chance that the last answer is certified is below this.
    OneByOne(f64),
    /// Until the question has this many, before anything is checked; none later.
    Fixed(usize),
}

impl From<AnswersKey> for FreshRule {
    fn from(key: AnswersKey) -> Self {
        match key {
            AnswersKey::Joint => Self::Joint,
            AnswersKey::OneByOne(below) => Self::OneByOne { below },
            AnswersKey::Fixed(count) => Self::Fixed { count },
        }
    }
}

fn in_flight_share() -> f64 {
    Options::default().in_flight_share
}

fn in_flight_min() -> u32 {
    Options::default().in_flight_min
}

impl Method {
    /// A policy with its default settings.
    pub fn new(policy: &str, guarantee: Option<GuaranteeName>) -> Self {
        Self {
            name: policy.to_owned(),
            policy: policy.to_owned(),
            guarantee,
            allocation_constant: None,
            unresolved_only: false,
            answers: AnswersKey::Joint,
            stop_when_hopeless: false,
            in_flight_share: in_flight_share(),
            in_flight_min: in_flight_min(),
            budget_raised_at: None,
        }
    }

    /// Makes the policy; the oracle gets the means.
    pub(crate) fn policy(
        &self,
        seed: u64,
        means: Option<Vec<Vec<f64>>>,
    ) -> Result<Box<dyn Policy + Send>, TrialError> {
        let parameters = Parameters {
            seed,
            means,
            allocation_constant: self.allocation_constant,
            unresolved_only: self.unresolved_only,
            fresh: self.answers.into(),
            ..Parameters::default()
        };
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
        let attributes = attributes.to_vec();
        let natural = || GuaranteeName::natural(&self.policy);
        let guarantee = self.guarantee.unwrap_or_else(natural).into();
        let spec = ProblemSpec { arms, attributes, budget, delta, guarantee };
        Ok(Problem::designed(spec, design)?)
    }

    /// Opens a session.
    pub(crate) fn session(
        &self,
        problem: Problem,
        policy: Box<dyn Policy + Send>,
    ) -> Result<Session, TrialError> {
        let options = Options {
            in_flight_share: self.in_flight_share,
            in_flight_min: self.in_flight_min,
            stop_when_hopeless: self.stop_when_hopeless,
        };
        Session::with_options(problem, policy, options).map_err(|reason| self.wrong(reason))
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
    /// The spending up to this certificate.
    pub cost: f64,
}

impl Trial {
    /// The number of certified arms that are good.
    pub fn good(&self) -> usize {
        self.certified.iter().filter(|certified| certified.good).count()
    }

    /// Whether the trial was stopped at this number of calls.
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
