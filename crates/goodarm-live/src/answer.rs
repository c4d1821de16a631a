//! Final answers: where they are in a text, and when two of them are the same.

mod json;
mod latex;
mod number;

use std::sync::LazyLock;

use regex::Regex;

pub(crate) use self::json::first_value;
pub(crate) use self::number::last as last_number;
pub use self::number::{same, same_number};
use crate::job_file::ExtractName;
use crate::verifier::problem::Problem;

/// Finds the final answer in a text.
#[derive(Clone, Debug)]
pub struct Extractor {
    place: Place,
}

/// Where the final answer is, with what is needed to look there.
#[derive(Clone, Debug)]
enum Place {
    Gsm8k,
    Boxed,
    LastNumber,
    FirstWord,
    Whole,
    Json(String),
    Regex(Regex),
}

impl Extractor {
    /// An extractor; `pattern` and `pointer` are for the names that need them.
    pub fn new(
        name: ExtractName,
        pattern: Option<&str>,
        pointer: Option<&str>,
    ) -> Result<Self, Problem> {
        if pattern.is_some() && name != ExtractName::Regex {
            return Err(Problem::new("pattern", "needs extract = \"regex\""));
        }
        if pointer.is_some() && name != ExtractName::Json {
            return Err(Problem::new("pointer", "needs extract = \"json\""));
        }
        let place = match name {
            ExtractName::Gsm8k => Place::Gsm8k,
            ExtractName::Boxed => Place::Boxed,
            ExtractName::LastNumber => Place::LastNumber,
            ExtractName::FirstWord => Place::FirstWord,
            ExtractName::Whole => Place::Whole,
            ExtractName::Json => Place::Json(checked_pointer(pointer)?),
            ExtractName::Regex => Place::Regex(checked_pattern(pattern)?),
        };
        Ok(Self { place })
    }

    /// The final answer, if there is one.
    pub fn extract(&self, text: &str) -> Option<String> {
        let answer = match &self.place {
            Place::Gsm8k => number::first(text.rsplit_once("####")?.1)?.plain,
            Place::Boxed => latex::last_boxed(text)?,
            Place::LastNumber => number::last(text)?.plain,
            Place::FirstWord => first_word(text)?.0,
            Place::Whole => text.trim().to_owned(),
            Place::Json(pointer) => json::text_at(&first_value(text)?, pointer)?,
            Place::Regex(regex) => {
                let found = regex.captures_iter(text).last()?;
                found.get(1).or_else(|| found.get(0))?.as_str().trim().to_owned()
            }
        };
        Some(answer).filter(|answer| !answer.is_empty())
    }

    /// The final answer in a text that was cut off, if more text could not have changed it: only a
    /// first word that something follows is safe, since every other place is at the end.
    pub fn extract_cut(&self, text: &str) -> Option<String> {
        match self.place {
            Place::FirstWord => {
                first_word(text).filter(|(_, end)| *end < text.len()).map(|(word, _)| word)
            }
            _ => None,
        }
    }

    /// What to say when there is none.
    pub const fn absence(&self) -> &'static str {
        match self.place {
            Place::Gsm8k => "no number after ####",
            Place::Boxed => "no \\boxed{}",
            Place::LastNumber => "no number",
            Place::FirstWord => "no word",
            Place::Whole => "nothing",
            Place::Json(_) => "nothing at the JSON pointer",
            Place::Regex(_) => "no match of the pattern",
        }
    }
}

/// The first word in lower case, and where it ends.
pub(crate) fn first_word(text: &str) -> Option<(String, usize)> {
    let found = WORD.find(text)?;
    Some((found.as_str().to_lowercase().replace('’', "'"), found.end()))
}

/// A JSON pointer, checked.
pub(crate) fn checked_pointer(pointer: Option<&str>) -> Result<String, Problem> {
    match pointer {
        None => Err(Problem::missing("pointer", "a JSON pointer is needed, such as \"/answer\"")),
        Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => Ok(pointer.to_owned()),
        Some(pointer) => {
            Err(Problem::new("pointer", format!("a JSON pointer begins with /: \"/{pointer}\"?")))
        }
    }
}

/// A regular expression, checked.
pub(crate) fn checked_pattern(pattern: Option<&str>) -> Result<Regex, Problem> {
    let pattern =
        pattern.ok_or_else(|| Problem::missing("pattern", "a regular expression is needed"))?;
    Regex::new(pattern).map_err(|error| Problem::new("pattern", error.to_string()))
}

/// Letters, marks and digits of any script, with apostrophes and hyphens inside.
static WORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’\-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*")
        .expect("the pattern is a constant that a test compiles")
});

#[cfg(test)]
mod tests;
