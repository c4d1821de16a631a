//! Entries of other tools, converted into candidates: `id`, `question` and `answer` as texts, and other
//! useful fields.
//!
//! A repeated answer is a candidate of its own: `#2`, `#3`, … is added to its id. Failed entries and copies
//! are left out and counted.

mod inspect;
mod lm_eval;
mod openai_batch;
pub(super) mod promptfoo;
mod verifiers;

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::format::Format;
use super::json::push_name;

/// The tool that wrote the file.
pub(super) struct Tool {
    pub(super) format: Format,
    /// The model of all answers, if the file states it only once.
    model: Option<Value>,
    /// The number of answers with each id so far.
    met: BTreeMap<String, u64>,
    /// Hashes of the answers so far, to find entries that repeat an answer from a cache.
    seen: HashSet<blake3::Hash>,
    /// The filter whose entries are read, if the file has entries of several filters.
    filter: Option<String>,
    /// The reasons for leaving out entries, and their numbers.
    left_out: BTreeMap<String, u64>,
}

/// One answer of an entry.
pub(super) struct ToolAnswer {
    id: String,
    question: Option<String>,
    answer: String,
    more: Vec<(&'static str, Value)>,
}

/// A required field that an entry lacks.
pub(super) type Lacks = &'static str;

impl Tool {
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            model: None,
            met: BTreeMap::new(),
            seen: HashSet::new(),
            filter: None,
            left_out: BTreeMap::new(),
        }
    }

    /// The answers of one entry.
    pub(super) fn answers(&mut self, entry: &Map<String, Value>) -> Result<Vec<ToolAnswer>, Lacks> {
        match self.format {
            Format::Inspect => inspect::answers(self, entry),
            Format::LmEval => lm_eval::answers(self, entry),
            Format::Promptfoo => promptfoo::answers(self, entry),
            Format::OpenaiBatch => openai_batch::answers(self, entry),
            _ => verifiers::answers(self, entry),
        }
    }

    /// A note on the format, the number of answers, and the entries that were left out.
    pub(super) fn note(&self, count: usize) -> String {
        let tool = self.format.tool().unwrap_or_default();
        let answers = if count == 1 { "answer" } else { "answers" };
        let mut note = format!(
            "read as a file of {tool} (format = \"{}\"): {count} {answers}",
            self.format.name()
        );
        let reasons = self.left_out.iter().map(|(what, count)| format!("{count} {what}"));
        let reasons: Vec<String> = reasons.collect();
        if !reasons.is_empty() {
            note += "; left out: ";
            note += &reasons.join(", ");
        }
        note
    }

    fn leave_out(&mut self, reason: impl Into<String>) -> Vec<ToolAnswer> {
        *self.left_out.entry(reason.into()).or_default() += 1;
        Vec::new()
    }

    /// The id of an answer in a file that distinguishes repeated answers only by their order.
    fn repeated(&mut self, id: String) -> String {
        let count = self.met.entry(id.clone()).or_default();
        *count += 1;
        numbered(id, *count)
    }
}

impl ToolAnswer {
    /// The candidate's object.
    pub(super) fn into_json(self) -> String {
        let texts =
            [("id", Some(self.id)), ("question", self.question), ("answer", Some(self.answer))];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name, Value::from(text?))));
        let more = self.more.into_iter().filter(|(_, value)| match value {
            Value::Null => false,
            Value::Object(fields) => !fields.is_empty(),
            _ => true,
        });
        let mut json = String::from("{");
        for (name, value) in texts.chain(more) {
            push_name(&mut json, name);
            json += &value.to_string();
        }
        json + "}"
    }
}

/// The entries of a document, or the single entry itself.
pub(super) fn entries_of(
    tool: &mut Tool,
    mut fields: Map<String, Value>,
) -> Vec<Map<String, Value>> {
    let list = match tool.format {
        Format::Inspect => inspect::samples(tool, &mut fields),
        Format::Promptfoo => promptfoo::results(&mut fields).map(std::mem::take),
        _ => None,
    };
    let object = |entry| if let Value::Object(fields) = entry { Some(fields) } else { None };
    match list {
        Some(list) => list.into_iter().filter_map(object).collect(),
        None => vec![fields],
    }
}

/// The id of the first, second, … answer with the same id.
fn numbered(id: String, number: u64) -> String {
    if number <= 1 { id } else { format!("{id}#{number}") }
}

/// An id as a text: a text or a whole number.
fn id_text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    }
}

/// The text of a message: a text, or the texts among its parts.
fn content_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.as_str().or(part["text"].as_str()));
            let texts: Vec<&str> = texts.collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        _ => None,
    }
}

/// A prompt: a text, or messages. A single message is its text; several are marked with their roles.
fn prompt_text(prompt: &Value) -> Option<String> {
    let Value::Array(messages) = prompt else { return content_text(prompt) };
    let texts: Vec<(&str, String)> = messages
        .iter()
        .filter_map(|message| {
            Some((message["role"].as_str().unwrap_or("user"), content_text(&message["content"])?))
        })
        .collect();
    match &texts[..] {
        [] => content_text(prompt),
        [(_, text)] => Some(text.clone()),
        several => {
            let lines = several.iter().map(|(role, text)| format!("{role}: {text}"));
            Some(lines.collect::<Vec<_>>().join("\n\n"))
        }
    }
}

/// The last reply of a model: a text, or the last of its messages.
fn reply_text(reply: &Value) -> Option<String> {
    let Value::Array(messages) = reply else { return content_text(reply) };
    let own = messages.iter().rev().find(|message| message["role"] == "assistant");
    own.map_or_else(|| content_text(reply), |message| content_text(&message["content"]))
}

/// The text of the field with a usual name for questions.
fn question_in(fields: &Value) -> Option<String> {
    let fields = fields.as_object()?;
    QUESTION_NAMES.iter().find_map(|name| {
        let is_it = |(field, _): &(&String, &Value)| field.eq_ignore_ascii_case(name);
        fields.iter().find(is_it).and_then(|(_, value)| prompt_text(value))
    })
}

/// One number or text for each score of an entry.
fn scores_of(scores: &Value, key: &str) -> Value {
    let scores = scores.as_object().into_iter().flatten();
    scores
        .filter(|(_, score)| !score[key].is_null())
        .map(|(name, score)| (name.clone(), score[key].clone()))
        .collect::<Map<_, _>>()
        .into()
}

const FAILED: &str = "that failed";
const NO_TEXT: &str = "whose answer is not a text";
const QUESTION_NAMES: [&str; 7] =
    ["question", "problem", "prompt", "instruction", "query", "input", "task"];
