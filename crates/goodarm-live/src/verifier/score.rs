//! Scores and costs in what programs and servers answer, and how much of a text is kept.

use std::time::Duration;

use goodarm_core::Cost;
use serde_json::Value;

use super::{REPLY_BYTES_MAX, Usage};

/// What a call takes that never reached a verifier.
pub(crate) const NOTHING: Usage = Usage {
    input_tokens: Some(0),
    output_tokens: Some(0),
    cost: Some(Cost::ZERO),
    worked: Duration::ZERO,
};

/// A score: a finite number, or true and false as 1 and 0.
pub(crate) fn score_of(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(is_good) => Some(f64::from(u8::from(*is_good))),
        other => other.as_f64().filter(|score| score.is_finite()),
    }
}

/// A cost that a ledger can take.
pub(crate) fn cost_of(value: Option<&Value>) -> Option<Cost> {
    Cost::of_price(value?.as_f64()?).ok()
}

/// The beginning of a text, as much as is kept.
pub(crate) fn shorten(mut text: String) -> String {
    if text.len() > REPLY_BYTES_MAX {
        text.truncate(text.floor_char_boundary(REPLY_BYTES_MAX));
    }
    text
}

/// The beginning of a text in one line, for a reason.
pub(crate) fn in_short(text: &str) -> String {
    let line = text.split_whitespace().take(WORDS_MAX).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

const CHARS_MAX: usize = 200;
const WORDS_MAX: usize = 100;
