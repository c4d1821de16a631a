//! Errors in a file of candidates.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use goodarm_files::{PROBLEMS_MAX, hint};
use thiserror::Error;

/// Why candidates cannot be used.
#[derive(Debug, Error)]
#[error("{}", kind.text(path))]
pub struct CandidatesError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub kind: CandidatesErrorKind,
}

/// What is wrong with a file of candidates. Python has a class for each variant.
#[derive(Debug)]
#[non_exhaustive]
pub enum CandidatesErrorKind {
    /// The file could not be read.
    Read(io::Error),
    /// The file's name has no known ending.
    UnknownFormat,
    /// The file holds no candidate. The notes say how it was read and what was left out.
    Empty(Vec<String>),
    /// The file as a whole is not a list of candidates.
    Document(String),
    /// A table has no column for the ids: the missing column, and the one with the nearest spelling.
    NoIdColumn(String, Option<String>),
    /// Lines or rows are wrong.
    Faults(FaultList),
}

impl CandidatesError {
    /// An error of one file.
    pub fn new(path: &Path, kind: CandidatesErrorKind) -> Self {
        Self { path: path.to_owned(), kind }
    }

    /// Whether another field for the ids could help.
    pub fn is_about_ids(&self) -> bool {
        match &self.kind {
            CandidatesErrorKind::NoIdColumn(..) => true,
            CandidatesErrorKind::Faults(list) => {
                let is_content = |fault: &Fault| matches!(fault.kind, FaultKind::Content(_));
                !list.faults.iter().any(is_content)
            }
            _ => false,
        }
    }

    /// The field whose name is spelled most like the missing one for the ids.
    pub fn nearest_id_field(&self) -> Option<&str> {
        match &self.kind {
            CandidatesErrorKind::NoIdColumn(_, nearest) => nearest.as_deref(),
            CandidatesErrorKind::Faults(list) => match &list.faults.first()?.kind {
                FaultKind::NoId(_, nearest) => nearest.as_deref(),
                _ => None,
            },
            _ => None,
        }
    }
}

impl From<io::Error> for CandidatesErrorKind {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl CandidatesErrorKind {
    fn text(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::Read(source) => format!("cannot read {path}: {source}"),
            Self::Empty(notes) => {
                let notes: String = notes.iter().map(|note| format!("\n{note}")).collect();
                format!("{path}: no candidates{notes}")
            }
            Self::UnknownFormat => format!("{path}: {UNKNOWN_FORMAT}"),
            Self::Document(message) => format!("{path}: {message}"),
            Self::NoIdColumn(column, nearest) => {
                let hint = hint(nearest.as_deref());
                format!("{path}: no column {column:?}, which should hold the ids{hint}")
            }
            Self::Faults(FaultList { unit, faults, more }) => {
                let fault = |Fault { line, kind }: &Fault| format!("{path}, {unit} {line}: {kind}");
                let more = (*more > 0).then(|| format!("and {more} more"));
                faults.iter().map(fault).chain(more).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// What the entries of a file are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryUnit {
    /// Lines of text, counted from 1.
    Line,
    /// Rows of a Parquet file, counted from 1.
    Row,
    /// Entries of a JSON array or of a log, counted from 1.
    Entry,
}

impl fmt::Display for EntryUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "line",
            Self::Row => "row",
            Self::Entry => "entry",
        })
    }
}

/// The first faults of a file; the others are only counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultList {
    pub(super) unit: EntryUnit,
    pub(super) faults: Vec<Fault>,
    pub(super) more: u64,
}

/// An error in one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The number of the line, row or entry.
    pub(super) line: u64,
    pub(super) kind: FaultKind,
}

/// What is wrong with one entry.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum FaultKind {
    /// No id: the missing field, and the one with the nearest spelling.
    #[error("no field {:?}, which should hold the id{}", .0, hint(.1.as_deref()))]
    NoId(String, Option<String>),
    /// An id that cannot be used.
    #[error("{0}")]
    Id(String),
    /// Any other error.
    #[error("{0}")]
    Content(String),
}

impl FaultList {
    pub(super) const fn new(unit: EntryUnit) -> Self {
        Self { unit, faults: Vec::new(), more: 0 }
    }

    pub(super) fn push(&mut self, line: u64, message: impl Into<String>) {
        self.push_with(line, || FaultKind::Content(message.into()));
    }

    /// Adds a fault whose description is made only if it is shown.
    pub(super) fn push_with(&mut self, line: u64, kind: impl FnOnce() -> FaultKind) {
        if self.faults.len() >= PROBLEMS_MAX {
            self.more += 1;
        } else {
            self.faults.push(Fault { line, kind: kind() });
        }
    }

    /// Adds what a JSON parser found wrong in a text of one entry.
    pub(super) fn push_broken(&mut self, line: u64, text: &str, error: &serde_json::Error) {
        self.push_with(line, || {
            let before =
                text.as_bytes().get(..error.column().saturating_sub(1)).unwrap_or(text.as_bytes());
            let column = String::from_utf8_lossy(before).chars().count() + 1;
            // The parser saw one entry only: its line number would mislead.
            let message = without_place(error);
            FaultKind::Content(format!("column {column}: broken JSON: {message}"))
        });
    }

    pub(super) fn into_result(self) -> Result<(), CandidatesErrorKind> {
        if self.faults.is_empty() { Ok(()) } else { Err(CandidatesErrorKind::Faults(self)) }
    }
}

/// A parser's message without line and column.
pub(super) fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.rsplit_once(" at line ").map_or(message.as_str(), |(words, _)| words).to_owned()
}

/// The name that is spelled most like `wanted`, if any resembles it.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    goodarm_files::nearest(wanted, names).map(str::to_owned)
}

const UNKNOWN_FORMAT: &str = "the name must end in .jsonl, .ndjson, .json, .csv, .tsv, each also with \
    .gz or .zst, or in .parquet or .eval; or set format = \"…\"";
pub(super) const NOT_AN_OBJECT: &str = "not a JSON object";
pub(super) const NOT_UTF8: &str = "not UTF-8";
