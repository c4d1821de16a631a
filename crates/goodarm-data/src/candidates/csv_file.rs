//! A header row with names, then rows of texts.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, BufRead, Read};

use csv::{ByteRecord, ReaderBuilder};

use super::Candidates;
use super::builder::Builder;
use super::error::{CandidatesErrorKind, NOT_UTF8, nearest};
use super::intake::Intake;
use super::json::{push_name, push_text};
use crate::bounds::{self, LINE_BYTES_MAX};

pub(super) fn read(
    mut input: impl BufRead,
    delimiter: u8,
    mut intake: Intake<'_>,
) -> Result<Candidates, CandidatesErrorKind> {
    let delimiter = match input.fill_buf() {
        Ok(start) if delimiter == b',' => comma_or_semicolon(start),
        _ => delimiter,
    };
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true) // so that all rows of a wrong length are found, not only the first
        .delimiter(delimiter)
        .buffer_capacity(super::READ_BUFFER_LEN)
        .from_reader(Watched { input, rows: RowStarts::new(delimiter) });
    let mut record = ByteRecord::new();
    if !reader.read_byte_record(&mut record).map_err(io::Error::from)? {
        return intake.finish();
    }
    let Some(columns) = Columns::new(&record, &intake.builder)? else {
        intake.builder.faults.push(1, NOT_UTF8);
        return intake.finish();
    };
    reader.get_mut().rows.next_line();
    let mut json = String::new();
    while reader.read_byte_record(&mut record).map_err(io::Error::from)? {
        let line = reader.get_mut().rows.next_line();
        let (found, expected) = (record.len(), columns.prefixes.len());
        if found != expected {
            let message = format!("{found} columns, but the header has {expected}");
            intake.builder.faults.push(line, message);
            continue;
        }
        json.clear();
        match columns.write(&record, &mut json) {
            Some(()) => intake.object(line, &json)?,
            None => intake.builder.faults.push(line, NOT_UTF8),
        }
    }
    if let Some(line) = reader.get_mut().rows.open_quote() {
        intake.builder.faults.push(line, "a quote that is opened here is never closed");
    }
    intake.finish()
}

/// Where commas are for decimals, semicolons stand between columns: then there is no comma in the
/// names.
fn comma_or_semicolon(start: &[u8]) -> u8 {
    let names = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if names.contains(&b';') && !names.contains(&b',') { b';' } else { b',' }
}

struct Columns {
    /// What stands before each value in an object.
    prefixes: Vec<String>,
}

impl Columns {
    /// `None` if a name is not UTF-8.
    fn new(
        header: &ByteRecord,
        builder: &Builder<'_>,
    ) -> Result<Option<Self>, CandidatesErrorKind> {
        let decoded = header.iter().map(|name| str::from_utf8(name).map(str::to_owned));
        let Ok(names) = decoded.collect::<Result<Vec<String>, _>>() else {
            return Ok(None);
        };
        builder.check_columns(&names)?;
        Ok(Some(Self { prefixes: object_prefixes(&names) }))
    }

    /// Appends a row as an object; `None` if it is not UTF-8.
    fn write(&self, record: &ByteRecord, json: &mut String) -> Option<()> {
        for (prefix, value) in self.prefixes.iter().zip(record) {
            json.push_str(prefix);
            push_text(json, str::from_utf8(value).ok()?);
        }
        json.push('}');
        Some(())
    }
}

impl Builder<'_> {
    /// Whether columns that have these names can hold the ids, or none at all.
    pub(super) fn check_columns(&self, names: &[String]) -> Result<(), CandidatesErrorKind> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(CandidatesErrorKind::DuplicateColumn(twice.clone()));
        }
        let texts = || names.iter().map(String::as_str);
        let outermost = self.id_field.split_once('.').map_or(self.id_field, |(first, _)| first);
        let has_ids = texts().any(|name| name == self.id_field || name == outermost);
        if has_ids || self.needs_no_ids(texts()) {
            return Ok(());
        }
        let nearest = nearest(self.id_field, texts());
        Err(CandidatesErrorKind::NoIdColumn(self.id_field.to_owned(), nearest))
    }
}

/// What stands before each value of an object with these fields.
fn object_prefixes(names: &[String]) -> Vec<String> {
    let prefix = |(index, name): (usize, &String)| {
        let mut prefix = String::from(if index == 0 { "{" } else { "" });
        push_name(&mut prefix, name);
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
        let error = if self.rows.row_bytes > LINE_BYTES_MAX {
            bounds::too_long()
        } else if self.rows.row_fields > COLUMNS_MAX {
            io::Error::other(format!("more than {COLUMNS_MAX} columns"))
        } else {
            return Ok(length);
        };
        let line = self.rows.ahead.back().copied().unwrap_or(self.rows.line);
        Err(bounds::at_line(line, &error))
    }
}

/// On which lines rows begin: the CSV reader counts blank lines before a row as part of it. And
/// whether the last quote is closed: for the CSV reader, the end of the file closes it, and all rows
/// behind it would silently be part of one text.
struct RowStarts {
    delimiter: u8,
    state: Csv,
    line: u64,
    quote_line: u64,
    /// How long the row is that was begun last.
    row_bytes: u64,
    /// How many fields of it have begun.
    row_fields: u64,
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

impl RowStarts {
    const fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            state: Csv::RowStart,
            line: 1,
            quote_line: 1,
            row_bytes: 0,
            row_fields: 0,
            ahead: VecDeque::new(),
        }
    }

    fn see(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.state == Csv::RowStart && !matches!(byte, b'\n' | b'\r') {
                self.ahead.push_back(self.line);
                (self.row_bytes, self.row_fields) = (0, 1);
            }
            self.row_bytes += 1;
            self.state = match (self.state, byte) {
                (Csv::Quoted, b'"') => Csv::QuoteEnded,
                (Csv::Quoted, _) | (Csv::QuoteEnded, b'"') => Csv::Quoted,
                (Csv::RowStart | Csv::FieldStart, b'"') => {
                    self.quote_line = self.line;
                    Csv::Quoted
                }
                (_, b'\n' | b'\r') => Csv::RowStart,
                (_, byte) if *byte == self.delimiter => {
                    self.row_fields += 1;
                    Csv::FieldStart
                }
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

/// No table has more; a row of commas alone takes many times its length.
const COLUMNS_MAX: u64 = 1 << 20;
