//! What can be wrong with a file of candidates.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use goodarm_files::hint;
use thiserror::Error;

/// Why candidates cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CandidatesError {
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What happened.
        source: io::Error,
    },
    /// The file's name has no known ending.
    #[error("{}: the name must end in .jsonl, .ndjson, .json, .csv, .tsv, each also with .gz or .zst, \
        or in .parquet or .eval; else say what it is with format = \"…\"", path.display())]
    UnknownFormat {
        /// Which file.
        path: PathBuf,
    },
    /// The file holds no candidate.
    #[error("{}: no candidates{}", path.display(), on_lines(notes))]
    Empty {
        /// Which file.
        path: PathBuf,
        /// How it was read, and what was left out.
        notes: Vec<String>,
    },
    /// The file as a whole is not what it should be.
    #[error("{}: {message}", path.display())]
    Document {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// More candidates than a problem may have arms.
    #[error("{}: more than {} candidates", path.display(), goodarm_core::problem::ARMS_MAX)]
    TooMany {
        /// Which file.
        path: PathBuf,
    },
    /// A table has no column for the ids.
    #[error("{}: no column {column:?}, which should hold the ids{}",
        path.display(), hint(nearest.as_deref()))]
    NoIdColumn {
        /// Which file.
        path: PathBuf,
        /// The missing column.
        column: String,
        /// The column that is spelled most like it.
        nearest: Option<String>,
    },
    /// Two columns of a table have one name.
    #[error("{}: two columns are named {column:?}", path.display())]
    DuplicateColumn {
        /// Which file.
        path: PathBuf,
        /// Their name.
        column: String,
    },
    /// The file is not a Parquet file that can be read.
    #[error("{}: broken or unsupported Parquet: {message}", path.display())]
    Parquet {
        /// Which file.
        path: PathBuf,
        /// What the reader says.
        message: String,
    },
    /// Lines or rows are wrong.
    #[error("{}", fault_list(path, *unit, faults, *more))]
    Faults {
        /// Which file.
        path: PathBuf,
        /// What the file is made of.
        unit: EntryUnit,
        /// The first faults, at most [`CandidatesError::FAULTS_SHOWN_MAX`].
        faults: Vec<Fault>,
        /// How many more there are.
        more: u64,
    },
}

impl CandidatesError {
    /// So many faults are named; the others are counted.
    pub const FAULTS_SHOWN_MAX: usize = goodarm_files::PROBLEMS_MAX;
}

/// What a file is made of.
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

/// Something wrong in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// On which line, or in which row.
    pub line: u64,
    /// What is wrong.
    pub kind: FaultKind,
}

/// What is wrong in one place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// Not JSON, or an object that names a field twice.
    #[error("column {column}: broken JSON: {message}")]
    Json {
        /// At which character, counted from 1.
        column: u64,
        /// What the parser says.
        message: String,
    },
    /// JSON, but not an object.
    #[error("not a JSON object")]
    NotAnObject,
    /// Not UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// The object has no id.
    #[error("no field {field:?}, which should hold the id{}", hint(nearest.as_deref()))]
    NoId {
        /// The missing field.
        field: String,
        /// The field that is spelled most like it.
        nearest: Option<String>,
    },
    /// An object with an id behind others that have none.
    #[error(
        "a field {field:?}, which the first candidate does not have: give all of them one, or none"
    )]
    SuddenId {
        /// The field.
        field: String,
    },
    /// Not what the tool writes whose file it is said to be.
    #[error(
        "not an entry of format {format:?}: no {lacks}; format = \"jsonl\" or \"json\" takes the objects as they are"
    )]
    NotOfTool {
        /// What the format is called.
        format: &'static str,
        /// The field that is missing or of another kind.
        lacks: &'static str,
    },
    /// The id is neither a text nor a whole number of 64 bits.
    #[error("the id in field {field:?} is neither a text nor a whole number")]
    IdKind {
        /// The field.
        field: String,
    },
    /// An id without any visible character.
    #[error("the id is empty")]
    BlankId,
    /// An id that another candidate has, too.
    #[error("id {id:?} already names the candidate at {first}")]
    DuplicateId {
        /// The id.
        id: String,
        /// The line or row that had it first.
        first: u64,
    },
    /// A field of the name that findings are written to.
    #[error(
        "the field {:?} is where a run writes its findings, as in certified.jsonl: take it out first, for example with jq -c 'del(.{})'",
        super::KEY,
        super::KEY
    )]
    TakenField,
    /// A row that does not fit its header.
    #[error("{found} columns, but the header has {expected}")]
    ColumnCount {
        /// As many as the header has.
        expected: usize,
        /// As many as the row has.
        found: usize,
    },
    /// A text whose values would take far more memory than the file is long.
    #[error("{0}")]
    TooManyValues(String),
    /// A quoted text that the end of the file cuts off.
    #[error("a quote that is opened here is never closed")]
    OpenQuote,
    /// The object lacks a field that is needed.
    #[error("no field {field:?}{}", hint(nearest.as_deref()))]
    MissingField {
        /// The missing field.
        field: String,
        /// The field that is spelled most like it.
        nearest: Option<String>,
    },
}

impl FaultKind {
    /// What a parser says that saw this text only.
    pub(super) fn broken(text: &str, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        // The parser saw one line only, so the place that it names would mislead.
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(words, _)| words);
        let before =
            text.as_bytes().get(..error.column().saturating_sub(1)).unwrap_or(text.as_bytes());
        let column = String::from_utf8_lossy(before).chars().count() as u64 + 1;
        Self::Json { column, message: message.to_owned() }
    }
}

/// Faults as they are found; keeps the first and counts the others.
#[derive(Debug)]
pub(super) struct Faults {
    path: PathBuf,
    pub(super) unit: EntryUnit,
    faults: Vec<Fault>,
    more: u64,
}

impl Faults {
    pub(super) fn new(path: &Path, unit: EntryUnit) -> Self {
        Self { path: path.to_owned(), unit, faults: Vec::new(), more: 0 }
    }

    /// Whether more faults are only counted.
    pub(super) const fn is_full(&self) -> bool {
        self.faults.len() >= CandidatesError::FAULTS_SHOWN_MAX
    }

    pub(super) fn push(&mut self, line: u64, kind: FaultKind) {
        self.push_with(line, || kind);
    }

    /// The same, where making the description is expensive.
    pub(super) fn push_with(&mut self, line: u64, kind: impl FnOnce() -> FaultKind) {
        if self.is_full() {
            self.more += 1;
        } else {
            self.faults.push(Fault { line, kind: kind() });
        }
    }

    pub(super) fn into_result(self) -> Result<(), CandidatesError> {
        let Self { path, unit, faults, more } = self;
        if faults.is_empty() {
            Ok(())
        } else {
            Err(CandidatesError::Faults { path, unit, faults, more })
        }
    }
}

/// The name that was probably meant, as an error keeps it.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    goodarm_files::nearest(wanted, names).map(str::to_owned)
}

/// Each note on a line of its own, behind what comes before it.
fn on_lines(notes: &[String]) -> String {
    notes.iter().map(|note| format!("\n{note}")).collect()
}

/// The faults of a file, a line each.
fn fault_list(path: &Path, unit: EntryUnit, faults: &[Fault], more: u64) -> String {
    let fault = |Fault { line, kind }: &Fault| format!("{}, {unit} {line}: {kind}", path.display());
    let more = (more > 0).then(|| format!("and {more} more"));
    faults.iter().map(fault).chain(more).collect::<Vec<_>>().join("\n")
}
