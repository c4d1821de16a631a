//! Scores and costs in what programs and servers answer, and how much of a text is kept.

use std::time::Duration;

use goodarm_core::{Cost, CountedFailure};
use serde_json::Value;

use super::{REPLY_BYTES_MAX, Usage, Verdict};

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

/// The same, or what is there instead.
pub(crate) fn score_at(value: &Value) -> Result<f64, String> {
    score_of(value).ok_or_else(|| format!("not a score: {}", in_short(&value.to_string())))
}

/// An answer to a question: a text, or anything else that is there as JSON.
pub(crate) fn answer_at(found: Option<&Value>, pointer: &str) -> Verdict {
    match found {
        Some(Value::String(text)) => Verdict::answer(text.clone(), String::new()),
        Some(value) if !value.is_null() => Verdict::answer(value.to_string(), String::new()),
        _ => {
            let reason = format!("no answer at {pointer} of the reply");
            Verdict::Failed(CountedFailure::Unreadable, reason)
        }
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

/// A text in one line, for a reason. Of a long one the beginning and the end: a server says first what
/// is wrong, a program last.
pub(crate) fn in_short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = line.chars().count();
    if count <= HEAD_CHARS_MAX + TAIL_CHARS_MAX {
        return line;
    }
    let head: String = line.chars().take(HEAD_CHARS_MAX).collect();
    let tail: String = line.chars().skip(count - TAIL_CHARS_MAX).collect();
    format!("{head} … {tail}")
}

const HEAD_CHARS_MAX: usize = 240;
const TAIL_CHARS_MAX: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_keeps_its_beginning_and_its_point() {
        assert_eq!(in_short(" a\n  b "), "a b");
        let text =
            format!("Traceback: {} ZeroDivisionError: division by zero", "é ".repeat(100_000));
        let short = in_short(&text);
        assert!(short.starts_with("Traceback: é é"), "{short}");
        assert!(short.ends_with("é ZeroDivisionError: division by zero"), "{short}");
        assert!(short.chars().count() <= 410, "{}", short.chars().count());
    }
}
