//! What endpoints answer. They agree on little, so nothing here insists.

mod completion;
mod message;

use serde_json::Value;

pub(super) use self::completion::Completion;
pub(super) use self::message::Message;
use goodarm_record::reply::Usage;

/// A reply, whichever form it came in.
#[derive(Debug)]
pub(super) struct ChatResponse {
    /// The server's name for it; empty if it gives none.
    pub(super) id: String,
    /// Tokens, as far as the reply says believable numbers.
    pub(super) usage: Usage,
    pub(super) said: ChatContent,
    /// The log-probabilities of its tokens, as the server has them; null if it gives none.
    pub(super) logprobs: Value,
}

/// What a reply comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChatContent {
    /// A text, and whether it was cut off by the limit of tokens.
    Text { text: String, is_cut: bool },
    /// The model or a filter declined.
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

/// Some servers leave a model's thoughts in front of its reply.
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
