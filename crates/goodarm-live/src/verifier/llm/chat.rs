//! A chat endpoint: one prompt in, one text out.

use std::time::Duration;

use goodarm_core::CountedFailure;
use reqwest::Url;
use serde_json::{Map, Value};

use super::LlmKeys;
use super::reply::{Completion, Said};
use crate::throttle::Throttle;
use crate::verifier::endpoint::{Endpoint, EndpointKeys, url_of};
use crate::verifier::problem::{Problem, collect};
use crate::verifier::score::in_short;
use crate::verifier::{Reply, Usage};

/// An OpenAI-compatible `/chat/completions`, with everything that stays the same.
#[derive(Debug)]
pub(super) struct Chat {
    endpoint: Endpoint,
    /// The model's name.
    model: String,
    /// The request up to its messages.
    head: String,
    max_tokens: Option<u32>,
}

/// A text from a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatReply {
    /// What it said, without thoughts and without secrets.
    pub text: String,
    /// The limit of tokens cut it off.
    pub is_cut: bool,
    /// The server's name for it; empty if it gives none.
    pub id: String,
    /// Tokens and time.
    pub usage: Usage,
}

impl Chat {
    pub(super) fn new(keys: &LlmKeys, timeout: Duration) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let own = EndpointKeys {
            url: keys.url.as_deref(),
            api_key_env: keys.api_key_env.as_deref(),
            headers: keys.headers.as_ref(),
        };
        let endpoint = Endpoint::new(own, completions_url(own.url), timeout)
            .map_err(|more| problems.extend(more))
            .ok();
        let head = head(keys, &mut problems);
        let model = keys.model.clone().unwrap_or_default();
        match endpoint {
            Some(endpoint) if problems.is_empty() => {
                Ok(Self { endpoint, model, head, max_tokens: max_tokens_of(keys) })
            }
            _ => Err(problems),
        }
    }

    /// The most tokens of a reply, if the requests say.
    pub(super) const fn max_tokens(&self) -> Option<u32> {
        self.max_tokens
    }

    /// Until a request counts as failed.
    pub(super) const fn timeout(&self) -> Duration {
        self.endpoint.timeout()
    }

    /// The address and the model, for people.
    pub(super) fn shown(&self) -> String {
        format!("{} {}", self.endpoint.shown(), self.model)
    }

    /// Asks once, void attempts and their retries included. What is not a text is a call's reply
    /// already.
    pub(super) async fn ask(
        &self,
        system: Option<&str>,
        prompt: &str,
        throttle: &Throttle,
    ) -> Result<ChatReply, Reply> {
        let received = self.endpoint.post(throttle, &self.body(system, prompt)).await?;
        let completion: Completion = match serde_json::from_slice(&received.body) {
            Ok(completion) => completion,
            Err(error) => {
                let text = String::from_utf8_lossy(&received.body).into_owned();
                let reason = format!("the reply is not a chat completion: {error}");
                return Err(self.failed(CountedFailure::Unreadable, reason, text, received.worked));
            }
        };
        let usage = Usage { worked: received.worked, ..completion.usage() };
        let id = completion.id().to_owned();
        match completion.into_said() {
            Said::Text { text, is_cut } => {
                Ok(ChatReply { text: self.endpoint.unsecret(text), is_cut, id, usage })
            }
            Said::Refused(said) => {
                let reason = in_short(&self.endpoint.clean(said));
                Err(Reply { usage, ..Reply::failed(CountedFailure::Refused, reason) })
            }
            Said::Nothing(reason) => {
                let text =
                    self.endpoint.clean(String::from_utf8_lossy(&received.body).into_owned());
                Err(Reply { usage, text, ..Reply::failed(CountedFailure::Unreadable, reason) })
            }
        }
    }

    fn failed(
        &self,
        failure: CountedFailure,
        reason: String,
        text: String,
        worked: Duration,
    ) -> Reply {
        let usage = Usage { worked, ..Usage::default() };
        Reply { usage, text: self.endpoint.clean(text), ..Reply::failed(failure, reason) }
    }

    fn body(&self, system: Option<&str>, prompt: &str) -> String {
        let room = self.head.len() + system.map_or(0, str::len) + prompt.len() + prompt.len() / 8;
        let mut body = String::with_capacity(room + 96);
        body.push_str(&self.head);
        if let Some(system) = system {
            push_message(&mut body, "system", system);
            body.push(',');
        }
        push_message(&mut body, "user", prompt);
        body.push_str("]}");
        body
    }
}

fn push_message(body: &mut String, role: &str, content: &str) {
    body.push_str("{\"role\":\"");
    body.push_str(role);
    body.push_str("\",\"content\":");
    body.push_str(&serde_json::to_string(content).expect("any text can be written as JSON"));
    body.push('}');
}

/// `{url}/chat/completions`, unless that is there already.
fn completions_url(url: Option<&str>) -> Result<Url, Problem> {
    let mut url = url_of(url)?;
    if !url.path().trim_end_matches('/').ends_with("/chat/completions") {
        url.path_segments_mut()
            .map_err(|()| Problem::new("url", "an address with a path is needed"))?
            .pop_if_empty()
            .extend(["chat", "completions"]);
    }
    Ok(url)
}

/// Everything of the request that comes before the messages.
fn head(keys: &LlmKeys, problems: &mut Vec<Problem>) -> String {
    let mut request = Map::new();
    match keys.model.as_deref() {
        Some(model) if !model.trim().is_empty() => request.insert("model".into(), model.into()),
        _ => {
            problems.push(Problem::missing("model", "the name of a model is needed"));
            None
        }
    };
    if let Some(temperature) = collect(temperature_of(keys), problems) {
        request.insert("temperature".into(), temperature.into());
    }
    request.insert("stream".into(), false.into());
    match keys.max_tokens {
        Some(0) => problems.push(Problem::new("max_tokens", "at least 1 is needed")),
        Some(count) => {
            request.insert("max_tokens".into(), count.into());
        }
        None => {}
    }
    for (name, value) in keys.parameters.iter().flatten() {
        match reserved(name, value) {
            Some(message) => problems.push(Problem::new("parameters", message)),
            None => {
                request.insert(name.clone(), value.clone());
            }
        }
    }
    let mut head = Value::Object(request).to_string();
    head.pop();
    head + ",\"messages\":["
}

/// How warm, if the file says a number that can be right.
fn temperature_of(keys: &LlmKeys) -> Result<f64, Problem> {
    let temperature = keys.temperature.unwrap_or(1.0);
    if temperature.is_finite() && temperature >= 0.0 {
        Ok(temperature)
    } else {
        Err(Problem::new("temperature", format!("{temperature} is not a number from 0")))
    }
}

/// The newer name for the limit counts too.
fn max_tokens_of(keys: &LlmKeys) -> Option<u32> {
    keys.max_tokens.or_else(|| {
        let value = keys.parameters.as_ref()?.get("max_completion_tokens")?;
        u32::try_from(value.as_u64()?).ok()
    })
}

/// Why a parameter cannot be given here.
fn reserved(name: &str, value: &Value) -> Option<String> {
    match name {
        "model" | "temperature" | "max_tokens" => Some(format!("{name} is a key of its own")),
        "messages" => Some("messages are made from system and prompt".into()),
        "stream" | "stream_options" => Some("replies are not streamed".into()),
        "n" if value.as_u64() != Some(1) => {
            Some("n: a reply has one choice; a solver may have votes".into())
        }
        _ => None,
    }
}
