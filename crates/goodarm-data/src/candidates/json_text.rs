//! Files of JSON objects: one on each line, in sequence, or in an array.

use std::io::{BufRead, Read};

use serde::de::IgnoredAny;

use super::Candidates;
use super::error::{CandidatesErrorKind, EntryUnit, NOT_UTF8, without_place};
use super::intake::Intake;
use super::json;
use crate::bounds;

/// Reads one object on each line.
pub(super) fn read_lines(
    mut input: impl BufRead,
    mut intake: Intake<'_>,
) -> Result<Candidates, CandidatesErrorKind> {
    let mut buffer = Vec::new();
    for line in 1.. {
        match bounds::read_line(&mut input, &mut buffer) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return Err(bounds::at_line(line, &error).into()),
        }
        // An array in a file whose name promises lines.
        if line == 1 && buffer.trim_ascii_start().starts_with(b"[") {
            let rest = std::io::Cursor::new(buffer).chain(input);
            return read_document(rest, intake);
        }
        match std::str::from_utf8(&buffer) {
            Ok(text) if text.trim_ascii().is_empty() => {}
            Ok(text) => intake.object(line, text)?,
            Err(_) => intake.builder.faults.push(line, NOT_UTF8),
        }
    }
    intake.finish()
}

/// Reads objects in sequence, over any number of lines, or in one array.
pub(super) fn read_document(
    input: impl Read,
    mut intake: Intake<'_>,
) -> Result<Candidates, CandidatesErrorKind> {
    let mut bytes = Vec::new();
    input.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
        let message = "longer than 4 GiB: give it as .jsonl, an object on each line";
        return Err(CandidatesErrorKind::Document(message.into()));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| CandidatesErrorKind::Document(NOT_UTF8.into()))?;
    let text = json::without_nan(&text);
    intake.builder.faults.unit = EntryUnit::Entry;
    let mut rest = text.trim_ascii_start();
    let is_array = rest.starts_with('[');
    if is_array {
        rest = rest[1..].trim_ascii_start();
    }
    let mut entry = 0;
    while !(rest.is_empty() || is_array && rest.starts_with(']')) {
        entry += 1;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        match values.next() {
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(broken(&text, rest, &error)),
            None => break,
        }
        let (value, behind) = rest.split_at(values.byte_offset());
        intake.object(entry, value)?;
        rest = behind.trim_ascii_start();
        if is_array {
            match rest.strip_prefix(',') {
                Some(next) => rest = next.trim_ascii_start(),
                None if rest.starts_with(']') => {}
                None => return Err(not_continued(&text, rest)),
            }
        }
    }
    if is_array && rest.strip_prefix(']').is_none_or(|end| !end.trim_ascii().is_empty()) {
        return Err(not_continued(&text, rest));
    }
    intake.finish()
}

/// The error of a parser, with its line in the whole text.
fn broken(text: &str, rest: &str, error: &serde_json::Error) -> CandidatesErrorKind {
    broken_at(text, rest, error.line(), &without_place(error))
}

fn not_continued(text: &str, rest: &str) -> CandidatesErrorKind {
    broken_at(text, rest, 1, "the array does not continue with `,` or end with `]`")
}

/// An error on a line of the rest, counted from 1.
fn broken_at(text: &str, rest: &str, line: usize, message: &str) -> CandidatesErrorKind {
    let line = text[..text.len() - rest.len()].matches('\n').count() + line;
    CandidatesErrorKind::Document(format!("line {line}: broken JSON: {message}"))
}

/// The most bytes of a document, which is held in memory as a whole.
const DOCUMENT_BYTES_MAX: u64 = 4 << 30;
