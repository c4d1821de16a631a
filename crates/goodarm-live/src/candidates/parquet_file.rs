//! Parquet files: texts, numbers, booleans and times, in lists, structs and maps, or nothing.

use std::fmt::Write as _;
use std::fs::File;
use std::panic::{self, AssertUnwindSafe};

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, List, Map, Row};

use super::Candidates;
use super::error::{CandidatesError, FaultKind};
use super::intake::Intake;
use super::json::push_text;

pub(super) fn read(file: File, intake: Intake<'_>) -> Result<Candidates, CandidatesError> {
    let path = intake.builder.path.to_owned();
    // The Parquet library panics at some files that are damaged. All it works on is in here and
    // dropped with it, so nothing half done can be seen afterwards.
    let work = AssertUnwindSafe(|| read_trusting(file, intake));
    panic::catch_unwind(work).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(CandidatesError::Parquet { path, message })
    })
}

fn read_trusting(file: File, mut intake: Intake<'_>) -> Result<Candidates, CandidatesError> {
    let path = intake.builder.path;
    let broken = |error: ParquetError| CandidatesError::Parquet {
        path: path.to_owned(),
        message: shortened(&error.to_string()),
    };
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<String> =
        schema.get_fields().iter().map(|field| field.name().to_owned()).collect();
    intake.builder.check_columns(&names)?;
    let mut json = String::new();
    for (row, number) in reader.get_row_iter(None).map_err(broken)?.zip(1..) {
        json.clear();
        match write_row(&mut json, &row.map_err(broken)?) {
            Ok(()) => intake.object(number, &json)?,
            Err(NotUtf8) => intake.builder.faults.push(number, FaultKind::NotUtf8),
        }
    }
    intake.finish()
}

/// Bytes that no JSON can hold.
struct NotUtf8;

fn write_row(json: &mut String, row: &Row) -> Result<(), NotUtf8> {
    json.push('{');
    for (index, (name, field)) in row.get_column_iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        push_text(json, name);
        json.push(':');
        write_field(json, field)?;
    }
    json.push('}');
    Ok(())
}

fn write_field(json: &mut String, field: &Field) -> Result<(), NotUtf8> {
    match field {
        Field::Null => json.push_str("null"),
        // JSON knows no NaN and no infinities. Debug writes the shortest digits that read back.
        Field::Float(value) if !value.is_finite() => json.push_str("null"),
        Field::Double(value) if !value.is_finite() => json.push_str("null"),
        Field::Float(value) => put(json, format_args!("{value:?}")),
        Field::Double(value) => put(json, format_args!("{value:?}")),
        Field::Float16(value) => {
            let value = f32::from(*value);
            return write_field(json, &Field::Float(value));
        }
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
        // Some programs write texts without saying that they are.
        Field::Bytes(bytes) => {
            push_text(json, str::from_utf8(bytes.data()).map_err(|_| NotUtf8)?);
        }
        // As a person would write them.
        Field::Decimal(_)
        | Field::Date(_)
        | Field::TimeMillis(_)
        | Field::TimeMicros(_)
        | Field::TimestampMillis(_)
        | Field::TimestampMicros(_) => push_text(json, &field.to_string()),
        Field::Group(row) => return write_row(json, row),
        Field::ListInternal(list) => return write_list(json, list),
        Field::MapInternal(map) => return write_map(json, map),
    }
    Ok(())
}

fn write_list(json: &mut String, list: &List) -> Result<(), NotUtf8> {
    json.push('[');
    for (index, element) in list.elements().iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        write_field(json, element)?;
    }
    json.push(']');
    Ok(())
}

fn write_map(json: &mut String, map: &Map) -> Result<(), NotUtf8> {
    json.push('{');
    for (index, (key, value)) in map.entries().iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        match key {
            Field::Str(text) => push_text(json, text),
            other => push_text(json, &other.to_string()),
        }
        json.push(':');
        write_field(json, value)?;
    }
    json.push('}');
    Ok(())
}

fn put(json: &mut String, arguments: std::fmt::Arguments<'_>) {
    json.write_fmt(arguments).expect("a String takes everything");
}

/// The library shows all bytes of a text that is none.
fn shortened(message: &str) -> String {
    let mut text: String = message.chars().take(MESSAGE_CHARS_MAX).collect();
    if text.len() < message.len() {
        text.push('…');
    }
    text
}

const MESSAGE_CHARS_MAX: usize = 300;
