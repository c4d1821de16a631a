//! A chat endpoint: one prompt in, one text out.

use std::time::Duration;

use goodarm_core::CountedFailure;
use reqwest::Url;
use serde_json::{Map, Value};

use super::reply::{Completion, Said};
use crate::job_file::VerifierFile;
use crate::line::Line;
use crate::verifier::score::in_short;
use crate::verifier::wire::{Wire, url_of};
use crate::verifier::wrong::{Wrong, sort_out};
use crate::verifier::{Reply, Usage};

/// An OpenAI-compatible `/chat/completions`, with everything that stays the same.
#[derive(Debug)]
pub struct Chat {
    wire: Wire,
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
    /// An endpoint from the keys `url`, `api_key_env`, `headers`, `model`, `temperature`,
    /// `max_tokens`, `parameters` and `timeout`.
    pub fn new(file: &VerifierFile) -> Result<Self, Vec<Wrong>> {
        let mut wrongs = Vec::new();
        let wire = Wire::new(file, completions_url(file)).map_err(|more| wrongs.extend(more)).ok();
        let head = head(file, &mut wrongs);
        match wire {
            Some(wire) if wrongs.is_empty() => {
                Ok(Self { wire, head, max_tokens: max_tokens_of(file) })
            }
            _ => Err(wrongs),
        }
    }

    /// The most tokens of a reply, if the requests say.
    pub const fn max_tokens(&self) -> Option<u32> {
        self.max_tokens
    }

    /// Asks once, void attempts and their retries included. What is no text is a call's reply
    /// already.
    pub async fn ask(
        &self,
        system: Option<&str>,
        prompt: &str,
        line: &Line,
    ) -> Result<ChatReply, Reply> {
        let received = self.wire.post(line, &self.body(system, prompt)).await?;
        let completion: Completion = match serde_json::from_slice(&received.body) {
            Ok(completion) => completion,
            Err(error) => {
                let text = String::from_utf8_lossy(&received.body).into_owned();
                let reason = format!("the reply is no chat completion: {error}");
                return Err(self.failed(CountedFailure::Unreadable, reason, text, received.worked));
            }
        };
        let usage = Usage { worked: received.worked, ..completion.usage() };
        let id = completion.id().to_owned();
        match completion.into_said() {
            Said::Text { text, is_cut } => {
                Ok(ChatReply { text: self.wire.unsecret(text), is_cut, id, usage })
            }
            Said::Refused(said) => {
                let reason = in_short(&self.wire.clean(said));
                Err(Reply { usage, ..Reply::failed(CountedFailure::Refused, reason) })
            }
            Said::Nothing(reason) => {
                let text = self.wire.clean(String::from_utf8_lossy(&received.body).into_owned());
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
        Reply { usage, text: self.wire.clean(text), ..Reply::failed(failure, reason) }
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
fn completions_url(file: &VerifierFile) -> Result<Url, Wrong> {
    let mut url = url_of(file)?;
    if !url.path().trim_end_matches('/').ends_with("/chat/completions") {
        url.path_segments_mut()
            .map_err(|()| Wrong::new("url", "an address with a path is needed"))?
            .pop_if_empty()
            .extend(["chat", "completions"]);
    }
    Ok(url)
}

/// Everything of the request that comes before the messages.
fn head(file: &VerifierFile, wrongs: &mut Vec<Wrong>) -> String {
    let mut request = Map::new();
    match file.model.as_deref() {
        Some(model) if !model.trim().is_empty() => request.insert("model".into(), model.into()),
        _ => {
            wrongs.push(Wrong::new("model", "the name of a model is needed"));
            None
        }
    };
    if let Some(temperature) = sort_out(temperature_of(file), wrongs) {
        request.insert("temperature".into(), temperature.into());
    }
    request.insert("stream".into(), false.into());
    match file.max_tokens {
        Some(0) => wrongs.push(Wrong::new("max_tokens", "at least 1 is needed")),
        Some(count) => {
            request.insert("max_tokens".into(), count.into());
        }
        None => {}
    }
    for (name, value) in file.parameters.iter().flatten() {
        match reserved(name, value) {
            Some(problem) => wrongs.push(Wrong::new("parameters", problem)),
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
pub(super) fn temperature_of(file: &VerifierFile) -> Result<f64, Wrong> {
    let temperature = file.temperature.unwrap_or(1.0);
    if temperature.is_finite() && temperature >= 0.0 {
        Ok(temperature)
    } else {
        Err(Wrong::new("temperature", format!("{temperature} is no number from 0")))
    }
}

/// The newer name for the limit counts too.
fn max_tokens_of(file: &VerifierFile) -> Option<u32> {
    file.max_tokens.or_else(|| {
        let value = file.parameters.as_ref()?.get("max_completion_tokens")?;
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
