//! A run: asks the session, makes the calls, writes the journal. One thread does all of it except to
//! wait for the disk: handing every call from thread to thread would cost more than it saves.
//!
//! The order is what makes a crash harmless. Outcomes are written and told, the next calls are asked
//! and written, then all of it is made durable at once; only after that does a call start or a
//! certificate show. While the disk is at it, the run goes on with what comes back.

mod announce;
mod disk;
mod drive;
mod health;
mod outcome;
mod people;
mod resume;
mod settle;
#[cfg(test)]
mod simulation;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use goodarm_core::{ArmId, DECISIONS, Options, Problem, Session, Target, Ticket, policy};
use goodarm_data::candidates::Candidates;
use goodarm_record::account::Account;
use goodarm_record::ending::{Ending, RunError};
use goodarm_record::finish::{self, Recovery};
use goodarm_record::folder::Folder;
use goodarm_record::journal::{FolderLock, Header, Journal, Storage as _, VERSION};
use goodarm_record::outputs::{self, OutputError, RunState};
use goodarm_record::replay::Balance;
use goodarm_record::subjects::Subjects;
use goodarm_record::view::Overview;
use tokio::runtime::Runtime;

use crate::engine::Engine;
use crate::job::Job;
use crate::run::announce::PendingNotices;
use crate::run::disk::{Disk, Files, StorageFactory, SyncedStorage};
use crate::run::health::Health;
pub(crate) use crate::run::outcome::{of_answer, outcome};
use crate::run::people::HumanCalls;

/// A run that can be driven.
pub struct Run {
    job: Arc<Job>,
    session: Session,
    account: Account,
    /// The job's answers, and those that were made for its questions.
    subjects: Subjects,
    disk: Disk,
    engine: Engine,
    health: Health,
    people: HumanCalls,
    news: PendingNotices,
    /// For hosts without one of their own; taken out while it is used.
    runtime: Option<Runtime>,
    recovery: Recovery,
    _lock: FolderLock,
}

impl Run {
    /// Begins a new run in the job's output folder.
    pub fn begin(job: Arc<Job>) -> Result<Self, RunError> {
        Self::begin_on(&Files, job)
    }

    fn begin_on(media: &dyn StorageFactory, job: Arc<Job>) -> Result<Self, RunError> {
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
        media: &dyn StorageFactory,
        folder: &Folder,
        storage: Option<Box<dyn SyncedStorage>>,
        job: Arc<Job>,
        lock: FolderLock,
    ) -> Result<Self, RunError> {
        resume::in_the_way(folder)?;
        let storage = match storage {
            Some(mut storage) => storage.truncate(0).map(|()| storage),
            None => media.create(&folder.journal()),
        };
        let storage = storage.map_err(|error| RunError::journal(folder, error))?;
        let journal = Journal::create(storage, &header(&job)).map_err(RunError::NotDurable)?;
        keep_inputs(folder, &job)?;
        let balance = opening(&job, job.problem.clone());
        Self::assemble(job, balance, journal, Ticket(0), lock)
    }

    fn assemble(
        job: Arc<Job>,
        Balance { books: session, account, subjects }: Balance<Session>,
        journal: Journal<Box<dyn SyncedStorage>>,
        ticket_next: Ticket,
        lock: FolderLock,
    ) -> Result<Self, RunError> {
        let health = Health::new(&job, &account);
        let throttles = job.services().zip(health.on_trial()).map(|(service, is_on_trial)| {
            let throttle = service.throttle(service.limits);
            if is_on_trial { throttle.on_trial() } else { throttle }
        });
        let engine = Engine::new(throttles, job.settings.concurrency);
        let disk =
            Disk::new(journal).map_err(|error| RunError::file(&job.settings.output, error))?;
        Ok(Self {
            news: PendingNotices::new(account.services().len(), session.certified().len()),
            people: HumanCalls::new(&job, ticket_next),
            subjects: subjects.expect("a run has its answers"),
            health,
            job,
            session,
            disk,
            engine,
            account,
            runtime: None,
            recovery: Recovery::default(),
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
        &self.subjects.candidates
    }

    /// The object of an answer that was made during the run.
    pub fn made(&self, arm: ArmId) -> Option<&str> {
        let is_made = arm.index() >= self.job.candidates.len();
        is_made.then(|| self.subjects.candidates.json(arm))
    }

    /// What was counted since the run began, in whatever process.
    pub const fn account(&self) -> &Account {
        &self.account
    }

    /// What it found of the last process when it was resumed.
    pub const fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Writes all files of the folder but the journal and the candidates. The run has ended: after an error
    /// nobody knows how much of its journal is durable, and a summary must not have seen more.
    pub fn write_outputs(&self, ending: &Ending) -> Result<Overview, OutputError> {
        let folder = Folder::new(&self.job.settings.output);
        finish::write(&self.state(&folder), ending)
    }

    /// What its files are made from; `folder` is its own.
    pub fn state<'a>(&'a self, folder: &'a Folder) -> RunState<'a> {
        RunState {
            folder,
            terms: &self.job.terms,
            books: self.session.books(),
            account: &self.account,
            candidates: &self.subjects.candidates,
            questions: self.job.questions.as_deref(),
        }
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

/// A run of this job before its first call.
fn opening(job: &Job, problem: Problem) -> Balance<Session> {
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
    people::tell_who_is_slow(&mut session, &job.terms);
    let subjects =
        Subjects::new(Arc::clone(&job.candidates), job.questions.clone(), job.finals.clone());
    Balance::opening(session).with(Some(subjects))
}

fn header(job: &Job) -> Header {
    Header {
        version: VERSION.to_owned(),
        decisions: DECISIONS,
        terms: job.terms.text(),
        candidates: job.candidates.fingerprint(),
        arm_count: job.problem.arm_count() as u64,
        attribute_count: job.problem.attribute_count() as u64,
    }
}
