//! An audit: every certificate and the whole ledger, computed again from the raw calls, by code that
//! shares nothing with the policies.
//!
//! The journal says in which order things happened; `calls.jsonl` says what came back. Both are read
//! side by side, so a call that is missing, added or changed in either is found. What the calls prove
//! is then compared with what the run claims.

mod call_file;
mod findings;
mod labels;
mod made;
mod replies;

use std::fmt;
use std::path::Path;

use goodarm_core::{Books, Cost, Event, Ticket};
use goodarm_files::words::{amount, counted, money, were};

use crate::account::Account;
use crate::audit::call_file::{CallFile, Next, Place};
use crate::audit::labels::Labelled;
use crate::changes;
use crate::charter::Charter;
use crate::claims::order::CertifiedAt;
use crate::folder::Folder;
use crate::history::{History, SettledCall};
use crate::outputs::calls::CallLine;
use crate::roster::Roster;
use crate::view::Overview;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was looked at, and found to be right.
    pub checked: Vec<String>,
    /// What is wrong: the first twenty.
    pub problems: Vec<Problem>,
    /// How many problems there are in all.
    pub problem_count: usize,
    /// What a reader should know about the run, right as its books may be.
    pub notes: Vec<String>,
    /// Why its promise may not hold, if something speaks against it.
    pub doubt: Option<String>,
    /// That the run has not ended, so that its results are not there or not of its last moment: then
    /// only the journal was gone through. Nothing is wrong with that, and nothing is proved by it.
    pub unfinished: Option<String>,
}

/// Something that is wrong with a run's folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Problem {
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
    /// What people have said is not what the journal has of them.
    Replies,
    /// A call could not have been made, or was not charged as agreed.
    Ledger,
    /// A claim about an answer does not follow from its calls.
    Findings,
    /// The copy of the job file is not the job that was run.
    Job,
    /// The totals are not those of the calls.
    Summary,
    /// The page is not of this run, or not as it was written.
    Page,
    /// Labels were not said like this, or do not prove what is claimed.
    Labels,
}

impl Report {
    /// Whether everything is there, and right.
    pub const fn is_clean(&self) -> bool {
        self.problem_count == 0 && self.unfinished.is_none()
    }

    fn problem(&mut self, area: Area, text: impl fmt::Display) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { area, text: text.to_string() });
        }
    }

    /// Notes that something was checked, if no problem was found since there were `before`.
    fn checked(&mut self, before: usize, text: String) {
        if self.problem_count == before {
            self.checked.push(text);
        }
    }
}

/// Audits a run's folder. What cannot be read is a problem, too.
pub fn audit(path: &Path) -> Report {
    let folder = Folder::new(path);
    let mut report = Report::default();
    if let Err(Problem { area, text }) = audit_folder(&folder, &mut report) {
        report.problem(area, text);
    }
    report
}

fn audit_folder(folder: &Folder, report: &mut Report) -> Result<(), Problem> {
    let mut auditor = Auditor::new(folder)?;
    check_journal(folder)?;
    report.unfinished = unfinished(folder)?;
    let is_finished = report.unfinished.is_none();
    let labelled = Labelled::read(folder, report);
    auditor.certified_at = labelled.beginnings();
    auditor.go_through(folder, report)?;
    if is_finished {
        findings::compare(folder, &auditor, report);
        made::compare_table(folder, &auditor, report);
        made::compare_answers(folder, &auditor, report);
    }
    labelled.compare(folder, &auditor, report);
    let Auditor { history, books, account, .. } = &auditor;
    let journal = folder.journal();
    let mark = history.mark(&journal).map_err(|error| unreadable(&journal, &error))?;
    compare_job(folder, &history.charter, report);
    made::look_at_files(folder, &history.charter, report);
    let mut overview = Overview::in_full(&folder.present(&history.charter), books, account);
    overview.set_span(history.span_millis(), account);
    overview.journal = Some(mark.clone());
    if is_finished {
        match labelled.claim_of_summary(folder, books.certified().len(), report) {
            Ok(claim) => overview.claim = claim,
            Err(Problem { area, text }) => report.problem(area, text),
        }
        made::compare_summary(folder, &history.header().version, &mut overview, books, report);
        made::compare_page(folder, &mark, report);
    }
    report.notes.append(&mut overview.notes);
    report.doubt = overview.doubt;
    Ok(())
}

/// With an older journal than the one of the results, or with another, nothing adds up.
fn check_journal(folder: &Folder) -> Result<(), Problem> {
    let Err(older) = folder.check_seen() else { return Ok(()) };
    // What is damaged is not older.
    let journal = folder.journal();
    let read = History::open(&journal).and_then(History::finish);
    read.map_err(|error| unreadable(&journal, &error))?;
    Err(problem(Area::Journal, older))
}

/// Whether the journal has gone on since the results were written, or they never were: the summary is the
/// last of them.
fn unfinished(folder: &Folder) -> Result<Option<String>, Problem> {
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
            "the run was taken up again and has not ended, and its results are of an earlier moment"
        }
    };
    Ok(Some(format!("{what}: unless a process is at it, resuming the run writes them")))
}

fn unreadable(journal: &Path, error: &dyn fmt::Display) -> Problem {
    problem(Area::Journal, format!("{}: {error}", journal.display()))
}

fn problem(area: Area, text: impl fmt::Display) -> Problem {
    Problem { area, text: text.to_string() }
}

/// The books and the account, made again.
struct Auditor {
    history: History,
    books: Books,
    account: Account,
    roster: Roster,
    /// How many of them the journal knows of by now.
    candidate_count: usize,
    loan_count: u64,
    /// How many answers were certified when people began to label them.
    certified_at: CertifiedAt,
    /// The first call of the journal behind the end of the file of calls, and how many there are.
    missing: Option<(Ticket, u64)>,
}

impl Auditor {
    fn new(folder: &Folder) -> Result<Self, Problem> {
        let journal = folder.journal();
        let history = History::open(&journal).map_err(|error| unreadable(&journal, &error))?;
        let problem = history.problem().map_err(|error| unreadable(&journal, &error))?;
        let roster = findings::roster(folder, &history)?;
        let books = Books::new(problem);
        let account = Account::new(&books);
        let candidate_count = account.began_with;
        let certified_at = CertifiedAt::default();
        Ok(Self {
            history,
            books,
            account,
            roster,
            candidate_count,
            loan_count: 0,
            certified_at,
            missing: None,
        })
    }

    fn go_through(&mut self, folder: &Folder, report: &mut Report) -> Result<(), Problem> {
        let is_finished = report.unfinished.is_none();
        let has_calls = folder.calls().exists() || folder.calls_table().exists();
        let calls = (is_finished || has_calls).then(|| CallFile::open(folder));
        let mut calls = calls.transpose().map_err(in_calls)?;
        let before = report.problem_count;
        let charter = self.history.charter.clone();
        let journal = folder.journal();
        let mut people = replies::People::open(folder, &charter, report);
        loop {
            let entry = self.history.next_entry().map_err(|error| unreadable(&journal, &error))?;
            let Some(entry) = entry else { break };
            let roster = &self.roster;
            let (id, question) = (|arm| roster.id(arm), |question| roster.question_id(question));
            let event = match CallLine::new(&entry, id, question, &charter) {
                None => Some(entry.event.clone()),
                Some(expected) => match next_call(&mut calls)? {
                    Some((at, written)) => compare_call(written, &expected, at, report),
                    None if !is_finished => Some(entry.event.clone()),
                    None => {
                        self.missing.get_or_insert((Ticket(expected.call), 0)).1 += 1;
                        None
                    }
                },
            };
            if let Some(text) = entry.call.as_ref().and_then(|call| wrong_price(&charter, call)) {
                let place = calls.as_ref().filter(|_| is_finished).map(CallFile::place);
                let place = place.map_or("the journal".into(), |place| place.to_string());
                report.problem(Area::Ledger, format!("{place}: {text}"));
            }
            if let (Some(people), Some(call)) = (&mut people, &entry.call) {
                people.check(call, &charter, &self.roster, report);
            }
            // Behind the first call that is missing, nothing adds up any more.
            let applied = event.filter(|_| self.missing.is_none()).map(|it| self.books.apply(&it));
            if let Some(Err(error)) = &applied {
                report.problem(Area::Ledger, format!("the ledger: {error}"));
            }
            if let Event::ArmsAdded { count } = entry.event {
                self.candidate_count += count as usize;
            }
            if let Some(fingerprint) = &entry.candidates {
                findings::check(
                    folder,
                    &self.roster.candidates,
                    self.candidate_count,
                    fingerprint,
                )?;
            }
            if let Some(Ok(_)) = applied {
                self.loan_count += u64::from(entry.loan.is_some() && entry.call.is_none());
                self.account.take(&self.books, &entry);
            } else if let Some(call) = &entry.call {
                self.account.take_call(&self.books, call);
            }
            self.certified_at.note(self.history.len_read(), self.books.certified().len());
        }
        if let Some(people) = people {
            people.close(before, report);
        }
        self.close(&mut calls, before, report)
    }

    fn close(
        &self,
        calls: &mut Option<CallFile>,
        before: usize,
        report: &mut Report,
    ) -> Result<(), Problem> {
        let file = calls.as_ref().map_or("", |calls| calls.place().file);
        if let Some((first, count)) = self.missing {
            return Err(problem(
                Area::Calls,
                format!(
                    "{file}: {} of the journal {} missing, from call {} on; if the run was cut off, resuming it writes the files again",
                    counted(count, "call"),
                    if count == 1 { "is" } else { "are" },
                    first.0
                ),
            ));
        }
        if let Some((place, _)) = next_call(calls)? {
            report.problem(Area::Calls, format!("{place}: a call that the journal does not have"));
        }
        report.checked.push(findings::who(&self.roster, &self.books, &self.account));
        if let Some(ticket) = self.roster.mislabelled {
            let text = format!(
                "call {}: its answer has the number of another one, and counts for that",
                ticket.0
            );
            report.problem(Area::Calls, text);
        }
        let count = counted(self.account.call_count(), "call");
        let unmade = match self.account.unmade_count() {
            0 => String::new(),
            unmade => format!(", and {unmade} that were asked for and not made"),
        };
        let text = if report.unfinished.is_none() {
            format!("the journal is whole, and {file} has its {count}{unmade}")
        } else {
            let in_flight = self.history.in_flight().count();
            format!("the journal is whole: {count}{unmade}, and {in_flight} in flight")
        };
        report.checked(before, text);
        let ledger = self.books.ledger();
        let unit = self.history.charter.unit;
        report.checked(
            before,
            format!(
                "every call was affordable when it was made: spent {}, reserved {}, of {}",
                amount(ledger.settled(), unit),
                amount(ledger.reserved(), unit),
                money(ledger.budget(), unit)
            ),
        );
        if let Some(pool) = self.books.pool() {
            let (count, left) = (self.loan_count, pool.fraction());
            report.checked(
                before,
                format!(
                    "every share of delta was there when it was lent, and only calls since then count: {count} lent, {} out, {left:.3} of delta left",
                    self.books.shares_out_count()
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
        Ok(())
    }
}

/// The next call of a file that may not be there.
fn next_call(calls: &mut Option<CallFile>) -> Result<Option<Next<'_>>, Problem> {
    calls.as_mut().map_or(Ok(None), |calls| calls.next_call().map_err(in_calls))
}

/// One call: the file must say what the journal says. The books take what the file says.
fn compare_call(
    written: Result<CallLine<'_>, String>,
    expected: &CallLine<'_>,
    at: Place,
    report: &mut Report,
) -> Option<Event> {
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
    let (ticket, cost) = (Ticket(expected.call), line.cost);
    outcome.map(|outcome| Event::Settled { ticket, outcome, cost })
}

fn in_calls(text: String) -> Problem {
    problem(Area::Calls, text)
}

/// A fixed price is charged to the last digit, and what never began costs nothing.
fn wrong_price(charter: &Charter, call: &SettledCall<'_>) -> Option<String> {
    let terms = charter.terms(call.target);
    let ceiling = terms.ceiling;
    let is_free = call.failure().is_some_and(|failure| failure.is_free());
    let expected = if is_free { Cost::ZERO } else { ceiling };
    let is_wrong = call.cost != expected && (is_free || !terms.metered);
    is_wrong.then(|| format!("charged {}, but the price is {expected}", call.cost))
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

/// The copy of the job must be the one that the journal began with, as far as certificates go.
fn compare_job(folder: &Folder, charter: &Charter, report: &mut Report) {
    let before = report.problem_count;
    match std::fs::read_to_string(folder.job()) {
        Err(error) => report.problem(Area::Job, format!("{}: {error}", folder.job().display())),
        Ok(text) => {
            for change in changes::of_job(&charter.job, &text) {
                report.problem(Area::Job, format!("job.toml: {}", change.trim()));
            }
        }
    }
    report.checked(before, "job.toml is the job that was run".into());
}

fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(SHOWN_CHARS_MAX).map_or(text.len(), |(index, _)| index);
    &text[..end]
}

const PROBLEMS_MAX: usize = 20;
const SHOWN_CHARS_MAX: usize = 100;
