//! A session and its journal, which change together: each event of the session is written to the journal, and
//! updates the account and the subjects.

use goodarm_core::{Ask, AskError, AttributeId, Books, ServiceId, Session, Source, Target};
use goodarm_record::account::Account;
use goodarm_record::history::SettledCall;
use goodarm_record::journal::Record;
use goodarm_record::replay::Balance;
use goodarm_record::subjects::Subjects;

use crate::job::Job;
use crate::run::disk::Disk;
use crate::run::settle::Origin;
use crate::service::{CallContext, Dispatch};

pub(super) struct JournaledSession {
    pub(super) session: Session,
    pub(super) account: Account,
    /// The job's answers, then those that were made for its questions.
    pub(super) subjects: Subjects,
    pub(super) disk: Disk,
}

impl JournaledSession {
    pub(super) fn new(balance: Balance<Session>, disk: Disk) -> Self {
        let Balance { books: session, account, subjects } = balance;
        Self { session, account, subjects: subjects.expect("a run has its answers"), disk }
    }

    pub(super) const fn books(&self) -> &Books {
        self.session.books()
    }

    /// The name of the service that a call is made to, and of the answer or the question it is about.
    pub(super) fn names<'a>(&'a self, job: &'a Job, target: Target) -> (&'a str, &'a str) {
        let (list, place) = self.subjects.place(target);
        (&job.service_of(target).name, list.id(place))
    }

    /// Asks the session for a call; `throttled_counts` has the throttled calls in flight of each service. If
    /// all calls in flight of a service are throttled, asks for a call on another answer, to find out whether
    /// the service throttles every call.
    pub(super) fn ask(
        &mut self,
        throttled_counts: impl Iterator<Item = usize>,
    ) -> Result<Ask, AskError> {
        let books = self.session.books();
        let mut throttled = books.problem().services().zip(throttled_counts);
        let is_stuck = |&(service, count): &(ServiceId, usize)| {
            count > 0 && books.lane(service).in_flight_count() <= count
        };
        match throttled.find(is_stuck) {
            Some((service, _)) => self.session.ask_probe(service),
            None => self.session.ask(),
        }
    }

    /// Dispatches a call that is in the books; `None` if people answer it later.
    pub(super) fn dispatch(&self, job: &Job, target: Target) -> Option<Dispatch> {
        let service = job.problem.service(target);
        let books = self.session.books();
        let dispatched_count = match target {
            Target::Arm(arm, attribute) => books.tally(arm, attribute).dispatched_count,
            Target::Question(question, Source::Votes(attribute)) => {
                books.question(question).vote_count(attribute)
            }
            Target::Question(question, Source::Generator(generator)) => {
                books.question(question).asked_count_of(generator)
            }
        };
        let (candidates, arm) = self.subjects.place(target);
        job.service(service).dispatch(CallContext {
            candidates,
            arm,
            attribute: AttributeId(books.problem().stream_number(service)),
            order: dispatched_count - 1,
        })
    }

    /// The number of calls to other processes and to people that were made since the run began, or are in
    /// flight. A call that was taken back or reached no server is not counted, but its retry is.
    pub(super) fn remote_call_count(&self, job: &Job) -> u64 {
        let services = job.services().zip(&self.account.services);
        let remote = services.filter(|(service, _)| !service.service.is_local());
        let made_count: u64 = remote.map(|(_, totals)| totals.outcomes.call_count).sum();
        made_count + self.session.books().in_flight_count() as u64
    }

    /// Appends the outcome of a call to the journal, settles the call in the session, and updates subjects and
    /// account.
    pub(super) fn settle(&mut self, call: &SettledCall<'_>, origin: Origin) {
        let record = Record { event: call.event(), note: call.note.borrowed() };
        match origin {
            Origin::Local => self.disk.append(&record),
            Origin::Remote | Origin::Unstarted => self.disk.append_outcome(&record),
        }
        let settled = self.session.settle(call.ticket, &call.outcome, call.bill);
        let settled = settled.expect("the ticket is in flight, and the score checked");
        self.subjects.take(self.session.books().problem(), settled, call);
        self.account.take_call(self.session.books(), call);
    }
}
