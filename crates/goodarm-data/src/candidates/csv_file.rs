//! CSV and TSV: a header row with names, then rows of texts.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, BufRead, Cursor, Read};

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
    let mut header = Vec::new();
    (&mut input).take(HEADER_BYTES_MAX).read_until(b'\n', &mut header)?;
    let delimiter = if delimiter == b',' { comma_or_semicolon(&header) } else { delimiter };
    let input = Cursor::new(header).chain(input);
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
    let names = record.iter().map(|name| str::from_utf8(name).map(str::to_owned));
    let Ok(names) = names.collect::<Result<Vec<String>, _>>() else {
        intake.builder.faults.push(1, NOT_UTF8);
        return intake.finish();
    };
    intake.builder.check_columns(&names)?;
    let prefixes = object_prefixes(&names);
    reader.get_mut().rows.next_line();
    let mut json = String::new();
    while reader.read_byte_record(&mut record).map_err(io::Error::from)? {
        let line = reader.get_mut().rows.next_line();
        let (found, expected) = (record.len(), prefixes.len());
        if found != expected {
            let message = format!("{found} columns, but the header has {expected}");
            intake.builder.faults.push(line, message);
            continue;
        }
        json.clear();
        match write(&prefixes, &record, &mut json) {
            Some(()) => intake.object(line, &json)?,
            None => intake.builder.faults.push(line, NOT_UTF8),
        }
    }
    if let Some(line) = reader.get_mut().rows.open_quote() {
        intake.builder.faults.push(line, "a quote that is opened here is never closed");
    }
    intake.finish()
}

/// The delimiter of the columns: where decimals have commas, it is a semicolon. It is the one that is more often
/// between the names, outside quotes.
fn comma_or_semicolon(header: &[u8]) -> u8 {
    let (mut commas, mut semicolons, mut is_quoted) = (0, 0, false);
    for byte in header {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => commas += 1,
            b';' if !is_quoted => semicolons += 1,
            _ => {}
        }
    }
    if semicolons > commas { b';' } else { b',' }
}

/// The most bytes that the delimiter is chosen by.
const HEADER_BYTES_MAX: u64 = 64 << 10;

/// Appends a row as an object, given the text before each value; `None` if it is not UTF-8.
fn write(prefixes: &[String], record: &ByteRecord, json: &mut String) -> Option<()> {
    for (prefix, value) in prefixes.iter().zip(record) {
        json.push_str(prefix);
        push_text(json, str::from_utf8(value).ok()?);
    }
    json.push('}');
    Some(())
}

impl Builder<'_> {
    /// Checks that columns have different names, and that one holds the ids if they are needed.
    pub(super) fn check_columns(&self, names: &[String]) -> Result<(), CandidatesErrorKind> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
            let message = format!("two columns are named {twice:?}");
            return Err(CandidatesErrorKind::Document(message));
        }
        let texts = || names.iter().map(String::as_str);
        let outermost = self.id_field.split_once('.').map_or(self.id_field, |(first, _)| first);
        let has_ids = texts().any(|name| name == self.id_field || name == outermost);
        if has_ids || self.are_rows || self.would_make_ids(texts()) {
            return Ok(());
        }
        let nearest = nearest(self.id_field, texts());
        Err(CandidatesErrorKind::NoIdColumn(self.id_field.to_owned(), nearest))
    }
}

/// The text before each value in an object with these fields.
fn object_prefixes(names: &[String]) -> Vec<String> {
    let prefix = |(index, name): (usize, &String)| {
        let mut prefix = String::from(if index == 0 { "{" } else { "" });
        push_name(&mut prefix, name);
        prefix
    };
    names.iter().enumerate().map(prefix).collect()
}

/// The input of the CSV reader, watched for two facts that the reader does not report.
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

/// Finds the line on which each row begins, because the CSV reader counts blank lines before a row as part of
/// the row. Also finds whether the last quote is closed: for the CSV reader the end of the file closes a quote,
/// and all later rows would silently become part of one text.
struct RowStarts {
    delimiter: u8,
    state: Csv,
    line: u64,
    quote_line: u64,
    /// The length of the current row so far.
    row_bytes: u64,
    /// The number of fields of the current row so far.
    row_fields: u64,
    /// The lines of rows that were seen here but not yet returned by the reader.
    ahead: VecDeque<u64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Csv {
    RowStart,
    FieldStart,
    Unquoted,
    Quoted,
    /// After a quote that ends the text, unless another quote follows.
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

    /// The line of the row that the reader returned last.
    fn next_line(&mut self) -> u64 {
        self.ahead.pop_front().unwrap_or(self.line)
    }

    fn open_quote(&self) -> Option<u64> {
        (self.state == Csv::Quoted).then_some(self.quote_line)
    }
}

/// The most columns, more than any table has: a row of commas alone would take many times its length in memory.
const COLUMNS_MAX: u64 = 1 << 20;
