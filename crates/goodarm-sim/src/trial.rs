//! One session in one instance, and everything about it that a figure may ask for.

use std::collections::BTreeMap;

use goodarm_core::policy::{NAMES, Parameters, PolicyError, by_name};
use goodarm_core::session::InFlightShareOutOfRange;
use goodarm_core::{
    ArmId, Call, Cost, Design, Guarantee, Options, Problem, ProblemSpec, Session, SpecError,
    StopReason,
};

use crate::episode::{self, Course};
use crate::instance::Instance;
use crate::labels::Labelled;
use crate::questions;
use crate::random::Random;
use crate::world::{Reordered, Reply};

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

/// The setting of one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
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
#[derive(Clone, Debug, PartialEq)]
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
    pub labelled: Vec<Labelled>,
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
    #[error("policy {name:?}: {reason}; there are {}", NAMES.join(", "))]
    Policy {
        /// What was asked for.
        name: String,
        /// What is wrong with it.
        reason: PolicyError,
    },
    /// Not a share of the budget.
    #[error("method {method}: budget_raised_at: {share} is not between 0 and 1")]
    RaisedAt {
        /// Whose.
        method: String,
        /// What was given.
        share: f64,
    },
    /// Worlds of questions know no such setting.
    #[error("method {method}: worlds of questions know no {setting}")]
    OfQuestions {
        /// Whose.
        method: String,
        /// Which setting.
        setting: &'static str,
    },
    /// A setting of the session is wrong.
    #[error("method {method}: {reason}")]
    InFlightShare {
        /// Whose.
        method: String,
        /// What is wrong with it.
        reason: InFlightShareOutOfRange,
    },
}

/// Runs one trial.
pub fn run(instance: &Instance, method: &Method, setting: Setting) -> Result<Trial, TrialError> {
    if let Some(world) = &instance.questions {
        return questions::trial::run(world, method, setting);
    }
    let order = order(instance.means.len(), setting);
    let first_share = method.raised_at.unwrap_or(1.0);
    if !(first_share > 0.0 && first_share <= 1.0) {
        return Err(TrialError::RaisedAt { method: method.name.clone(), share: first_share });
    }
    let first = Setting { budget: first_share * setting.budget, ..setting };
    let mut session = session(instance, method, first, &order)?;
    let course = Course {
        seed: setting.seed,
        concurrency: setting.concurrency,
        raised: method.raised_at.and_then(|_| Cost::of_budget(setting.budget).ok()),
    };
    let verifiers = Reordered { verifiers: &*instance.verifiers, order: &order };
    let good_count = (0..instance.means.len()).filter(|&arm| instance.is_good(arm_at(arm))).count();
    let mut watcher = Watcher::default();
    let watch = |session: &Session, call: &Call, _: &Reply| {
        *watcher.branches.entry(call.branch).or_default() += 1;
        watcher.note(session);
        watcher.call_count += 1;
        watcher.call_count < setting.calls_max
            && (!setting.until_all_good || {
                let is_good = |arm: &&ArmId| instance.is_good(order[arm.index()]);
                session.certified().iter().filter(is_good).count() < good_count
            })
    };
    let episode = episode::run_while(&mut session, &verifiers, course, watch);
    watcher.note(&session);
    let books = session.books();
    let mut spent_on = vec![vec![0.0; instance.attributes.len()]; instance.type_names.len()];
    let mut rejected_count = 0;
    for arm in books.problem().arms() {
        rejected_count += usize::from(books.status(arm) == goodarm_core::ArmStatus::Rejected);
        let kind = instance.types[order[arm.index()].index()];
        for attribute in books.problem().attributes() {
            spent_on[kind][attribute.index()] += books.tally(arm, attribute).spent.units();
        }
    }
    let certified = watcher.costs.iter().zip(&episode.certified).map(|(&cost, arm)| {
        let arm = order[arm.index()];
        let right = instance.right.as_ref().map(|right| right[arm.index()]);
        Certified { arm, good: instance.is_good(arm), right, cost }
    });
    Ok(Trial {
        good_count,
        certified: certified.collect(),
        rejected_count,
        budget: setting.budget,
        spent: episode.spent.units(),
        pull_count: episode.pull_count,
        reason: episode.reason,
        spent_on,
        branches: watcher.branches,
        labelled: Vec::new(),
    })
}

/// Notes what had been spent at each certificate.
#[derive(Default)]
struct Watcher {
    costs: Vec<f64>,
    call_count: u64,
    branches: BTreeMap<&'static str, u64>,
}

impl Watcher {
    fn note(&mut self, session: &Session) {
        if self.costs.len() < session.certified().len() {
            let spent = session.books().ledger().settled().units();
            self.costs.resize(session.certified().len(), spent);
        }
    }
}

fn arm_at(index: usize) -> ArmId {
    ArmId(u32::try_from(index).expect("an instance has fewer than 2^32 arms"))
}

fn order(arm_count: usize, setting: Setting) -> Vec<ArmId> {
    let mut order: Vec<ArmId> = (0..arm_count).map(arm_at).collect();
    if setting.shuffled {
        let mut random = Random::at(setting.seed, &[u64::MAX]);
        for last in (1..arm_count).rev() {
            let other = random.below(last as u64 + 1);
            order.swap(last, usize::try_from(other).expect("an index"));
        }
    }
    order
}

fn session(
    instance: &Instance,
    method: &Method,
    setting: Setting,
    order: &[ArmId],
) -> Result<Session, TrialError> {
    let spec = ProblemSpec {
        arms: instance.means.len(),
        attributes: instance.attributes.clone(),
        budget: setting.budget,
        delta: setting.delta,
        guarantee: method.guarantee,
        prior_weights: None,
    };
    let design = Design { scored_by: instance.scored_by.clone(), questions: None };
    let problem = Problem::designed(spec, design)?;
    let means = || order.iter().map(|arm| instance.means[arm.index()].clone()).collect();
    let parameters = Parameters {
        seed: setting.seed,
        means: (method.policy == "oracle").then(means),
        ..method.parameters.clone()
    };
    let policy = by_name(&method.policy, &parameters)
        .map_err(|reason| TrialError::Policy { name: method.policy.clone(), reason })?;
    Session::with_options(problem, policy, method.options)
        .map_err(|reason| TrialError::InFlightShare { method: method.name.clone(), reason })
}

#[cfg(test)]
mod tests {
    use goodarm_files::toml_text::parse;

    use super::*;
    use crate::family::WorldSpec;

    fn trial(budget: f64, raised_at: Option<f64>) -> Trial {
        let world = "name = 'x'\nscores = 'binary'\n\
                     means.random = { arms = 12, good = [0.5, 0.5], price_max = 10 }";
        let world: WorldSpec = parse(world).unwrap();
        let method = Method {
            name: "rcb".into(),
            policy: "rcb".into(),
            guarantee: Guarantee::Holm,
            parameters: Parameters::default(),
            options: Options::default(),
            raised_at,
        };
        let setting = Setting {
            budget,
            delta: 0.05,
            concurrency: 1,
            seed: 3,
            shuffled: true,
            until_all_good: false,
            calls_max: u64::MAX,
        };
        run(&world.instance(1, None).unwrap(), &method, setting).unwrap()
    }

    #[test]
    fn a_session_with_a_raised_budget_goes_on_from_where_it_ended() {
        let (half, raised) = (trial(2000.0, None), trial(4000.0, Some(0.5)));
        assert!(!half.certified.is_empty());
        assert_eq!(raised.certified[..half.certified.len()], half.certified);
        assert!(raised.certified.len() > half.certified.len());
        assert!(half.spent <= 2000.0 && raised.spent > 3000.0 && raised.spent <= 4000.0);
    }
}
