//! JSON inside a model's prose.

use serde_json::Value;

use crate::steps::{JSON_BYTES_MAX, Limit, STEPS_MAX, Steps};

/// The first JSON value in a text: the whole text, or the content of the first fence, or the first readable
/// object or array.
pub fn first_value(text: &str) -> Option<Value> {
    first_value_within(text, &Steps::new(STEPS_MAX)).ok().flatten()
}

/// The same as [`first_value`], within a number of steps.
pub(super) fn first_value_within(text: &str, steps: &Steps) -> Result<Option<Value>, Limit> {
    if text.len() > JSON_BYTES_MAX {
        return Err(Limit::JsonBytes);
    }
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return Ok(Some(value));
    }
    if let Some(value) = fenced(text).and_then(|inside| serde_json::from_str(inside).ok()) {
        return Ok(Some(value));
    }
    let beginnings = text.char_indices().filter(|(_, character)| matches!(character, '{' | '['));
    for (at, _) in beginnings.take(BEGINNINGS_MAX) {
        let rest = &text[at..];
        match serde_json::Deserializer::from_str(rest).into_iter().next() {
            Some(Ok(value)) => return Ok(Some(value)),
            // Each byte counts as a step, because at worst every byte is a value.
            Some(Err(error)) => steps.take(bytes_read(rest, &error))?,
            None => {}
        }
    }
    Ok(None)
}

/// The number of bytes that were read before the error.
fn bytes_read(text: &str, error: &serde_json::Error) -> u64 {
    let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    (lines.map(str::len).sum::<usize>() + error.column()) as u64
}

/// The value at the pointer as text; `None` if it is missing or null.
pub(super) fn text_at(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::Null => None,
        Value::String(text) => Some(text.trim().to_owned()),
        other => Some(other.to_string()),
    }
}

/// The content of the first ``` fence, without the language's name.
fn fenced(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("```")?;
    let (inside, _) = after.split_once("```")?;
    Some(inside.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim())
}

/// The most braces and brackets that are tried as the beginning of a value: most of them may not begin one.
const BEGINNINGS_MAX: usize = 256;
