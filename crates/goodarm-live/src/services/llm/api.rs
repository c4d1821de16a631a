//! How the APIs of OpenAI and Anthropic differ: path, header of the key, and form of requests and replies.

use std::collections::BTreeMap;

use goodarm_data::problem::KeyProblem;
use reqwest::Url;
use serde_json::Value;

use super::keys::{Api, LlmKeys, ParseName};
use super::reply::{ChatResponse, read_completion, read_message};
use super::temperature::Temperature;

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

    /// The name of the header that carries the API key.
    pub(super) const fn key_header(self) -> &'static str {
        match self {
            Self::OpenAi => "authorization",
            Self::Anthropic => "x-api-key",
        }
    }

    /// The headers of the job, and those that the API requires.
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

    /// The content of a reply.
    pub(super) fn read(self, body: &[u8]) -> Result<ChatResponse, serde_json::Error> {
        let body = Value::Object(serde_json::from_slice(body)?);
        Ok(match self {
            Self::OpenAi => read_completion(body),
            Self::Anthropic => read_message(&body),
        })
    }

    /// What a reply of this API is called in messages for people.
    pub(super) const fn reply_name(self) -> &'static str {
        match self {
            Self::OpenAi => "a chat completion",
            Self::Anthropic => "a message",
        }
    }
}

const ANTHROPIC_VERSION: &str = "2023-06-01";
