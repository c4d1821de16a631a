//! Resuming a run after a stop, a crash, or a power cut at any byte.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use goodarm_core::{
    Call, Cost, CountedFailure, Event, EventError, Failure, Outcome, Problem, Session, Target,
    Ticket, VoidFailure,
};
use goodarm_files::words::were;
use goodarm_record::changes;
use goodarm_record::folder::Folder;
use goodarm_record::history::{History, HistoryError, JournalEntry, SettledCall};
use goodarm_record::job_file::GuaranteeName;
use goodarm_record::job_file::Scores;
use goodarm_record::journal::{FolderLock, Header, Journal, Note, Record};
use goodarm_record::labels;
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

/// A journal's history and problem; `None` if its first frame was never written.
fn open_history(path: &Path) -> Result<Option<(History, Problem)>, RunError> {
    let journal = |error| RunError::Journal { path: path.to_owned(), error };
    match History::open(path) {
        Ok(history) => {
            let problem = history.problem().map_err(journal)?;
            Ok(Some((history, problem)))
        }
        Err(HistoryError::NeverBegun) => Ok(None),
        Err(HistoryError::Terms(error)) => Err(error.into()),
        Err(error) => Err(journal(error)),
    }
}

pub(super) fn resume(media: &dyn StorageFactory, job: Arc<Job>) -> Result<Run, RunError> {
    let folder = Folder::new(&job.settings.output);
    let path = folder.journal();
    let nothing = || RunError::NothingToResume(folder.path().to_owned());
    if !path.exists() {
        return Err(nothing());
    }
    let lock = FolderLock::take(folder.path())?;
    let storage = open_journal(media, &folder)?.ok_or_else(nothing)?;
    let Some((history, problem)) = open_history(&path)? else {
        return start::begin_in(media, &folder, Some(storage), job, lock);
    };
    // Before books are made for the number of candidates that the journal claims.
    check_terms(history.header(), &history.terms, &job)?;
    let Replay { history, follower, .. } = ReplayedRun::read(history, problem, &job)?;
    let ReplayedRun { balance, given_up, ticket_next, .. } = follower;
    let lost = history.in_flight().collect();
    let tail = history.finish().map_err(|error| RunError::Journal { path, error })?;
    folder.check_journal_age()?;
    labels::check_labels_complete(&folder).map_err(|error| RunError::Labels(Box::new(error)))?;
    let journal = Journal::resume(storage, tail).map_err(RunError::NotDurable)?;
    let mut run = start::assemble(job, balance, journal, ticket_next, lock)?;
    run.recovery.bytes_cut = tail.bytes_cut;
    for (target, count) in given_up {
        let service = run.job.problem.service(target);
        // With a fixed number of attempts, other calls do not matter.
        if run.job.service(service).limits.retries.is_none() {
            run.engine.throttle(service.index()).restore_throttled(subject_of(target), count);
        }
    }
    raise_budget(&mut run.work, &run.job)?;
    start::keep_inputs(&folder, &run.job)?;
    run.settle_lost(lost);
    run.recovery.added = add_candidates(&mut run.work, &run.job)?;
    run.work.disk.commit_first().map_err(RunError::NotDurable)?;
    Ok(run)
}

/// Every reason why this job's run could not be resumed, in the order in which [`resume`] checks. Changes
/// nothing.
pub(super) fn refusals(job: &Job) -> Vec<RunError> {
    let folder = Folder::new(&job.settings.output);
    let path = folder.journal();
    if !path.exists() {
        return vec![RunError::NothingToResume(folder.path().to_owned())];
    }
    let mut refusals = Vec::new();
    // A missing file `lock` is not created here: it means that the folder is not locked.
    let is_locked = folder.path().join("lock").exists();
    let lock = is_locked.then(|| FolderLock::take(folder.path())).transpose();
    match lock {
        Err(error) => refusals.push(error.into()),
        Ok(_) => refusals.extend(open_journal(&Files, &folder).err()),
    }
    let (history, problem) = match open_history(&path) {
        Ok(Some(opened)) => opened,
        Ok(None) => {
            refusals.extend(check_no_outputs(&folder).err());
            return refusals;
        }
        Err(error) => {
            refusals.push(error);
            return refusals;
        }
    };
    let mut changes = match check_terms(history.header(), &history.terms, job) {
        Err(RunError::Changed(changes)) => changes,
        _ => Vec::new(),
    };
    if changes.is_empty() {
        match ReplayedRun::read(history, problem, job) {
            Ok(mut past) => changes.extend(past.follower.refused_changes()),
            Err(RunError::Changed(more)) => changes.extend(more),
            Err(error) => refusals.push(error),
        }
    } else {
        match last_budget(Replay::new(history, &path)) {
            Ok((began, now)) => changes.extend(lowered_budget(began, now, job)),
            Err(error) => refusals.push(error),
        }
    }
    if !changes.is_empty() {
        refusals.push(RunError::Changed(changes));
    }
    refusals.extend(folder.check_journal_age().err().map(RunError::from));
    let labels = labels::check_labels_complete(&folder).err();
    refusals.extend(labels.map(|error| RunError::Labels(Box::new(error))));
    refusals
}

/// The state of a run at the end of its journal.
struct ReplayedRun<'a> {
    job: &'a Job,
    /// The session checks that its policy asks for the same calls again.
    balance: Balance<Session>,
    /// How many calls were given up since the last one with an outcome.
    given_up: BTreeMap<Target, u32>,
    /// The next call's ticket.
    ticket_next: Ticket,
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
            return Err(RunError::Changed(vec![other_candidates(self.job)]));
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

impl<'a> ReplayedRun<'a> {
    /// Replays the journal of this job.
    fn read(history: History, problem: Problem, job: &'a Job) -> Result<Replay<Self>, RunError> {
        let past = Self {
            job,
            balance: opening(job, problem),
            given_up: BTreeMap::new(),
            ticket_next: Ticket(0),
        };
        let journal = Folder::new(&job.settings.output).journal();
        let mut replay = Replay::new(history, &journal).followed_by(past);
        replay.run().map_err(|error| of_replay(error, |refusal| refusal))?;
        Ok(replay)
    }

    /// Changes of budget and candidates that the run cannot take.
    fn refused_changes(&mut self) -> Vec<String> {
        let (job, Balance { books: session, subjects, .. }) = (self.job, &mut self.balance);
        let books = session.books();
        let (began, now) = (books.problem().budget(), books.ledger().budget());
        let answer_count = subjects.as_ref().map_or(0, |subjects| subjects.candidates.len());
        let count = answer_count.saturating_sub(books.problem().arm_count());
        let added = if count > 0 { session.add_arms(count) } else { Ok(()) };
        let added = added.err().map(|error| format!("  {}: {error}", job.candidates_name));
        lowered_budget(began, now, job).into_iter().chain(added).collect()
    }
}

/// The budget that a run began with, and the one that it has now.
fn last_budget(mut replay: Replay<()>) -> Result<(Cost, Cost), RunError> {
    let began = replay.history.terms.budget;
    let mut now = began;
    let told = |error| of_replay(error, |it: EventError| RunError::Diverged(it.to_string()));
    while let Some(entry) = replay.step().map_err(told)? {
        if let Event::BudgetRaised { budget } = entry.event {
            now = budget;
        }
    }
    Ok((began, now))
}

/// Why a run cannot be resumed whose journal cannot be replayed.
fn of_replay<R>(error: JournalError<R>, refused: impl FnOnce(R) -> RunError) -> RunError {
    match error {
        JournalError::History { path, error } => RunError::Journal { path, error },
        JournalError::Mismatch { error, .. } => refused(error),
    }
}

/// Never spend more than the job allows now, even if it allowed more before.
fn lowered_budget(began: Cost, now: Cost, job: &Job) -> Option<String> {
    let wanted = job.settings.budget;
    let raised = if now > began { format!("was raised to {now} and ") } else { String::new() };
    (wanted < now).then(|| {
        format!(
            "  budget: {now} → {wanted} (it {raised}cannot be lowered: it must be at least {now})"
        )
    })
}

impl Run {
    /// Settles the calls that were in flight when the process died. They may have been made, so each counts
    /// as spent and as the lowest score, in dispatch order. Skipping or repeating them would break δ,
    /// unless the verifier is exact. Calls for people stay open.
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
                Failure::Void(VoidFailure::LostRepeatable)
            } else {
                Failure::Counted(CountedFailure::Lost)
            };
            let reason = "in flight when the process died".into();
            let note = Note { reason, ..Note::default() };
            let outcome = Outcome::Failed(failure);
            let call = SettledCall { ticket, target, outcome, cost: ceiling, note };
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
            |error| RunError::Changed(vec![format!("  {}: {error}", job.candidates_name)]);
        work.session.add_arms(count).map_err(refused)?;
        let event = Event::ArmsAdded {
            count: u32::try_from(count).expect("there are fewer than 2^32 candidates"),
        };
        let note = Note { candidates: candidates.fingerprint(), ..Note::default() };
        work.disk.append(&Record { event, note });
    }
    Ok(count)
}

fn raise_budget(work: &mut JournaledSession, job: &Job) -> Result<(), RunError> {
    let (began, now) = (work.books().problem().budget(), work.books().ledger().budget());
    if let Some(text) = lowered_budget(began, now, job) {
        return Err(RunError::Changed(vec![text]));
    }
    let budget = job.settings.budget;
    if budget > now {
        work.disk.append(&Event::BudgetRaised { budget }.into());
        work.session.raise_budget(budget);
        work.account.budgets.push(budget);
    }
    Ok(())
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

/// A change of what may be set outside of the job's text.
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
        ..terms.clone()
    };
    if changes.is_empty() && comparable(terms) != comparable(&job.terms) {
        changes.push("  a file that the job names, and with it a price or a score model".into());
    }
    if changes.is_empty() { Ok(()) } else { Err(RunError::Changed(changes)) }
}
