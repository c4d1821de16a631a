//! What comes back from a call: it is written down, told to the session, and counted.

use goodarm_core::{Attribute, Call, Cost, CountedFailure, Failure, Outcome, Source, Target};
use goodarm_record::history::SettledCall;
use goodarm_record::journal::{Note, Record};
use goodarm_record::questions::kept_answer;
use goodarm_record::reply::shorten;

use crate::engine::CallReturn;
use crate::run::outcome::{of_answer, outcome};
use crate::run::{Run, health};
use crate::service::{AnswerReply, Reply, Verdict};

impl Run {
    pub(super) fn settle_returned(&mut self, CallReturn { call, reply }: CallReturn) {
        if let Some(reply) = reply {
            self.settle(call, reply, Origin::Others);
            return;
        }
        // Its task died, by a bug or with its runtime. The call may have been made, and is paid.
        let reason = "the task that made the call died: a bug, or the runtime is gone".into();
        let settled = SettledCall {
            ticket: call.ticket,
            target: call.target,
            outcome: Outcome::Failed(Failure::Counted(CountedFailure::Crashed)),
            cost: call.ceiling,
            note: Note { reason, ..Note::default() },
        };
        self.book(&settled, Origin::Others);
        self.note_health(&settled);
        self.news.take(settled, self.job.problem.service(call.target));
    }

    /// Books what came back.
    pub(super) fn settle(
        &mut self,
        Call { ticket, target, attempt, .. }: Call,
        mut reply: Reply,
        origin: Origin,
    ) {
        let service = self.job.problem.service(target);
        let called = self.job.service(service);
        let charged = called.charge(&reply.usage);
        let problem = self.session.books().problem();
        let declared: Vec<&Attribute> = match target {
            Target::Arm(_, lead) => {
                problem.members(lead).iter().map(|member| problem.attribute(*member)).collect()
            }
            Target::Question(..) => Vec::new(),
        };
        let known = &self.account.service(service).warnings;
        let warning = health::warning(called, &declared, &reply, known);
        let is_made = origin != Origin::Unstarted && !matches!(reply.verdict, Verdict::Known(_));
        let mut answer = String::new();
        let (outcome, reason) = match target {
            Target::Arm(..) => outcome(&declared, reply.verdict),
            Target::Question(question, source) => match of_answer(reply.verdict) {
                Ok(AnswerReply { text, last }) => {
                    answer = kept_answer(&last);
                    // What may become a candidate is kept as a whole.
                    reply.text = if self.makes_answers(source) { text } else { shorten(text) };
                    let label = self.subjects.label(question, &answer);
                    (Outcome::Answer(Some(label)), String::new())
                }
                Err((failure, reason)) => (Outcome::Failed(failure), reason),
            },
        };
        if answer.is_empty() {
            reply.text = shorten(reply.text);
        }
        let (outcome, reason) = match (outcome, reason) {
            // Its verifier does not wait for its throttle between attempts, or it would not come here.
            (Outcome::Failed(Failure::Void(_)), _) if attempt >= VOID_ATTEMPTS_MAX => {
                let reason = format!("given up after {attempt} void attempts");
                (Outcome::Failed(Failure::Counted(CountedFailure::GivenUp)), reason)
            }
            // Why it was not made, if there is more to say than that the run stopped.
            (outcome @ Outcome::Failed(Failure::Void(_)), _) => {
                (outcome, std::mem::take(&mut reply.text))
            }
            outcome => outcome,
        };
        let is_unpaid = outcome.failure().is_some_and(Failure::is_free);
        let call = SettledCall {
            ticket,
            target,
            outcome,
            cost: if is_unpaid { Cost::ZERO } else { charged },
            note: Note {
                // Without the time that it waited for its turn.
                latency: reply.usage.worked,
                reply: reply.text.into(),
                answer: answer.into(),
                reason: reason.into(),
                warning,
                ..Note::default()
            },
        };
        self.book(&call, origin);
        match origin {
            Origin::Own | Origin::Others if is_made => self.note_health(&call),
            Origin::Others => {
                self.engine.throttle(service.index()).unmade();
            }
            Origin::Own | Origin::Unstarted => {}
        }
        self.news.take(call, service);
    }

    /// Whether an answer to a question from there may become a candidate.
    fn makes_answers(&self, source: Source) -> bool {
        match source {
            Source::Votes(attribute) => self.job.problem.votes_propose(attribute),
            Source::Generator(_) => true,
        }
    }

    /// Whether its service works.
    fn note_health(&mut self, call: &SettledCall<'_>) {
        let service = self.job.problem.service(call.target);
        if !self.people.are_asked(service) {
            let throttle = self.engine.throttle(service.index());
            self.health.note(self.session.books().problem(), throttle, call);
        }
    }

    /// Writes a call down, tells the session, and counts it.
    pub(super) fn book(&mut self, call: &SettledCall<'_>, origin: Origin) {
        let record = Record { event: call.event(), note: call.note.borrowed() };
        match origin {
            Origin::Own => self.disk.append(&record),
            Origin::Others | Origin::Unstarted => self.disk.append_outcome(&record),
        }
        let settled = self.session.settle(call.ticket, &call.outcome, call.cost);
        let settled = settled.expect("the ticket is in flight, and the score checked");
        self.subjects.take(self.session.books().problem(), settled, call);
        self.account.take_call(self.session.books(), call);
    }
}

/// Who gave a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// This process, which would say the same again: it need not be durable to be told.
    Own,
    /// Others, who cannot be asked again.
    Others,
    /// Nobody: the call was taken back before it began.
    Unstarted,
}

/// A call comes back void when a run stops; one that does so this often is given up.
const VOID_ATTEMPTS_MAX: u32 = 100;
