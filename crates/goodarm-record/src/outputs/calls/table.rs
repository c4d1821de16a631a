//! `calls.parquet`: the same calls as columns, for those who ask a table many questions.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use goodarm_data::table::{self, Column, Table};
use parquet::file::reader::SerializedFileReader;
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};

use super::CallLine;

/// A file that is being written.
pub struct TableWriter<W: Write + Send> {
    file: table::TableWriter<W>,
    rows: Vec<CallLine<'static>>,
    text_bytes: usize,
}

impl<W: Write + Send> TableWriter<W> {
    /// A file without calls.
    pub fn new(out: W) -> io::Result<Self> {
        let file = table::TableWriter::new(out, &table_of(&[]), &COLUMNS)?;
        Ok(Self { file, rows: Vec::new(), text_bytes: 0 })
    }

    /// Adds a call.
    pub fn push(&mut self, line: &CallLine<'_>) -> io::Result<()> {
        self.text_bytes += line.reply.len() + line.reason.len();
        self.rows.push(line.to_owned_line());
        if self.rows.len() >= ROWS_MAX || self.text_bytes >= TEXT_BYTES_MAX {
            self.write_rows()?;
        }
        Ok(())
    }

    /// Writes what is left, and the end of the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_rows()?;
        self.file.finish()
    }

    fn write_rows(&mut self) -> io::Result<()> {
        self.text_bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() { Ok(()) } else { self.file.write(&table_of(&rows)) }
    }
}

/// Calls as columns, in the order of [`COLUMNS`].
fn table_of(rows: &[CallLine<'_>]) -> Table {
    let texts = |of: &dyn Fn(&CallLine<'_>) -> String| Column::texts(rows.iter().map(of));
    let some_texts = |of: &dyn Fn(&CallLine<'_>) -> String| {
        let text = |row: &CallLine<'_>| Some(of(row)).filter(|text| !text.is_empty());
        Column::Texts(rows.iter().map(text).collect())
    };
    let whole = |of: &dyn Fn(&CallLine<'_>) -> u64| {
        Column::integers(rows.iter().map(|row| signed(of(row))))
    };
    let failures = rows.iter().map(|row| row.failure.as_ref().map(ToString::to_string));
    // Which criteria there are differs from verifier to verifier, so that they have no columns.
    let scores = rows
        .iter()
        .map(|row| row.scores.as_ref().and_then(|scores| serde_json::to_string(scores).ok()));
    let columns = [
        whole(&|row| row.call),
        texts(&|row| row.id.to_string()),
        some_texts(&|row| row.question.to_string()),
        texts(&|row| row.verifier.to_string()),
        Column::Reals(rows.iter().map(|row| row.score).collect()),
        some_texts(&|row| row.answer.to_string()),
        Column::Integers(rows.iter().map(|row| row.label.map(i64::from)).collect()),
        Column::Texts(scores.collect()),
        Column::Texts(failures.collect()),
        texts(&|row| row.reason.to_string()),
        Column::Reals(rows.iter().map(|row| row.lent).collect()),
        texts(&|row| row.cost.to_string()),
        Column::reals(rows.iter().map(|row| row.latency)),
        whole(&|row| row.unix_millis),
        whole(&|row| row.asked),
        whole(&|row| row.answered),
        texts(&|row| row.reply.to_string()),
    ];
    let mut table = Table::default();
    for ((name, _), column) in COLUMNS.into_iter().zip(columns) {
        table.push(name, column);
    }
    table
}

/// A file that is being read, call by call.
pub struct TableReader {
    rows: RowIter<'static>,
}

impl TableReader {
    /// The calls of a file.
    pub fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
        Ok(Self { rows: RowIter::from_file_into(Box::new(reader)) })
    }

    /// The next call; an error says what its row lacks.
    pub fn next_line(&mut self) -> Option<Result<CallLine<'static>, String>> {
        let row = self.rows.next()?;
        Some(row.map_err(|error| error.to_string()).and_then(|row| line_of(&row)))
    }
}

/// The same as a line, so that both are compared with the journal alike.
fn line_of(row: &Row) -> Result<CallLine<'static>, String> {
    let fields: BTreeMap<&str, &Field> =
        row.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect();
    let text = |name: &str| match fields.get(name) {
        Some(Field::Str(text)) => Ok(text.clone()),
        other => Err(wrong(name, other)),
    };
    let whole = |name: &str| match fields.get(name) {
        Some(Field::Long(number)) => u64::try_from(*number).map_err(|error| error.to_string()),
        other => Err(wrong(name, other)),
    };
    let real = |name: &str| match fields.get(name) {
        Some(Field::Double(number)) => Ok(*number),
        other => Err(wrong(name, other)),
    };
    let is_there = |name: &str| !matches!(fields.get(name), None | Some(Field::Null));
    let some_text = |name: &str| if is_there(name) { text(name) } else { Ok(String::new()) };
    Ok(CallLine {
        call: whole("call")?,
        id: text("id")?.into(),
        question: some_text("question")?.into(),
        answer: some_text("answer")?.into(),
        label: match is_there("label").then(|| whole("label")).transpose()? {
            Some(label) => Some(u32::try_from(label).map_err(|error| error.to_string())?),
            None => None,
        },
        verifier: text("verifier")?.into(),
        score: is_there("score").then(|| real("score")).transpose()?,
        scores: if is_there("scores") {
            Some(serde_json::from_str(&text("scores")?).map_err(|error| error.to_string())?)
        } else {
            None
        },
        failure: is_there("failure").then(|| text("failure")).transpose()?.map(Into::into),
        reason: text("reason")?.into(),
        lent: is_there("lent").then(|| real("lent")).transpose()?,
        cost: text("cost")?.parse().map_err(|error| format!("cost: {error}"))?,
        latency: real("latency")?,
        unix_millis: whole("unix_millis")?,
        asked: whole("asked")?,
        answered: whole("answered")?,
        reply: text("reply")?.into(),
    })
}

fn wrong(name: &str, found: Option<&&Field>) -> String {
    match found {
        Some(field) => format!("{name} is {field}"),
        None => format!("{name} is missing"),
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The columns, and whether a call may have nothing in them.
const COLUMNS: [(&str, bool); 17] = [
    ("call", false),
    ("id", false),
    ("question", true),
    ("verifier", false),
    ("score", true),
    ("answer", true),
    ("label", true),
    ("scores", true),
    ("failure", true),
    ("reason", false),
    ("lent", true),
    ("cost", false),
    ("latency", false),
    ("unix_millis", false),
    ("asked", false),
    ("answered", false),
    ("reply", false),
];
/// Rows and bytes that are held in memory at most.
const ROWS_MAX: usize = 65_536;
const TEXT_BYTES_MAX: usize = 64 << 20;
