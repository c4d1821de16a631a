//! What a run leaves behind for people and programs. Everything is made from the journal and the
//! books, so it can be made again at any time.

pub mod calls;
pub mod summary;
pub mod totals;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use goodarm_core::{ArmId, ArmStatus, Books};
use serde::{Deserialize, Serialize};

use crate::candidates::Candidates;
use crate::charter::Charter;
use crate::folder::Folder;
use crate::history::{Happening, History, HistoryError};
use crate::job_file::CallsName;
use crate::outputs::calls::CallLine;
use crate::outputs::calls::table::TableWriter;
use crate::outputs::summary::{Summary, Totals};

/// Why outputs cannot be written. The journal is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// A file.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// The journal.
    #[error("{}: {error}", path.display())]
    History {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: HistoryError,
    },
}

/// What is known about one candidate: the value of the key `goodarm` of each line.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Finding {
    /// certified, rejected or undecided.
    pub status: String,
    /// Its number, counted from 0.
    pub arm: u32,
    /// The how-manyth certificate it is, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// What each verifier has said.
    pub evidence: Vec<PairFinding>,
}

/// What one verifier has said about one candidate.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct PairFinding {
    /// The verifier's name.
    pub verifier: String,
    /// The mean score that is asked for.
    pub threshold: f64,
    /// Scores that came back, failed calls that count among them.
    pub calls: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// The evidence that the mean is above the threshold: ln E. No number if a check has passed.
    pub evidence: Option<f64>,
    /// What it must reach.
    pub needed: Option<f64>,
    /// Whether it has.
    pub met: bool,
    /// What that cost.
    pub spent: String,
}

/// Writes all files of the folder but the journal.
pub fn write(
    folder: &Folder,
    books: &Books,
    candidates: &Candidates,
    ending: &str,
    calls: CallsName,
) -> Result<Summary, OutputError> {
    let totals = write_calls(folder, candidates, calls)?;
    write_findings(folder, books, candidates)?;
    let summary = Summary::new(&totals, books, ending);
    let text = serde_json::to_string_pretty(&summary).map_err(io::Error::from);
    let path = folder.summary();
    replace(&path, |file| file.write_all(text?.as_bytes()).and_then(|()| file.write_all(b"\n")))?;
    Ok(summary)
}

fn write_calls(
    folder: &Folder,
    candidates: &Candidates,
    calls: CallsName,
) -> Result<Totals, OutputError> {
    let journal = folder.journal();
    let told = |error| OutputError::History { path: journal.clone(), error };
    let mut history = History::open(&journal).map_err(told)?;
    let mut totals = Totals::new(&history.charter);
    let names: Vec<String> =
        history.charter.verifiers.iter().map(|clause| clause.name.clone()).collect();
    let mut failure = None;
    let (path, other) = match calls {
        CallsName::Jsonl => (folder.calls(), folder.calls_table()),
        CallsName::Parquet => (folder.calls_table(), folder.calls()),
    };
    replace(&path, |file| {
        let mut sink = Sink::new(file, calls)?;
        loop {
            match history.next_happening() {
                Ok(Some(Happening::Called(call))) => {
                    totals.take(&call);
                    let name = &names[call.attribute.index()];
                    let line = CallLine::new(&call, candidates.id(call.arm), name);
                    sink.push(&line)?;
                }
                Ok(Some(Happening::BudgetRaised { event, budget })) => totals.raised(event, budget),
                Ok(None) => return sink.finish(),
                Err(error) => {
                    failure = Some(error);
                    return sink.finish();
                }
            }
        }
    })?;
    if let Some(error) = failure {
        return Err(told(error));
    }
    // Of an earlier process, with another format: it would be out of date.
    let _ = fs::remove_file(other);
    totals.close(&history);
    Ok(totals)
}

/// Where calls go.
enum Sink<'a> {
    Lines(&'a mut BufWriter<File>),
    Table(Box<TableWriter<&'a mut BufWriter<File>>>),
}

impl<'a> Sink<'a> {
    fn new(file: &'a mut BufWriter<File>, calls: CallsName) -> io::Result<Self> {
        Ok(match calls {
            CallsName::Jsonl => Self::Lines(file),
            CallsName::Parquet => Self::Table(Box::new(TableWriter::new(file)?)),
        })
    }

    fn push(&mut self, line: &CallLine<'_>) -> io::Result<()> {
        match self {
            Self::Lines(file) => {
                serde_json::to_writer(&mut **file, line)?;
                file.write_all(b"\n")
            }
            Self::Table(table) => table.push(line),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Lines(_) => Ok(()),
            Self::Table(table) => table.finish(),
        }
    }
}

fn write_findings(
    folder: &Folder,
    books: &Books,
    candidates: &Candidates,
) -> Result<(), OutputError> {
    let mut ranks = vec![None; candidates.len()];
    for (index, arm) in books.certified().iter().enumerate() {
        ranks[arm.index()] = Some(index + 1);
    }
    let files = [
        (folder.certified(), ArmStatus::Certified),
        (folder.rejected(), ArmStatus::Rejected),
        (folder.undecided(), ArmStatus::Undecided),
    ];
    for (path, status) in files {
        replace(&path, |file| {
            let mut write = |arm: ArmId| -> io::Result<()> {
                let finding = serde_json::to_string(&finding(books, arm, ranks[arm.index()]))?;
                writeln!(file, "{}", with_finding(candidates.json(arm), &finding))
            };
            match status {
                // In the order of their certificates.
                ArmStatus::Certified => books.certified().iter().try_for_each(|&arm| write(arm)),
                _ => books
                    .problem()
                    .arms()
                    .filter(|&arm| status_of(books, arm) == status)
                    .try_for_each(write),
            }
        })?;
    }
    Ok(())
}

/// An answer that failed an exact verifier is rejected, whatever else is known.
pub fn status_of(books: &Books, arm: ArmId) -> ArmStatus {
    match books.status(arm) {
        ArmStatus::Undecided if !books.is_active(arm) => ArmStatus::Rejected,
        status => status,
    }
}

/// What is known about one candidate.
pub fn finding(books: &Books, arm: ArmId, rank: Option<usize>) -> Finding {
    let problem = books.problem();
    let evidence = problem
        .attributes()
        .map(|attribute| {
            let declared = problem.attribute(attribute);
            let tally = books.tally(arm, attribute);
            let finite = |number: f64| number.is_finite().then_some(number);
            PairFinding {
                verifier: declared.name().to_owned(),
                threshold: declared.threshold(),
                calls: tally.returned_count,
                mean: (tally.returned_count > 0).then(|| tally.mean()),
                evidence: finite(books.evidence(arm, attribute)),
                needed: (!declared.is_exact())
                    .then(|| books.level(arm, attribute))
                    .and_then(finite),
                met: books.is_resolved(arm, attribute),
                spent: tally.spent.to_string(),
            }
        })
        .collect();
    let status = match status_of(books, arm) {
        ArmStatus::Certified => "certified",
        ArmStatus::Rejected => "rejected",
        ArmStatus::Undecided => "undecided",
    };
    Finding { status: status.to_owned(), arm: arm.0, rank, evidence }
}

/// A candidate's line with one more key, its own fields untouched.
fn with_finding(json: &str, finding: &str) -> String {
    let open = json.trim_end().strip_suffix('}').unwrap_or(json).trim_end();
    let comma = if open.ends_with('{') { "" } else { "," };
    format!("{open}{comma}\"{KEY}\":{finding}}}")
}

/// Writes a file beside, and puts it in place when it is whole: nobody sees half of one.
pub fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    let attempt = || -> io::Result<()> {
        let beside = path.with_extension("part");
        let mut file = BufWriter::with_capacity(1 << 18, File::create(&beside)?);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        fs::rename(&beside, path)
    };
    attempt().map_err(|error| OutputError::File { path: path.to_owned(), error })
}

/// The terms of a run in words: what δ covers, and what it does not.
pub fn promise(charter: &Charter) -> String {
    let delta = charter.delta;
    let bound = match charter.guarantee {
        crate::job_file::GuaranteeName::Fdr => {
            format!("On the average at most {} % of the certificates are wrong", 100.0 * delta)
        }
        _ => format!("With probability at least {} no certificate is wrong", 1.0 - delta),
    };
    format!(
        "{bound}. A certificate says that the answer's mean score, over fresh calls, reaches the threshold of every verifier; it does not say that the answer is true, only that these verifiers approve of it."
    )
}

/// The key that is added to each candidate.
pub const KEY: &str = "goodarm";
