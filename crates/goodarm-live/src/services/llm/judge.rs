//! Parses the score in a judge's reply.

use std::sync::LazyLock;

use goodarm_data::answer::{checked_pointer, first_value, first_word, last_number};
use goodarm_data::problem::{KeyProblem, collect};
use goodarm_files::words::in_short;
use goodarm_record::reply::Verdict;
use regex::Regex;
use serde_json::Value;

use super::{LlmKeys, ParseName};
use crate::services::kind::problems_of;
use crate::services::rubric::Rubric;

/// Reads scores out of a judge's replies.
#[derive(Clone, Debug)]
pub(super) enum Parser {
    YesNo,
    Number(Range),
    Json { pointer: String, range: Range },
    Rubric { rubric: Rubric, range: Range },
}

/// The numbers that become the scores 0 (`worst`) and 1 (`best`). The worst may be the larger number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    worst: f64,
    best: f64,
}

impl Parser {
    pub(super) fn new(
        keys: &LlmKeys,
        rubric: Option<Rubric>,
        problems: &mut Vec<KeyProblem>,
    ) -> Option<Self> {
        let parse = keys.parse.unwrap_or_default();
        let has_pointer = keys.pointer.is_some();
        problems.extend(if rubric.is_some() {
            let is_json = keys.parse.is_none_or(|parse| parse == ParseName::Json);
            let json = "with criteria a reply is JSON: parse = \"json\", or nothing";
            let own = "not together with criteria: each of them has its own";
            problems_of([("parse", !is_json, json), ("pointer", has_pointer, own)])
        } else {
            let has_range = keys.range.is_some() && parse == ParseName::YesNo;
            let has_pointer = has_pointer && parse != ParseName::Json;
            problems_of([
                ("range", has_range, "needs parse = \"number\" or \"json\""),
                ("pointer", has_pointer, "needs parse = \"json\""),
            ])
        });
        let range = collect(Range::new(keys.range.unwrap_or([0.0, 1.0])), problems)?;
        if let Some(rubric) = rubric {
            return Some(Self::Rubric { rubric, range });
        }
        match parse {
            ParseName::YesNo => Some(Self::YesNo),
            ParseName::Number => Some(Self::Number(range)),
            ParseName::Json => {
                let pointer = keys.pointer.as_deref().ok_or_else(|| {
                    let message =
                        "parse = \"json\" needs a JSON pointer to the score, such as \"/score\"";
                    KeyProblem::missing("pointer", message)
                });
                let pointer = pointer.and_then(|pointer| checked_pointer(Some(pointer)));
                Some(Self::Json { pointer: collect(pointer, problems)?, range })
            }
            // [`super::Logprobs`] reads these scores, not a parser.
            ParseName::Logprobs => None,
        }
    }

    /// The number of criteria that a reply scores; 0 if a reply is one score.
    pub(super) const fn criteria_count(&self) -> usize {
        match self {
            Self::Rubric { rubric, .. } => rubric.count(),
            Self::YesNo | Self::Number(_) | Self::Json { .. } => 0,
        }
    }

    /// Whether the first word of the reply decides the score.
    pub(super) const fn is_decided_early(&self) -> bool {
        matches!(self, Self::YesNo)
    }

    /// The verdict in the text of a reply, or why it has no verdict.
    pub(super) fn verdict(&self, text: &str) -> Result<Verdict, String> {
        let json =
            || first_value(text).ok_or_else(|| format!("no JSON in the reply: {}", in_short(text)));
        let score = match self {
            Self::YesNo => match first_word(text).as_ref().map(|(word, _)| word.as_str()) {
                Some("yes") => 1.0,
                Some("no") => 0.0,
                _ => return Err(format!("neither yes nor no: {}", in_short(text))),
            },
            Self::Number(range) => {
                // "2 out of 10" is 2/10, and not 10.
                let text = &*OUT_OF.replace_all(text, "$1/$2");
                let found = last_number(text)
                    .ok_or_else(|| format!("no number in the reply: {}", in_short(text)))?;
                range.score_written(&found.plain)?
            }
            Self::Json { pointer, range } => {
                let value = json()?;
                let found = value
                    .pointer(pointer)
                    .ok_or_else(|| format!("nothing at {pointer} of the reply"))?;
                range.score_of(found).map_err(|reason| format!("{reason}, at {pointer}"))?
            }
            Self::Rubric { rubric, range } => {
                return Ok(rubric.verdict(&json()?, |found| range.score_of(found)));
            }
        };
        Ok(Verdict::Score(score))
    }
}

impl Range {
    fn new([worst, best]: [f64; 2]) -> Result<Self, KeyProblem> {
        let width = (best - worst).abs();
        if width.is_finite() && width > 0.0 {
            Ok(Self { worst, best })
        } else {
            Err(KeyProblem::new(
                "range",
                "two different numbers are needed: the worst and the best",
            ))
        }
    }

    fn score(self, number: f64) -> Result<f64, String> {
        let score = (number - self.worst) / (self.best - self.worst);
        if (0.0..=1.0).contains(&score) {
            Ok(score)
        } else {
            Err(format!("{number} is not between {} and {}", self.worst, self.best))
        }
    }

    /// The score of a JSON value: true or false, a number, or a text with a number.
    fn score_of(self, found: &Value) -> Result<f64, String> {
        if let Some(is_good) = found.as_bool() {
            return Ok(f64::from(u8::from(is_good)));
        }
        match (found.as_f64(), found.as_str().and_then(last_number)) {
            (Some(number), _) => self.score(number),
            (None, Some(written)) => self.score_written(&written.plain),
            (None, None) => Err(format!("no score: {}", in_short(&found.to_string()))),
        }
    }

    /// The score of a number as text. `8/10` is 8 if 10 is the larger end of the range, and 0.8 otherwise.
    fn score_written(self, plain: &str) -> Result<f64, String> {
        let unreadable = || format!("{plain} is not a number");
        let read = |text: &str| text.parse::<f64>().map_err(|_| unreadable());
        let Some((numerator, denominator)) = plain.split_once('/') else {
            return self.score(read(plain)?);
        };
        let (numerator, denominator) = (read(numerator)?, read(denominator)?);
        let is_out_of_best = (denominator - self.best.max(self.worst)).abs() < f64::EPSILON;
        self.score(if is_out_of_best { numerator } else { numerator / denominator })
    }
}

static OUT_OF: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)([0-9])\s+(?:out\s+)?of\s+([0-9])").expect("a pattern of ours")
});

#[cfg(test)]
mod tests;
