//! Reads the replies of endpoints. The forms of servers differ, so all fields are optional.

use goodarm_record::reply::Usage;
use serde_json::Value;

/// A reply of either API.
#[derive(Debug)]
pub(super) struct ChatResponse {
    /// The id that the server gave it; may be empty.
    pub(super) id: String,
    /// The tokens that the reply states; a count is `None` if it is not a whole number.
    pub(super) usage: Usage,
    pub(super) said: ChatContent,
    /// The log-probabilities of its tokens in the form of the server; null if the server sent none.
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

/// Reads a chat completion, the form of OpenAI and many others.
pub(super) fn read_completion(mut body: Value) -> ChatResponse {
    let usage = &body["usage"];
    let usage = Usage {
        input_tokens: usage["prompt_tokens"].as_u64(),
        output_tokens: usage["completion_tokens"].as_u64(),
        ..Usage::default()
    };
    let said = said_in_completion(&body);
    let logprobs = body.pointer_mut("/choices/0/logprobs").map(Value::take).unwrap_or_default();
    ChatResponse { id: id_of(&body), usage, said, logprobs }
}

fn said_in_completion(body: &Value) -> ChatContent {
    let choice = &body["choices"][0];
    if choice.is_null() {
        return match &body["error"] {
            Value::Null if body["type"] == "message" => ChatContent::Nothing(IS_ANTHROPIC),
            Value::Null => ChatContent::Nothing("the reply has no choices"),
            error => ChatContent::Refused(message_of(error)),
        };
    }
    let message = &choice["message"];
    if let Some(refusal) = message["refusal"].as_str().filter(|refusal| !refusal.is_empty()) {
        return ChatContent::Refused(refusal.to_owned());
    }
    if choice["finish_reason"] == "content_filter" {
        return ChatContent::Refused("a content filter stopped the reply".into());
    }
    said(text_of(&message["content"]), choice["finish_reason"] == "length")
}

/// Reads a message of Anthropic.
pub(super) fn read_message(body: &Value) -> ChatResponse {
    let usage = Usage {
        input_tokens: anthropic_input_tokens(&body["usage"]),
        output_tokens: body["usage"]["output_tokens"].as_u64(),
        ..Usage::default()
    };
    let said = said_in_message(body);
    ChatResponse { id: id_of(body), usage, said, logprobs: Value::Null }
}

fn said_in_message(body: &Value) -> ChatContent {
    if !body["error"].is_null() {
        return ChatContent::Refused(message_of(&body["error"]));
    }
    // Only replies of the other API have `choices`.
    if body["choices"].is_array() {
        return ChatContent::Nothing(IS_OPENAI);
    }
    match body["stop_reason"].as_str() {
        Some("refusal") => ChatContent::Refused("the model refused to answer".into()),
        stop => {
            let is_cut = matches!(stop, Some("max_tokens" | "model_context_window_exceeded"));
            said(text_of(&body["content"]), is_cut)
        }
    }
}

/// All tokens of the prompt. A reply of Anthropic counts cached tokens separately.
fn anthropic_input_tokens(usage: &Value) -> Option<u64> {
    let mut sum = usage["input_tokens"].as_u64()?;
    for cached in ["cache_creation_input_tokens", "cache_read_input_tokens"] {
        if !usage[cached].is_null() {
            sum = sum.saturating_add(usage[cached].as_u64()?);
        }
    }
    Some(sum)
}

fn id_of(body: &Value) -> String {
    body["id"].as_str().unwrap_or_default().to_owned()
}

/// The content with this text, if there is one. A reply that was cut off before its text has an empty text.
fn said(text: Option<String>, is_cut: bool) -> ChatContent {
    match text {
        Some(text) => ChatContent::Text { text: without_thoughts(text), is_cut },
        None if is_cut => ChatContent::Text { text: String::new(), is_cut },
        None => ChatContent::Nothing("the reply has no text"),
    }
}

/// The text of a message: a string, or the joined texts of an array of parts.
fn text_of(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> =
                parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        _ => None,
    }
}

/// Removes a model's thoughts (`<think>`), which some servers leave before its reply.
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

const IS_ANTHROPIC: &str = "the reply is a message of Anthropic's form: write api = \"anthropic\"";
const IS_OPENAI: &str =
    "the reply is a chat completion of OpenAI's form: leave api = \"anthropic\" out";

#[cfg(test)]
mod tests;
