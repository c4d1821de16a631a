//! A server that receives a POST and replies with a score or an answer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use goodarm_core::{Cost, CountedFailure};
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::endpoint::{Endpoint, EndpointKeys, has_pasted_key, pasted_key_problem};
use super::score::{ExpectedReply, answer_at, cost_of, score_of};
use super::{KindKeys, ServiceContext};
use crate::service::{CallFuture, Manifest, Remote, Service};
use crate::throttle::Throttle;
use goodarm_data::answer::checked_pointer;
use goodarm_data::candidates::Candidate;
use goodarm_data::problem::{KeyProblem, collect};
use goodarm_data::template::Template;
use goodarm_files::words::in_short;
use goodarm_record::reply::{NOTHING, Reply, Usage, Verdict};

/// A server that scores candidates or answers questions.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpKeys {
    /// Where to POST.
    pub url: Option<String>,
    /// Several addresses in place of `url`: calls are spread over them.
    pub urls: Option<Vec<String>>,
    /// The environment variable that holds the key, sent as a bearer token.
    pub api_key_env: Option<String>,
    /// More headers; a value `env:NAME` is read from the environment.
    pub headers: Option<BTreeMap<String, String>>,
    /// Statuses that are void with any body: some of 429, 502, 503, 529. Without it 429,
    /// 503 and 529 with Retry-After, and 503 while a model is being loaded.
    pub void_status: Option<Vec<u16>>,
    /// A template of the body, which must come out as JSON; the candidate if not given.
    pub body: Option<String>,
    /// A JSON pointer to the score in the reply; /score if not given.
    pub pointer: Option<String>,
    /// (generator) A JSON pointer to the answer in the reply; /answer if not given.
    pub answer: Option<String>,
}

impl KindKeys for HttpKeys {
    fn build(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>> {
        let http = Http::new(self, context)?;
        Ok(Service::remote(http.manifest(), http))
    }
}

/// A server that is asked by POST.
#[derive(Debug)]
pub struct Http {
    endpoint: Endpoint,
    body: Option<Template>,
    wanted: ExpectedReply,
    /// The JSON pointer to the score or the answer; not used with criteria, each of which has its own.
    pointer: String,
}

impl Http {
    /// A verifier or a generator. Reads API keys from environment variables.
    pub fn new(keys: &HttpKeys, context: &ServiceContext<'_>) -> Result<Self, Vec<KeyProblem>> {
        let mut problems = Vec::new();
        let wanted = ExpectedReply::of(context);
        if keys.answer.is_some() && !context.makes_answers {
            problems.push(KeyProblem::new("answer", "only a generator has it"));
        }
        if matches!(wanted, ExpectedReply::Scores(_)) && keys.pointer.is_some() {
            let message = "not together with criteria: each of them has its own";
            problems.push(KeyProblem::new("pointer", message));
        }
        let (key, pointer, shown) = if context.makes_answers {
            let questions = context.questions.unwrap_or(context.candidates);
            ("answer", keys.answer.as_deref().unwrap_or("/answer"), questions)
        } else {
            ("pointer", keys.pointer.as_deref().unwrap_or("/score"), context.candidates)
        };
        let own = EndpointKeys {
            url: keys.url.as_deref(),
            urls: keys.urls.as_deref(),
            api_key_env: keys.api_key_env.as_deref(),
            key_header: "authorization",
            headers: keys.headers.as_ref(),
            void_status: keys.void_status.as_deref(),
            stated_usage: stated_cost,
        };
        let endpoint =
            Endpoint::new(own, Ok, context.timeout).map_err(|more| problems.extend(more)).ok();
        let pointer = checked_pointer(Some(pointer))
            .map_err(|problem| KeyProblem { key: key.to_owned(), ..problem });
        let pointer = collect(pointer, &mut problems);
        let body = keys.body.as_deref().map(|source| Template::of_key("body", source)).transpose();
        let body = collect(body, &mut problems);
        if let Some(message) = body.iter().flatten().find_map(Template::constant_text_problem) {
            problems.push(KeyProblem::new("body", message));
        }
        if keys.body.as_deref().is_some_and(has_pasted_key) {
            problems.push(pasted_key_problem("body"));
        }
        let missing_field_problem = |body: &Template| body.missing_field_problem("body", shown);
        problems.extend(body.as_ref().and_then(Option::as_ref).and_then(missing_field_problem));
        match (endpoint, pointer, body) {
            (Some(endpoint), Some(pointer), Some(body)) if problems.is_empty() => {
                Ok(Self { endpoint, body, wanted, pointer })
            }
            _ => Err(problems),
        }
    }

    /// Facts about this service.
    pub fn manifest(&self) -> Manifest {
        Manifest {
            fields: self.body.as_ref().map(Template::fields).unwrap_or_default(),
            ..self.wanted.manifest(self.endpoint.manifest())
        }
    }

    /// The body for a candidate, or why it is missing.
    fn body<'a>(&self, candidate: &'a Candidate) -> Result<Cow<'a, str>, String> {
        match &self.body {
            Some(body) => rendered(body, candidate).map(Cow::Owned),
            None => Ok(Cow::Borrowed(&candidate.json)),
        }
    }

    async fn post(&self, candidate: &Candidate, throttle: &Throttle) -> Reply {
        let body = match self.body(candidate) {
            Ok(body) => body,
            // Nothing was sent, but the reason may depend on the answer, so the failure counts.
            Err(reason) => {
                let failed = Reply::failed(CountedFailure::Unreadable, reason);
                return Reply { usage: NOTHING, ..failed };
            }
        };
        let read = |body: &[u8]| {
            let wrong = |error| format!("the reply is not JSON: {error}");
            serde_json::from_slice(body).map_err(wrong)
        };
        let (value, received) = match self.endpoint.post(throttle, &body, read).await {
            Ok(received) => received,
            Err(reply) => return reply,
        };
        let (verdict, cost) = self.read(&value);
        let verdict = match verdict {
            Verdict::Failed(failure, reason) => {
                Verdict::Failed(failure, self.endpoint.reason_at(received.address, reason))
            }
            verdict => verdict,
        };
        let text = match String::from_utf8(received.body) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let usage = Usage { cost, worked: received.worked, ..Usage::default() };
        Reply::new(verdict, usage, self.endpoint.clean(text))
    }

    /// The verdict, and the cost if the reply has one.
    fn read(&self, value: &Value) -> (Verdict, Option<Cost>) {
        let unreadable = |reason| Verdict::Failed(CountedFailure::Unreadable, reason);
        let pointer = self.pointer.as_str();
        let score = |found: &Value| {
            let shown = || in_short(&self.endpoint.clean(found.to_string()));
            score_of(found).ok_or_else(|| format!("not a score: {}", shown()))
        };
        let verdict = match (&self.wanted, value.pointer(pointer)) {
            (ExpectedReply::Scores(rubric), _) => rubric.verdict(value, score),
            (ExpectedReply::Answer, found) => answer_at(found, pointer),
            (ExpectedReply::Score, Some(found)) => match score(found) {
                Ok(score) => Verdict::Score(score),
                Err(reason) => unreadable(format!("{pointer} is {reason}")),
            },
            (ExpectedReply::Score, None) => {
                unreadable(format!("nothing at {pointer} of the reply"))
            }
        };
        (verdict, cost_of(value.get("cost")))
    }
}

impl Remote for Http {
    fn preview(&self, candidate: &Candidate) -> String {
        let body = self.body(candidate).unwrap_or_else(Cow::Owned);
        let addresses = self.endpoint.shown(|address| format!("POST {address}"));
        format!("{addresses}\n{body}")
    }

    fn request(&self, candidate: &Candidate) -> String {
        self.endpoint.request(&self.body(candidate).unwrap_or_else(Cow::Owned))
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, throttle: &'a Throttle) -> CallFuture<'a> {
        Box::pin(self.post(candidate, throttle))
    }
}

/// The usage that the body of an error states: a cost, which is `None` if it cannot be read.
fn stated_cost(body: &[u8]) -> Option<Usage> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let cost = body.get("cost")?;
    Some(Usage { cost: cost_of(Some(cost)), ..NOTHING })
}

/// The body of the request about a candidate, checked to be JSON: quotes in an answer break a template without
/// `tojson`.
fn rendered(template: &Template, candidate: &Candidate) -> Result<String, String> {
    let body = template.render(candidate).map_err(|error| format!("body: {error}"))?;
    match serde_json::from_str::<IgnoredAny>(&body) {
        Ok(_) => Ok(body),
        Err(error) => Err(format!(
            "body: the template gives no JSON ({error}); {{{{ answer | tojson }}}} keeps quotes"
        )),
    }
}
