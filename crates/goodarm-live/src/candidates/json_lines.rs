//! A JSON object on each line.

use std::io::BufRead;

use super::Candidates;
use super::builder::Builder;
use super::error::{CandidatesError, FaultKind, nearest};
use super::json::{self, Id, Scanned};

pub(super) fn read(
    mut input: impl BufRead,
    mut builder: Builder<'_>,
) -> Result<Candidates, CandidatesError> {
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        let length = input
            .read_until(b'\n', &mut buffer)
            .map_err(|source| CandidatesError::Read { path: builder.path.to_owned(), source })?;
        if length == 0 {
            break;
        }
        match std::str::from_utf8(&buffer) {
            Ok(text) if text.trim_ascii().is_empty() => {}
            Ok(text) => read_line(line, text, &mut builder)?,
            Err(_) => builder.faults.push(line, FaultKind::NotUtf8),
        }
    }
    builder.finish()
}

fn read_line(line: u64, text: &str, builder: &mut Builder<'_>) -> Result<(), CandidatesError> {
    match json::scan(text.trim_ascii_end(), builder.id_field) {
        Ok(scanned) => match id_of(&scanned, builder.id_field) {
            Ok(id) => {
                builder.note_fields(line, &scanned.fields);
                builder.push(line, id, &on_one_line(text.trim_ascii()))?;
            }
            Err(kind) => builder.faults.push(line, kind),
        },
        Err(error) => builder.faults.push_with(line, || broken(text, &error)),
    }
    Ok(())
}

fn id_of<'a>(scanned: &'a Scanned<'_>, id_field: &str) -> Result<&'a str, FaultKind> {
    match &scanned.id {
        Some(Id::Text(id)) => Ok(id),
        Some(Id::Other) => Err(FaultKind::IdKind { field: id_field.to_owned() }),
        None if scanned.is_object => {
            let nearest = nearest(id_field, scanned.fields.iter().map(AsRef::as_ref));
            Err(FaultKind::NoId { field: id_field.to_owned(), nearest })
        }
        None => Err(FaultKind::NotAnObject),
    }
}

/// Carriage returns are the only line breaks left, and in JSON they can only be between values.
fn on_one_line(json: &str) -> std::borrow::Cow<'_, str> {
    if json.as_bytes().contains(&b'\r') { json.replace('\r', " ").into() } else { json.into() }
}

fn broken(text: &str, error: &serde_json::Error) -> FaultKind {
    let message = error.to_string();
    // The parser saw one line only, so the place that it names would mislead.
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(words, _)| words);
    let before = text.as_bytes().get(..error.column().saturating_sub(1)).unwrap_or(text.as_bytes());
    let column = String::from_utf8_lossy(before).chars().count() as u64 + 1;
    FaultKind::Json { column, message: message.to_owned() }
}
