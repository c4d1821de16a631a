//! Parses TOML into a value or a helpful error.

use serde::de::DeserializeOwned;

use crate::spelling::plain_message;

/// An error in a TOML text, with its place; for invalid TOML, the line with a mark below it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TomlError(String);

/// Parses TOML, and suggests the nearest right spelling of a wrong key or word.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let (line, column) =
            (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
        let message = error.message();
        let is_of_keys = ["unknown ", "missing ", "duplicate field", "invalid "]
            .iter()
            .any(|start| message.starts_with(start) && message.contains(['`', ':']));
        TomlError(if is_of_keys {
            format!("line {line}, column {column}: {}", plain_message(message))
        } else {
            error.to_string().trim_end().to_owned()
        })
    })
}

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
        scores: Scores,
    }

    fn check(text: &str, place: (usize, usize), message: &str, suggestion: Option<&str>) {
        let shown = parse::<File>(text).unwrap_err().to_string();
        assert!(shown.contains(message), "{shown}");
        assert_eq!(shown.contains("did you mean"), suggestion.is_some(), "{shown}");
        let (line, column) = place;
        assert!(shown.contains(&format!("line {line}, column {column}")), "{shown}");
        if let Some(name) = suggestion {
            assert!(shown.ends_with(&format!("; did you mean `{name}`?")), "{shown}");
        }
    }

    #[test]
    fn errors_have_a_place_and_a_suggestion() {
        let right = "guarantee = \"holm\"\n";
        check(
            &format!("{right}\"scöres\" = \"exact\"\n"),
            (2, 1),
            "scöres: no such key",
            Some("scores"),
        );
        check("guarantee = \"hlm\"\n", (1, 13), "unknown word `hlm`", Some("holm"));
        check(&format!("{right}scores = 3\n"), (2, 10), "", None);
        check(right, (1, 1), "scores: this key is missing", None);
        check(&format!("{right}scores = = 3\n"), (2, 10), "", None);
        check(
            &format!("{right}scores = \"sub-gaussian\""),
            (2, 10),
            "sub-gaussian scores need their noise: { sub-gaussian = { sigma = 1 } }",
            None,
        );
        check(
            &format!("{right}scores = {{ sub-gaussian = {{ sigma = 1, lowst = 0 }} }}"),
            (2, 40),
            "lowst: no such key",
            Some("lowest"),
        );
        check("zzzzzzzz = 1", (1, 1), "zzzzzzzz: no such key", None);
        for (text, shown) in [
            (
                "zzzzzzzz = 1",
                "line 1, column 1: zzzzzzzz: no such key; there are guarantee, scores",
            ),
            ("scors = 1", "line 1, column 1: scors: no such key; did you mean `scores`?"),
            (right, "line 1, column 1: scores: this key is missing"),
        ] {
            assert_eq!(parse::<File>(text).unwrap_err().to_string(), shown);
        }
    }
}
