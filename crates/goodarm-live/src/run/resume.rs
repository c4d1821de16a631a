//! Taking up a run where it was left: by a stop, a crash, or a power cut at any byte.

use std::path::Path;
use std::sync::Arc;

use goodarm_core::{
    ArmId, AttributeId, Cost, CountedFailure, DECISIONS, Event, Failure, Pull, Ticket, VoidFailure,
};

use crate::account::Account;
use crate::changes;
use crate::charter::Charter;
use crate::folder::Folder;
use crate::history::{Call, History, HistoryError};
use crate::job::Job;
use crate::journal::{self, FileStorage, FolderLock, Header, Journal, Note, Opened};
use crate::run::announce::Announcer;
use crate::run::{Control, Origin, Run, RunError, keep_inputs, new_session};

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
    let mut history = match History::open(&path) {
        Ok(history) => history,
        Err(HistoryError::NeverBegun) => return Run::begin_in(&folder, job, lock),
        Err(HistoryError::Charter(error)) => return Err(error.into()),
        Err(error) => return Err(journal_error(error)),
    };
    check_terms(history.header(), &history.charter, &job)?;
    let mut session = new_session(&job, history.charter.problem()?);
    let mut account = Account::new(session.books());
    while let Some(entry) = history.next_entry().map_err(journal_error)? {
        session
            .replay([entry.event])
            .map_err(|error| RunError::Diverged(format!("entry {}: {error}", entry.index)))?;
        account.take(session.books(), &entry);
    }
    let lost: Vec<_> = history.in_flight().collect();
    let tail = history.finish().map_err(journal_error)?;
    let storage = FileStorage::open(&path).map_err(|error| RunError::file(&path, error))?;
    let journal = Journal::resume(storage, tail).map_err(RunError::NotDurable)?;
    let mut run = Run::assemble(job, session, journal, account, lock)?;
    run.bytes_cut = tail.bytes_cut;
    run.raise_budget()?;
    keep_inputs(&folder, &run.job)?;
    run.settle_lost(lost);
    run.disk.commit_first().map_err(RunError::NotDurable)?;
    Ok(run)
}

impl Run {
    /// Calls that were in flight when the process died: they may have been made, so each counts as
    /// spent and as the lowest score, in its place. Skipping or repeating them would break δ, unless
    /// the verifier is exact.
    fn settle_lost(&mut self, lost: Vec<(Ticket, ArmId, AttributeId)>) {
        for (ticket, arm, attribute) in lost {
            let declared = self.session.books().problem().attribute(attribute);
            let (ceiling, is_exact) = (declared.price(), declared.is_exact());
            let pull = Pull { ticket, arm, attribute, ceiling, attempt: 0, loan: None, branch: "" };
            if let Some(reply) = self.own_reply(&pull) {
                let control = Control::default();
                let mut observer = ();
                let mut announcer = Announcer::new(self, &control, &mut observer);
                self.settle(&pull, reply, Origin::Own, &mut announcer);
                continue;
            }
            // An exact verifier would say the same again, so asking again takes no second chance.
            let failure = if is_exact {
                Failure::Void(VoidFailure::LostRepeatable)
            } else {
                Failure::Counted(CountedFailure::Lost)
            };
            let reason = "in flight when the process died".into();
            let note = Note { reason, ..Note::default() };
            let outcome = Err(failure);
            let call = Call { ticket, arm, attribute, outcome, cost: ceiling, note };
            self.book(&call, Origin::Others);
            self.lost_count += 1;
        }
    }

    fn raise_budget(&mut self) -> Result<(), RunError> {
        let now = self.session.books().ledger().budget();
        let wanted = self.job.settings.budget;
        // No money is spent beyond what the job says now, even if it was promised once.
        if wanted < now {
            let began = self.session.books().problem().budget();
            let raised =
                if now > began { format!("was raised to {now} and ") } else { String::new() };
            let text = format!(
                "  budget: {now} → {wanted} (it {raised}cannot be lowered: write {now} into the job file, or say --budget {now})"
            );
            return Err(RunError::Changed(vec![text]));
        }
        if wanted > now {
            self.disk.append(&Event::BudgetRaised { budget: wanted }.into());
            self.session.raise_budget(wanted);
            self.account.budgets.push(wanted);
        }
        Ok(())
    }
}

/// Whether the job still keeps to the terms in the journal.
fn check_terms(header: &Header, charter: &Charter, job: &Job) -> Result<(), RunError> {
    if header.decisions != DECISIONS {
        let (version, theirs) = (header.version.clone(), header.decisions);
        return Err(RunError::Decisions { version, theirs });
    }
    let mut changes = changes::of_job(&charter.job, &job.text);
    if header.candidates != job.candidates.fingerprint() {
        changes.push(format!("  the content of {}", job.candidates_name));
    }
    let is_same_job = changes.is_empty();
    for (path, content) in charter.files.iter().flatten() {
        let now = job.charter.files.as_ref().and_then(|files| files.get(path));
        // One that the job no longer names is among its changes already.
        if now.map_or(is_same_job, |now| now != content) {
            changes.push(format!(
                "  the content of {path}: put it back, or begin a new run with another output"
            ));
        }
    }
    let comparable = |charter: &Charter| {
        let mut verifiers = charter.verifiers.clone();
        verifiers.iter_mut().for_each(|terms| terms.mean_over = None);
        Charter {
            budget: Cost::ZERO,
            job: String::new(),
            id_field: None,
            files: None,
            verifiers,
            ..charter.clone()
        }
    };
    if changes.is_empty() && comparable(charter) != comparable(&job.charter) {
        changes.push("  a file that the job names, and with it a price or a score model".into());
    }
    if changes.is_empty() { Ok(()) } else { Err(RunError::Changed(changes)) }
}
