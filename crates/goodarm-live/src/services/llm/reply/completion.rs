//! A chat completion of OpenAI, and of many others.

use goodarm_record::reply::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::{ChatContent, ChatResponse, message_of, said, text_of};

/// The used fields of a chat completion.
#[derive(Debug, Default, Deserialize)]
pub(in crate::services::llm) struct Completion {
    #[serde(default)]
    id: Value,
    #[serde(default, rename = "type")]
    kind: Value,
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
    #[serde(default)]
    logprobs: Value,
}

impl From<Completion> for ChatResponse {
    fn from(completion: Completion) -> Self {
        let Completion { id, kind, choices, usage, error } = completion;
        let count = |name: &str| usage.get(name).and_then(Value::as_u64);
        let usage = Usage {
            input_tokens: count("prompt_tokens"),
            output_tokens: count("completion_tokens"),
            ..Usage::default()
        };
        let id = id.as_str().unwrap_or_default().to_owned();
        match choices.into_iter().next() {
            Some(mut choice) => {
                let logprobs = choice.logprobs.take();
                Self { id, usage, said: choice.said(), logprobs }
            }
            None => {
                let said = match error {
                    Value::Null if kind == "message" => ChatContent::Nothing(OTHER_API),
                    Value::Null => ChatContent::Nothing("the reply has no choices"),
                    error => ChatContent::Refused(message_of(&error)),
                };
                Self { id, usage, said, logprobs: Value::Null }
            }
        }
    }
}

impl Choice {
    fn said(self) -> ChatContent {
        let finish = self.finish_reason.as_str().unwrap_or_default();
        let text = match self.message {
            Value::Object(mut message) => {
                if let Some(refusal) = message.get("refusal").and_then(Value::as_str)
                    && !refusal.is_empty()
                {
                    return ChatContent::Refused(refusal.to_owned());
                }
                message.remove("content").and_then(text_of)
            }
            _ => None,
        };
        if finish == "content_filter" {
            return ChatContent::Refused("a content filter stopped the reply".into());
        }
        said(text, finish == "length")
    }
}

const OTHER_API: &str = "the reply is a message of Anthropic's form: write api = \"anthropic\"";
