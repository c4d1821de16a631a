//! The health of a run's services: which of them have not given a score yet, and warnings about them.

use std::collections::BTreeSet;

use goodarm_core::{
    Attribute, BlockingFailure, CountedFailure, Failure, Problem, Role, ServiceId, Target,
    VoidFailure,
};
use goodarm_record::account::{Account, OutcomeTotals};
use goodarm_record::ending::{Ending, NeverScored};
use goodarm_record::history::SettledCall;
use goodarm_record::notice::Condition;
use goodarm_record::subjects::Subjects;

use crate::job::{Job, JobService};
use crate::run::{outcome, subject_of};
use crate::service::{Reply, ServiceWarning, Verdict};
use crate::throttle::Throttle;

/// The health of each service; `None` for people, who are not on trial: "cannot tell" is not a failure.
pub(super) struct Health(Vec<Option<ServiceHealth>>);

/// What a service has shown so far. The service is on trial until it has scored each of its criteria.
struct ServiceHealth {
    /// The criteria that the service has not scored yet, counted from 0. A verifier without criteria has only
    /// criterion 0, and so has a generator.
    silent: BTreeSet<usize>,
    /// The first call without a score.
    unscored: Option<SettledCall<'static>>,
}

impl Health {
    pub(super) fn new(job: &Job, account: &Account) -> Self {
        let health = |(id, service): (ServiceId, &JobService)| {
            let silent = || never_scored(job, account, id);
            let is_person = service.service.people().is_some();
            (!is_person).then(|| ServiceHealth { silent: silent(), unscored: None })
        };
        Self(job.problem.services().zip(job.services()).map(health).collect())
    }

    /// For each service: whether it is on trial.
    pub(super) fn on_trial(&self) -> impl Iterator<Item = bool> + '_ {
        self.0.iter().map(|health| health.as_ref().is_some_and(|it| !it.silent.is_empty()))
    }

    /// How the run ends because a service gets no more calls; `None` if it continues. `conditions` are those of
    /// each service.
    pub(super) fn ending(
        &self,
        job: &Job,
        subjects: &Subjects,
        conditions: impl Iterator<Item = Condition>,
    ) -> Option<Ending> {
        job.problem.services().zip(conditions).find_map(|(service, condition)| {
            let verifier = || job.service(service).name.clone();
            match condition {
                Condition::GivenUp { reason } => {
                    Some(Ending::VerifierDown { verifier: verifier(), reason })
                }
                Condition::Mistrusted { reason } => {
                    Some(Ending::Mistrusted { verifier: verifier(), reason })
                }
                Condition::NeverScored { reason } => {
                    Some(self.never_scored(job, subjects, service, reason))
                }
                Condition::Open
                | Condition::Partly { .. }
                | Condition::BackingOff { .. }
                | Condition::Down { .. } => None,
            }
        })
    }

    fn never_scored(
        &self,
        job: &Job,
        subjects: &Subjects,
        service: ServiceId,
        reason: String,
    ) -> Ending {
        let verifier = job.service(service);
        let call = self.0[service.index()].as_ref().and_then(|health| health.unscored.as_ref());
        let target = call.map_or_else(|| job.target_of(service), |call| call.target);
        let (list, place) = subjects.place(target);
        let candidate = list.get(place);
        let answers = verifier.service.manifest.answers_questions;
        Ending::NeverScored(Box::new(NeverScored {
            verifier: verifier.name.clone(),
            lacks: if answers { "an answer" } else { "a score" }.to_owned(),
            request: verifier.request(&candidate),
            id: candidate.id,
            // If no address replied, `reason` has the reasons of all addresses.
            reason: match call {
                Some(call) if !matches!(call.failure(), Some(Failure::Void(_))) => {
                    call.note.reason.to_string()
                }
                _ => reason,
            },
            reply: call.map(|call| call.note.reply.to_string()).unwrap_or_default(),
        }))
    }

    /// Takes note of a call. A service that never gives a score, even for one of several criteria, is soon
    /// stopped by its throttle.
    pub(super) fn note(&mut self, problem: &Problem, throttle: &Throttle, call: &SettledCall<'_>) {
        let health = &mut self.0[problem.service(call.target).index()];
        let Some(ServiceHealth { silent, unscored }) = health else { return };
        match call.target {
            Target::Arm(_, lead) => {
                for (criterion, attribute) in problem.members(lead).iter().enumerate() {
                    if call.outcome_for(criterion, problem.attribute(*attribute)).is_ok() {
                        silent.remove(&criterion);
                    }
                }
            }
            Target::Question(..) if !call.outcome.is_failed() => silent.clear(),
            Target::Question(..) => {}
        }
        let is_on_trial = match call.failure() {
            None if silent.is_empty() => {
                throttle.record_score();
                *unscored = None;
                return;
            }
            None => throttle.record_no_score(&call.note.reason),
            // The call was throttled because of its answer, which is not the service's fault.
            Some(Failure::Counted(CountedFailure::GivenUp))
                if throttle.on_answer(subject_of(call.target)).is_refused() =>
            {
                throttle.record_not_made()
            }
            Some(
                Failure::Counted(_)
                | Failure::Blocking(BlockingFailure::BelowLowest)
                | Failure::Void(VoidFailure::NoVerdict),
            ) => throttle.record_no_score(&call.note.reason),
            Some(Failure::Void(_) | Failure::Blocking(BlockingFailure::Exhausted)) => {
                throttle.record_not_made() && !call.note.reason.is_empty()
            }
        };
        if is_on_trial && unscored.is_none() {
            let note = call.note.clone().into_owned();
            let outcome = call.outcome.clone();
            *unscored = Some(SettledCall { note, outcome, ..*call });
        }
    }
}

/// A warning about the service, from its reply, that is not among the `known` ones. `declared` are the
/// attributes that the reply should score.
pub(super) fn warning(
    service: &JobService,
    declared: &[&Attribute],
    reply: &Reply,
    known: &[ServiceWarning],
) -> Option<ServiceWarning> {
    if known.len() >= REMARKS_MAX {
        return None;
    }
    let scores: Vec<Option<f64>> = match &reply.verdict {
        Verdict::Score(score) => vec![Some(*score)],
        Verdict::Scores(scores) => scores.iter().map(|it| it.as_ref().ok().copied()).collect(),
        _ => Vec::new(),
    };
    let is_one_of_several = declared.len() > 1;
    let off_scale = declared.iter().zip(scores).find_map(|(declared, score)| {
        let [lowest, highest] = outcome::off_scale(declared, score?)?;
        // The warning is shown with the first criterion.
        let who = if is_one_of_several { &declared.name } else { "it" };
        Some(ServiceWarning {
            weakens_promise: false,
            text: format!(
                "{who} scores on another scale than it declares, {lowest} to {highest}: such calls count as failed"
            ),
        })
    });
    match off_scale {
        Some(warning) => Some(warning).filter(|warning| !known.contains(warning)),
        None => service.warnings().find(|warning| !known.contains(warning)),
    }
}

/// The criteria of a service that no call has scored yet, counted from 0.
fn never_scored(job: &Job, account: &Account, service: ServiceId) -> BTreeSet<usize> {
    let is_silent = |totals: &OutcomeTotals| totals.score_count() == 0;
    match job.problem.role(service).expect("a service of this job") {
        Role::Verifier(lead) => {
            let members = job.problem.members(lead).iter().enumerate();
            let silent = members.filter(|(_, member)| is_silent(account.attribute(**member)));
            silent.map(|(criterion, _)| criterion).collect()
        }
        Role::Generator(_) => {
            let is_silent = is_silent(&account.service(service).outcomes);
            is_silent.then_some(0).into_iter().collect()
        }
    }
}

/// The most warnings about one service that are kept.
const REMARKS_MAX: usize = 8;
