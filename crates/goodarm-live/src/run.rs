//! A run: asks the session, makes the calls, writes the journal. One thread does all of it except to
//! wait for the disk: handing every call from thread to thread would cost more than it saves.
//!
//! The order is what makes a crash harmless. Outcomes are written and told, the next calls are asked
//! and written, then all of it is made durable at once; only after that does a call start or a
//! certificate show. While the disk is at it, the run goes on with what comes back.

mod announce;
mod disk;
mod finish;
mod outcome;
mod people;
mod resume;
#[cfg(test)]
mod simulation;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use goodarm_core::{
    ArmId, ArmStatus, Ask, AskError, Attribute, AttributeId, BlockingFailure, Call, Cost,
    CountedFailure, DECISIONS, Event, Failure, Options, Outcome, Problem, QuestionId, Role,
    ServiceId, Session, Settled, Source, StopReason, Target, Ticket, VoidFailure, policy,
};
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_record::account::{Account, OutcomeTotals};
use goodarm_record::control::Control;
use goodarm_record::ending::{Ending, NeverScored, RunError};
use goodarm_record::folder::Folder;
use goodarm_record::history::SettledCall;
use goodarm_record::journal::{FolderLock, Header, Journal, Note, Record, Storage as _, VERSION};
use goodarm_record::notice::{HeldBy, Observer};
use goodarm_record::outputs;
use goodarm_record::questions::{Finals, kept_answer};
use goodarm_record::reply::shorten;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::engine::{self, Cause, Engine, GivenUp, Returned};
use crate::job::Job;
use crate::run::announce::Announcer;
use crate::run::disk::{Disk, Files, Media, Medium};
pub(crate) use crate::run::outcome::{of_answer, outcome};
use crate::run::people::People;
use crate::service::{Answer, Answered, Place, Remark, Reply, Verdict, Work};

/// A run that can be driven.
pub struct Run {
    job: Arc<Job>,
    session: Session,
    disk: Disk,
    engine: Engine<Call, Reply>,
    account: Account,
    /// The job's, and those that were made for its questions.
    candidates: Arc<Candidates>,
    finals: Finals,
    /// Calls that were not told yet, for an observer that wants calls.
    untold: Vec<SettledCall<'static>>,
    /// Of our own calls that take long and are not started yet.
    works: BTreeMap<Ticket, Work>,
    /// How many certificates were told.
    announced_count: usize,
    /// What keeps more calls from being in flight.
    held_by: Option<HeldBy>,
    /// Of each verifier that has yet to give a score: the first call that brought none.
    unscored: Vec<Option<SettledCall<'static>>>,
    /// And what it has yet to give a score for: its only attribute, or some criteria. A generator, which
    /// has none, has the number behind all of them.
    silent: Vec<BTreeSet<usize>>,
    people: People,
    waits_for_people: bool,
    /// For hosts without one of their own; taken out while it is used.
    runtime: Option<Runtime>,
    /// Bytes that a power cut had left at the journal's end.
    bytes_cut: u64,
    lost_count: u64,
    added_count: usize,
    _lock: FolderLock,
}

impl Run {
    /// Begins a new run in the job's output folder.
    pub fn begin(job: Arc<Job>) -> Result<Self, RunError> {
        Self::begin_on(&Files, job)
    }

    fn begin_on(media: &dyn Media, job: Arc<Job>) -> Result<Self, RunError> {
        let folder = Folder::new(&job.settings.output);
        if let Some(file) = folder.file_in_the_way() {
            return Err(RunError::OutputIsFile(file.to_owned()));
        }
        fs::create_dir_all(folder.path()).map_err(|error| RunError::file(folder.path(), error))?;
        let lock = FolderLock::take(folder.path())?;
        let storage = resume::open_journal(media, &folder)?;
        if storage.is_some() && !resume::is_unborn(&folder.journal()) {
            return Err(RunError::AlreadyBegun(folder.path().to_owned()));
        }
        Self::begin_in(media, &folder, storage, job, lock)
    }

    /// Begins a new run in the job's output folder; one that is there already is moved aside, and where
    /// it is now comes back, too. Its calls count for nothing here, so both keep their promise.
    pub fn begin_again(job: Arc<Job>) -> Result<(Self, Option<PathBuf>), RunError> {
        let folder = Folder::new(&job.settings.output);
        let mut aside = None;
        if folder.journal().exists() {
            // Not under the hands of a process that is at it.
            let lock = FolderLock::take(folder.path())?;
            if let Err(error @ RunError::Locked(_)) = resume::open_journal(&Files, &folder) {
                return Err(error);
            }
            aside = Some(folder.set_aside().map_err(|error| RunError::file(folder.path(), error))?);
            drop(lock);
        }
        Ok((Self::begin(job)?, aside))
    }

    /// Begins in a folder whose journal is not there, or has no beginning.
    fn begin_in(
        media: &dyn Media,
        folder: &Folder,
        storage: Option<Box<dyn Medium>>,
        job: Arc<Job>,
        lock: FolderLock,
    ) -> Result<Self, RunError> {
        resume::in_the_way(folder)?;
        let session = new_session(&job, job.problem.clone());
        let storage = match storage {
            Some(mut storage) => storage.truncate(0).map(|()| storage),
            None => media.create(&folder.journal()),
        };
        let storage = storage.map_err(|error| RunError::journal(folder, error))?;
        let journal = Journal::create(storage, &header(&job)).map_err(RunError::NotDurable)?;
        keep_inputs(folder, &job)?;
        let account = Account::new(session.books());
        let answers = (Arc::clone(&job.candidates), job.finals.clone());
        Self::assemble(job, (session, account, answers), (journal, Ticket(0)), lock)
    }

    fn assemble(
        job: Arc<Job>,
        (session, account, (candidates, finals)): (Session, Account, (Arc<Candidates>, Finals)),
        (journal, ticket_next): (Journal<Box<dyn Medium>>, Ticket),
        lock: FolderLock,
    ) -> Result<Self, RunError> {
        let silent: Vec<BTreeSet<usize>> =
            job.problem.services().map(|service| never_scored(&job, &account, service)).collect();
        let throttles = job.services().zip(&silent).map(|(service, silent)| {
            let throttle = service.throttle(service.limits);
            // A person who cannot tell works all the same.
            let is_tried = !silent.is_empty() && service.service.people().is_none();
            if is_tried { throttle.on_trial() } else { throttle }
        });
        let engine = Engine::new(throttles, job.settings.concurrency);
        let disk =
            Disk::new(journal).map_err(|error| RunError::file(&job.settings.output, error))?;
        Ok(Self {
            works: BTreeMap::new(),
            untold: Vec::new(),
            announced_count: session.certified().len(),
            unscored: vec![None; silent.len()],
            candidates,
            finals,
            silent,
            held_by: None,
            people: People::new(&job, ticket_next),
            waits_for_people: true,
            job,
            session,
            disk,
            engine,
            account,
            runtime: None,
            bytes_cut: 0,
            lost_count: 0,
            added_count: 0,
            _lock: lock,
        })
    }

    /// Takes up the run in the job's output folder where it was left.
    pub fn resume(job: Arc<Job>) -> Result<Self, RunError> {
        resume::resume(&Files, job)
    }

    /// Every reason for which the run would not be resumed with the job as it is; nothing is changed.
    pub fn refusals(job: &Job) -> Vec<RunError> {
        resume::refusals(job)
    }

    /// The state of the work.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The job.
    pub const fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// The answers: the job's, and behind them those that were made for its questions.
    pub const fn candidates(&self) -> &Arc<Candidates> {
        &self.candidates
    }

    /// The object of an answer that was made during the run.
    pub fn made(&self, arm: ArmId) -> Option<&str> {
        let is_made = arm.index() >= self.job.candidates.len();
        is_made.then(|| self.candidates.json(arm))
    }

    /// What was counted since the run began, in whatever process.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// Calls that were in flight when an earlier process died, as this one found out.
    pub const fn lost_count(&self) -> u64 {
        self.lost_count
    }

    /// Candidates that joined when this process took up the run.
    pub const fn added_count(&self) -> usize {
        self.added_count
    }

    /// Bytes of an unfinished write that were cut from the journal.
    pub const fn bytes_cut(&self) -> u64 {
        self.bytes_cut
    }

    /// Makes calls until there is nothing more to do, or someone says stop. It blocks and has a
    /// runtime of its own: in asynchronous code, use [`Run::drive_async`].
    pub fn drive(
        &mut self,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Ending, RunError> {
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => engine::runtime()
                .map_err(|error| RunError::file(&self.job.settings.output, error))?,
        };
        let result = runtime.block_on(self.drive_async(control, observer));
        // Calls in flight of a run that was left end with the runtime, not before.
        self.runtime = Some(runtime);
        result
    }

    /// The same in the tokio runtime of the caller, which makes the calls; its timers and I/O must be
    /// enabled.
    pub async fn drive_async(
        &mut self,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Ending, RunError> {
        self.engine.reopen();
        let mut announcer = Announcer::new(self, control, observer);
        let mut tick = tokio::time::interval(TICK);
        let mut phase = Phase::Working;
        let ending = loop {
            // What the disk has no room for waits where it is: a frame must not grow without end.
            while !self.disk.is_full()
                && let Some(returned) = self.engine.take()
            {
                self.settle_returned(returned, &mut announcer);
            }
            phase = self.next_phase(phase, control);
            let next = match self.hear_and_ask(&phase, control, &mut announcer) {
                Ok(next) => next,
                Err(error) => {
                    // What came before it counts all the same.
                    self.disk.commit().await.map_err(RunError::NotDurable)?;
                    return Err(error);
                }
            };
            if let Next::Done(ending) = &next {
                phase = Phase::Draining(ending.clone());
            }
            if phase != Phase::Working {
                self.take_back(&mut announcer);
            }
            if matches!(phase, Phase::Draining(_) | Phase::Leaving) {
                self.engine.stop();
            }
            if phase == Phase::Leaving {
                break Ending::Left;
            }
            // Those of people stand, however the run ends.
            let in_flight_count = self.machines_in_flight();
            let is_over = in_flight_count == 0 && matches!(phase, Phase::Draining(_));
            if is_over || announcer.is_due() && !self.disk.is_safe() {
                self.disk.commit().await.map_err(RunError::NotDurable)?;
            }
            self.disk.push(in_flight_count).map_err(RunError::NotDurable)?;
            if phase == Phase::Working {
                self.start_ready();
            }
            if self.disk.is_safe() {
                announcer.look(self);
            }
            if let Phase::Draining(ending) = &phase
                && is_over
            {
                break ending.clone();
            }
            if next == Next::More {
                // Calls in flight want to be moved, too.
                tokio::task::yield_now().await;
            } else {
                tokio::select! {
                    biased;
                    result = self.disk.wait(in_flight_count) => {
                        result.map_err(RunError::NotDurable)?;
                    }
                    () = self.engine.wait(), if !self.disk.is_behind() => {}
                    _ = tick.tick() => {}
                }
            }
        };
        self.disk.commit().await.map_err(RunError::NotDurable)?;
        announcer.close(self);
        Ok(ending)
    }

    /// Books what people have said, and asks for what comes next if there is work.
    fn hear_and_ask(
        &mut self,
        phase: &Phase,
        control: &Control,
        announcer: &mut Announcer<'_>,
    ) -> Result<Next, RunError> {
        self.hear_people(announcer)?;
        if *phase != Phase::Working || self.disk.is_behind() {
            return Ok(Next::Wait);
        }
        self.ask_all(control, announcer)
    }

    fn next_phase(&self, phase: Phase, control: &Control) -> Phase {
        match phase {
            _ if control.is_leaving() => Phase::Leaving,
            Phase::Draining(ending) => Phase::Draining(ending),
            _ if control.is_stopping() => Phase::Draining(Ending::Interrupted),
            _ => match self.engine.given_up() {
                Some(given_up) => Phase::Draining(self.given_up(given_up)),
                None if control.is_paused() => Phase::Paused,
                None => Phase::Working,
            },
        }
    }

    fn given_up(&self, GivenUp { verifier: index, cause, reason }: GivenUp) -> Ending {
        let verifier = self.job.service(ServiceId::at(index));
        let name = verifier.name.clone();
        match cause {
            Cause::Down => Ending::VerifierDown { verifier: name, reason },
            Cause::Mistrusted => Ending::Mistrusted { verifier: name, reason },
            Cause::NeverScored => {
                let call = self.unscored[index].as_ref();
                let first = match &self.job.questions {
                    Some(_) if verifier.service.manifest.answers_questions => {
                        Target::Question(QuestionId(0), Source::Votes(AttributeId(0)))
                    }
                    _ => Target::Arm(ArmId(0), AttributeId(0)),
                };
                let candidate = self.subject(call.map_or(first, |call| call.target));
                let answers = verifier.service.manifest.answers_questions;
                Ending::NeverScored(Box::new(NeverScored {
                    verifier: name,
                    lacks: if answers { "an answer" } else { "a score" },
                    request: verifier.request(&candidate),
                    id: candidate.id,
                    // Of one that nobody answered, all addresses are worth knowing.
                    reason: match call {
                        Some(call) if !matches!(call.failure(), Some(Failure::Void(_))) => {
                            call.note.reason.to_string()
                        }
                        _ => reason,
                    },
                    reply: call.map(|call| call.note.reply.to_string()).unwrap_or_default(),
                }))
            }
        }
    }

    /// Whether the verifier works: whoever never gave a score, be it for one of several criteria, is not
    /// asked for long.
    fn note_whether_scored(&mut self, call: &SettledCall<'_>) {
        let service = self.job.problem.service(call.target);
        if self.people.are_asked(service) {
            return;
        }
        let index = service.index();
        let problem = self.session.books().problem();
        match call.target {
            Target::Arm(_, lead) => {
                for (criterion, attribute) in problem.members(lead).iter().enumerate() {
                    if call.outcome_for(criterion, problem.attribute(*attribute)).is_ok() {
                        self.silent[index].remove(&criterion);
                    }
                }
            }
            Target::Question(..) if !call.outcome.is_failed() => self.silent[index].clear(),
            Target::Question(..) => {}
        }
        let throttle = self.engine.throttle(index);
        let is_on_trial = match call.failure() {
            None if self.silent[index].is_empty() => {
                throttle.scored();
                self.unscored[index] = None;
                return;
            }
            None => throttle.unscored(&call.note.reason),
            // It was turned away for its answer, which says nothing about the verifier.
            Some(Failure::Counted(CountedFailure::GivenUp))
                if throttle.on_answer(place_of(call.target)).is_refused() =>
            {
                throttle.unmade()
            }
            Some(Failure::Counted(_) | Failure::Blocking(BlockingFailure::BelowLowest)) => {
                throttle.unscored(&call.note.reason)
            }
            Some(Failure::Void(_) | Failure::Blocking(BlockingFailure::Exhausted)) => {
                throttle.unmade() && !call.note.reason.is_empty()
            }
        };
        if is_on_trial && self.unscored[index].is_none() {
            let note = call.note.clone().into_owned();
            let outcome = call.outcome.clone();
            self.unscored[index] = Some(SettledCall { note, outcome, ..*call });
        }
    }

    /// Starts calls whose intents are durable, as many as may be in flight.
    fn start_ready(&mut self) {
        let in_flight_count = self.machines_in_flight();
        let started_count = in_flight_count.saturating_sub(self.disk.kept_count());
        for _ in started_count..self.engine.concurrency() {
            let Some(call) = self.disk.next_ready() else { break };
            let target = call.target;
            let job = Arc::clone(&self.job);
            let service = job.problem.service(target);
            let work = self.works.remove(&call.ticket);
            // One of the job's is looked up when its turn has come: many calls may wait.
            let made = match target {
                Target::Arm(arm, _) if arm.index() < job.candidates.len() => None,
                target => Some(self.subject(target)),
            };
            self.engine.start(call, service.index(), async move |throttle| {
                let place = place_of(target);
                let throttle = throttle.on_answer(place);
                throttle.begin().await;
                let subject = made.unwrap_or_else(|| job.candidates.get(place));
                job.service(service).call(&subject, work, &throttle).await
            });
        }
    }

    /// What the answer or the question is called that a call is about.
    fn name_of(&self, target: Target) -> &str {
        match (target, &self.job.questions) {
            (Target::Question(question, _), Some(questions)) => questions.id(question),
            (target, _) => self.candidates.id(place_of(target)),
        }
    }

    /// The answer or the question that a call is about.
    fn subject(&self, target: Target) -> Candidate {
        match (target, &self.job.questions) {
            (Target::Question(question, _), Some(questions)) => {
                questions.list.get(ArmId(question.0))
            }
            (target, _) => self.candidates.get(place_of(target)),
        }
    }

    /// Calls that were not started yet are not made now, and not lost should the process die.
    fn take_back(&mut self, announcer: &mut Announcer<'_>) {
        for call in self.disk.take_back() {
            self.works.remove(&call.ticket);
            let unmade = Reply::void(VoidFailure::NotConnected);
            self.settle(call, unmade, Origin::Unstarted, announcer);
        }
    }

    /// Asks until there is nothing to ask for now; makes our own calls on the spot.
    fn ask_all(
        &mut self,
        control: &Control,
        announcer: &mut Announcer<'_>,
    ) -> Result<Next, RunError> {
        let concurrency = self.engine.concurrency();
        let in_flight_max = concurrency + self.disk.ahead_count().min(concurrency);
        let calls_max = self.job.calls_max();
        let mut calls_left = calls_max.saturating_sub(self.others_count());
        let begin = Instant::now();
        for count in 1_u32.. {
            let is_full = self.machines_in_flight() >= in_flight_max;
            if is_full || control.is_stopping() {
                self.held_by = is_full.then_some(HeldBy::Concurrency);
                return Ok(Next::Wait);
            }
            if calls_left == 0 {
                self.held_by = None;
                let is_last = self.session.books().in_flight_count() == 0;
                let ending = Ending::CallsSpent { calls_max };
                return if is_last { Ok(Next::Done(ending)) } else { self.wait() };
            }
            let call = match self.ask()? {
                Ask::Call(call) => call,
                Ask::Wait => {
                    self.held_by = self.session.is_held_by_money().then_some(HeldBy::Money);
                    return self.wait();
                }
                Ask::Done(reason) => return Ok(Next::Done(Ending::Done(reason))),
            };
            announcer.asked(call.target);
            let intent = Record::from(Event::from(call));
            if self.people.are_asked(self.job.problem.service(call.target)) {
                self.disk.append_card(&intent);
                self.ask_people(call);
                calls_left -= 1;
                continue;
            }
            let reply = match self.own_answer(call.target) {
                Some(Answered::Now(reply)) => reply,
                others => {
                    if let Some(Answered::Later(work)) = others {
                        self.works.insert(call.ticket, work);
                    }
                    self.disk.append_intent(&intent, call);
                    calls_left -= 1;
                    continue;
                }
            };
            self.disk.append(&intent);
            self.settle(call, reply, Origin::Own, announcer);
            // It can be made again, so it need not be durable to be told. What others have answered
            // must be.
            if self.disk.is_safe() {
                announcer.tell_of_calls(self);
            }
            let is_look = count.is_multiple_of(OWN_CALLS_BETWEEN_LOOKS);
            if is_look && begin.elapsed() > OWN_CALLS_TIME {
                break;
            }
        }
        Ok(Next::More)
    }

    /// Waits for what is in flight, unless that is for people alone, and nobody waits for them or they can add
    /// nothing: all is decided, and a card that is still out stays unanswered and unpaid.
    fn wait(&mut self) -> Result<Next, RunError> {
        let books = self.session.books();
        let is_decided =
            books.status_count(ArmStatus::Undecided) == 0 && books.problem().questions().is_none();
        if self.waits_for_people && !is_decided || !self.is_left_to_people()? {
            return Ok(Next::Wait);
        }
        if is_decided {
            let are_certified = self.session.books().status_count(ArmStatus::Rejected) == 0;
            let reason =
                if are_certified { StopReason::AllCertified } else { StopReason::AllDecided };
            return Ok(Next::Done(Ending::Done(reason)));
        }
        let count = self.waiting_for_people();
        Ok(Next::Done(Ending::WaitsForPeople { count }))
    }

    /// Calls that others have made, in whatever process, or are making. One that was taken back, or
    /// found nobody, is not among them: its retry is.
    fn others_count(&self) -> u64 {
        let services = self.job.services().zip(self.account.services());
        let others = services.filter(|(service, _)| !service.service.is_local());
        let made_count: u64 = others.map(|(_, totals)| totals.outcomes.call_count).sum();
        made_count + self.session.books().in_flight_count() as u64
    }

    /// Asks for a call; on another answer if all that a verifier has are turned away, to find out whether
    /// every call is.
    fn ask(&mut self) -> Result<Ask, AskError> {
        let books = self.session.books();
        let mut aside = books.problem().services().zip(self.engine.aside_counts());
        let hangs = |&(service, count): &(ServiceId, usize)| {
            count > 0 && books.lane(service).in_flight_count() <= count
        };
        match aside.find(hangs) {
            Some((service, _)) => self.session.ask_another(service),
            None => self.session.ask(),
        }
    }

    /// What a service says that this process evaluates itself; `None` if others do.
    fn own_answer(&self, target: Target) -> Option<Answered> {
        let service = self.job.problem.service(target);
        let called = self.job.service(service);
        if !called.service.is_local() {
            return None;
        }
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
        let candidates = match (target, &self.job.questions) {
            (Target::Question(..), Some(questions)) => &questions.list,
            _ => &*self.candidates,
        };
        called.answer(Place {
            candidates,
            arm: place_of(target),
            attribute: AttributeId(books.problem().stream_number(service)),
            order: dispatched_count - 1,
        })
    }

    fn settle_returned(
        &mut self,
        Returned { tag: call, reply }: Returned<Call, Reply>,
        announcer: &mut Announcer<'_>,
    ) {
        if let Some(reply) = reply {
            self.settle(call, reply, Origin::Others, announcer);
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
        self.note_whether_scored(&settled);
        let service = self.job.problem.service(call.target);
        self.untold.extend(announcer.settled(settled, service));
    }

    /// Books what came back.
    fn settle(
        &mut self,
        Call { ticket, target, attempt, .. }: Call,
        mut reply: Reply,
        origin: Origin,
        announcer: &mut Announcer<'_>,
    ) {
        let service = self.job.problem.service(target);
        let charged = self.job.service(service).charge(&reply.usage);
        let remark = self.remark(target, &reply);
        let is_made = origin != Origin::Unstarted && !matches!(reply.verdict, Verdict::Known(_));
        let mut answer = String::new();
        let (outcome, reason) = match target {
            Target::Arm(_, attribute) => outcome(&self.declared(attribute), reply.verdict),
            Target::Question(question, source) => match of_answer(reply.verdict) {
                Ok(Answer { text, last }) => {
                    answer = kept_answer(&last);
                    // What may become a candidate is kept as a whole.
                    reply.text = if self.makes_answers(source) { text } else { shorten(text) };
                    let label = self.finals.label(question, &answer);
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
                remark,
                ..Note::default()
            },
        };
        self.book(&call, origin);
        match origin {
            Origin::Own | Origin::Others if is_made => self.note_whether_scored(&call),
            Origin::Others => {
                self.engine.throttle(service.index()).unmade();
            }
            Origin::Own | Origin::Unstarted => {}
        }
        self.untold.extend(announcer.settled(call, service));
    }

    /// Whether an answer to a question from there may become a candidate.
    fn makes_answers(&self, source: Source) -> bool {
        match source {
            Source::Votes(attribute) => self.job.problem.votes_propose(attribute),
            Source::Generator(_) => true,
        }
    }

    /// What a call is to score.
    fn declared(&self, lead: AttributeId) -> Vec<&Attribute> {
        let problem = self.session.books().problem();
        problem.members(lead).iter().map(|member| problem.attribute(*member)).collect()
    }

    /// What is to be known about a verifier since this reply, and is not in the journal yet.
    fn remark(&self, target: Target, reply: &Reply) -> Option<Remark> {
        let service = self.job.problem.service(target);
        let known = &self.account.service(service).remarks;
        if known.len() >= REMARKS_MAX {
            return None;
        }
        let declared = match target {
            Target::Arm(_, attribute) => self.declared(attribute),
            Target::Question(..) => Vec::new(),
        };
        let scores: Vec<Option<f64>> = match &reply.verdict {
            Verdict::Score(score) => vec![Some(*score)],
            Verdict::Scores(scores) => scores.iter().map(|it| it.as_ref().ok().copied()).collect(),
            _ => Vec::new(),
        };
        let is_one_of_several = declared.len() > 1;
        let off_scale = declared.iter().zip(scores).find_map(|(declared, score)| {
            let [lowest, highest] = outcome::off_scale(declared, score?)?;
            // The remark stands with the first criterion, whose calls they are.
            let who = if is_one_of_several { declared.name() } else { "it" };
            Some(Remark {
                is_doubt: false,
                text: format!(
                    "{who} scores on another scale than it declares, {lowest} to {highest}: such calls count as failed"
                ),
            })
        });
        let of_verifier = || self.job.service(service).remark();
        off_scale.or_else(of_verifier).filter(|remark| !known.contains(remark))
    }

    /// Writes a call down, tells the session, and counts it.
    fn book(&mut self, call: &SettledCall<'_>, origin: Origin) {
        let record = Record { event: call.event(), note: call.note.borrowed() };
        match origin {
            Origin::Own => self.disk.append(&record),
            Origin::Others | Origin::Unstarted => self.disk.append_outcome(&record),
        }
        let settled = self.session.settle(call.ticket, &call.outcome, call.cost);
        let Settled { born, .. } = settled.expect("the ticket is in flight, and the score checked");
        if let (Some(born), Some(questions)) = (born, &self.job.questions) {
            let problem = self.session.books().problem();
            questions.take(Arc::make_mut(&mut self.candidates), problem, born, call);
        }
        self.account.take_call(self.session.books(), call);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // On exit, do not wait for DNS.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What a run is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Calls are asked for and started.
    Working,
    /// New calls are held back until told otherwise.
    Paused,
    /// No new calls; once those in flight are back, the run ends like this.
    Draining(Ending),
    /// The run ends now; calls in flight will count as lost.
    Leaving,
}

/// Who gave a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// This process, which would say the same again: it need not be durable to be told.
    Own,
    /// Others, who cannot be asked again.
    Others,
    /// Nobody: the call was taken back before it began.
    Unstarted,
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

/// What there is to do once all has been asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    /// There is more to ask for.
    More,
    /// Nothing before something comes back.
    Wait,
    /// Nothing.
    Done(Ending),
}

/// The place of what a call is about, among all answers or all questions.
const fn place_of(target: Target) -> ArmId {
    match target {
        Target::Arm(arm, _) => arm,
        Target::Question(question, _) => ArmId(question.0),
    }
}

/// Keeps the job, the candidates and the questions in the run's folder, so that it can be read without
/// them.
fn keep_inputs(folder: &Folder, job: &Job) -> Result<(), RunError> {
    fs::write(folder.job(), &job.text).map_err(|error| RunError::file(&folder.job(), error))?;
    outputs::write_candidates(&folder.candidates(), &job.candidates)?;
    if let Some(questions) = &job.questions {
        outputs::write_candidates(&folder.questions(), &questions.list)?;
    }
    Ok(())
}

fn new_session(job: &Job, problem: Problem) -> Session {
    let parameters = policy::Parameters {
        seed: job.settings.seed,
        calls_per_pair: job.settings.calls_per_pair,
        ..Default::default()
    };
    let policy =
        policy::by_name(&job.settings.policy, &parameters).expect("the job's policy is checked");
    let options =
        Options { stop_when_hopeless: job.settings.stop_when_hopeless, ..Options::default() };
    let mut session = Session::with_options(problem, policy, options)
        .expect("the default share of money in flight makes sense");
    people::tell_who_is_slow(&mut session, &job.charter);
    session
}

fn header(job: &Job) -> Header {
    Header {
        version: VERSION.to_owned(),
        decisions: DECISIONS,
        charter: job.charter.text(),
        candidates: job.candidates.fingerprint(),
        arm_count: job.problem.arm_count() as u64,
        attribute_count: job.problem.attribute_count() as u64,
    }
}

/// A call comes back void when a run stops; one that does so this often is given up.
const VOID_ATTEMPTS_MAX: u32 = 100;
/// More about one verifier is not kept.
const REMARKS_MAX: usize = 8;

const TICK: Duration = Duration::from_millis(100);
/// Our own calls take little time; look up now and then all the same.
const OWN_CALLS_BETWEEN_LOOKS: u32 = 16;
const OWN_CALLS_TIME: Duration = Duration::from_millis(2);
