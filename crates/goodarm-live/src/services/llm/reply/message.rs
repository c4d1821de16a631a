//! A message of Anthropic.

use goodarm_record::reply::Usage;
use serde::Deserialize;
use serde_json::Value;

use super::{ChatContent, ChatResponse, message_of, said, text_of};

/// The used fields of a message.
#[derive(Debug, Default, Deserialize)]
pub(in crate::services::llm) struct Message {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    stop_reason: Value,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    error: Value,
    /// Only the other API has these.
    #[serde(default)]
    choices: Value,
}

impl From<Message> for ChatResponse {
    fn from(message: Message) -> Self {
        let usage = Usage {
            input_tokens: input_tokens(&message.usage),
            output_tokens: message.usage.get("output_tokens").and_then(Value::as_u64),
            ..Usage::default()
        };
        let id = message.id.as_str().unwrap_or_default().to_owned();
        Self { id, usage, said: message.said(), logprobs: Value::Null }
    }
}

impl Message {
    fn said(self) -> ChatContent {
        if !self.error.is_null() {
            return ChatContent::Refused(message_of(&self.error));
        }
        if self.choices.is_array() {
            return ChatContent::Nothing(OTHER_API);
        }
        match self.stop_reason.as_str() {
            Some("refusal") => ChatContent::Refused("the model refused to answer".into()),
            stop => {
                let is_cut = matches!(stop, Some("max_tokens" | "model_context_window_exceeded"));
                said(text_of(self.content), is_cut)
            }
        }
    }
}

/// Cached tokens of the prompt are counted separately in the reply.
fn input_tokens(usage: &Value) -> Option<u64> {
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    cached.iter().try_fold(usage.get("input_tokens")?.as_u64()?, |sum, name| {
        match usage.get(name) {
            None | Some(Value::Null) => Some(sum),
            Some(count) => Some(sum.saturating_add(count.as_u64()?)),
        }
    })
}

const OTHER_API: &str =
    "the reply is a chat completion of OpenAI's form: leave api = \"anthropic\" out";
