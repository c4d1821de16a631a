//! A run: asks the session, makes the calls, writes the journal. One thread does all of it except
//! waiting for the disk: handing every call from thread to thread would cost more than it saves.
//!
//! The order of these steps makes a crash harmless. Outcomes are written and settled, the next calls are
//! asked for and written, then all of it becomes durable at once; only after that does a call start or a
//! certificate appear. While the disk writes, the run continues with the calls that come back.

mod disk;
mod drive;
mod health;
mod journaled;
mod notices;
mod outcome;
mod people;
mod resume;
mod settle;
#[cfg(test)]
mod simulation;
mod start;

use std::path::PathBuf;
use std::sync::Arc;

use goodarm_core::{ArmId, Session, Target};
use goodarm_record::account::Account;
use goodarm_record::ending::Ending;
use goodarm_record::finish::{self, Recovery};
use goodarm_record::folder::Folder;
use goodarm_record::journal::FolderLock;
use goodarm_record::notice::Progress;
use goodarm_record::outputs::{OutputError, RunState};
use goodarm_record::run_error::RunError;
use goodarm_record::terms::RunTerms;
use goodarm_record::view::Overview;
use tokio::runtime::Runtime;

use crate::engine::Engine;
use crate::job::Job;
use crate::run::disk::Files;
use crate::run::health::Health;
use crate::run::journaled::JournaledSession;
use crate::run::notices::{PendingNotices, ProgressMeter};
pub(crate) use crate::run::outcome::{of_answer, outcome};
use crate::run::people::HumanCalls;

/// A run that can be driven.
pub struct Run {
    job: Arc<Job>,
    /// The terms of the job, and how many runs came before this one in its folder.
    terms: RunTerms,
    work: JournaledSession,
    engine: Engine,
    health: Health,
    people: HumanCalls,
    notices: PendingNotices,
    /// The runtime of [`Run::drive`]; `None` before the first use and while it is used.
    runtime: Option<Runtime>,
    recovery: Recovery,
    _lock: FolderLock,
}

impl Run {
    /// Begins a new run in the job's output folder.
    pub fn begin(job: Arc<Job>) -> Result<Self, RunError> {
        start::begin(&Files, job)
    }

    /// Begins a new run in the job's output folder. A run that is there already is moved aside, and its new
    /// folder is returned. The calls of the old run do not count in the new one, so both runs keep their
    /// promise.
    pub fn begin_again(job: Arc<Job>) -> Result<(Self, Option<PathBuf>), RunError> {
        let aside = start::set_aside(&Folder::new(&job.settings.output))?;
        Ok((Self::begin(job)?, aside))
    }

    /// Continues the run in the job's output folder where it stopped.
    pub fn resume(job: Arc<Job>) -> Result<Self, RunError> {
        resume::resume(&Files, job)
    }

    /// Whether the run could be resumed with this job. Changes nothing.
    pub fn check_resume(job: &Job) -> Result<(), RunError> {
        resume::check(job)
    }

    /// The job.
    pub const fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// The session: the calls, the evidence and the money so far.
    pub const fn session(&self) -> &Session {
        &self.work.session
    }

    /// The totals since the run began, over all processes.
    pub const fn account(&self) -> &Account {
        &self.work.account
    }

    /// What was found when the run was resumed, such as calls that the last process lost.
    pub const fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Sets whether the run continues when it can only wait for people, as it does by default. A run that ends
    /// instead can be resumed when people have replied.
    pub const fn set_waits_for_people(&mut self, waits: bool) {
        self.people.are_waited_for = waits;
    }

    /// The number of calls that wait for people, including calls that an earlier process of the run asked for.
    pub fn waiting_for_people(&self) -> usize {
        self.people.count()
    }

    /// The progress of the run before the first call of this process.
    pub fn progress(&self) -> Progress {
        ProgressMeter::new(self).progress(self, false)
    }

    /// Writes all files of the folder except the journal and the candidates. The run must have ended without an
    /// error: after an error it is unknown how much of the journal is durable, and a summary must not show
    /// more.
    pub fn write_outputs(&self, ending: &Ending) -> Result<Overview, OutputError> {
        let folder = Folder::new(&self.job.settings.output);
        finish::write(&self.state(&folder), ending)
    }

    /// The state that the run's files are made from; `folder` must be the run's own folder.
    pub fn state<'a>(&'a self, folder: &'a Folder) -> RunState<'a> {
        RunState {
            folder,
            terms: &self.terms,
            books: self.work.books(),
            account: &self.work.account,
            candidates: &self.work.subjects.candidates,
            questions: self.job.questions.as_deref(),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Do not wait for DNS lookups that are still running.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The index of the answer that a call is about; for a call about a question, the index of the question.
const fn subject_of(target: Target) -> ArmId {
    match target {
        Target::Arm(arm, _) => arm,
        Target::Question(question, _) => ArmId(question.0),
    }
}
