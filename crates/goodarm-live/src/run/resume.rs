//! Taking up a run where it was left: by a stop, a crash, or a power cut at any byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use goodarm_core::{Cost, CountedFailure, Event, Failure, Pull, Session, Ticket, VoidFailure};

use crate::changes;
use crate::charter::Charter;
use crate::folder::Folder;
use crate::job::Job;
use crate::journal::{
    self, FileStorage, FolderLock, Header, Journal, OpenError, Opened, Reader, Record,
};
use crate::run::counts::Counts;
use crate::run::watch::Watch;
use crate::run::{Control, Notice, Observer, Run, RunError, VERSION, file_error, new_session};

/// Whether a journal's first frame never came to be: then nothing was asked and nothing is lost.
pub(super) fn is_unborn(path: &Path) -> bool {
    matches!(journal::open(path), Ok(Opened::NeverBegun { .. }))
}

pub(super) fn resume(job: Arc<Job>) -> Result<Run, RunError> {
    let folder = Folder::new(&job.settings.output);
    let path = folder.journal();
    if !path.exists() {
        return Err(RunError::NothingToResume(folder.path().to_owned()));
    }
    let lock = FolderLock::take(folder.path())?;
    let journal_error = |error| RunError::Journal { path: path.clone(), error };
    let mut reader = match journal::open(&path).map_err(journal_error)? {
        Opened::Begun(reader) => reader,
        Opened::NeverBegun { .. } => return Run::begin_in(&folder, job, lock),
    };
    let charter = check_header(reader.header(), &job)?;
    let mut session = new_session(&job, charter.problem()?)?;
    let past = replay(&mut session, &mut reader).map_err(|error| match error {
        ReplayFailure::Journal(error) => journal_error(error),
        ReplayFailure::Diverged(text) => RunError::Diverged(text),
    })?;
    let tail = reader.finish().map_err(journal_error)?;
    let storage = FileStorage::open(&path).map_err(|error| file_error(&path, error))?;
    let journal = Journal::resume(storage, tail).map_err(RunError::NotDurable)?;
    let mut run = Run::assemble(job, session, journal, past.counts, lock)?;
    run.bytes_cut = tail.bytes_cut;
    run.raise_budget()?;
    fs::write(folder.job(), &run.job.text).map_err(|error| file_error(&folder.job(), error))?;
    run.settle_lost(&past.out);
    run.disk.commit_first().map_err(RunError::NotDurable)?;
    Ok(run)
}

impl Run {
    /// Calls that were out when the process died: others may have made them, so each counts as
    /// spent and as the lowest score, in its place. Skipping or repeating them would break δ, unless
    /// the verifier is exact.
    fn settle_lost(&mut self, out: &BTreeMap<Ticket, Pull>) {
        for pull in out.values() {
            if self.job.verifiers[pull.attribute.index()].verifier.is_reproducible() {
                let done = self.own_call(pull);
                let mut nobody = Nobody;
                let control = Control::default();
                let mut watch = Watch::new(self, &control, &mut nobody);
                self.settle(&done, &mut watch);
                continue;
            }
            // An exact verifier would say the same again, so asking again takes no second chance.
            let is_exact = self.session.books().problem().attribute(pull.attribute).is_exact();
            let failure = if is_exact {
                Failure::Void(VoidFailure::LostRepeatable)
            } else {
                Failure::Counted(CountedFailure::Lost)
            };
            let reason = "out when the process died";
            self.fail(pull, failure, pull.ceiling, (Duration::ZERO, "", reason));
            self.lost_count += 1;
        }
    }

    fn raise_budget(&mut self) -> Result<(), RunError> {
        let now = self.session.books().ledger().budget();
        let wanted = self.job.settings.budget;
        // Nobody's money is spent beyond what the job says now, even if it was promised once.
        if wanted < now {
            let text = format!(
                "  budget: {now} → {wanted} (it was raised to {now} and cannot be lowered: write that into the job file, or say --budget {now})"
            );
            return Err(RunError::Changed(vec![text]));
        }
        if wanted > now {
            self.disk.append(&Record::BudgetRaised { budget: wanted });
            self.session.raise_budget(wanted);
        }
        Ok(())
    }
}

/// What the journal tells beyond the session.
struct Past {
    counts: Counts,
    out: BTreeMap<Ticket, Pull>,
}

enum ReplayFailure {
    Journal(OpenError),
    Diverged(String),
}

fn replay(session: &mut Session, reader: &mut Reader) -> Result<Past, ReplayFailure> {
    let counts = Counts::new(session.books().problem().attribute_count());
    let mut past = Past { counts, out: BTreeMap::new() };
    while let Some((position, record)) = reader.next_record().map_err(ReplayFailure::Journal)? {
        let latency = match record {
            Record::Told { latency, .. } | Record::Failed { latency, .. } => latency,
            _ => Duration::ZERO,
        };
        let event = match record {
            Record::Asked { ticket, arm, attribute } => Event::Asked { ticket, arm, attribute },
            Record::Told { ticket, score, cost, .. } => Event::Told { ticket, score, cost },
            Record::Failed { ticket, failure, cost, .. } => Event::Failed { ticket, failure, cost },
            Record::BudgetRaised { budget } => Event::BudgetRaised { budget },
        };
        session.replay([event]).map_err(|error| {
            ReplayFailure::Diverged(format!("frame at byte {}: {error}", position.offset))
        })?;
        let (ticket, outcome, cost) = match event {
            Event::Asked { ticket, arm, attribute } => {
                let ceiling = session.books().problem().attribute(attribute).price();
                let pull = Pull { ticket, arm, attribute, ceiling, attempt: 0, branch: "" };
                past.out.insert(ticket, pull);
                continue;
            }
            Event::Told { ticket, score, cost } => (ticket, Ok(score), cost),
            Event::Failed { ticket, failure, cost } => (ticket, Err(failure), cost),
            _ => continue,
        };
        let pull = past.out.remove(&ticket).expect("the session knows every ticket that it takes");
        past.counts.take(session.books(), pull.attribute, outcome, (cost, latency));
    }
    Ok(past)
}

/// The terms of the run in the journal, if the job still keeps to them.
fn check_header(header: &Header, job: &Job) -> Result<Charter, RunError> {
    if header.version != VERSION {
        return Err(RunError::Version { theirs: header.version.clone(), ours: VERSION });
    }
    let charter = Charter::read(&header.job)?;
    let mut changes = changes::of_job(&charter.job, &job.text);
    if header.candidates != job.candidates.fingerprint() {
        changes.push(format!("  the content of {}", job.candidates_name));
    }
    let comparable =
        |charter: &Charter| Charter { budget: Cost::ZERO, job: String::new(), ..charter.clone() };
    if changes.is_empty() && comparable(&charter) != comparable(&job.charter) {
        changes.push("  a file that the job names, and with it a price or a score model".into());
    }
    if changes.is_empty() { Ok(charter) } else { Err(RunError::Changed(changes)) }
}

/// Nobody watches what was lost.
struct Nobody;

impl Observer for Nobody {
    fn notice(&mut self, _: Notice<'_>) {}
}
