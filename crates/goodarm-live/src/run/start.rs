//! The beginning of a run: the folder is locked, the journal gets its header, the inputs are copied.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodarm_core::{DECISIONS, Options, Problem, Session, Ticket, policy};
use goodarm_record::finish::Recovery;
use goodarm_record::folder::Folder;
use goodarm_record::history::{History, HistoryError};
use goodarm_record::journal::{
    self, FolderLock, Header, Journal, OpenedJournal, Storage as _, VERSION,
};
use goodarm_record::outputs;
use goodarm_record::replay::Balance;
use goodarm_record::run_error::RunError;
use goodarm_record::subjects::Subjects;
use goodarm_record::terms::RunTerms;

use crate::engine::Engine;
use crate::job::Job;
use crate::run::Run;
use crate::run::disk::{Disk, Files, StorageFactory, SyncedStorage};
use crate::run::health::Health;
use crate::run::journaled::JournaledSession;
use crate::run::notices::PendingNotices;
use crate::run::people::HumanCalls;

/// Begins a run.
pub(super) fn begin(media: &dyn StorageFactory, job: Arc<Job>) -> Result<Run, RunError> {
    let folder = Folder::new(&job.settings.output);
    if let Some(file) = folder.file_in_the_way() {
        return Err(RunError::OutputIsFile(file.to_owned()));
    }
    fs::create_dir_all(folder.path()).map_err(|error| RunError::file(folder.path(), error))?;
    let lock = FolderLock::take(folder.path())?;
    let storage = open_journal(media, &folder)?;
    if storage.is_some() && !has_no_header(&folder.journal()) {
        return Err(RunError::AlreadyBegun(folder.path().to_owned()));
    }
    begin_in(media, &folder, storage, job, lock)
}

/// Moves the folder's run aside and returns its new folder; `None` if there is no run. Fails if another process
/// uses the run.
pub(super) fn set_aside(folder: &Folder) -> Result<Option<PathBuf>, RunError> {
    if !folder.journal().exists() {
        return Ok(None);
    }
    let _lock = FolderLock::take(folder.path())?;
    if let Err(error @ RunError::Locked(_)) = open_journal(&Files, folder) {
        return Err(error);
    }
    folder.set_aside().map(Some).map_err(|error| RunError::file(folder.path(), error))
}

/// Begins a run in a folder whose journal is missing or has no header.
pub(super) fn begin_in(
    media: &dyn StorageFactory,
    folder: &Folder,
    storage: Option<Box<dyn SyncedStorage>>,
    job: Arc<Job>,
    lock: FolderLock,
) -> Result<Run, RunError> {
    check_no_outputs(folder)?;
    let earlier_runs = earlier_runs(folder, &job);
    let terms = RunTerms { earlier_runs, ..job.terms.clone() };
    let storage = match storage {
        Some(mut storage) => storage.truncate(0).map(|()| storage),
        None => media.create(&folder.journal()),
    };
    let storage = storage.map_err(|error| RunError::journal(folder, error))?;
    let journal = Journal::create(storage, &header(&job, &terms)).map_err(RunError::NotDurable)?;
    keep_inputs(folder, &job)?;
    let balance = opening(&job, job.problem.clone());
    assemble((job, terms), balance, journal, Ticket(0), lock)
}

pub(super) fn assemble(
    (job, terms): (Arc<Job>, RunTerms),
    balance: Balance<Session>,
    journal: Journal<Box<dyn SyncedStorage>>,
    ticket_next: Ticket,
    lock: FolderLock,
) -> Result<Run, RunError> {
    let health = Health::new(&job, &balance.account);
    let throttles = job.services().zip(health.on_trial()).map(|(service, is_on_trial)| {
        let throttle = service.throttle(service.limits);
        if is_on_trial { throttle.on_trial() } else { throttle }
    });
    let engine = Engine::new(throttles, job.settings.concurrency);
    let disk = Disk::new(journal).map_err(|error| RunError::file(&job.settings.output, error))?;
    let work = JournaledSession::new(balance, disk);
    Ok(Run {
        notices: PendingNotices::new(job.services().count(), work.books().certified().len()),
        people: HumanCalls::new(&job, ticket_next),
        health,
        job,
        terms,
        work,
        engine,
        runtime: None,
        recovery: Recovery::default(),
        _lock: lock,
    })
}

/// Copies the job, the candidates and the questions into the run's folder, so that the folder can be read
/// without the original files.
pub(super) fn keep_inputs(folder: &Folder, job: &Job) -> Result<(), RunError> {
    fs::write(folder.job(), &job.text).map_err(|error| RunError::file(&folder.job(), error))?;
    outputs::write_candidates(&folder.candidates(), &job.candidates)?;
    if let Some(questions) = &job.questions {
        outputs::write_candidates(&folder.questions(), &questions.list)?;
    }
    Ok(())
}

/// The session, the account and the subjects of a run of this job before its first call.
pub(super) fn opening(job: &Job, problem: Problem) -> Balance<Session> {
    let settings = &job.settings;
    let parameters = policy::Parameters {
        seed: settings.seed,
        calls_per_pair: settings.calls_per_pair,
        ..Default::default()
    };
    let policy =
        policy::by_name(&settings.policy, &parameters).expect("the job's policy is checked");
    let options = Options::of_run(settings.stop_when_hopeless);
    let mut session = Session::with_options(problem, policy, options)
        .expect("the default share of money in flight is valid");
    // The session must know which services are people, because this changes which calls it asks for.
    for (service, terms) in job.terms.services() {
        if let Some(people) = terms.people {
            session.set_slow(service, people.cards_max);
        }
    }
    let subjects =
        Subjects::new(Arc::clone(&job.candidates), job.questions.clone(), job.finals.clone());
    Balance::opening(session).with(Some(subjects))
}

/// How many runs of these candidates made calls in this folder before and were moved aside. The folders that they were
/// moved to are beside this one, so that a crash in between loses nothing.
fn earlier_runs(folder: &Folder, job: &Job) -> u32 {
    let run_count = |aside: Folder| match History::open(&aside.journal()) {
        Ok(history)
            if !job
                .candidates
                .begin_with(history.terms.candidate_count, &history.header().candidates) =>
        {
            0
        }
        Ok(history) => history.run_count(),
        // It cannot be read by this version, or it was cut.
        Err(HistoryError::NeverBegun) => u32::from(aside.summary().exists()),
        Err(_) => 1,
    };
    folder.set_aside_before().map(run_count).max().unwrap_or(0)
}

fn header(job: &Job, terms: &RunTerms) -> Header {
    Header {
        version: VERSION.to_owned(),
        decisions: DECISIONS,
        terms: terms.text(),
        candidates: job.candidates.fingerprint(),
        arm_count: job.problem.arm_count() as u64,
        attribute_count: job.problem.attribute_count() as u64,
    }
}

/// Whether a journal's first frame was never written: then no call was asked for and nothing is lost.
pub(super) fn has_no_header(path: &Path) -> bool {
    matches!(journal::open(path), Ok(OpenedJournal::NeverBegun { .. }))
}

/// The journal of a folder, if there is one, opened for writing by this process alone. The folder's lock
/// does not suffice: it is a file that can be removed.
pub(super) fn open_journal(
    media: &dyn StorageFactory,
    folder: &Folder,
) -> Result<Option<Box<dyn SyncedStorage>>, RunError> {
    match media.open(&folder.journal()) {
        Ok(storage) => Ok(Some(storage)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RunError::journal(folder, error)),
    }
}

/// Refuses a folder without a journal header if it has outputs. A run writes the header first, so these files
/// were paid for by a run that is lost, or belong to another program.
pub(super) fn check_no_outputs(folder: &Folder) -> Result<(), RunError> {
    let file = folder.outputs().find(|path| path.exists());
    file.map_or(Ok(()), |path| Err(RunError::InTheWay(path)))
}
