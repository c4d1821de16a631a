//! Final answers: finding them in a text, and comparing them.

mod json;
mod latex;
mod number;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

use regex::{Captures, Regex};

pub use self::json::first_value;
pub use self::number::{Found, last as last_number, same, same_number};
use crate::pattern::Pattern;
use crate::problem::KeyProblem;
use crate::steps::{BYTES_AT_ONCE, Limit, STEPS_MAX, Steps};

/// Where the final answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExtractName {
    /// After the last ####, as in GSM8K.
    Gsm8k,
    /// In the last \\boxed{}.
    Boxed,
    /// The last number: the default.
    #[default]
    LastNumber,
    /// The first word, without punctuation, in lower case.
    FirstWord,
    /// The whole text, trimmed.
    Whole,
    /// At the JSON pointer `pointer`.
    Json,
    /// The last match of the first group of `pattern`.
    Regex,
}

/// Finds the final answer in a text.
#[derive(Clone, Debug)]
pub struct Extractor {
    name: ExtractName,
    /// Only with [`ExtractName::Json`].
    pointer: String,
    /// Only with [`ExtractName::Regex`].
    pattern: Option<Pattern>,
}

impl Extractor {
    /// Creates an extractor. `pattern` is required with [`ExtractName::Regex`] and `pointer` with
    /// [`ExtractName::Json`]; with any other name they must be `None`.
    pub fn new(
        name: ExtractName,
        pattern: Option<&str>,
        pointer: Option<&str>,
    ) -> Result<Self, KeyProblem> {
        if pattern.is_some() && name != ExtractName::Regex {
            return Err(KeyProblem::new("pattern", "needs extract = \"regex\""));
        }
        if pointer.is_some() && name != ExtractName::Json {
            return Err(KeyProblem::new("pointer", "needs extract = \"json\""));
        }
        Ok(Self {
            name,
            pointer: match name {
                ExtractName::Json => checked_pointer(pointer)?,
                _ => String::new(),
            },
            pattern: match name {
                ExtractName::Regex => Some(checked_pattern(pattern)?),
                _ => None,
            },
        })
    }

    /// The final answer, if there is one. A text that takes too much work has none.
    pub fn extract(&self, text: &str) -> Option<String> {
        self.find(text).ok()
    }

    /// The final answer, or the reason why it is missing.
    pub fn find(&self, text: &str) -> Result<String, String> {
        match self.extract_within(text, &Steps::new(STEPS_MAX)) {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(self.absence().to_owned()),
            Err(limit) => Err(limit.to_string()),
        }
    }

    /// The final answer, if there is one, found within a number of steps.
    pub fn extract_within(&self, text: &str, steps: &Steps) -> Result<Option<String>, Limit> {
        steps.take_text(text.len())?;
        let answer = match self.name {
            ExtractName::Gsm8k => {
                let after = text.rsplit_once("####").map(|(_, after)| after);
                after.and_then(number::first).map(|found| found.plain)
            }
            ExtractName::Boxed => latex::last_boxed(text),
            ExtractName::LastNumber => number::last(text).map(|found| found.plain),
            ExtractName::FirstWord => first_word(text).map(|(word, _)| word),
            ExtractName::Whole => Some(text.trim().to_owned()),
            ExtractName::Json => json::first_value_within(text, steps)?
                .and_then(|value| json::text_at(&value, &self.pointer)),
            ExtractName::Regex => {
                let pattern = self.pattern.as_ref().expect("it was checked");
                last_match(pattern, text, steps)?
                    .and_then(|found| found.get(1).or_else(|| found.get(0)))
                    .map(|found| found.as_str().trim().to_owned())
            }
        };
        Ok(answer.filter(|answer| !answer.is_empty()))
    }

    /// The final answer in a text that was cut off, if more text could not have changed it. Only a first word
    /// is safe, and only if something follows it: for all other kinds, the end of the text matters.
    pub fn extract_cut(&self, text: &str) -> Option<String> {
        let is_safe =
            |(_, end): &(String, usize)| self.name == ExtractName::FirstWord && *end < text.len();
        first_word(text).filter(is_safe).map(|(word, _)| word)
    }

    /// Whether the search takes less than about a millisecond.
    pub const fn is_quick_for(&self, text: &str) -> bool {
        text.len() <= BYTES_AT_ONCE && !matches!(self.name, ExtractName::Json | ExtractName::Regex)
    }

    /// The reason to give for a text without a final answer.
    pub const fn absence(&self) -> &'static str {
        match self.name {
            ExtractName::Gsm8k => "no number after ####",
            ExtractName::Boxed => "no \\boxed{}",
            ExtractName::LastNumber => "no number",
            ExtractName::FirstWord => "no word",
            ExtractName::Whole => "nothing",
            ExtractName::Json => "nothing at the JSON pointer",
            ExtractName::Regex => "no match of the pattern",
        }
    }
}

/// The last match. Each search is at most one pass over the rest of the text, but there may be many
/// searches.
fn last_match<'t>(
    pattern: &Pattern,
    text: &'t str,
    steps: &Steps,
) -> Result<Option<Captures<'t>>, Limit> {
    let mut matches = pattern.regex.captures_iter(text);
    let mut last: Option<Captures<'t>> = None;
    loop {
        let searched = last.as_ref().and_then(|last| last.get(0)).map_or(0, |found| found.end());
        steps.take_text(pattern.bytes_like(&text[searched..]))?;
        match matches.next() {
            Some(found) => last = Some(found),
            None => return Ok(last),
        }
    }
}

/// The first word in lower case, and the byte at which it ends.
pub fn first_word(text: &str) -> Option<(String, usize)> {
    let found = WORD.find(text)?;
    Some((found.as_str().to_lowercase().replace('’', "'"), found.end()))
}

/// Checks a JSON pointer.
pub fn checked_pointer(pointer: Option<&str>) -> Result<String, KeyProblem> {
    match pointer {
        None => {
            Err(KeyProblem::missing("pointer", "a JSON pointer is needed, such as \"/answer\""))
        }
        Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => Ok(pointer.to_owned()),
        Some(pointer) => Err(KeyProblem::new(
            "pointer",
            format!("a JSON pointer begins with /: \"/{pointer}\"?"),
        )),
    }
}

/// Checks a regular expression.
pub fn checked_pattern(pattern: Option<&str>) -> Result<Pattern, KeyProblem> {
    let pattern =
        pattern.ok_or_else(|| KeyProblem::missing("pattern", "a regular expression is needed"))?;
    Pattern::new(pattern).map_err(|error| KeyProblem::new("pattern", error.to_string()))
}

/// Letters, marks and digits of any script, with apostrophes and hyphens inside.
static WORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’\-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*")
        .expect("the pattern is a constant that a test compiles")
});

#[cfg(test)]
mod tests;
