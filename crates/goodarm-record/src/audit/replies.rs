//! People's replies, compared with the journal.

use std::collections::BTreeSet;

use goodarm_core::{CountedFailure, Failure, Outcome, Source, Target};
use goodarm_files::person;
use goodarm_files::words::counted;

use super::{Area, AuditReport};
use crate::folder::Folder;
use crate::history::SettledCall;
use crate::people::{HumanReply, Replies, verdict, wanted};
use crate::reply::Verdict;
use crate::subjects::Subjects;
use crate::terms::RunTerms;

/// Checks people's replies call by call.
pub(super) struct ReplyAudit {
    replies: Replies,
    call_count: u64,
    /// Service, subject and person of each reply.
    spoken: BTreeSet<(String, String, String)>,
}

impl ReplyAudit {
    /// `None` if no service is a person, or if the replies cannot be read, which is reported as a problem.
    pub(super) fn open(
        folder: &Folder,
        terms: &RunTerms,
        report: &mut AuditReport,
    ) -> Option<Self> {
        terms.rows().find(|service| service.people.is_some())?;
        let mut replies = Replies::new(folder);
        if let Err(error) = replies.read_on() {
            report.problem(Area::Replies, error);
            return None;
        }
        Some(Self { replies, call_count: 0, spoken: BTreeSet::new() })
    }

    /// Checks one call: if a person was asked, the outcome must follow from their reply.
    pub(super) fn check(
        &mut self,
        call: &SettledCall<'_>,
        terms: &RunTerms,
        subjects: &Subjects,
        report: &mut AuditReport,
    ) {
        let service = terms.service(call.target);
        let Some(people) = service.people else { return };
        self.call_count += 1;
        let id = match call.target {
            Target::Arm(arm, _) => subjects.id(arm),
            Target::Question(question, _) => subjects.question_id(question),
        };
        let number = call.ticket.0;
        let Some(HumanReply { by, said, .. }) = self.replies.get(call.ticket, service.name, id)
        else {
            let text = format!("replies.jsonl: no reply to call {number}, which the journal has");
            report.problem(Area::Replies, text);
            return;
        };
        if !is_outcome(call, verdict(wanted(&service), people.answer_bytes_max, &said)) {
            let text = format!(
                "replies.jsonl: the reply to call {number} has another outcome in the journal"
            );
            report.problem(Area::Replies, text);
        }
        let is_fresh_answer = matches!(call.target, Target::Question(_, Source::Generator(_)));
        let speech = (service.name.to_owned(), id.to_owned(), person(&by));
        if !people.same_person && !is_fresh_answer && self.spoken.contains(&speech) {
            let (verifier, id, _) = &speech;
            let text = format!(
                "replies.jsonl: call {number}: {by:?} has replied about {id:?} to {verifier:?} before, and each call needed another person"
            );
            report.problem(Area::Replies, text);
        }
        self.spoken.insert(speech);
    }

    /// Reports the check at the end of the journal; `before` is the number of problems at its beginning.
    pub(super) fn close(&self, before: usize, report: &mut AuditReport) {
        let calls = counted(self.call_count, "call");
        report.checked(before, format!("replies.jsonl has what people said to {calls}"));
    }
}

/// Whether a call has the outcome that follows from the reply.
fn is_outcome(call: &SettledCall<'_>, said: Verdict) -> bool {
    match (said, &call.outcome) {
        (Verdict::Score(said), Outcome::Score(score)) => said.to_bits() == score.to_bits(),
        (Verdict::Answer(said), Outcome::Answer(_)) => said.text == call.note.reply,
        // The answer may lack a final answer.
        (Verdict::Answer(_), Outcome::Failed(failure)) => {
            *failure == Failure::Counted(CountedFailure::Unreadable)
        }
        (Verdict::Failed(said, _), Outcome::Failed(failure)) => *failure == Failure::Counted(said),
        _ => false,
    }
}
