//! `calls.parquet`: the same calls as columns, for those who ask a table many questions.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::SerializedFileReader;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use parquet::schema::parser::parse_message_type;

use super::CallLine;

/// A file that is being written.
pub struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: Columns,
}

/// Rows that wait to be written together.
#[derive(Default)]
struct Columns {
    call: Vec<i64>,
    id: Vec<ByteArray>,
    verifier: Vec<ByteArray>,
    score: Vec<Option<f64>>,
    failure: Vec<Option<ByteArray>>,
    reason: Vec<ByteArray>,
    lent: Vec<Option<f64>>,
    cost: Vec<ByteArray>,
    latency: Vec<f64>,
    unix_millis: Vec<i64>,
    asked: Vec<i64>,
    answered: Vec<i64>,
    reply: Vec<ByteArray>,
    text_bytes: usize,
}

impl<W: Write + Send> TableWriter<W> {
    /// A file without calls.
    pub fn new(out: W) -> io::Result<Self> {
        let schema = parse_message_type(SCHEMA).expect("the schema is well-formed");
        // The version of the library must not be part of the bytes.
        let properties = WriterProperties::builder().set_created_by("goodarm".to_owned()).build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
            .map_err(io_error)?;
        Ok(Self { file, rows: Columns::default() })
    }

    /// Adds a call.
    pub fn push(&mut self, line: &CallLine<'_>) -> io::Result<()> {
        self.rows.push(line);
        if self.rows.call.len() >= ROWS_MAX || self.rows.text_bytes >= TEXT_BYTES_MAX {
            self.write_rows()?;
        }
        Ok(())
    }

    /// Writes what is left, and the end of the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_rows()?;
        self.file.close().map_err(io_error)?;
        Ok(())
    }

    fn write_rows(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        if rows.call.is_empty() {
            return Ok(());
        }
        let mut write = || -> Result<(), ParquetError> {
            let mut group = self.file.next_row_group()?;
            column::<Int64Type, _>(&mut group, &rows.call, None)?;
            column::<ByteArrayType, _>(&mut group, &rows.id, None)?;
            column::<ByteArrayType, _>(&mut group, &rows.verifier, None)?;
            optional::<DoubleType, _>(&mut group, &rows.score)?;
            optional::<ByteArrayType, _>(&mut group, &rows.failure)?;
            column::<ByteArrayType, _>(&mut group, &rows.reason, None)?;
            optional::<DoubleType, _>(&mut group, &rows.lent)?;
            column::<ByteArrayType, _>(&mut group, &rows.cost, None)?;
            column::<DoubleType, _>(&mut group, &rows.latency, None)?;
            column::<Int64Type, _>(&mut group, &rows.unix_millis, None)?;
            column::<Int64Type, _>(&mut group, &rows.asked, None)?;
            column::<Int64Type, _>(&mut group, &rows.answered, None)?;
            column::<ByteArrayType, _>(&mut group, &rows.reply, None)?;
            group.close().map(drop)
        };
        write().map_err(io_error)
    }
}

impl Columns {
    fn push(&mut self, line: &CallLine<'_>) {
        let text = |text: &str| ByteArray::from(text);
        self.call.push(signed(line.call));
        self.id.push(text(&line.id));
        self.verifier.push(text(&line.verifier));
        self.score.push(line.score);
        self.failure.push(line.failure.as_deref().map(text));
        self.reason.push(text(&line.reason));
        self.lent.push(line.lent);
        self.cost.push(text(&line.cost.to_string()));
        self.latency.push(line.latency);
        self.unix_millis.push(signed(line.unix_millis));
        self.asked.push(signed(line.asked));
        self.answered.push(signed(line.answered));
        self.reply.push(text(&line.reply));
        self.text_bytes += line.reply.len() + line.reason.len();
    }
}

fn column<T: DataType<T = V>, V>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[V],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

fn optional<T: DataType<T = V>, V: Clone>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[Option<V>],
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<V> = values.iter().flatten().cloned().collect();
    column::<T, V>(group, &values, Some(&levels))
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
    Ok(CallLine {
        call: whole("call")?,
        id: text("id")?.into(),
        verifier: text("verifier")?.into(),
        score: is_there("score").then(|| real("score")).transpose()?,
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

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => io::Error::other(cause),
        other => io::Error::other(other),
    }
}

const SCHEMA: &str = "message calls {
    required int64 call;
    required binary id (UTF8);
    required binary verifier (UTF8);
    optional double score;
    optional binary failure (UTF8);
    required binary reason (UTF8);
    optional double lent;
    required binary cost (UTF8);
    required double latency;
    required int64 unix_millis;
    required int64 asked;
    required int64 answered;
    required binary reply (UTF8);
}";
/// Rows and bytes that are held in memory at most.
const ROWS_MAX: usize = 65_536;
const TEXT_BYTES_MAX: usize = 64 << 20;
