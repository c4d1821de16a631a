//! JSON inside the prose of a model.

use serde_json::Value;

/// The first JSON value in a text: all of it, or what a fence holds, or the first object or array
/// that can be read.
pub(crate) fn first_value(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return Some(value);
    }
    if let Some(value) = fenced(text).and_then(|inside| serde_json::from_str(inside).ok()) {
        return Some(value);
    }
    text.char_indices()
        .filter(|(_, character)| matches!(character, '{' | '['))
        .take(BEGINNINGS_MAX)
        .find_map(|(at, _)| {
            serde_json::Deserializer::from_str(&text[at..]).into_iter().next()?.ok()
        })
}

/// The value at the pointer as text; none if it is missing or null.
pub(crate) fn text_at(value: &Value, pointer: &str) -> Option<String> {
    match value.pointer(pointer)? {
        Value::Null => None,
        Value::String(text) => Some(text.trim().to_owned()),
        other => Some(other.to_string()),
    }
}

/// What the first ``` fence holds, without the language's name.
fn fenced(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("```")?;
    let (inside, _) = after.split_once("```")?;
    Some(inside.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim())
}

/// A text may have many braces that begin nothing. Only so many are tried, since a hostile one would
/// cost quadratic time.
const BEGINNINGS_MAX: usize = 256;
