//! Drives one session in one instance to its end.

use goodarm_core::{ArmId, Call, Cost, Design, Session};

use crate::episode::{self, Course};
use crate::instance::Instance;
use crate::questions;
use crate::random::Random;
use crate::trial::{Certified, Method, Trial, TrialError, TrialSettings, Watcher};
use crate::world::{Reordered, SimulatedReply};

/// Runs one trial.
pub fn run(
    instance: &Instance,
    method: &Method,
    setting: TrialSettings,
) -> Result<Trial, TrialError> {
    if let Some(world) = &instance.questions {
        return questions::trial::run(world, method, setting);
    }
    let order = order(instance.means.len(), setting);
    let first_share = method.budget_raised_at.unwrap_or(1.0);
    if !(first_share > 0.0 && first_share <= 1.0) {
        return Err(method.wrong(format!("budget_raised_at: {first_share} is not between 0 and 1")));
    }
    let first = TrialSettings { budget: first_share * setting.budget, ..setting };
    let mut session = session(instance, method, first, &order)?;
    let course = Course {
        seed: setting.seed,
        concurrency: setting.concurrency,
        raised: method.budget_raised_at.and_then(|_| Cost::of_budget(setting.budget).ok()),
    };
    let verifiers = Reordered { verifiers: &*instance.verifiers, order: &order };
    let good_count =
        (0..instance.means.len()).filter(|&arm| instance.is_good(ArmId::at(arm))).count();
    let mut watcher = Watcher::default();
    let watch = |session: &Session, call: &Call, _: &SimulatedReply| {
        watcher.watch(session, call);
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
        ..Trial::default()
    })
}

fn order(arm_count: usize, setting: TrialSettings) -> Vec<ArmId> {
    let mut order: Vec<ArmId> = (0..arm_count).map(ArmId::at).collect();
    if setting.shuffled {
        Random::at(setting.seed, &[u64::MAX]).shuffle(&mut order);
    }
    order
}

fn session(
    instance: &Instance,
    method: &Method,
    setting: TrialSettings,
    order: &[ArmId],
) -> Result<Session, TrialError> {
    let design = Design { scored_by: instance.scored_by.clone(), questions: None };
    let problem = method.problem(setting, &instance.attributes, order.len(), design)?;
    let means = || order.iter().map(|arm| instance.means[arm.index()].clone()).collect();
    let policy = method.policy(setting.seed, (method.policy == "oracle").then(means))?;
    method.session(problem, policy)
}
