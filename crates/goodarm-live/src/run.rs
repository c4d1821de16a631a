//! A run: asks the session, makes the calls, writes the journal. One thread does it all but one thing,
//! which is to wait for the disk: what would be handed from thread to thread for every call costs
//! more than it saves.
//!
//! The order is what makes a crash harmless. Outcomes are written and told, the next calls are asked
//! and written, then all of it is made durable at once; only after that does a call start or a
//! certificate show. While the disk is at it, the run goes on with what comes back.

mod calls;
mod counts;
mod disk;
mod resume;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io};

use goodarm_core::{
    ArmId, Ask, AskError, AttributeId, Cost, CountedFailure, Failure, Options, Problem, Pull,
    ScoreModel, Session, StopReason, VoidFailure, policy,
};

use tokio::runtime::{Builder, Runtime};

use crate::charter::CharterError;
use crate::folder::Folder;
use crate::job::Job;
use crate::journal::{FileStorage, FolderLock, Header, Journal, LockError, OpenError, Record};
use crate::line::Condition;
use crate::run::calls::{Calls, Done};
use crate::run::counts::Counts;
use crate::run::disk::Disk;
use crate::run::watch::Watch;
pub use crate::run::watch::{Notice, Observer, Progress};
use crate::verifier::{Place, Reply, Verdict};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// There is nothing more to do.
    Done(StopReason),
    /// Somebody asked to stop; nothing is out.
    Interrupted,
    /// Somebody asked to leave at once; calls that were out count as lost.
    Left,
    /// A verifier was down for longer than the job's patience.
    VerifierDown {
        /// Which.
        verifier: String,
        /// What went wrong last.
        reason: String,
    },
}

/// Why a run cannot begin or go on. Nothing is lost: what is in the journal stays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The folder holds a run.
    #[error("{} holds a run already: continue it with --resume, or choose another output", .0.display())]
    AlreadyBegun(PathBuf),
    /// A file of a run whose journal is gone, or of something else.
    #[error("{} is in the way, and the journal it belongs to is gone: choose another output, or move it away", .0.display())]
    InTheWay(PathBuf),
    /// The folder holds no run.
    #[error("{} holds no run to resume: start it without --resume", .0.display())]
    NothingToResume(PathBuf),
    /// Another process is at it.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// A file or folder.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// The journal cannot be read.
    #[error("{}: {error}", path.display())]
    Journal {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: OpenError,
    },
    /// The journal cannot be written.
    #[error(
        "the journal cannot be written ({0}), so no more calls are made; calls that were out count as lost: make room and --resume"
    )]
    NotDurable(io::Error),
    /// The journal's charter.
    #[error(transparent)]
    Charter(#[from] CharterError),
    /// Another version began this run.
    #[error("the run was begun by goodarm {theirs}; this is {ours}: finish it with that version")]
    Version {
        /// Who began it.
        theirs: String,
        /// Who we are.
        ours: &'static str,
    },
    /// The job is not what it was.
    #[error("the job has changed since the run began (only the budget may be raised, and the pace changed: concurrency, rate, patience):\n{}", .0.join("\n"))]
    Changed(Vec<String>),
    /// The record and the session disagree.
    #[error("the journal cannot be replayed: {0}")]
    Diverged(String),
    /// The policy named a call that may not be made.
    #[error(transparent)]
    Policy(#[from] AskError),
}

/// What people can ask of a run while it goes on.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicU8,
    pause: AtomicBool,
}

impl Control {
    /// The first time: no new calls, and wait for those that are out. The second: leave.
    pub fn stop(&self) {
        let _ = self
            .stop
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |stop| Some(stop.saturating_add(1)));
    }

    /// No new calls until told otherwise.
    pub fn set_paused(&self, paused: bool) {
        self.pause.store(paused, Ordering::SeqCst);
    }

    /// Whether new calls are held back.
    pub fn is_paused(&self) -> bool {
        self.pause.load(Ordering::SeqCst)
    }

    /// Whether somebody asked to stop.
    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst) >= 1
    }

    fn is_leaving(&self) -> bool {
        self.stop.load(Ordering::SeqCst) >= 2
    }
}

/// A run that can be driven.
pub struct Run {
    job: Arc<Job>,
    session: Session,
    disk: Disk,
    calls: Calls,
    /// Moves the calls; taken out while it does.
    runtime: Option<Runtime>,
    counts: Counts,
    /// Bytes that a power cut had left at the journal's end.
    bytes_cut: u64,
    lost_count: u64,
    _lock: FolderLock,
}

impl Run {
    /// Begins a new run in the job's output folder.
    pub fn begin(job: Arc<Job>) -> Result<Self, RunError> {
        let folder = Folder::new(&job.settings.output);
        fs::create_dir_all(folder.path()).map_err(|error| file_error(folder.path(), error))?;
        let lock = FolderLock::take(folder.path())?;
        if folder.journal().exists() && !resume::is_unborn(&folder.journal()) {
            return Err(RunError::AlreadyBegun(folder.path().to_owned()));
        }
        Self::begin_in(&folder, job, lock)
    }

    /// Begins in a folder whose journal is not there, or has no beginning.
    fn begin_in(folder: &Folder, job: Arc<Job>, lock: FolderLock) -> Result<Self, RunError> {
        // The journal's beginning came first of all that is ours: without it, whatever else is there
        // was paid for in a run that is lost, or is not ours.
        if let Some(path) = folder.outputs().into_iter().find(|path| path.exists()) {
            return Err(RunError::InTheWay(path));
        }
        let session = new_session(&job, job.problem.clone())?;
        let path = folder.journal();
        if path.exists() {
            fs::remove_file(&path).map_err(|error| file_error(&path, error))?;
        }
        let storage = FileStorage::create(&path).map_err(|error| file_error(&path, error))?;
        let journal = Journal::create(storage, &header(&job)).map_err(RunError::NotDurable)?;
        fs::write(folder.job(), &job.text).map_err(|error| file_error(&folder.job(), error))?;
        let counts = Counts::new(job.verifiers.len());
        Self::assemble(job, session, journal, counts, lock)
    }

    fn assemble(
        job: Arc<Job>,
        session: Session,
        journal: Journal<FileStorage>,
        counts: Counts,
        lock: FolderLock,
    ) -> Result<Self, RunError> {
        let calls = Calls::new(&job);
        let no_thread = |error| file_error(&job.settings.output, error);
        let disk = Disk::new(journal).map_err(no_thread)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
        let (runtime, bytes_cut, lost_count) = (Some(runtime), 0, 0);
        Ok(Self { job, session, disk, calls, runtime, counts, bytes_cut, lost_count, _lock: lock })
    }

    /// Takes up the run in the job's output folder where it was left.
    pub fn resume(job: Arc<Job>) -> Result<Self, RunError> {
        resume::resume(job)
    }

    /// The state of the work.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// The job.
    pub const fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// Calls that came back, those of earlier processes included.
    pub const fn call_count(&self) -> u64 {
        self.counts.call_count
    }

    /// The certified arms in their order, each with what was spent by then.
    pub fn certificates(&self) -> impl Iterator<Item = (ArmId, Cost)> + '_ {
        let spent_at = self.counts.spent_at.iter().copied();
        self.session.certified().iter().copied().zip(spent_at)
    }

    /// Calls that were out when an earlier process died, as this one found out.
    pub const fn lost_count(&self) -> u64 {
        self.lost_count
    }

    /// Bytes of an unfinished write that were cut from the journal.
    pub const fn bytes_cut(&self) -> u64 {
        self.bytes_cut
    }

    /// Makes calls until there is nothing more to do, or somebody says stop. It has a runtime of its
    /// own: do not call it from asynchronous code.
    pub fn drive(
        &mut self,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Ending, RunError> {
        let runtime = self.runtime.take().expect("whoever takes it puts it back");
        let result = runtime.block_on(self.make_calls(control, observer));
        self.runtime = Some(runtime);
        result
    }

    async fn make_calls(
        &mut self,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Ending, RunError> {
        let mut watch = Watch::new(self, control, observer);
        let mut tick = tokio::time::interval(TICK);
        let mut down = None;
        let ending = loop {
            let is_leaving = control.is_leaving();
            let is_stopping = is_leaving || control.is_stopping() || down.is_some();
            while let Some(done) = self.calls.take() {
                self.settle(&done, &mut watch);
            }
            let is_open = !is_stopping && !control.is_paused();
            let mut next = Next::Wait;
            if is_open && !self.disk.is_behind() {
                match self.ask_all(control, &mut watch) {
                    Ok(asked) => next = asked,
                    Err(error) => {
                        // What came before it counts all the same.
                        self.disk.commit().await.map_err(RunError::NotDurable)?;
                        return Err(error);
                    }
                }
            }
            if !is_open {
                self.take_back(&mut watch);
            }
            if is_stopping {
                self.calls.stop_lines();
            }
            if is_leaving {
                break Ending::Left;
            }
            let in_flight_count = self.session.books().in_flight_count();
            let is_done = matches!(next, Next::Done(_)) || is_stopping;
            let is_over = is_done && in_flight_count == 0;
            if is_over || watch.is_due() && !self.disk.is_safe() {
                self.disk.commit().await.map_err(RunError::NotDurable)?;
            }
            self.disk.push(in_flight_count).map_err(RunError::NotDurable)?;
            if is_open {
                self.start_ready();
            }
            if self.disk.is_safe() {
                watch.look(self);
            }
            if is_over {
                break match next {
                    Next::Done(reason) => Ending::Done(reason),
                    _ => down.unwrap_or(Ending::Interrupted),
                };
            }
            if down.is_none() {
                down = self.verifier_down();
            }
            if next == Next::More {
                // Calls that are out want to be moved, too.
                tokio::task::yield_now().await;
            } else {
                tokio::select! {
                    biased;
                    result = self.disk.wait(in_flight_count) => {
                        result.map_err(RunError::NotDurable)?;
                    }
                    () = self.calls.wait() => {}
                    _ = tick.tick() => {}
                }
            }
        };
        self.disk.commit().await.map_err(RunError::NotDurable)?;
        watch.close(self);
        Ok(ending)
    }

    /// Starts calls whose intents are durable, as many as may be out.
    fn start_ready(&mut self) {
        let in_flight_count = self.session.books().in_flight_count();
        let out_count = in_flight_count.saturating_sub(self.disk.kept_count());
        for _ in out_count..self.job.settings.concurrency {
            let Some(pull) = self.disk.next_ready() else { break };
            self.calls.start(pull);
        }
    }

    /// Calls that were not started yet are not made now, and not lost should the process die.
    fn take_back(&mut self, watch: &mut Watch<'_>) {
        for pull in self.disk.take_back() {
            let reply = Reply::void(VoidFailure::NotConnected);
            self.settle(&Done { pull, reply }, watch);
        }
    }

    /// Asks until there is nothing to ask for now; makes our own calls on the spot.
    fn ask_all(&mut self, control: &Control, watch: &mut Watch<'_>) -> Result<Next, RunError> {
        let concurrency = self.job.settings.concurrency;
        let in_flight_max = concurrency + self.disk.ahead_count().min(concurrency);
        let begin = Instant::now();
        for count in 1_u32.. {
            let is_full = self.session.books().in_flight_count() >= in_flight_max;
            if is_full || control.is_stopping() {
                return Ok(Next::Wait);
            }
            match self.session.ask()? {
                Ask::Pull(pull) => {
                    let Pull { ticket, arm, attribute, .. } = pull;
                    let intent = Record::Asked { ticket, arm, attribute };
                    watch.asked(&pull);
                    if self.job.verifiers[attribute.index()].verifier.is_reproducible() {
                        self.disk.append(&intent);
                        let done = self.own_call(&pull);
                        self.settle(&done, watch);
                        // It can be made again, so it need not be durable to be told. What others
                        // have answered must be.
                        if self.disk.is_safe() {
                            watch.tell_of_calls(self);
                        }
                        let is_look = count.is_multiple_of(OWN_CALLS_BETWEEN_LOOKS);
                        if is_look && begin.elapsed() > OWN_CALLS_TIME {
                            break;
                        }
                    } else {
                        self.disk.append_intent(&intent, pull);
                    }
                }
                Ask::Wait => return Ok(Next::Wait),
                Ask::Done(reason) => return Ok(Next::Done(reason)),
            }
        }
        Ok(Next::More)
    }

    /// A call that needs nobody else.
    fn own_call(&self, pull: &Pull) -> Done {
        let (arm, attribute) = (pull.arm, pull.attribute);
        let verifier = &self.job.verifiers[attribute.index()];
        let order = self.session.books().tally(arm, attribute).dispatched_count - 1;
        let place = Place { candidates: &self.job.candidates, arm, attribute, order };
        let reply = verifier.verifier.answer_here(place).unwrap_or_else(crashed);
        Done { pull: *pull, reply }
    }

    /// Writes down what came back, and tells the session.
    fn settle(&mut self, done: &Done, watch: &mut Watch<'_>) {
        let Pull { ticket, attribute, .. } = done.pull;
        let verifier = &self.job.verifiers[attribute.index()];
        // Without the time that it waited for its turn.
        let latency = done.reply.usage.worked;
        let cost = verifier.tariff.charge(&done.reply.usage);
        let outcome = self.outcome(done);
        let is_void = matches!(outcome, Outcome::Failed(Failure::Void(_), _));
        let cost = if is_void { Cost::ZERO } else { cost };
        match outcome {
            Outcome::Score(score) => {
                let reply = done.reply.text.as_str().into();
                self.append_outcome(
                    attribute,
                    &Record::Told { ticket, score, cost, latency, reply },
                );
                self.session
                    .tell(ticket, score, cost)
                    .expect("the ticket is out, the score checked");
                self.counts.take(self.session.books(), attribute, Ok(score), (cost, latency));
            }
            Outcome::Failed(failure, ref reason) => {
                self.fail(&done.pull, failure, cost, (latency, &done.reply.text, reason));
            }
        }
        watch.settled(&done.pull, &outcome, (cost, latency));
    }

    fn fail(
        &mut self,
        pull: &Pull,
        failure: Failure,
        cost: Cost,
        (latency, reply, reason): (Duration, &str, &str),
    ) {
        let &Pull { ticket, attribute, .. } = pull;
        let (reply, reason) = (reply.into(), reason.into());
        let record = Record::Failed { ticket, failure, cost, latency, reply, reason };
        self.append_outcome(attribute, &record);
        self.session.fail(ticket, failure, cost).expect("the ticket is out");
        self.counts.take(self.session.books(), attribute, Err(failure), (cost, latency));
    }

    fn append_outcome(&mut self, attribute: AttributeId, record: &Record<'_>) {
        if self.job.verifiers[attribute.index()].verifier.is_reproducible() {
            self.disk.append(record);
        } else {
            self.disk.append_outcome(record);
        }
    }

    /// What a reply counts as.
    fn outcome(&self, done: &Done) -> Outcome {
        match &done.reply.verdict {
            Verdict::Score(score) => {
                let attribute = self.session.books().problem().attribute(done.pull.attribute);
                // A scale of its own, such as 1 to 10, would pass every threshold.
                let is_off_scale = *score > SCORE_MAX && attribute.scores() == ScoreModel::Bounded;
                let problem = match attribute.checked_score(*score) {
                    Ok(_) if is_off_scale => "scores are from 0 to 1".to_owned(),
                    Ok(_) => return Outcome::Score(*score),
                    Err(error) => error.to_string(),
                };
                Outcome::Failed(
                    Failure::Counted(CountedFailure::Unreadable),
                    format!("score {score}: {problem}"),
                )
            }
            Verdict::Void(failure) => Outcome::Failed(Failure::Void(*failure), String::new()),
            Verdict::Failed(failure, reason) => {
                Outcome::Failed(Failure::Counted(*failure), reason.clone())
            }
        }
    }

    fn verifier_down(&self) -> Option<Ending> {
        self.job.verifiers.iter().zip(self.calls.conditions()).find_map(|(verifier, condition)| {
            match condition {
                Condition::GivenUp { reason } => {
                    Some(Ending::VerifierDown { verifier: verifier.name.clone(), reason })
                }
                _ => None,
            }
        })
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Whoever leaves does not wait for a name server.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
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
    Done(StopReason),
}

enum Outcome {
    Score(f64),
    Failed(Failure, String),
}

/// A reply that stands for a call whose task died: a bug of ours, and the call may have been made.
fn crashed() -> Reply {
    Reply::failed(CountedFailure::Crashed, "goodarm failed to make the call: please report it")
}

fn new_session(job: &Job, problem: Problem) -> Result<Session, RunError> {
    let parameters = policy::Parameters::default();
    let policy =
        policy::by_name(&job.settings.policy, &parameters).expect("the job's policy is checked");
    let options =
        Options { stop_when_hopeless: job.settings.stop_when_hopeless, ..Options::default() };
    Ok(Session::with_options(problem, policy, options)
        .expect("the default share of money in flight makes sense"))
}

fn header(job: &Job) -> Header {
    Header {
        version: VERSION.to_owned(),
        job: job.charter.text(),
        candidates: job.candidates.fingerprint(),
        arm_count: job.problem.arm_count() as u64,
        attribute_count: job.problem.attribute_count() as u64,
    }
}

/// What an average of scores may exceed 1 by.
const SCORE_MAX: f64 = 1.0 + 1e-9;

fn file_error(path: &std::path::Path, error: io::Error) -> RunError {
    RunError::File { path: path.to_owned(), error }
}

/// Who writes this journal; another version may decide differently.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

const TICK: Duration = Duration::from_millis(100);
/// Our own calls take little time; look up now and then all the same.
const OWN_CALLS_BETWEEN_LOOKS: u32 = 16;
const OWN_CALLS_TIME: Duration = Duration::from_millis(2);
