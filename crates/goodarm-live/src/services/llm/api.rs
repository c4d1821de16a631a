//! The two APIs of endpoints: path, key header, and form of requests and replies.

use std::collections::BTreeMap;

use goodarm_data::problem::KeyProblem;
use reqwest::Url;

use super::keys::{Api, LlmKeys, ParseName};
use super::reply::{ChatResponse, Completion, Message};
use super::temperature::Temperature;
use crate::services::endpoint::KeyHeader;

impl Api {
    /// The address to POST to: the base address, with the rest of the path if it is missing.
    pub(super) fn url(self, base: Url) -> Result<Url, KeyProblem> {
        let mut url = base;
        let path = url.path().trim_end_matches('/');
        let rest: &[&str] = match self {
            Self::OpenAi if path.ends_with("/chat/completions") => &[],
            Self::OpenAi => &["chat", "completions"],
            Self::Anthropic if path.ends_with("/messages") => &[],
            Self::Anthropic if path.ends_with("/v1") => &["messages"],
            Self::Anthropic => &["v1", "messages"],
        };
        url.path_segments_mut()
            .map_err(|()| KeyProblem::new("url", "an address with a path is needed"))?
            .pop_if_empty()
            .extend(rest);
        Ok(url)
    }

    /// How the key is sent.
    pub(super) const fn key_header(self) -> KeyHeader {
        match self {
            Self::OpenAi => KeyHeader::Bearer,
            Self::Anthropic => KeyHeader::Named("x-api-key"),
        }
    }

    /// The user's headers, and the headers that the endpoint requires.
    pub(super) fn headers(self, keys: &LlmKeys) -> BTreeMap<String, String> {
        let mut headers = keys.headers.clone().unwrap_or_default();
        let version = "anthropic-version";
        if self == Self::Anthropic && !headers.keys().any(|name| name.eq_ignore_ascii_case(version))
        {
            headers.insert(version.into(), ANTHROPIC_VERSION.into());
        }
        headers
    }

    /// Problems with keys that this API does not support.
    pub(super) fn problems(self, keys: &LlmKeys) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        if keys.max_tokens.is_some() && keys.max_completion_tokens.is_some() {
            let message = "either max_tokens or max_completion_tokens, not both";
            problems.push(KeyProblem::new("max_completion_tokens", message));
        }
        if self == Self::OpenAi {
            return problems;
        }
        if keys.max_completion_tokens.is_some() {
            let message = "api = \"anthropic\" calls it max_tokens";
            problems.push(KeyProblem::new("max_completion_tokens", message));
        } else if keys.max_tokens.is_none() {
            problems.push(KeyProblem::missing("max_tokens", "api = \"anthropic\" needs it"));
        }
        if let Some(Temperature::Degrees(degrees)) = keys.temperature
            && degrees > 1.0
        {
            let message =
                format!("{degrees} is more than 1, the most that api = \"anthropic\" takes");
            problems.push(KeyProblem::new("temperature", message));
        }
        if keys.parse == Some(ParseName::Logprobs) {
            let message = "api = \"anthropic\" gives no log-probabilities";
            problems.push(KeyProblem::new("parse", message));
        }
        problems
    }

    /// The messages, as the last keys of a request.
    pub(super) fn push_messages(self, body: &mut String, system: Option<&str>, prompt: &str) {
        let system = match (self, system) {
            (Self::Anthropic, Some(system)) => {
                body.push_str(",\"system\":");
                push_text(body, system);
                None
            }
            (_, system) => system,
        };
        body.push_str(",\"messages\":[");
        if let Some(system) = system {
            push_message(body, "system", system);
            body.push(',');
        }
        push_message(body, "user", prompt);
        body.push_str("]}");
    }

    /// The content of a reply.
    pub(super) fn read(self, body: &[u8]) -> Result<ChatResponse, serde_json::Error> {
        Ok(match self {
            Self::OpenAi => serde_json::from_slice::<Completion>(body)?.into(),
            Self::Anthropic => serde_json::from_slice::<Message>(body)?.into(),
        })
    }

    /// The name of a reply in messages.
    pub(super) const fn reply_name(self) -> &'static str {
        match self {
            Self::OpenAi => "a chat completion",
            Self::Anthropic => "a message",
        }
    }
}

fn push_message(body: &mut String, role: &str, content: &str) {
    body.push_str("{\"role\":\"");
    body.push_str(role);
    body.push_str("\",\"content\":");
    push_text(body, content);
    body.push('}');
}

fn push_text(body: &mut String, text: &str) {
    body.push_str(&serde_json::to_string(text).expect("any text can be written as JSON"));
}

const ANTHROPIC_VERSION: &str = "2023-06-01";
