//! A chat endpoint: takes one prompt and returns one text.

use std::time::Duration;

use goodarm_core::CountedFailure;
use goodarm_data::problem::{KeyProblem, collect};
use goodarm_files::words::in_short;
use goodarm_record::reply::{Contact, Reply, Usage};
use serde::Serialize;
use serde_json::{Map, Value};

use super::LlmKeys;
use super::keys::Api;
use super::keys::ParseName;
use super::reply::ChatContent;
use super::temperature::Temperature;
use super::usage::UsageCheck;
use crate::services::endpoint::{Endpoint, EndpointKeys};
use crate::throttle::Throttle;

/// An endpoint with everything that is the same in all requests.
#[derive(Debug)]
pub(super) struct Chat {
    pub(super) endpoint: Endpoint,
    api: Api,
    /// The model's name.
    model: String,
    /// All of a request except its messages, such as the model and the temperature.
    head: Map<String, Value>,
    /// The limit of tokens of a reply, if requests have one.
    pub(super) max_tokens: Option<u32>,
    pub(super) usage_check: UsageCheck,
}

/// The body of a request.
#[derive(Serialize)]
struct ChatRequest<'a> {
    #[serde(flatten)]
    head: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    messages: Vec<ChatMessage<'a>>,
}

#[derive(Serialize)]
struct ChatMessage<'a> {
    role: &'static str,
    content: &'a str,
}

/// A reply of a model that has a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChatReply {
    /// Its text, without thoughts and without secrets.
    pub text: String,
    /// Whether the limit of tokens cut it off.
    pub is_cut: bool,
    /// The id that the server gave it; may be empty.
    pub id: String,
    /// Tokens and time.
    pub usage: Usage,
    /// The log-probabilities of its tokens in the form of the server; null if the server sent none.
    pub logprobs: Value,
}

impl Chat {
    pub(super) fn new(keys: &LlmKeys, timeout: Duration) -> Result<Self, Vec<KeyProblem>> {
        let api = keys.api.unwrap_or_default();
        let mut problems = Vec::new();
        let headers = api.headers(keys);
        let own = EndpointKeys {
            url: keys.url.as_deref(),
            urls: keys.urls.as_deref(),
            api_key_env: keys.api_key_env.as_deref(),
            key_header: api.key_header(),
            headers: Some(&headers),
            void_status: keys.void_status.as_deref(),
            stated_usage: match api {
                Api::OpenAi => |body| stated_usage(Api::OpenAi, body),
                Api::Anthropic => |body| stated_usage(Api::Anthropic, body),
            },
        };
        let endpoint = Endpoint::new(own, |base| api.url(base), timeout)
            .map_err(|more| problems.extend(more))
            .ok();
        let head = head(keys, &mut problems);
        problems.extend(api.problems(keys));
        let model = keys.model.clone().unwrap_or_default();
        let max_tokens = keys.limit().map(|(_, count)| count);
        match endpoint {
            Some(endpoint) if problems.is_empty() => {
                let usage_check = UsageCheck::default();
                Ok(Self { endpoint, api, model, head, max_tokens, usage_check })
            }
            _ => Err(problems),
        }
    }

    /// The addresses, each with the model, for people.
    pub(super) fn shown(&self) -> String {
        self.endpoint.shown(|address| format!("{address} {}", self.model))
    }

    /// The exact request, without secrets.
    pub(super) fn request(&self, system: Option<&str>, prompt: &str) -> String {
        self.endpoint.request(&self.body(system, prompt))
    }

    /// Makes one request, with retries of void attempts. The error is the reply of a call that got no text.
    pub(super) async fn ask(
        &self,
        system: Option<&str>,
        prompt: &str,
        throttle: &Throttle,
    ) -> Result<ChatReply, Reply> {
        let read = |body: &[u8]| {
            let wrong = |error| format!("the reply is not {}: {error}", self.api.reply_name());
            self.api.read(body).map_err(wrong)
        };
        let body = self.body(system, prompt);
        let posted = self.endpoint.post(throttle, &body, read).await;
        let messages = [system.unwrap_or_default(), prompt];
        let (answered, received) = posted.map_err(|reply| match reply.contact {
            Contact::Error if reply.usage.input_tokens.is_some_and(|count| count > 0) => {
                let usage = self.usage_check.believable(reply.usage, messages, "", self.max_tokens);
                Reply { usage, ..reply }
            }
            _ => reply,
        })?;
        let text = match &answered.said {
            ChatContent::Text { text, .. } => text.as_str(),
            ChatContent::Refused(_) | ChatContent::Nothing(_) => "",
        };
        let usage = Usage { worked: received.worked, ..answered.usage };
        let usage = self.usage_check.believable(usage, messages, text, self.max_tokens);
        match answered.said {
            ChatContent::Text { text, is_cut } => {
                let text = self.endpoint.unsecret(text);
                Ok(ChatReply { text, is_cut, id: answered.id, usage, logprobs: answered.logprobs })
            }
            ChatContent::Refused(said) => {
                let reason = in_short(&self.endpoint.clean(said));
                Err(Reply { usage, ..Reply::failed(CountedFailure::Refused, reason) })
            }
            ChatContent::Nothing(reason) => {
                let unreadable = self.endpoint.unreadable(&received, reason.to_owned());
                Err(Reply { usage, contact: Contact::Read, ..unreadable })
            }
        }
    }

    fn body(&self, system: Option<&str>, prompt: &str) -> String {
        let mut messages = vec![ChatMessage { role: "user", content: prompt }];
        let mut request_system = None;
        match (self.api, system) {
            (Api::Anthropic, _) => request_system = system,
            (Api::OpenAi, Some(content)) => {
                messages.insert(0, ChatMessage { role: "system", content });
            }
            (Api::OpenAi, None) => {}
        }
        let request = ChatRequest { head: &self.head, system: request_system, messages };
        serde_json::to_string(&request).expect("texts and JSON can be written as JSON")
    }
}

/// All of a request except its messages.
fn head(keys: &LlmKeys, problems: &mut Vec<KeyProblem>) -> Map<String, Value> {
    let mut request = Map::new();
    match keys.model.as_deref() {
        Some(model) if !model.trim().is_empty() => request.insert("model".into(), model.into()),
        _ => {
            problems.push(KeyProblem::missing("model", "the name of a model is needed"));
            None
        }
    };
    if let Some(Some(temperature)) = collect(temperature_of(keys), problems) {
        request.insert("temperature".into(), temperature.into());
    }
    request.insert("stream".into(), false.into());
    match keys.limit() {
        Some((key, 0)) => problems.push(KeyProblem::new(key, "at least 1 is needed")),
        Some((key, count)) => {
            request.insert(key.into(), count.into());
        }
        None => {}
    }
    if keys.parse == Some(ParseName::Logprobs) {
        request.insert("logprobs".into(), true.into());
        request.insert("top_logprobs".into(), keys.top_logprobs.unwrap_or(TOP_LOGPROBS).into());
    }
    for (name, value) in keys.parameters.iter().flatten() {
        match reserved(name, value, keys) {
            Some(message) => problems.push(KeyProblem::new("parameters", message)),
            None => {
                request.insert(name.clone(), value.clone());
            }
        }
    }
    request
}

/// The temperature to send, if any.
fn temperature_of(keys: &LlmKeys) -> Result<Option<f64>, KeyProblem> {
    match keys.temperature.unwrap_or_default() {
        Temperature::Word(_) => Ok(None),
        Temperature::Degrees(degrees) if degrees.is_finite() && degrees >= 0.0 => Ok(Some(degrees)),
        Temperature::Degrees(degrees) => {
            Err(KeyProblem::new("temperature", format!("{degrees} is not a number from 0")))
        }
    }
}

/// Why a parameter is not allowed; `None` if it is allowed.
fn reserved(name: &str, value: &Value, keys: &LlmKeys) -> Option<String> {
    match name {
        "model" | "temperature" | "max_tokens" | "max_completion_tokens" => {
            Some(format!("{name} is a key of its own"))
        }
        "messages" | "system" => Some("messages are made from system and prompt".into()),
        "stream" | "stream_options" => Some("replies are not streamed".into()),
        "logprobs" | "top_logprobs" if keys.parse == Some(ParseName::Logprobs) => {
            Some(format!("{name} follows from parse = \"logprobs\""))
        }
        "n" if value.as_u64() != Some(1) => {
            Some("n: a reply has one choice; a solver may have votes".into())
        }
        _ => None,
    }
}

/// The default of `top_logprobs`, the most that OpenAI allows.
const TOP_LOGPROBS: u32 = 20;

/// The usage that the body of an error states.
fn stated_usage(api: Api, body: &[u8]) -> Option<Usage> {
    let usage = api.read(body).ok()?.usage;
    usage.input_tokens.or(usage.output_tokens).map(|_| usage)
}
