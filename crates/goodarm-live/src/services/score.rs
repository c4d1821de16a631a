//! Scores, answers and costs in the replies of programs and servers.

use goodarm_core::{Cost, CountedFailure};
use serde_json::Value;

use goodarm_files::words::in_short;
use goodarm_record::reply::Verdict;

use super::ServiceContext;
use super::rubric::Rubric;
use crate::service::Manifest;

/// What a reply of a program or a server has to contain.
#[derive(Clone, Debug, Default)]
pub(crate) enum ExpectedReply {
    /// A score.
    #[default]
    Score,
    /// A score for each criterion.
    Scores(Rubric),
    /// An answer to the question.
    Answer,
}

impl ExpectedReply {
    pub(crate) fn of(context: &ServiceContext<'_>) -> Self {
        if context.makes_answers {
            return Self::Answer;
        }
        Rubric::of(context.keys).map_or(Self::Score, Self::Scores)
    }

    /// Adds the form of the replies to the facts about a service.
    pub(crate) fn manifest(&self, known: Manifest) -> Manifest {
        let criteria_count = match self {
            Self::Scores(rubric) => rubric.count(),
            Self::Score | Self::Answer => 0,
        };
        let answers_questions = matches!(self, Self::Answer);
        Manifest { criteria_count, answers_questions, ..known }
    }
}

/// A score: a finite number, or true and false as 1 and 0.
pub(crate) fn score_of(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(is_good) => Some(f64::from(u8::from(*is_good))),
        other => other.as_f64().filter(|score| score.is_finite()),
    }
}

/// A score, or an error with the value found instead.
pub(crate) fn score_at(value: &Value) -> Result<f64, String> {
    score_of(value).ok_or_else(|| format!("not a score: {}", in_short(&value.to_string())))
}

/// The verdict of a value found at `pointer`. The answer is a text, or any other value as JSON; null counts as
/// missing.
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

/// The cost in a reply; `None` if it is missing, or if the ledger cannot take it.
pub(crate) fn cost_of(value: Option<&Value>) -> Option<Cost> {
    Cost::of_price(value?.as_f64()?).ok()
}
