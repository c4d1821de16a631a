//! Taking up a run where it was left: by a stop, a crash, or a power cut at any byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use goodarm_core::{Cost, CountedFailure, Event, Failure, Pull, Session, Ticket};

use crate::charter::Charter;
use crate::folder::Folder;
use crate::job::Job;
use crate::journal::{
    self, FileStorage, FolderLock, Header, Journal, OpenError, Opened, Reader, Record,
};
use crate::run::calls::Calls;
use crate::run::counts::Counts;
use crate::run::watch::Watch;
use crate::run::{Control, Notice, Observer, Run, RunError, VERSION, file_error, new_session};
use crate::toml_text;

/// Whether a journal's first frame never came to be: then nothing was asked and nothing is lost.
pub(super) fn is_unborn(path: &Path) -> bool {
    matches!(journal::open(path), Ok(Opened::NeverBegun { .. })) && fs::remove_file(path).is_ok()
}

pub(super) fn resume(job: Arc<Job>) -> Result<Run, RunError> {
    let folder = Folder::new(&job.output);
    let path = folder.journal();
    if !path.exists() {
        return Err(RunError::NothingToResume(folder.path().to_owned()));
    }
    let lock = FolderLock::take(folder.path())?;
    let journal_error = |error| RunError::Journal { path: path.clone(), error };
    let mut reader = match journal::open(&path).map_err(journal_error)? {
        Opened::Begun(reader) => reader,
        Opened::NeverBegun { .. } => {
            drop(lock);
            return Run::begin(job);
        }
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
    let calls = Calls::new(&job).map_err(|error| file_error(folder.path(), error))?;
    fs::write(folder.job(), &job.text).map_err(|error| file_error(&folder.job(), error))?;
    let mut run = Run {
        job,
        session,
        journal,
        calls,
        counts: past.counts,
        bytes_cut: tail.bytes_cut,
        lost_count: 0,
        _lock: lock,
    };
    run.settle_lost(&past.out);
    run.raise_budget()?;
    run.journal.commit().map_err(RunError::NotDurable)?;
    Ok(run)
}

impl Run {
    /// Calls that were out when the process died: others may have made them, so each counts as
    /// spent and as the lowest score, in its place. Skipping or repeating them would break δ.
    fn settle_lost(&mut self, out: &BTreeMap<Ticket, Pull>) {
        for pull in out.values() {
            if self.job.verifiers[pull.attribute.index()].work.is_reproducible() {
                let done = self.own_call(pull);
                let mut nobody = Nobody;
                let control = Control::default();
                let mut watch = Watch::new(self, &control, &mut nobody);
                self.settle(&done, &mut watch);
                continue;
            }
            let failure = Failure::Counted(CountedFailure::Lost);
            let reason = "out when the process died";
            self.fail(pull, failure, pull.ceiling, (Duration::ZERO, "", reason));
            self.lost_count += 1;
        }
    }

    fn raise_budget(&mut self) -> Result<(), RunError> {
        let now = self.session.books().ledger().budget();
        let wanted = Cost::of_budget(self.job.file.budget).expect("the job's budget is checked");
        if wanted < now {
            let text = format!("  budget: {now} → {wanted} (it may be raised, not lowered)");
            return Err(RunError::Changed(vec![text]));
        }
        if wanted > now {
            self.journal.append(&Record::BudgetRaised { budget: wanted });
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
    let mut changes = job_changes(&charter.job, &job.text);
    if header.candidates != job.candidates.fingerprint() {
        changes.push(format!("  the content of {}", job.file.candidates));
    }
    let comparable =
        |charter: &Charter| Charter { budget: 0.0, job: String::new(), ..charter.clone() };
    if changes.is_empty() && comparable(&charter) != comparable(&job.charter) {
        changes.push("  a file that the job names, and with it a price or a score model".into());
    }
    if changes.is_empty() { Ok(charter) } else { Err(RunError::Changed(changes)) }
}

/// Every key that is not what it was; the budget is looked at elsewhere.
fn job_changes(before: &str, now: &str) -> Vec<String> {
    let read = |text: &str| toml_text::parse::<serde_json::Value>(text).unwrap_or_default();
    let mut changes = Vec::new();
    compare("", &read(before), &read(now), &mut changes);
    changes
}

fn compare(
    path: &str,
    before: &serde_json::Value,
    now: &serde_json::Value,
    changes: &mut Vec<String>,
) {
    use serde_json::Value;
    if matches!(path, "budget" | "expect" | "calls") {
        return;
    }
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            let keys: std::collections::BTreeSet<&String> =
                before.keys().chain(now.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| {
                    map.get(key).cloned().unwrap_or_default()
                };
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                compare(&path, &of(before), &of(now), changes);
            }
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (index, (before, now)) in before.iter().zip(now).enumerate() {
                let name = before["name"].as_str().map_or_else(|| index.to_string(), str::to_owned);
                compare(&format!("{path}[{name}]"), before, now, changes);
            }
        }
        (before, now) if before != now => changes.push(format!("  {path}: {before} → {now}")),
        _ => {}
    }
}

/// Nobody watches what was lost.
struct Nobody;

impl Observer for Nobody {
    fn notice(&mut self, _: Notice<'_>) {}
}
