//! A call that came back: its reply becomes an outcome, which is written, settled, counted and announced.

use std::mem;

use goodarm_core::{
    Attribute, Bill, Call, Cost, CountedFailure, Failure, Outcome, REPEATS_MAX, Source, Target,
    VoidFailure,
};
use goodarm_record::history::SettledCall;
use goodarm_record::journal::Note;
use goodarm_record::questions::kept_answer;
use goodarm_record::reply::shorten;

use crate::engine::CallReturn;
use crate::run::outcome::{of_answer, outcome};
use crate::run::{Run, health};
use crate::service::{AnswerReply, Contact, Reply, Verdict};

impl Run {
    pub(super) fn settle_returned(&mut self, CallReturn { call, reply }: CallReturn) {
        if let Some(reply) = reply {
            self.settle(call, reply, Origin::Remote);
            return;
        }
        // The call may have been made, so its bill is not known.
        let reason = "the task that made the call died: a bug, or the runtime is gone".into();
        let settled = SettledCall {
            ticket: call.ticket,
            target: call.target,
            outcome: Outcome::Failed(Failure::Counted(CountedFailure::Crashed)),
            bill: self.lost_bill(call.target, call.ceiling),
            note: Note { reason, ..Note::default() },
        };
        self.record_settled(settled, Origin::Remote, true);
    }

    /// The bill of a call that may have been made, and has no reply.
    pub(super) fn lost_bill(&self, target: Target, ceiling: Cost) -> Bill {
        let service = self.job.problem.service(target);
        let typical = self.work.books().lane(service).typical_bill();
        self.job.service(service).tariff.unknown_bill(typical, ceiling, true)
    }

    pub(super) fn settle(&mut self, call: Call, mut reply: Reply, origin: Origin) {
        let Call { ticket, target, attempt, ceiling, .. } = call;
        let id = self.job.problem.service(target);
        let service = self.job.service(id);
        let problem = self.work.session.books().problem();
        let declared: Vec<&Attribute> = match target {
            Target::Arm(_, lead) => {
                problem.members(lead).iter().map(|member| problem.attribute(*member)).collect()
            }
            Target::Question(..) => Vec::new(),
        };
        let earlier_warnings = &self.work.account.service(id).warnings;
        let warning = health::warning(service, &declared, &reply, earlier_warnings);
        let reached_service =
            origin != Origin::Unstarted && !matches!(reply.verdict, Verdict::Known(_));
        let mut answer = String::new();
        let (outcome, reason) = match target {
            Target::Arm(..) => outcome(&declared, reply.verdict),
            Target::Question(question, source) => match of_answer(reply.verdict) {
                Ok(AnswerReply { text, final_answer }) => {
                    answer = kept_answer(&final_answer);
                    let may_become_candidate = match source {
                        Source::Votes(attribute) => problem.votes_propose(attribute),
                        Source::Generator(_) => true,
                    };
                    reply.text = if may_become_candidate { text } else { shorten(text) };
                    let label = self.work.subjects.label(question, &answer);
                    (Outcome::Answer(Some(label)), String::new())
                }
                Err((failure, reason)) => (Outcome::Failed(failure), reason),
            },
        };
        if answer.is_empty() {
            reply.text = shorten(reply.text);
        }
        let is_exact = declared.first().is_some_and(|first| first.is_exact());
        let may_repeat = is_exact && reply.contact != Contact::Read;
        let (outcome, reason) =
            after_attempts((outcome, reason), &mut reply.text, attempt, may_repeat);
        let typical = self.work.books().lane(id).typical_bill();
        let is_unpaid = outcome.failure().is_some_and(Failure::is_free);
        let is_failed = outcome.is_failed();
        let bill = || service.bill((&reply.usage, reply.contact), is_failed, [typical, ceiling]);
        let settled = SettledCall {
            ticket,
            target,
            outcome,
            bill: if is_unpaid { Bill::ZERO } else { bill() },
            note: Note {
                // Excludes queue time.
                latency: reply.usage.worked,
                delivery: reply.delivery,
                reply: reply.text.into(),
                answer: answer.into(),
                reason: reason.into(),
                warning,
                ..Note::default()
            },
        };
        self.record_settled(settled, origin, reached_service);
    }

    fn record_settled(
        &mut self,
        call: SettledCall<'static>,
        origin: Origin,
        reached_service: bool,
    ) {
        self.work.settle(&call, origin);
        let service = self.job.problem.service(call.target);
        let throttle = self.engine.throttle(service.index());
        if let Some(address) = call.note.delivery.address {
            let unscored = call.outcome.is_failed().then_some(&*call.note.reason);
            throttle.record_outcome_at(address, unscored);
        }
        if reached_service {
            self.health.note(self.work.books().problem(), throttle, &call);
        } else if origin == Origin::Remote {
            throttle.record_not_made();
        }
        self.notices.take(call, service);
    }
}

/// The outcome of a call after `attempt` void ones, and its reason. A call of an exact verifier is made again if nothing
/// was read of its reply: its score never changes. A call that was given up has been sent often enough.
fn after_attempts(
    (outcome, reason): (Outcome, String),
    text: &mut String,
    attempt: u32,
    may_repeat: bool,
) -> (Outcome, String) {
    let is_repeated = may_repeat && attempt < REPEATS_MAX;
    match outcome {
        Outcome::Failed(Failure::Counted(failure))
            if is_repeated && failure != CountedFailure::GivenUp =>
        {
            (Outcome::Failed(Failure::Void(VoidFailure::NoVerdict)), reason)
        }
        Outcome::Failed(Failure::Void(_)) if attempt >= VOID_ATTEMPTS_MAX => {
            let reason = format!("given up after {attempt} void attempts");
            (Outcome::Failed(Failure::Counted(CountedFailure::GivenUp)), reason)
        }
        // The text has the reason why the call was not made. It is empty if the run just stopped.
        Outcome::Failed(Failure::Void(_)) => (outcome, mem::take(text)),
        outcome => (outcome, reason),
    }
}

/// Where a reply comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A quick call of this process. It can be repeated, so its outcome may be announced before the journal is
    /// synced.
    Local,
    /// Another process, a person, or longer work of this process: the outcome is announced when it is durable.
    Remote,
    /// The call was withdrawn before it began.
    Unstarted,
}

/// Void attempts before a call is given up. Throttles wait between attempts, so calls normally become void only
/// when the run stops. The limit ends the retries of a service that returns void replies without waiting.
const VOID_ATTEMPTS_MAX: u32 = 100;
