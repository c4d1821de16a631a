//! The calls of a run that wait for people. They stay open in the journal until a person has replied, even if
//! the process ends before that, so a resumed run can rebuild everything here.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use goodarm_core::{Call, Ticket};
use goodarm_record::folder::Folder;
use goodarm_record::people::{HumanReply, Replies, make_durable};
use goodarm_record::reply::{Reply, Usage};
use goodarm_record::run_error::RunError;
use goodarm_record::sealed_lines::SealedError;
use tokio::time::Instant;

use crate::job::Job;
use crate::run::Run;
use crate::run::settle::Origin;

pub(super) struct HumanCalls {
    waiting: BTreeMap<Ticket, WaitingCall>,
    answered: VecDeque<(Call, HumanReply)>,
    replies: Replies,
    path: PathBuf,
    /// A lower bound of the next ticket. A reply to a call with this ticket or a later one may be read before
    /// the call is asked for: a power cut may lose the intent of a call whose card was already shown.
    ticket_next: Ticket,
    look_due: Instant,
    /// Whether the run waits when only calls for people are left.
    pub(super) are_waited_for: bool,
}

/// A call, and the names that its reply must have.
struct WaitingCall {
    call: Call,
    verifier: String,
    id: String,
}

impl HumanCalls {
    pub(super) fn new(job: &Job, ticket_next: Ticket) -> Self {
        let folder = Folder::new(&job.settings.output);
        Self {
            waiting: BTreeMap::new(),
            answered: VecDeque::new(),
            replies: Replies::new(&folder),
            path: folder.replies(),
            ticket_next,
            look_due: Instant::now(),
            are_waited_for: true,
        }
    }

    /// The number of calls that wait for a reply, or whose reply is not settled yet.
    pub(super) fn count(&self) -> usize {
        self.waiting.len() + self.answered.len()
    }

    /// Keeps a call until a person has replied. People get its card from the intent in the journal.
    pub(super) fn ask(&mut self, call: Call, (verifier, id): (&str, &str)) {
        let ticket = call.ticket;
        self.ticket_next = self.ticket_next.max(Ticket(ticket.0 + 1));
        let (verifier, id) = (verifier.to_owned(), id.to_owned());
        self.waiting.insert(ticket, WaitingCall { call, verifier, id });
        self.match_replies();
    }

    /// Whether there is a reply that is not settled yet. Reads the file of replies first.
    pub(super) fn has_answers(&mut self) -> Result<bool, SealedError> {
        self.read_replies()?;
        Ok(!self.answered.is_empty())
    }

    fn read_replies_if_due(&mut self) -> Result<(), SealedError> {
        if Instant::now() < self.look_due {
            return Ok(());
        }
        self.look_due = Instant::now() + LOOK_INTERVAL;
        self.read_replies()
    }

    fn read_replies(&mut self) -> Result<(), SealedError> {
        if self.waiting.is_empty() || !self.replies.read_on()? {
            return Ok(());
        }
        let failed = |error| SealedError::File { path: self.path.clone(), error };
        make_durable(&self.path).map_err(failed)?;
        self.match_replies();
        let (waiting, next) = (&self.waiting, self.ticket_next);
        self.replies.retain(|ticket| ticket >= next || waiting.contains_key(&ticket));
        Ok(())
    }

    fn match_replies(&mut self) {
        let replies = &self.replies;
        let answered = self.waiting.iter().filter_map(|(ticket, waiting)| {
            Some((*ticket, replies.get(*ticket, &waiting.verifier, &waiting.id)?))
        });
        for (ticket, heard) in answered.collect::<Vec<_>>() {
            if let Some(WaitingCall { call, .. }) = self.waiting.remove(&ticket) {
                self.answered.push_back((call, heard));
            }
        }
    }
}

impl Run {
    /// Settles the calls that people have answered.
    pub(super) fn settle_people(&mut self) -> Result<(), RunError> {
        self.people.read_replies_if_due()?;
        while !self.work.disk.is_full()
            && let Some((call, heard)) = self.people.answered.pop_front()
        {
            let service = &self.job.service_of(call.target).service;
            let verdict = service.interpret(&heard.said).expect("only people's calls wait");
            let text = format!("{}, says {}", heard.said.words(), heard.by);
            let reply = Reply::new(verdict, Usage::default(), text);
            self.settle(call, reply, Origin::Remote);
        }
        Ok(())
    }
}

const LOOK_INTERVAL: Duration = Duration::from_millis(250);
