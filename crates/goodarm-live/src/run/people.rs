//! The calls of a run that wait for people. They stand in the journal until somebody has answered, whichever
//! process that finds, so nothing of them is kept here that a resumed run could not make again.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use goodarm_core::{Call, ServiceId, Session, Ticket};
use goodarm_record::ending::RunError;
use goodarm_record::folder::Folder;
use goodarm_record::people::{HumanReply, Replies, make_durable};
use goodarm_record::reply::{Reply, Usage};
use goodarm_record::sealed_lines::SealedError;
use goodarm_record::terms::RunTerms;
use tokio::time::Instant;

use crate::job::Job;
use crate::run::Run;
use crate::run::settle::Origin;

pub(super) struct HumanCalls {
    /// Of each service: whether it is people.
    are_asked: Vec<bool>,
    waiting: BTreeMap<Ticket, Waiting>,
    answered: VecDeque<(Call, HumanReply)>,
    replies: Replies,
    path: PathBuf,
    /// The number of the next call, as far as is known: a reply to that one or a later one may be read
    /// before it is asked, if a power cut has made a call forgotten whose card was seen.
    ticket_next: Ticket,
    look_due: Instant,
    /// Whether the run waits when nothing but their calls is left.
    pub(super) are_waited_for: bool,
}

/// A call, and what its reply says of it.
struct Waiting {
    call: Call,
    verifier: String,
    id: String,
}

impl HumanCalls {
    pub(super) fn new(job: &Job, ticket_next: Ticket) -> Self {
        let path = Folder::new(&job.settings.output).replies();
        Self {
            are_asked: job.services().map(|service| service.service.people().is_some()).collect(),
            waiting: BTreeMap::new(),
            answered: VecDeque::new(),
            replies: Replies::new(&path),
            path,
            ticket_next,
            look_due: Instant::now(),
            are_waited_for: true,
        }
    }

    /// Whether this service is people.
    pub(super) fn are_asked(&self, service: ServiceId) -> bool {
        self.are_asked[service.index()]
    }

    /// Calls that wait, or whose reply is not booked yet.
    pub(super) fn count(&self) -> usize {
        self.waiting.len() + self.answered.len()
    }

    /// Keeps a call until somebody has answered it.
    pub(super) fn ask(&mut self, call: Call, verifier: &str, id: &str) {
        let ticket = call.ticket;
        self.ticket_next = self.ticket_next.max(Ticket(ticket.0 + 1));
        let (verifier, id) = (verifier.to_owned(), id.to_owned());
        self.waiting.insert(ticket, Waiting { call, verifier, id });
        self.match_replies();
    }

    /// Looks for replies now and then, if any are awaited.
    fn look(&mut self) -> Result<(), SealedError> {
        if Instant::now() < self.look_due {
            return Ok(());
        }
        self.look_due = Instant::now() + LOOK_INTERVAL;
        self.look_now()
    }

    fn look_now(&mut self) -> Result<(), SealedError> {
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
            if let Some(Waiting { call, .. }) = self.waiting.remove(&ticket) {
                self.answered.push_back((call, heard));
            }
        }
    }
}

impl Run {
    /// Whether a run goes on when nothing is left to do but to wait for people, as it does unless it is
    /// told otherwise. One that ends then is resumed when they have answered.
    pub const fn set_waits_for_people(&mut self, waits: bool) {
        self.people.are_waited_for = waits;
    }

    /// Calls that wait for people, in whatever process they are answered.
    pub fn waiting_for_people(&self) -> usize {
        self.people.count()
    }

    /// Calls in flight that machines make.
    pub(super) fn machines_in_flight(&self) -> usize {
        self.session.books().in_flight_count() - self.people.count()
    }

    /// Keeps a call for people. Its card is the intent in the journal.
    pub(super) fn ask_people(&mut self, call: Call) {
        let (list, place) = self.subjects.place(call.target);
        self.people.ask(call, &self.job.service_of(call.target).name, list.id(place));
    }

    /// Books what people have said.
    pub(super) fn hear_people(&mut self) -> Result<(), RunError> {
        self.people.look()?;
        while !self.disk.is_full()
            && let Some((call, heard)) = self.people.answered.pop_front()
        {
            let service = self.job.service_of(call.target);
            let verdict = service.service.interpret(&heard.said);
            let verdict = verdict.expect("only people's calls wait");
            let text = format!("{}, says {}", heard.said.words(), heard.by);
            let reply = Reply { verdict, usage: Usage::default(), text };
            self.settle(call, reply, Origin::Others);
        }
        Ok(())
    }

    /// Whether nothing is to be done until a person says something, after a last look.
    pub(super) fn is_left_to_people(&mut self) -> Result<bool, RunError> {
        if self.machines_in_flight() > 0 || self.people.count() == 0 {
            return Ok(false);
        }
        self.people.look_now()?;
        Ok(self.people.answered.is_empty())
    }
}

/// Tells a session whose calls take hours. What it asks for depends on it.
pub(super) fn tell_who_is_slow(session: &mut Session, terms: &RunTerms) {
    for (id, service) in terms.services() {
        if let Some(people) = service.people {
            session.set_slow(id, people.cards_max);
        }
    }
}

const LOOK_INTERVAL: Duration = Duration::from_millis(250);
