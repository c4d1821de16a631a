//! A header row with names, then rows of texts.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read};

use csv::{ByteRecord, ReaderBuilder};

use super::Candidates;
use super::builder::Builder;
use super::error::{CandidatesError, FaultKind, nearest};
use super::json::push_text;

pub(super) fn read(
    input: impl Read,
    mut builder: Builder<'_>,
) -> Result<Candidates, CandidatesError> {
    let path = builder.path;
    let unreadable = |error: csv::Error| CandidatesError::Read {
        path: path.to_owned(),
        source: io::Error::from(error),
    };
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true) // so that all rows of a wrong length are found, not only the first
        .buffer_capacity(super::READ_BUFFER_LEN)
        .from_reader(Watched { input, rows: RowStarts::default() });
    let mut record = ByteRecord::new();
    if !reader.read_byte_record(&mut record).map_err(unreadable)? {
        return Err(CandidatesError::Empty { path: path.to_owned() });
    }
    let Some(columns) = Columns::new(&record, &builder)? else {
        builder.faults.push(1, FaultKind::NotUtf8);
        return builder.finish();
    };
    let names: BTreeSet<Cow<'_, str>> = columns.names.iter().map(Cow::from).collect();
    builder.note_fields(1, &names);
    reader.get_mut().rows.next_line();
    let mut json = String::new();
    while reader.read_byte_record(&mut record).map_err(unreadable)? {
        let line = reader.get_mut().rows.next_line();
        let found = record.len();
        if found != columns.names.len() {
            let expected = columns.names.len();
            builder.faults.push(line, FaultKind::ColumnCount { expected, found });
            continue;
        }
        json.clear();
        match columns.write(&record, &mut json) {
            Some(id) => builder.push(line, id, &json)?,
            None => builder.faults.push(line, FaultKind::NotUtf8),
        }
    }
    if let Some(line) = reader.get_mut().rows.open_quote() {
        builder.faults.push(line, FaultKind::OpenQuote);
    }
    builder.finish()
}

struct Columns {
    names: Vec<String>,
    /// What stands before each value in an object.
    prefixes: Vec<String>,
    id_column: usize,
}

impl Columns {
    /// `None` if a name is not UTF-8.
    fn new(header: &ByteRecord, builder: &Builder<'_>) -> Result<Option<Self>, CandidatesError> {
        let decoded = header.iter().map(|name| str::from_utf8(name).map(str::to_owned));
        let Ok(names) = decoded.collect::<Result<Vec<String>, _>>() else {
            return Ok(None);
        };
        let id_column = builder.check_columns(&names)?;
        let prefixes = object_prefixes(&names);
        Ok(Some(Self { names, prefixes, id_column }))
    }

    /// Appends a row as an object and gives its id; `None` if it is not UTF-8.
    fn write<'r>(&self, record: &'r ByteRecord, json: &mut String) -> Option<&'r str> {
        for (prefix, value) in self.prefixes.iter().zip(record) {
            json.push_str(prefix);
            push_text(json, str::from_utf8(value).ok()?);
        }
        json.push('}');
        str::from_utf8(record.get(self.id_column)?).ok()
    }
}

impl Builder<'_> {
    /// The position of the ids among columns that have these names.
    pub(super) fn check_columns(&self, names: &[String]) -> Result<usize, CandidatesError> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
            let (path, column) = (self.path.to_owned(), twice.clone());
            return Err(CandidatesError::DuplicateColumn { path, column });
        }
        names.iter().position(|name| name == self.id_field).ok_or_else(|| {
            CandidatesError::NoIdColumn {
                path: self.path.to_owned(),
                column: self.id_field.to_owned(),
                nearest: nearest(self.id_field, names.iter().map(String::as_str)),
            }
        })
    }
}

/// What stands before each value of an object with these fields.
pub(super) fn object_prefixes(names: &[String]) -> Vec<String> {
    let prefix = |(index, name): (usize, &String)| {
        let mut prefix = String::from(if index == 0 { "{" } else { "," });
        push_text(&mut prefix, name);
        prefix.push(':');
        prefix
    };
    names.iter().enumerate().map(prefix).collect()
}

/// The bytes on their way to the CSV reader, watched for two things that it does not tell.
struct Watched<R> {
    input: R,
    rows: RowStarts,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.rows.see(&buffer[..length]);
        Ok(length)
    }
}

/// On which lines rows begin: the CSV reader counts blank lines before a row as part of it. And
/// whether the last quote is closed: for the CSV reader, the end of the file closes it, and all rows
/// behind it would silently be part of one text.
struct RowStarts {
    state: Csv,
    line: u64,
    quote_line: u64,
    /// The lines of rows that were seen here and not yet read.
    ahead: VecDeque<u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Csv {
    RowStart,
    FieldStart,
    Unquoted,
    Quoted,
    /// Behind a quote that ends the text, unless another quote follows.
    QuoteEnded,
}

impl Default for RowStarts {
    fn default() -> Self {
        Self { state: Csv::RowStart, line: 1, quote_line: 1, ahead: VecDeque::new() }
    }
}

impl RowStarts {
    fn see(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.state == Csv::RowStart && !matches!(byte, b'\n' | b'\r') {
                self.ahead.push_back(self.line);
            }
            self.state = match (self.state, byte) {
                (Csv::Quoted, b'"') => Csv::QuoteEnded,
                (Csv::Quoted, _) | (Csv::QuoteEnded, b'"') => Csv::Quoted,
                (Csv::RowStart | Csv::FieldStart, b'"') => {
                    self.quote_line = self.line;
                    Csv::Quoted
                }
                (_, b'\n' | b'\r') => Csv::RowStart,
                (_, b',') => Csv::FieldStart,
                (_, _) => Csv::Unquoted,
            };
            self.line += u64::from(*byte == b'\n');
        }
    }

    /// The line of the row that has just been read.
    fn next_line(&mut self) -> u64 {
        self.ahead.pop_front().unwrap_or(self.line)
    }

    fn open_quote(&self) -> Option<u64> {
        (self.state == Csv::Quoted).then_some(self.quote_line)
    }
}
