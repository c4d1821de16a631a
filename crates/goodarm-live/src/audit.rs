//! An audit: every certificate and the whole ledger, computed again from the raw calls, by code that
//! shares nothing with the policies.
//!
//! The journal says in which order things happened; `calls.jsonl` says what came back. Both are read
//! side by side, so a call that is missing, added or changed in either is found. What the calls prove
//! is then compared with what the run claims.

mod call_file;
mod findings;

use std::io;
use std::path::Path;

use goodarm_core::{Books, Cost, Event, Failure, Ticket, VoidFailure};

use crate::audit::call_file::CallFile;
use crate::changes;
use crate::charter::Charter;
use crate::folder::Folder;
use crate::history::{Call, Happening, History, HistoryError};
use crate::outputs::calls::CallLine;
use crate::outputs::summary::{Summary, Totals};
use crate::retrace;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was looked at, and found to be right.
    pub checked: Vec<String>,
    /// What is wrong: the first twenty.
    pub wrongs: Vec<String>,
    /// How many things are wrong in all.
    pub wrong_count: usize,
}

impl Report {
    /// Whether everything is right.
    pub const fn is_clean(&self) -> bool {
        self.wrong_count == 0
    }

    fn wrong(&mut self, text: String) {
        self.wrong_count += 1;
        if self.wrongs.len() < WRONGS_MAX {
            self.wrongs.push(text);
        }
    }

    /// Notes that something was checked, if nothing was found wrong since `before`.
    fn checked(&mut self, before: usize, text: String) {
        if self.wrong_count == before {
            self.checked.push(text);
        }
    }
}

/// Audits a run's folder. What cannot be read is a finding, too.
pub fn audit(path: &Path) -> Report {
    let folder = Folder::new(path);
    let mut report = Report::default();
    let mut retraced = match Retraced::new(&folder, &mut report) {
        Ok(retraced) => retraced,
        Err(text) => {
            report.wrong(text);
            return report;
        }
    };
    if let Err(text) = retraced.go_through(&folder, &mut report) {
        report.wrong(text);
        return report;
    }
    findings::compare(&folder, &retraced, &mut report);
    compare_job(&folder, &retraced, &mut report);
    compare_summary(&folder, &retraced, &mut report);
    report
}

/// The books, made again.
struct Retraced {
    history: History,
    books: Books,
    totals: Totals,
    call_count: u64,
    /// The first call of the journal behind the end of the file of calls, and how many there are.
    missing: Option<(Ticket, u64)>,
    /// The ids of the candidates, by number.
    ids: Vec<String>,
}

impl Retraced {
    fn new(folder: &Folder, report: &mut Report) -> Result<Self, String> {
        let journal = folder.journal();
        let named = |error: HistoryError| format!("{}: {error}", journal.display());
        let history = History::open(&journal).map_err(named)?;
        let problem = history.charter.problem().map_err(|error| error.to_string())?;
        let ids = findings::ids(folder, &history, report)?;
        let totals = Totals::new(&history.charter);
        Ok(Self { history, books: Books::new(problem), totals, call_count: 0, missing: None, ids })
    }

    fn go_through(&mut self, folder: &Folder, report: &mut Report) -> Result<(), String> {
        let mut calls = CallFile::open(folder)?;
        let before = report.wrong_count;
        let mut asked = Vec::new();
        loop {
            let named = |error: HistoryError| format!("{}: {error}", folder.journal().display());
            let happening =
                self.history.next_happening_after(|event| asked.push(event)).map_err(named)?;
            for event in asked.drain(..) {
                self.follow(event, report);
            }
            match happening {
                None => break,
                Some(Happening::BudgetRaised { event, budget }) => {
                    self.totals.raised(event, budget);
                    self.follow(Event::BudgetRaised { budget }, report);
                }
                Some(Happening::Called(call)) => self.take(&call, &mut calls, report)?,
            }
        }
        if let Some((first, count)) = self.missing {
            return Err(format!(
                "{}: {count} calls of the journal are missing, from call {} on; if the run was cut off, --resume it and the files are written again",
                calls.place().file,
                first.0
            ));
        }
        if let Some((place, _)) = calls.next_call()? {
            report.wrong(format!("{place}: a call that the journal does not have"));
        }
        self.totals.close(&self.history);
        let count = self.call_count;
        report.checked(
            before,
            format!("the journal is whole, and {} has its {count} calls", calls.place().file),
        );
        let ledger = self.books.ledger();
        report.checked(
            before,
            format!(
                "every call was affordable when it was made: spent {}, reserved {}, of {}",
                ledger.settled(),
                ledger.reserved(),
                ledger.budget()
            ),
        );
        if ledger.overrun_count() > 0 {
            report.checked.push(format!(
                "{} bills were above their ceiling, by {} in all (recorded as such)",
                ledger.overrun_count(),
                ledger.overrun()
            ));
        }
        Ok(())
    }

    /// One call: the line must say what the journal says, and the books take it from the line.
    fn take(
        &mut self,
        call: &Call,
        calls: &mut CallFile,
        report: &mut Report,
    ) -> Result<(), String> {
        self.call_count += 1;
        self.totals.take(call);
        let charter = &self.history.charter;
        let clause = &charter.verifiers[call.attribute.index()];
        let Some((at, written)) = calls.next_call()? else {
            self.missing.get_or_insert((call.ticket, 0)).1 += 1;
            return Ok(());
        };
        let line = match written {
            Ok(line) => line,
            Err(error) => {
                report.wrong(format!("{at}: {error}"));
                return Ok(());
            }
        };
        let id = self.ids.get(call.arm.index()).map_or("", String::as_str);
        let expected = CallLine::new(call, id, &clause.name);
        if line != expected {
            report.wrong(format!("{at}: {}", difference(&line, &expected)));
        }
        if let Some(text) = wrong_price(charter, call) {
            report.wrong(format!("{at}: {text}"));
        }
        let (ticket, cost) = (call.ticket, line.cost);
        match line.outcome() {
            Some(Ok(score)) => self.follow(Event::Told { ticket, score, cost }, report),
            Some(Err(failure)) => self.follow(Event::Failed { ticket, failure, cost }, report),
            None => report.wrong(format!("{at}: neither a score nor a failure")),
        }
        Ok(())
    }

    fn follow(&mut self, event: Event, report: &mut Report) {
        // Behind the first call that is missing, nothing adds up any more.
        if self.missing.is_some() {
            return;
        }
        if let Err(mismatch) = retrace::follow(&mut self.books, event) {
            report.wrong(format!("the ledger: {mismatch}"));
        }
    }
}

/// A fixed price is charged to the last digit, and what never began costs nothing.
fn wrong_price(charter: &Charter, call: &Call) -> Option<String> {
    let clause = &charter.verifiers[call.attribute.index()];
    let ceiling = clause.ceiling;
    // What was lost may have been made, so it is paid even where it is made again.
    let is_lost = matches!(call.outcome, Err(Failure::Void(VoidFailure::LostRepeatable)));
    let is_void = matches!(call.outcome, Err(Failure::Void(_))) && !is_lost;
    let expected = if is_void { Cost::ZERO } else { ceiling };
    let is_wrong = call.cost != expected && (is_void || !clause.metered);
    is_wrong.then(|| format!("charged {}, but the price is {expected}", call.cost))
}

fn difference(line: &CallLine<'_>, expected: &CallLine<'_>) -> String {
    let value = |line: &CallLine<'_>| serde_json::to_value(line).unwrap_or_default();
    let (line, expected) = (value(line), value(expected));
    let keys = expected.as_object().into_iter().chain(line.as_object()).flat_map(|map| map.keys());
    for key in keys {
        if line[key] != expected[key] {
            let (found, recorded) = (&line[key], &expected[key]);
            let found = shortened(&found.to_string()).to_owned();
            let recorded = shortened(&recorded.to_string()).to_owned();
            return format!("{key} is {found}, but the journal has {recorded}");
        }
    }
    "differs from the journal".into()
}

/// The copy of the job must be the one that the journal began with, as far as certificates go.
fn compare_job(folder: &Folder, retraced: &Retraced, report: &mut Report) {
    let before = report.wrong_count;
    match std::fs::read_to_string(folder.job()) {
        Err(error) => report.wrong(format!("{}: {error}", folder.job().display())),
        Ok(text) => {
            for change in changes::of_job(&retraced.history.charter.job, &text) {
                report.wrong(format!("job.toml: {}", change.trim()));
            }
        }
    }
    report.checked(before, "job.toml is the job that was run".into());
}

fn compare_summary(folder: &Folder, retraced: &Retraced, report: &mut Report) {
    let before = report.wrong_count;
    let path = folder.summary();
    let read = std::fs::read_to_string(&path)
        .and_then(|text| serde_json::from_str::<Summary>(&text).map_err(io::Error::from));
    match read {
        Err(error) => report.wrong(format!("{}: {error}", path.display())),
        Ok(claimed) => {
            let mut found = Summary::new(&retraced.totals, &retraced.books, &claimed.ending);
            found.goodarm.clone_from(&claimed.goodarm);
            let value = |summary: &Summary| serde_json::to_value(summary).unwrap_or_default();
            let (claimed, found) = (value(&claimed), value(&found));
            for (key, found) in found.as_object().into_iter().flatten() {
                if claimed[key] != *found {
                    let claim = &claimed[key];
                    report.wrong(format!(
                        "summary.json: {key} is {claim}, but the calls give {found}"
                    ));
                }
            }
        }
    }
    report.checked(before, "summary.json has the totals of the calls".into());
}

fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(SHOWN_CHARS_MAX).map_or(text.len(), |(index, _)| index);
    &text[..end]
}

const WRONGS_MAX: usize = 20;
const SHOWN_CHARS_MAX: usize = 100;
