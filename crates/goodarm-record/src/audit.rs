//! An audit: every certificate and the whole ledger, computed again from the raw calls, by code that
//! shares nothing with the policies.
//!
//! The journal has the order of events, `calls.jsonl` the outcomes. Both are read side by side, so a call that is
//! missing, added or changed in either is found. What the calls prove is then compared with the run's files.

mod call_file;
mod findings;
mod labels;
mod made;
mod replies;
mod resumption;

use std::fmt;
use std::path::Path;

use goodarm_core::{Bill, Books, Cost, Event, Failure, Ticket};
use goodarm_files::PROBLEMS_MAX;
use goodarm_files::words::{amount, counted, money, were};

use crate::audit::call_file::{CallFile, Next};
use crate::audit::labels::AuditedLabels;
pub use crate::audit::resumption::Resumption;
use crate::changes;
use crate::claims::order::CertifiedAt;
use crate::folder::Folder;
use crate::history::{History, JournalEntry, SettledCall};
use crate::job_file::FailedCalls;
use crate::outputs::calls::CallLine;
use crate::replay::{Balance, Follower, JournalError, Replay};
use crate::subjects::Subjects;
use crate::terms::RunTerms;
use crate::view::Overview;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// Checks that passed.
    pub checked: Vec<String>,
    /// The first twenty problems.
    pub problems: Vec<AuditProblem>,
    /// The number of all problems.
    pub problem_count: usize,
    /// Notes about the run that are not problems.
    pub notes: Vec<String>,
    /// Why the run's promise may not hold, if there is a reason.
    pub doubt: Option<String>,
    /// Set if the run has not ended: its results are missing or older than its journal, so only the journal was
    /// checked. This is neither a problem nor a proof.
    pub unfinished: Option<String>,
    /// What a run that has not ended continues with.
    pub resumption: Option<Resumption>,
}

/// A problem of a run's folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct AuditProblem {
    /// What it is about.
    pub area: Area,
    /// What is wrong, and where.
    pub text: String,
}

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Area {
    /// The journal cannot be read.
    Journal,
    /// The candidates are not those that the run began with.
    Candidates,
    /// The file of calls differs from the journal.
    Calls,
    /// People's replies differ from the journal.
    Replies,
    /// A call could not have been made, or was not charged as agreed.
    Ledger,
    /// A finding about an answer does not follow from its calls.
    Findings,
    /// The copy of the job file is not the job that was run.
    Job,
    /// The totals are not those of the calls.
    Summary,
    /// The page belongs to another run, or was changed.
    Page,
    /// Labels were changed, or do not prove what is claimed.
    Labels,
}

impl AuditReport {
    /// Whether the audit is complete and found no problem.
    pub const fn is_clean(&self) -> bool {
        self.problem_count == 0 && self.unfinished.is_none()
    }

    fn problem(&mut self, area: Area, text: impl fmt::Display) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(AuditProblem { area, text: text.to_string() });
        }
    }

    /// Adds a passed check, unless a problem was found since `problem_count_before`.
    fn checked(&mut self, problem_count_before: usize, text: String) {
        if self.problem_count == problem_count_before {
            self.checked.push(text);
        }
    }
}

/// Audits a run's folder. An unreadable file is a problem like any other.
pub fn audit(path: &Path) -> AuditReport {
    let folder = Folder::new(path);
    let mut report = AuditReport::default();
    if let Err(AuditProblem { area, text }) = audit_folder(&folder, &mut report) {
        report.problem(area, text);
    }
    report
}

fn audit_folder(folder: &Folder, report: &mut AuditReport) -> Result<(), AuditProblem> {
    let replay = Replay::open(&folder.journal())?;
    let mut auditor = Auditor::new(folder, &replay)?;
    check_journal(folder)?;
    report.unfinished = unfinished(folder)?;
    let is_finished = report.unfinished.is_none();
    let labelled = AuditedLabels::read(folder, report);
    auditor.certified_at = labelled.beginnings();
    let history = auditor.replay_and_compare(replay, folder, report)?;
    if is_finished {
        findings::compare(folder, &auditor, report);
        made::compare_answers(folder, &auditor, report);
    }
    labelled.compare(folder, &auditor, report);
    let Balance { books, account, .. } = &auditor.balance;
    report.resumption = (!is_finished).then(|| Resumption::new(folder, &history.terms, books));
    let journal = folder.journal();
    let mark = history.mark(&journal).map_err(|error| unreadable(&journal, &error))?;
    compare_job(folder, &history.terms, report);
    made::look_at_files(folder, &history.terms, report);
    let mut overview = Overview::in_full(&history.terms, books, account);
    overview.set_span(history.span_millis());
    overview.journal = Some(mark.clone());
    if is_finished {
        match labelled.claim_of_summary(folder, books.certified().len(), report) {
            Ok(claim) => overview.claim = claim,
            Err(AuditProblem { area, text }) => report.problem(area, text),
        }
        made::compare_summary(folder, &history.header().version, &mut overview, books, report);
        made::compare_page(folder, &mark, report);
    }
    report.notes.append(&mut overview.notes);
    report.doubt = overview.doubt;
    Ok(())
}

/// The results must have been written from this journal, or from an earlier state of it.
fn check_journal(folder: &Folder) -> Result<(), AuditProblem> {
    let Err(older) = folder.check_journal_age() else { return Ok(()) };
    // A damaged journal is reported as damaged, not as older.
    let journal = folder.journal();
    let read = History::open(&journal).and_then(History::finish);
    read.map_err(|error| unreadable(&journal, &error))?;
    Err(problem(Area::Journal, older))
}

/// The reason if the results are missing, or the journal has grown since they were written. The summary is the
/// last file of the results.
fn unfinished(folder: &Folder) -> Result<Option<String>, AuditProblem> {
    let journal = folder.journal();
    let what = match folder.seen() {
        None if folder.summary().exists() => return Ok(None),
        None => "the run has not ended, and its results are not written yet",
        Some(seen) => {
            let history = History::open(&journal).and_then(History::finish);
            let tail = history.map_err(|error| unreadable(&journal, &error))?;
            if tail.len_valid <= seen.bytes {
                return Ok(None);
            }
            "the run was resumed and has not ended: its results are outdated"
        }
    };
    Ok(Some(format!("{what}. If no process is running it, resuming it writes new results")))
}

fn unreadable(journal: &Path, error: &dyn fmt::Display) -> AuditProblem {
    problem(Area::Journal, format!("{}: {error}", journal.display()))
}

fn problem(area: Area, text: impl fmt::Display) -> AuditProblem {
    AuditProblem { area, text: text.to_string() }
}

impl From<JournalError<Self>> for AuditProblem {
    fn from(error: JournalError<Self>) -> Self {
        match error {
            JournalError::Mismatch { error, .. } => error,
            unreadable => problem(Area::Journal, unreadable),
        }
    }
}

impl From<JournalError> for AuditProblem {
    fn from(error: JournalError) -> Self {
        problem(Area::Journal, error)
    }
}

/// The run, recomputed from its file of calls.
struct Auditor {
    terms: RunTerms,
    balance: Balance,
    /// The candidates and questions: from the journal alone, not from the file of calls.
    subjects: Subjects,
    /// How many candidates the journal has so far.
    candidate_count: usize,
    loan_count: u64,
    /// How many answers were certified when people began to label them.
    certified_at: CertifiedAt,
    /// If the file of calls ends early: the first call that it lacks, and how many it lacks.
    missing: Option<(Ticket, u64)>,
}

impl Auditor {
    fn new(folder: &Folder, replay: &Replay<()>) -> Result<Self, AuditProblem> {
        let problem = replay.problem()?;
        let subjects = findings::subjects(folder, &replay.history)?;
        let balance = Balance::opening(Books::new(problem));
        Ok(Self {
            terms: replay.history.terms.clone(),
            candidate_count: balance.account.began_with,
            balance,
            subjects,
            loan_count: 0,
            certified_at: CertifiedAt::default(),
            missing: None,
        })
    }

    /// Replays the journal, and compares each call with its line in the file of calls.
    fn replay_and_compare(
        &mut self,
        replay: Replay<()>,
        folder: &Folder,
        report: &mut AuditReport,
    ) -> Result<History, AuditProblem> {
        let has_calls = folder.calls().exists();
        let calls = (report.unfinished.is_none() || has_calls).then(|| CallFile::open(folder));
        let calls = calls.transpose().map_err(in_calls)?;
        let problem_count_before = report.problem_count;
        let people = replies::ReplyAudit::open(folder, &self.terms, report);
        let comparison = Comparison { auditor: self, calls, people, folder, report };
        let mut replay = replay.followed_by(comparison);
        while replay.step()?.is_some() {
            let Self { certified_at, balance, .. } = &mut *replay.follower.auditor;
            certified_at.note(replay.history.len_read(), balance.books.certified().len());
        }
        let Replay { history, follower, .. } = replay;
        let Comparison { auditor, mut calls, people, report, .. } = follower;
        if let Some(people) = people {
            people.close(problem_count_before, report);
        }
        auditor.close(&history, &mut calls, problem_count_before, report)?;
        Ok(history)
    }

    fn close(
        &self,
        history: &History,
        calls: &mut Option<CallFile>,
        problem_count_before: usize,
        report: &mut AuditReport,
    ) -> Result<(), AuditProblem> {
        let Balance { books, account, .. } = &self.balance;
        if let Some((first, count)) = self.missing {
            return Err(problem(
                Area::Calls,
                format!(
                    "calls.jsonl: {} of the journal {} missing, from call {} on; if the run was cut off, resuming it writes the files again",
                    counted(count, "call"),
                    if count == 1 { "is" } else { "are" },
                    first.0
                ),
            ));
        }
        if let Some((line, _)) = next_call(calls)? {
            let text = format!("calls.jsonl line {line}: a call that the journal does not have");
            report.problem(Area::Calls, text);
        }
        report.checked.push(findings::describe_candidates(&self.subjects, books, account));
        if let Some(ticket) = self.subjects.mislabelled {
            let text = format!(
                "call {}: wrong answer number: the call counts for another answer",
                ticket.0
            );
            report.problem(Area::Calls, text);
        }
        let count = counted(account.call_count(), "call");
        let unmade = match account.unmade_count() {
            0 => String::new(),
            unmade => format!(", and {unmade} that were asked for and not made"),
        };
        let text = if report.unfinished.is_none() {
            format!("the journal is complete, and calls.jsonl has its {count}{unmade}")
        } else {
            let in_flight = history.in_flight().count();
            format!("the journal is complete: {count}{unmade}, and {in_flight} in flight")
        };
        report.checked(problem_count_before, text);
        self.close_ledger(problem_count_before, report);
        Ok(())
    }

    fn close_ledger(&self, problem_count_before: usize, report: &mut AuditReport) {
        let books = &self.balance.books;
        let ledger = books.ledger();
        let unit = self.terms.unit;
        let uncertain = match ledger.uncertain() {
            Cost::ZERO => String::new(),
            more => format!(", up to {} more for unknown bills", amount(more, unit)),
        };
        report.checked(
            problem_count_before,
            format!(
                "every call was affordable when it was made: spent {}{uncertain}, reserved {}, of {}",
                amount(ledger.settled(), unit),
                amount(ledger.reserved(), unit),
                money(ledger.budget(), unit)
            ),
        );
        if let Some(lending) = books.lending() {
            let (count, left) = (self.loan_count, lending.pool().fraction());
            report.checked(
                problem_count_before,
                format!(
                    "shares of delta: each was available when lent, and only later calls count; {count} lent, {} not returned, {left:.3} of delta left",
                    lending.out_count()
                ),
            );
        }
        if ledger.overrun_count() > 0 {
            report.checked.push(format!(
                "{} above their ceiling, by {} in all (recorded as such)",
                were(ledger.overrun_count(), "bill"),
                money(ledger.overrun(), unit)
            ));
        }
    }
}

/// Compares journal and files entry by entry. The books take outcomes from the file of calls, not from the journal,
/// so that findings follow from that file.
struct Comparison<'a> {
    auditor: &'a mut Auditor,
    calls: Option<CallFile>,
    people: Option<replies::ReplyAudit>,
    folder: &'a Folder,
    report: &'a mut AuditReport,
}

impl Follower for Comparison<'_> {
    type Refusal = AuditProblem;

    fn follow(&mut self, entry: &JournalEntry<'_>) -> Result<(), AuditProblem> {
        let event = self.event_from_file(entry)?;
        let Self { auditor, calls, people, folder, report } = self;
        let is_finished = report.unfinished.is_none();
        let Auditor { terms, balance, subjects, candidate_count, loan_count, missing, .. } =
            &mut **auditor;
        if let Some(text) = entry.call.as_ref().and_then(|call| wrong_price(terms, call)) {
            let line = calls.as_ref().filter(|_| is_finished).map(|calls| calls.line_number);
            let place = line.map_or("the journal".into(), |it| format!("calls.jsonl line {it}"));
            report.problem(Area::Ledger, format!("{place}: {text}"));
        }
        if let (Some(people), Some(call)) = (people, &entry.call) {
            people.check(call, terms, subjects, report);
        }
        // After the first missing call, the books are not comparable.
        let event = event.filter(|_| missing.is_none());
        let taken = event.map(|event| balance.take(&event, entry));
        if let Some(Err(error)) = &taken {
            report.problem(Area::Ledger, format!("the ledger: {error}"));
        }
        if let Event::ArmsAdded { count } = entry.event {
            *candidate_count += count as usize;
        }
        if let Some(fingerprint) = &entry.candidates {
            findings::check_candidates(
                folder,
                &subjects.candidates,
                *candidate_count,
                fingerprint,
            )?;
        }
        if let Some(Ok(())) = taken {
            *loan_count += u64::from(entry.loan.is_some() && entry.call.is_none());
        } else if let Some(call) = &entry.call {
            balance.account.take_call(&balance.books, call);
        }
        Ok(())
    }
}

impl Comparison<'_> {
    /// The event for the books. A call comes from `calls.jsonl`: `None` if its line is missing or unreadable.
    fn event_from_file(&mut self, entry: &JournalEntry<'_>) -> Result<Option<Event>, AuditProblem> {
        let Auditor { subjects, terms, missing, .. } = &mut *self.auditor;
        let (id, question) = (|arm| subjects.id(arm), |question| subjects.question_id(question));
        let Some(expected) = CallLine::new(entry, id, question, terms) else {
            return Ok(Some(entry.event.clone()));
        };
        Ok(match next_call(&mut self.calls)? {
            Some((at, written)) => compare_call(written, &expected, at, self.report),
            None if self.report.unfinished.is_some() => Some(entry.event.clone()),
            None => {
                missing.get_or_insert((Ticket(expected.call), 0)).1 += 1;
                None
            }
        })
    }
}

/// The next call, if the file exists.
fn next_call(calls: &mut Option<CallFile>) -> Result<Option<Next<'_>>, AuditProblem> {
    calls.as_mut().map_or(Ok(None), |calls| calls.next_call().map_err(in_calls))
}

/// Checks that a line of the file agrees with the journal, and returns the file's outcome for the books.
fn compare_call(
    written: Result<CallLine<'_>, String>,
    expected: &CallLine<'_>,
    line_number: u64,
    report: &mut AuditReport,
) -> Option<Event> {
    let at = format_args!("calls.jsonl line {line_number}");
    let line = match written {
        Ok(line) => line,
        Err(error) => {
            report.problem(Area::Calls, format!("{at}: {error}"));
            return None;
        }
    };
    if line != *expected {
        report.problem(Area::Calls, format!("{at}: {}", difference(&line, expected)));
    }
    let outcome = line.outcome();
    if outcome.is_none() {
        report.problem(Area::Calls, format!("{at}: neither a score nor a failure"));
    }
    let (ticket, bill) = (Ticket(expected.call), line.bill());
    outcome.map(|outcome| Event::Settled { ticket, outcome, bill })
}

fn in_calls(text: String) -> AuditProblem {
    problem(Area::Calls, text)
}

/// What is wrong with the bill of a call. A fixed price must be charged exactly, and a call that was not made is
/// free; so is an error, unless the terms say that failed calls cost their ceiling.
fn wrong_price(terms: &RunTerms, call: &SettledCall<'_>) -> Option<String> {
    let service = terms.service(call.target);
    let is_error = call.outcome.is_failed()
        && call.note.delivery.status.is_some()
        && service.calls.failed != FailedCalls::Ceiling;
    let is_free = call.failure().is_some_and(Failure::is_free);
    let expected = if is_free { Cost::ZERO } else { service.ceiling };
    // An error costs nothing, unless other requests of the call were served.
    let is_right = call.bill == expected.into() || is_error && call.bill == Bill::ZERO;
    let is_wrong = !is_right && (is_free || !service.metered);
    is_wrong.then(|| format!("charged {}, but the price is {expected}", call.bill.possible()))
}

fn difference(line: &CallLine<'_>, expected: &CallLine<'_>) -> String {
    let value = |line: &CallLine<'_>| serde_json::to_value(line).unwrap_or_default();
    match changes::of_values(&value(line), &value(expected)).first() {
        Some((key, found, recorded)) => {
            let (found, recorded) = (found.to_string(), recorded.to_string());
            format!("{key} is {}, but the journal has {}", shortened(&found), shortened(&recorded))
        }
        None => "differs from the journal".into(),
    }
}

/// Compares `job.toml` with the job in the journal, in all keys that certificates depend on.
fn compare_job(folder: &Folder, terms: &RunTerms, report: &mut AuditReport) {
    let problem_count_before = report.problem_count;
    match std::fs::read_to_string(folder.job()) {
        Err(error) => report.problem(Area::Job, format!("{}: {error}", folder.job().display())),
        Ok(text) => {
            for change in changes::of_job(&terms.job, &text) {
                report.problem(Area::Job, format!("job.toml: {}", change.trim()));
            }
        }
    }
    report.checked(problem_count_before, "job.toml is the job that was run".into());
}

fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(SHOWN_CHARS_MAX).map_or(text.len(), |(index, _)| index);
    &text[..end]
}

const SHOWN_CHARS_MAX: usize = 100;
