//! Resuming a run after a stop, a crash, or a power cut at any byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use goodarm_core::{
    Books, Call, Cost, CountedFailure, Event, Failure, Outcome, Session, Target, Ticket,
    VoidFailure,
};
use goodarm_files::words::were;
use goodarm_record::changes;
use goodarm_record::folder::Folder;
use goodarm_record::history::{History, HistoryError, JournalEntry, SettledCall};
use goodarm_record::job_file::GuaranteeName;
use goodarm_record::job_file::Scores;
use goodarm_record::journal::{FolderLock, Header, Journal, JournalEnd, Note, Record};
use goodarm_record::labels;
use goodarm_record::people;
use goodarm_record::replay::{Balance, Follower, JournalError, Replay};
use goodarm_record::run_error::RunError;
use goodarm_record::terms::RunTerms;

use crate::job::Job;
use crate::run::disk::{Files, StorageFactory};
use crate::run::journaled::JournaledSession;
use crate::run::settle::Origin;
use crate::run::start::{self, check_no_outputs, open_journal, opening};
use crate::run::{Run, subject_of};
use crate::service::Dispatch;

pub(super) fn resume(media: &dyn StorageFactory, job: Arc<Job>) -> Result<Run, RunError> {
    let folder = Folder::new(&job.settings.output);
    if !folder.journal().exists() {
        return Err(nothing_to_resume(&folder));
    }
    let lock = FolderLock::take(folder.path())?;
    let storage = open_journal(media, &folder)?.ok_or_else(|| nothing_to_resume(&folder))?;
    let Some((past, tail)) = read(&folder, &job)? else {
        return start::begin_in(media, &folder, Some(storage), job, lock);
    };
    let ReplayedRun { balance, given_up, ticket_next, lost, earlier_runs, .. } = past;
    let journal = Journal::resume(storage, tail).map_err(RunError::NotDurable)?;
    let terms = RunTerms { earlier_runs, ..job.terms.clone() };
    let mut run = start::assemble((job, terms), balance, journal, ticket_next, lock)?;
    run.recovery.bytes_cut = tail.bytes_cut;
    for (target, count) in given_up {
        let service = run.job.problem.service(target);
        // With a fixed number of `retries`, a call is given up whether other calls get replies or not.
        if run.job.service(service).limits.retries.is_none() {
            run.engine.throttle(service.index()).restore_throttled(subject_of(target), count);
        }
    }
    raise_budget(&mut run.work, &run.job);
    start::keep_inputs(&folder, &run.job)?;
    run.settle_lost(lost);
    run.recovery.added = add_candidates(&mut run.work, &run.job)?;
    run.work.disk.commit_first().map_err(RunError::NotDurable)?;
    Ok(run)
}

/// Whether this job's run could be resumed: the checks of [`resume`], in the same order. Changes nothing.
pub(super) fn check(job: &Job) -> Result<(), RunError> {
    let folder = Folder::new(&job.settings.output);
    if !folder.journal().exists() {
        return Err(nothing_to_resume(&folder));
    }
    // A missing file `lock` is not created here: it means that the folder is not locked.
    let is_locked = folder.path().join("lock").exists();
    let _lock = is_locked.then(|| FolderLock::take(folder.path())).transpose()?;
    open_journal(&Files, &folder)?;
    match read(&folder, job)? {
        Some(_) => Ok(()),
        None => check_no_outputs(&folder),
    }
}

fn nothing_to_resume(folder: &Folder) -> RunError {
    RunError::NothingToResume(folder.path().to_owned())
}

/// The state of a run at the end of its journal.
struct ReplayedRun<'a> {
    job: &'a Job,
    /// The session checks that its policy asks for the same calls again.
    balance: Balance<Session>,
    /// The number of calls with this target that were given up since a call of it succeeded.
    given_up: BTreeMap<Target, u32>,
    /// How many runs came before this one in its folder.
    earlier_runs: u32,
    /// The next call's ticket.
    ticket_next: Ticket,
    /// The calls that were in flight when the process ended.
    lost: Vec<(Ticket, Target)>,
}

impl Follower for ReplayedRun<'_> {
    type Refusal = RunError;

    fn follow(&mut self, entry: &JournalEntry<'_>) -> Result<(), RunError> {
        let diverged = |error| RunError::Diverged(format!("entry {}: {error}", entry.index));
        self.balance.follow(entry).map_err(diverged)?;
        let arm_count = self.balance.books.books().problem().arm_count();
        if let Some(fingerprint) = &entry.candidates
            && !self.job.candidates.begin_with(arm_count, fingerprint)
        {
            return Err(RunError::changed(vec![other_candidates(self.job)]));
        }
        if let Some(Ticket(call)) = self.balance.subjects.as_ref().and_then(|it| it.mislabelled) {
            let text = format!("call {call}: its final answer has another number in the record");
            return Err(RunError::Diverged(text));
        }
        if let Event::Asked { ticket, .. } = entry.event {
            self.ticket_next = Ticket(ticket.0 + 1);
        }
        let Some(call) = &entry.call else { return Ok(()) };
        match call.failure() {
            Some(Failure::Counted(CountedFailure::GivenUp)) => {
                *self.given_up.entry(call.target).or_default() += 1;
            }
            None => drop(self.given_up.remove(&call.target)),
            Some(_) => {}
        }
        Ok(())
    }
}

/// Replays the journal of this job: the state at its end, and where writing continues. `None` if its first frame
/// was never written.
fn read<'a>(
    folder: &Folder,
    job: &'a Job,
) -> Result<Option<(ReplayedRun<'a>, JournalEnd)>, RunError> {
    let path = folder.journal();
    let journal = |error| RunError::Journal { path: path.clone(), error };
    let history = match History::open(&path) {
        Ok(history) => history,
        Err(HistoryError::NeverBegun) => return Ok(None),
        Err(HistoryError::Terms(error)) => return Err(error.into()),
        Err(error) => return Err(journal(error)),
    };
    let problem = history.problem().map_err(journal)?;
    // Checked before books are made for the number of candidates in the journal.
    check_terms(history.header(), &history.terms, job)?;
    let past = ReplayedRun {
        job,
        balance: opening(job, problem),
        given_up: BTreeMap::new(),
        earlier_runs: history.terms.earlier_runs,
        ticket_next: Ticket(0),
        lost: Vec::new(),
    };
    let mut replay = Replay::new(history, &path).followed_by(past);
    replay.run().map_err(|error| match error {
        JournalError::History { path, error } => RunError::Journal { path, error },
        JournalError::Mismatch { error, .. } => error,
    })?;
    let Replay { history, follower: mut past, .. } = replay;
    check_budget(past.balance.books.books(), job)?;
    past.lost = history.in_flight().collect();
    let tail = history.finish().map_err(journal)?;
    folder.check_journal_age()?;
    labels::check_labels_complete(folder).map_err(|error| RunError::Labels(Box::new(error)))?;
    people::check_replies(folder)?;
    Ok(Some((past, tail)))
}

/// Refuses a job with a lower budget than the run's: a run never spends more than its job allows now.
fn check_budget(books: &Books, job: &Job) -> Result<(), RunError> {
    let (began, now) = (books.problem().budget(), books.ledger().budget());
    let wanted = job.settings.budget;
    if wanted >= now {
        return Ok(());
    }
    let raised = if now > began { format!("was raised to {now} and ") } else { String::new() };
    let change = format!(
        "  budget: {now} → {wanted} (it {raised}cannot be lowered: it must be at least {now})"
    );
    Err(RunError::Changed { changes: vec![change], budget_min: Some(now) })
}

impl Run {
    /// Settles the calls that were in flight when the process died. They may have been made, so each has a bill that is
    /// not known and counts as the lowest score, in dispatch order. Skipping or repeating them would break δ, unless the
    /// verifier is exact. Quick calls are evaluated again, and calls for people stay open.
    fn settle_lost(&mut self, lost: Vec<(Ticket, Target)>) {
        for (ticket, target) in lost {
            let service = self.job.terms.service(target);
            let (ceiling, is_exact) = (service.ceiling, service.scores == Scores::Exact);
            if service.people.is_some() {
                let names = self.work.names(&self.job, target);
                self.people.ask(Call::again(ticket, target, ceiling), names);
                continue;
            }
            if let Some(Dispatch::Now(reply)) = self.work.dispatch(&self.job, target) {
                self.settle(Call::again(ticket, target, ceiling), reply, Origin::Local);
                continue;
            }
            // An exact verifier gives the same score again, so asking again is not a second chance.
            let failure = if is_exact {
                Failure::Void(VoidFailure::NoVerdict)
            } else {
                Failure::Counted(CountedFailure::Lost)
            };
            let reason = "in flight when the process died".into();
            let note = Note { reason, ..Note::default() };
            let outcome = Outcome::Failed(failure);
            let bill = self.lost_bill(target, ceiling);
            let call = SettledCall { ticket, target, outcome, bill, note };
            self.work.settle(&call, Origin::Remote);
            self.recovery.lost += 1;
        }
    }
}

/// Adds the candidates of the job that are not in the journal, and returns their number. The run's folder
/// has them already, for readers of the journal.
fn add_candidates(work: &mut JournaledSession, job: &Job) -> Result<usize, RunError> {
    let candidates = &work.subjects.candidates;
    let count = candidates.len() - work.books().problem().arm_count();
    if count > 0 {
        let refused =
            |error| RunError::changed(vec![format!("  {}: {error}", job.candidates_name)]);
        work.session.add_arms(count).map_err(refused)?;
        let event = Event::ArmsAdded {
            count: u32::try_from(count).expect("there are fewer than 2^32 candidates"),
        };
        let note = Note { candidates: candidates.fingerprint(), ..Note::default() };
        work.disk.append(&Record { event, note });
    }
    Ok(count)
}

fn raise_budget(work: &mut JournaledSession, job: &Job) {
    let budget = job.settings.budget;
    if budget > work.books().ledger().budget() {
        work.disk.append(&Event::BudgetRaised { budget }.into());
        work.session.raise_budget(budget);
        work.account.budgets.push(budget);
    }
}

fn other_candidates(job: &Job) -> String {
    let name = &job.candidates_name;
    let rule = match job.terms.guarantee {
        GuaranteeName::Lent | GuaranteeName::None => {
            ": candidates may only be added, after the others"
        }
        _ => "",
    };
    format!("  the content of {name}{rule}")
}

/// A change of the policy or of `calls_per_pair`, which may be set outside of the job's text.
fn changed_policy(before: &RunTerms, now: &RunTerms) -> Option<String> {
    let calls = |terms: &RunTerms| terms.calls_per_pair.map_or("none".into(), |it| it.to_string());
    if before.policy != now.policy {
        Some(format!("  policy: {:?} → {:?}", before.policy, now.policy))
    } else if before.calls_per_pair != now.calls_per_pair {
        Some(format!("  calls_per_pair: {} → {}", calls(before), calls(now)))
    } else {
        None
    }
}

/// Checks that the job still has the terms in the journal.
fn check_terms(header: &Header, terms: &RunTerms, job: &Job) -> Result<(), RunError> {
    let mut changes = changes::of_job(&terms.job, &job.text);
    if changes.is_empty() {
        changes.extend(changed_policy(terms, &job.terms));
    }
    let blake3 = |terms: &RunTerms| terms.questions.as_ref().map(|it| it.blake3.clone());
    if changes.is_empty() && blake3(terms) != blake3(&job.terms) {
        changes.push(
            "  the content of the questions: put them back, or begin a new run with another output"
                .into(),
        );
    }
    let grown_by = job.candidates.len().saturating_sub(terms.candidate_count);
    if !job.candidates.begin_with(terms.candidate_count, &header.candidates) {
        changes.push(other_candidates(job));
    } else if grown_by > 0 && terms.questions.is_some() {
        changes.push(format!(
            "  {}: {} added, but a run with questions takes answers only from its generators: take them out, or begin a new run",
            job.candidates_name, were(grown_by, "candidate")
        ));
    } else if grown_by > 0 && !matches!(terms.guarantee, GuaranteeName::Lent | GuaranteeName::None)
    {
        changes.push(format!(
            "  {}: {} added, but guarantee {:?} divides delta among those that the run began with: take them out, or begin a new run with guarantee = \"lent\", which takes more at any time",
            job.candidates_name, were(grown_by, "candidate"), terms.guarantee.to_string()
        ));
    }
    let is_same_job = changes.is_empty();
    for (path, content) in &terms.files {
        let now = job.terms.files.get(path);
        // A file that the job no longer names is among its changes already.
        if now.map_or(is_same_job, |now| now != content) {
            changes.push(format!(
                "  the content of {path}: put it back, or begin a new run with another output"
            ));
        }
    }
    for (before, now) in terms.verifiers.iter().zip(&job.terms.verifiers) {
        if changes.is_empty() && grown_by > 0 && now.ceiling > before.ceiling {
            changes.push(format!(
                "  {}: with the candidates that were added a call of {} may cost {}, but the run began with {} as the most, and prices are fixed: shorten them, leave them out, or begin a new run",
                job.candidates_name, now.name, now.ceiling, before.ceiling
            ));
        }
    }
    let comparable = |terms: &RunTerms| RunTerms {
        budget: Cost::ZERO,
        candidate_count: 0,
        job: String::new(),
        id_field: String::new(),
        files: BTreeMap::new(),
        folder: None,
        earlier_runs: 0,
        // The run goes on with the bills that it expected at its beginning.
        ..terms.without_expectations()
    };
    if changes.is_empty() && comparable(terms) != comparable(&job.terms) {
        changes.push("  a file that the job names, and with it a price or a score model".into());
    }
    if changes.is_empty() { Ok(()) } else { Err(RunError::changed(changes)) }
}
