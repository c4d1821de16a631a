//! Parquet files: texts, numbers, booleans, times and null, in lists, structs and maps.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, List, Map, Row};

use super::Candidates;
use super::error::CandidatesErrorKind;
use super::intake::Intake;
use super::json::{push_name, push_text};
use crate::panics::caught;

pub(super) fn read(file: File, mut intake: Intake<'_>) -> Result<Candidates, CandidatesErrorKind> {
    let reader = catching(|| SerializedFileReader::new(file))?;
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<String> =
        schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
    intake.builder.check_columns(&names)?;
    let mut writer = Writer::default();
    let mut rows = catching(|| reader.get_row_iter(None))?;
    let mut next = |writer: &mut Writer| {
        writer.json.clear();
        let row = rows.next().transpose()?;
        row.as_ref().inspect(|row| writer.row(row));
        Ok(row.is_some())
    };
    let mut number = 0;
    while catching(|| next(&mut writer))? {
        number += 1;
        intake.object(number, &writer.json)?;
    }
    if !writer.bytes_in.is_empty() {
        let names: Vec<&str> = writer.bytes_in.iter().map(String::as_str).collect();
        let names = names.join(", ");
        intake.builder.note(format!("null for bytes that are not a text, in {names}"));
    }
    intake.finish()
}

/// Calls the Parquet library, which panics at some damaged files. After a panic it is not used again for the
/// file.
fn catching<T>(work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, CandidatesErrorKind> {
    let message = match caught(work) {
        Ok(Ok(done)) => return Ok(done),
        Ok(Err(error)) => clear_message(&error.to_string()),
        Err(panic) => format!("the reader gave up on it: {}", clear_message(&panic)),
    };
    Err(CandidatesErrorKind::Document(format!("broken or unsupported Parquet: {message}")))
}

/// Writes rows as JSON.
#[derive(Default)]
struct Writer {
    json: String,
    /// The names of the fields around the current value, the outermost first.
    within: Vec<String>,
    /// Fields with bytes that JSON cannot hold, such as pictures.
    bytes_in: BTreeSet<String>,
}

impl Writer {
    fn row(&mut self, row: &Row) {
        self.json.push('{');
        for (name, field) in row.get_column_iter() {
            push_name(&mut self.json, name);
            self.within.push(name.clone());
            self.field(field);
            self.within.pop();
        }
        self.json.push('}');
    }

    fn field(&mut self, field: &Field) {
        let json = &mut self.json;
        match field {
            Field::Null => json.push_str("null"),
            // JSON has no NaN and no infinities. Debug writes the shortest digits that read back.
            Field::Float(value) if !value.is_finite() => json.push_str("null"),
            Field::Double(value) if !value.is_finite() => json.push_str("null"),
            Field::Float(value) => put(json, format_args!("{value:?}")),
            Field::Double(value) => put(json, format_args!("{value:?}")),
            Field::Float16(value) => self.field(&Field::Float(f32::from(*value))),
            Field::Bool(_)
            | Field::Byte(_)
            | Field::Short(_)
            | Field::Int(_)
            | Field::Long(_)
            | Field::UByte(_)
            | Field::UShort(_)
            | Field::UInt(_)
            | Field::ULong(_) => put(json, format_args!("{field}")),
            Field::Str(text) => push_text(json, text),
            // Some programs write texts without declaring them as such.
            Field::Bytes(bytes) => match str::from_utf8(bytes.data()) {
                Ok(text) => push_text(json, text),
                Err(_) => {
                    json.push_str("null");
                    self.bytes_in.insert(self.within.join("."));
                }
            },
            // Written as texts, in the usual notation.
            Field::Decimal(_)
            | Field::Date(_)
            | Field::TimeMillis(_)
            | Field::TimeMicros(_)
            | Field::TimestampMillis(_)
            | Field::TimestampMicros(_) => push_text(json, &field.to_string()),
            Field::Group(row) => self.row(row),
            Field::ListInternal(list) => self.list(list),
            Field::MapInternal(map) => self.map(map),
        }
    }

    fn list(&mut self, list: &List) {
        self.json.push('[');
        for (index, element) in list.elements().iter().enumerate() {
            if index > 0 {
                self.json.push(',');
            }
            self.field(element);
        }
        self.json.push(']');
    }

    fn map(&mut self, map: &Map) {
        self.json.push('{');
        for (key, value) in map.entries() {
            match key {
                Field::Str(text) => push_name(&mut self.json, text),
                other => push_name(&mut self.json, &other.to_string()),
            }
            self.field(value);
        }
        self.json.push('}');
    }
}

fn put(json: &mut String, arguments: std::fmt::Arguments<'_>) {
    json.write_fmt(arguments).expect("writing to a String cannot fail");
}

/// A shorter and clearer message: the library prints all bytes of invalid texts and mentions its own
/// features.
fn clear_message(message: &str) -> String {
    if message.to_lowercase().contains("brotli") {
        return "it is packed with Brotli, which is not read here: write it with zstd or snappy \
                (compression=\"zstd\" in pandas and pyarrow)"
            .to_owned();
    }
    let mut text: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
    if text.len() < message.len() {
        text.push('…');
    }
    text
}

const MESSAGE_CHARS_MAX: usize = 300;
