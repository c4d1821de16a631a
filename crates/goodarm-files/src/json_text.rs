//! Parses JSON into a value or a helpful error.

use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::spelling::{FAULTS, PART_CHARS_MAX, key_hint, reworded, shortened};

/// An error in a JSON text, with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct JsonError {
    /// Counted from 1.
    line: usize,
    /// Counted from 1, in bytes; 0 if the text ends before the line begins.
    column: usize,
    /// The key and what is wrong with it, understandable without the text.
    pub reason: String,
}

/// Parses JSON, and suggests the nearest right spelling of a wrong key or word.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, JsonError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = match error.inner().classify() {
            Category::Data => error.path().to_string(),
            Category::Io | Category::Syntax | Category::Eof => String::new(),
        };
        described(path, error.inner())
    })?;
    deserializer.end().map_err(|error| described(String::new(), &error))?;
    Ok(value)
}

fn described(path: String, error: &serde_json::Error) -> JsonError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let text = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    let path = if path == "." { String::new() } else { shortened(&path, PART_CHARS_MAX) };
    // The path of these errors does not contain the key itself.
    for (start, fault) in FAULTS {
        if let Some(key) = text.strip_prefix(&format!("{start} field `")) {
            let joint = if path.is_empty() { "" } else { "." };
            let reason = format!("{path}{joint}{}: {fault}", key.trim_end_matches('`'));
            return JsonError { line, column, reason };
        }
    }
    let (message, meant) = reworded(text);
    let joint = if path.is_empty() { "" } else { ": " };
    let message = shortened(&message, MESSAGE_CHARS_MAX);
    let reason = format!("{path}{joint}{message}{}", key_hint(meant.as_deref()));
    JsonError { line, column, reason }
}

const MESSAGE_CHARS_MAX: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GuaranteeName, Scores};

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[expect(dead_code, reason = "only read")]
        guarantee: GuaranteeName,
        #[expect(dead_code, reason = "only read")]
        scores: Vec<Scores>,
        #[expect(dead_code, reason = "only read")]
        arms: Option<usize>,
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(parse::<File>(text.as_bytes()).unwrap_err().to_string(), expected);
    }

    #[test]
    fn errors_have_a_place_and_a_suggestion() {
        check(
            "{\n\"guarentee\": 1}",
            "line 2, column 11: guarentee: no such key; did you mean `guarantee`?",
        );
        check(
            "{\"zzz\": 1}",
            "line 1, column 6: zzz: no such key; there are guarantee, scores, arms",
        );
        check(
            "{\"guarantee\": \"hlm\"}",
            "line 1, column 19: guarantee: unknown word `hlm`; did you mean `holm`?",
        );
        check("{}", "line 1, column 2: guarantee: this key is missing");
        check(
            "{\"scores\": [\"exact\", {\"sub-gaussian\": {}}]}",
            "line 1, column 40: scores[1].sub-gaussian.sigma: this key is missing",
        );
        check("{\"arms\": 1, \"arms\": 1}", "line 1, column 18: arms: this key is given twice");
        check("{\"arms\": \"1\"}", "line 1, column 12: arms: expected a whole number, found \"1\"");
        check("{\"scores\": {}}", "line 1, column 11: scores: expected a list, found an object");
        check("[\"holm\"]", "line 1, column 8: expected an object, found a list");
        check("3", "line 1, column 1: expected an object, found 3");
        check(
            "{\"scores\": [{\"sub-gaussian\": 1}]}",
            "line 1, column 30: scores[0].sub-gaussian: expected an object, found 1",
        );
        check("{\"arms\": 1,}", "line 1, column 12: trailing comma");
        check(
            "{\"guarantee\": \"holm\", \"scores\": []} x",
            "line 1, column 37: trailing characters",
        );
    }
}
