//! Guesses by their names which fields of the candidates are the question and the answer.

use goodarm_data::candidates::{Candidate, Candidates};
use serde_json::Value;

/// The path of a text in each candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldPath {
    /// The path as the keys of a job write it.
    pub(crate) path: String,
    /// The path as a template writes it.
    pub(crate) expression: String,
}

/// The guessed fields; `None` if no field has a usual name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) question: Option<FieldPath>,
    pub(crate) answer: Option<FieldPath>,
    pub(crate) reference: Option<String>,
}

/// The first candidates.
pub(crate) fn sample(candidates: &Candidates) -> Vec<Candidate> {
    candidates.arms().take(SAMPLE_MAX).map(|arm| candidates.get(arm)).collect()
}

impl Fields {
    /// Guesses by names that all candidates have, ignoring case.
    pub(crate) fn guess(sample: &[Candidate]) -> Self {
        let everywhere =
            |field: &str| sample.iter().all(|candidate| candidate.fields().contains_key(field));
        let first = sample.first().map(Candidate::fields);
        let find = |names: &[&str]| {
            names.iter().find_map(|name| {
                let mut fields = first?.keys();
                fields.find(|field| field.eq_ignore_ascii_case(name) && everywhere(field)).cloned()
            })
        };
        let (mut question, mut answer) = (
            find(&QUESTION_NAMES).map(FieldPath::field),
            find(&ANSWER_NAMES).map(FieldPath::field),
        );
        // In a chat the answer is the last message.
        let messages = find(&MESSAGES_NAMES).filter(|field| {
            sample.iter().all(|candidate| is_chat(&candidate.fields()[field.as_str()]))
        });
        if let (None, Some(field)) = (&answer, messages) {
            question = question.or_else(|| Some(FieldPath::message(&field, "0")));
            answer = Some(FieldPath::message(&field, "-1"));
        }
        Self { question, answer, reference: find(&REFERENCE_NAMES) }
    }
}

impl FieldPath {
    /// A field of this name.
    pub(crate) fn field(name: String) -> Self {
        let is_word = !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        let expression = if is_word {
            name.clone()
        } else {
            format!("candidate[{}]", Value::from(name.as_str()))
        };
        Self { path: name, expression }
    }

    fn message(field: &str, index: &str) -> Self {
        let Self { path, expression } = Self::field(field.to_owned());
        Self {
            path: format!("{path}.{index}.content"),
            expression: format!("{expression}[{index}].content"),
        }
    }
}

fn is_chat(value: &Value) -> bool {
    let messages = value.as_array().map_or(&[][..], Vec::as_slice);
    !messages.is_empty() && messages.iter().all(|message| message["content"].is_string())
}

const SAMPLE_MAX: usize = 1000;
const QUESTION_NAMES: [&str; 7] =
    ["question", "prompt", "input", "instruction", "problem", "task", "query"];
const ANSWER_NAMES: [&str; 8] = [
    "answer",
    "response",
    "output",
    "completion",
    "solution",
    "text",
    "generation",
    "model_answer",
];
const REFERENCE_NAMES: [&str; 6] =
    ["gold", "reference", "expected", "target", "label", "ground_truth"];
const MESSAGES_NAMES: [&str; 3] = ["messages", "conversation", "conversations"];
