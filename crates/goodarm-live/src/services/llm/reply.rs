//! Replies of endpoints. Their forms differ, so all fields are optional.

mod completion;
mod message;

use serde_json::Value;

pub(super) use self::completion::Completion;
pub(super) use self::message::Message;
use goodarm_record::reply::Usage;

/// A reply of any API.
#[derive(Debug)]
pub(super) struct ChatResponse {
    /// The id that the server gave it; may be empty.
    pub(super) id: String,
    /// The tokens, if the reply has plausible numbers.
    pub(super) usage: Usage,
    pub(super) said: ChatContent,
    /// The log-probabilities of its tokens in the form of the server; null without any.
    pub(super) logprobs: Value,
}

/// The content of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatContent {
    /// A text, and whether it was cut off by the limit of tokens.
    Text { text: String, is_cut: bool },
    /// The model or a filter refused.
    Refused(String),
    /// No text.
    Nothing(&'static str),
}

/// A text, if there is one. A reply that was cut off before its text has an empty one.
fn said(text: Option<String>, is_cut: bool) -> ChatContent {
    match text {
        Some(text) => ChatContent::Text { text: without_thoughts(text), is_cut },
        None if is_cut => ChatContent::Text { text: String::new(), is_cut },
        None => ChatContent::Nothing("the reply has no text"),
    }
}

/// A text, or the texts of an array of parts.
fn text_of(content: Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text),
        Value::Array(parts) => {
            let texts: Vec<&str> =
                parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        _ => None,
    }
}

/// Some servers leave a model's thoughts before its reply.
fn without_thoughts(text: String) -> String {
    if text.trim_start().starts_with("<think>")
        && let Some((_, after)) = text.split_once("</think>")
    {
        return after.trim_start().to_owned();
    }
    text
}

fn message_of(error: &Value) -> String {
    match error.get("message").and_then(Value::as_str).or_else(|| error.as_str()) {
        Some(message) => message.to_owned(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
