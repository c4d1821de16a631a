//! What chat endpoints answer. They agree on little, so nothing here insists.

use serde::Deserialize;
use serde_json::Value;

use crate::verifier::Usage;

/// A chat completion, as far as anyone looks.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Completion {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    error: Value,
}

#[derive(Debug, Default, Deserialize)]
struct Choice {
    #[serde(default)]
    message: Value,
    #[serde(default)]
    finish_reason: Value,
}

/// What a completion comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A text, and whether it was cut off by the limit of tokens.
    Text { text: String, is_cut: bool },
    /// The model or a filter declined.
    Refused(String),
    /// No text.
    Nothing(&'static str),
}

impl Completion {
    /// The server's name for this reply; empty if it gives none.
    pub(super) fn id(&self) -> &str {
        self.id.as_str().unwrap_or_default()
    }

    /// Tokens, as far as the reply says believable numbers.
    pub(super) fn usage(&self) -> Usage {
        let count = |name: &str| self.usage.get(name).and_then(Value::as_u64);
        Usage {
            input_tokens: count("prompt_tokens"),
            output_tokens: count("completion_tokens"),
            ..Usage::default()
        }
    }

    /// The first choice.
    pub(super) fn into_said(self) -> Said {
        let Some(choice) = self.choices.into_iter().next() else {
            return match self.error {
                Value::Null => Said::Nothing("the reply has no choices"),
                error => Said::Refused(message_of(&error)),
            };
        };
        let finish = choice.finish_reason.as_str().unwrap_or_default();
        let text = match choice.message {
            Value::Object(mut message) => {
                if let Some(refusal) = message.get("refusal").and_then(Value::as_str)
                    && !refusal.is_empty()
                {
                    return Said::Refused(refusal.to_owned());
                }
                message.remove("content").and_then(text_of)
            }
            _ => None,
        };
        if finish == "content_filter" {
            return Said::Refused("a content filter stopped the reply".into());
        }
        let is_cut = finish == "length";
        match text {
            Some(text) => Said::Text { text: without_thoughts(text), is_cut },
            None if is_cut => Said::Text { text: String::new(), is_cut },
            None => Said::Nothing("the reply has no text"),
        }
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
