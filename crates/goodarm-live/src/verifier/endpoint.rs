//! One POST, and what its fate means: what `http` and `llm` share.
//!
//! A request that may have reached the server is never sent again. The only silent retry that is
//! left below us is of a request of which no byte was written, because its pooled connection turned
//! out to be closed.

mod retry_after;
mod secrets;
mod transport;
mod void_status;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use goodarm_core::{CountedFailure, VoidFailure};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{StatusCode, Url};
use tokio::time::Instant;

use self::secrets::Secrets;
pub(crate) use self::secrets::{has_pasted_key, pasted_key, pasted_key_problem, without_keys};
use self::transport::{Answer, Cut, Transport, Unanswered};
use self::void_status::VoidStatus;
use super::attempt::{Attempt, attempts};
use super::problem::{Problem, collect};
use super::score::{in_short, shorten};
use super::{BODY_BYTES_MAX, Reply, Usage};
use crate::throttle::Throttle;
use crate::transcript;

/// An address with everything that does not change from call to call.
pub(crate) struct Endpoint {
    transport: Box<Transport>,
    /// The address as the job has it, without the secrets.
    shown: String,
    /// Where requests go, without what may be secret.
    address: String,
    /// The server's name, and its port if it has an unusual one.
    host: String,
    timeout: Duration,
    /// The environment variable that holds the key.
    key_from: Option<String>,
    /// The headers that the job gives, as people may see them.
    headers_shown: String,
    void_status: VoidStatus,
    secrets: Secrets,
}

/// A whole body that came with a status of success.
pub(crate) struct Received {
    pub(crate) body: Vec<u8>,
    /// From the request to the last byte.
    pub(crate) worked: Duration,
}

/// The keys that every endpoint has.
#[derive(Clone, Copy)]
pub(crate) struct EndpointKeys<'a> {
    pub(crate) url: Option<&'a str>,
    pub(crate) api_key_env: Option<&'a str>,
    pub(crate) key_header: KeyHeader,
    pub(crate) headers: Option<&'a BTreeMap<String, String>>,
    pub(crate) void_status: Option<&'a [u16]>,
}

/// How a key is sent.
#[derive(Clone, Copy)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer …`
    Bearer,
    /// As a header of this name, which is in lower case.
    Named(&'static str),
}

/// What became of one request: a whole body, or what the call comes to without one.
type Exchange = Attempt<Result<Vec<u8>, Reply>>;

impl Endpoint {
    /// An endpoint at `url`; keys are read from the environment now.
    pub(crate) fn new(
        keys: EndpointKeys<'_>,
        url: Result<Url, Problem>,
        timeout: Duration,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let url = collect(url, &mut problems);
        let mut secrets = Secrets::default();
        let mut headers = secrets::headers(keys, &mut secrets, &mut problems);
        let headers_shown = secrets::shown(&headers);
        let void_status = collect(VoidStatus::new(keys.void_status), &mut problems);
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        let Some(url) = url else { return Err(problems) };
        secrets.add_from_url(&url);
        let shown = secrets.remove(keys.url.unwrap_or_default().to_owned());
        let address = address_of(&url);
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let transport = collect(Transport::new(url, headers, timeout), &mut problems);
        let key_from = keys.api_key_env.map(str::to_owned);
        match (transport, void_status) {
            (Some(transport), Some(void_status)) if problems.is_empty() => {
                let transport = Box::new(transport);
                Ok(Self {
                    transport,
                    shown,
                    address,
                    host,
                    timeout,
                    key_from,
                    headers_shown,
                    void_status,
                    secrets,
                })
            }
            _ => Err(problems),
        }
    }

    /// The address as the job has it, without the secrets.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Until a request counts as failed.
    pub(crate) const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Posts a JSON body in its turn, again as long as no work was begun. What is not a whole body
    /// with a status of success is the call's reply already.
    pub(crate) async fn post(&self, throttle: &Throttle, body: &str) -> Result<Received, Reply> {
        attempts(throttle, || self.timed(throttle, body)).await?
    }

    /// One attempt, with the time that it took.
    async fn timed(&self, throttle: &Throttle, body: &str) -> Attempt<Result<Received, Reply>> {
        let began = Instant::now();
        let mut refusal = String::new();
        let exchange = self.attempt(body, &mut refusal).await;
        let worked = began.elapsed();
        throttle.transcript().note(|| {
            let received = if refusal.is_empty() { self.received(&exchange) } else { refusal };
            transcript::Exchange { sent: self.request(body), received: self.clean(received) }
        });
        exchange.map(|outcome| match outcome {
            Ok(body) => Ok(Received { body, worked }),
            Err(reply) => Err(Reply { usage: Usage { worked, ..reply.usage }, ..reply }),
        })
    }

    /// A request word for word, without the secrets.
    pub(crate) fn request(&self, body: &str) -> String {
        self.clean(format!("POST {}\n{}{body}", self.address, self.headers_shown))
    }

    /// What came back, or why nothing did.
    fn received(&self, exchange: &Exchange) -> String {
        match exchange {
            Attempt::Answered(Ok(body)) => String::from_utf8_lossy(body).into_owned(),
            Attempt::Answered(Err(reply)) => reply.text.clone(),
            Attempt::Broke { reason, .. }
            | Attempt::Void { reason, .. }
            | Attempt::Hopeless { reason }
            | Attempt::Mistrusted { reason, .. } => reason.clone(),
        }
    }

    /// A text without the secrets, as much of it as is kept.
    pub(crate) fn clean(&self, text: String) -> String {
        shorten(self.secrets.remove(text))
    }

    /// A text without the secrets, all of it.
    pub(crate) fn unsecret(&self, text: String) -> String {
        self.secrets.remove(text)
    }

    /// A status without success, and what came with it, is written to `refusal`.
    async fn attempt(&self, body: &str, refusal: &mut String) -> Exchange {
        // Connecting has a shorter limit of its own, so what is cut off here has been sent.
        match tokio::time::timeout(self.timeout, self.exchange(body, refusal)).await {
            Ok(attempt) => attempt,
            Err(_) => broken(
                CountedFailure::TimedOut,
                format!("no reply within {} s", self.timeout.as_secs_f64()),
            ),
        }
    }

    async fn exchange(&self, body: &str, refusal: &mut String) -> Exchange {
        let answer = match self.transport.post(body).await {
            Ok(answer) => answer,
            Err(unanswered) => return self.unanswered(unanswered),
        };
        if !answer.status().is_success() {
            return self.refused(answer, refusal).await;
        }
        match answer.body(BODY_BYTES_MAX).await {
            Ok(body) => Attempt::Answered(Ok(body)),
            Err(Cut::TooLong) => broken(
                CountedFailure::Truncated,
                format!("the reply is longer than {BODY_BYTES_MAX} bytes"),
            ),
            Err(Cut::Broken(cause)) => {
                broken(CountedFailure::Truncated, format!("the reply was cut off: {cause}"))
            }
        }
    }

    /// There is no response at all.
    fn unanswered(&self, unanswered: Unanswered) -> Exchange {
        let host = &self.host;
        match unanswered {
            Unanswered::NotConnected(cause) => Attempt::Void {
                failure: VoidFailure::NotConnected,
                retry_after: None,
                reason: self.secrets.remove(format!("cannot connect to {host}: {cause}")),
            },
            // Whatever was sent may have arrived, so this counts and is not sent again.
            Unanswered::NoReply(cause) => {
                let reason = self.secrets.remove(format!("{host} gave no reply: {cause}"));
                broken(CountedFailure::Crashed, reason)
            }
        }
    }

    /// There is a response, without success.
    async fn refused(&self, answer: Answer, refusal: &mut String) -> Exchange {
        let status = answer.status();
        let retry_after = retry_after::read(answer.headers());
        let body = answer.body(ERROR_BYTES_MAX).await.unwrap_or_default();
        let text = self.clean(String::from_utf8_lossy(&body).into_owned());
        *refusal = format!("{}\n{text}", status.as_u16());
        let mut reason = match in_short(&text) {
            said if said.is_empty() => status.as_u16().to_string(),
            said => format!("{}: {said}", status.as_u16()),
        };
        reason += &match status.as_u16() {
            404 => format!(" (there is nothing at {}: is `url` right?)", self.address),
            code @ (502 | 503 | 529) => {
                format!(" (if it says so before it looks at a request: void_status = [{code}])")
            }
            401 => match &self.key_from {
                Some(name) => format!(" (the key was refused: it is from {name})"),
                None => " (a key is needed: name its variable in api_key_env)".to_owned(),
            },
            400 | 422 if text.contains("max_completion_tokens") => {
                " (max_completion_tokens in place of max_tokens?)".to_owned()
            }
            400 | 422 if text.contains("temperature") => {
                " (temperature = \"default\" leaves it out)".to_owned()
            }
            _ => String::new(),
        };
        if let Some(failure) = self.void_status.failure(status.as_u16(), retry_after, &body) {
            // It is there, and says that it will be back.
            let retry_after = Some(retry_after.unwrap_or_default());
            return Attempt::Void { failure, retry_after, reason };
        }
        match status.as_u16() {
            401 => {
                let failure = VoidFailure::NotConnected;
                Attempt::Void { failure, retry_after: None, reason }
            }
            code => {
                let failure = if status.is_server_error() {
                    CountedFailure::Crashed
                } else {
                    CountedFailure::Refused
                };
                let reason = if status.is_redirection() {
                    format!("{code}: the address has moved, and redirects are not followed")
                } else {
                    reason
                };
                let reply = Reply { text, ..Reply::failed(failure, reason.clone()) };
                if is_about_the_request(status) {
                    Attempt::Answered(Err(reply))
                } else {
                    Attempt::Broke { outcome: Err(reply), reason }
                }
            }
        }
    }
}

/// Says where to, and no secret.
impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Endpoint").field("host", &self.host).finish_non_exhaustive()
    }
}

/// The server may have begun to work, and gave no usable reply.
fn broken(failure: CountedFailure, reason: String) -> Exchange {
    Attempt::Broke { outcome: Err(Reply::failed(failure, reason.clone())), reason }
}

/// Bad requests, long ones and filtered ones depend on the answer; the server is well.
const fn is_about_the_request(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 413 | 422 | 451)
}

/// An address as people may see it: keys are kept in its query, or in place of a name.
fn address_of(url: &Url) -> String {
    let query = if url.query().is_some() { "?(hidden)" } else { "" };
    format!("{}{}{query}", url.origin().ascii_serialization(), url.path())
}

/// An address to POST to.
pub(crate) fn url_of(url: Option<&str>) -> Result<Url, Problem> {
    let written = url.ok_or_else(|| Problem::missing("url", "an address is needed"))?;
    match Url::parse(written) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        Err(error) if written.starts_with("http://") || written.starts_with("https://") => {
            Err(Problem::new("url", error.to_string()))
        }
        _ => {
            let hint = with_scheme(written)
                .map_or_else(String::new, |whole| format!("; did you mean {whole:?}?"));
            let message = format!("an address begins with http:// or https://{hint}");
            Err(Problem::new("url", message))
        }
    }
}

/// The address that was probably meant, if it holds nothing secret.
fn with_scheme(written: &str) -> Option<String> {
    if written.contains("//") || written.contains(['@', '?', '#']) {
        return None;
    }
    let url = Url::parse(&format!("https://{written}")).ok()?;
    let host = url.host_str().unwrap_or_default();
    let is_near = url.port().is_some() || host == "localhost";
    // A key has neither a port nor a path, and seldom small letters alone.
    let is_name = host.contains('.') && written.contains('/') && written.starts_with(host);
    if !is_near && !is_name {
        return None;
    }
    Some(format!("{}://{written}", if is_near { "http" } else { "https" }))
}

/// So much of an error's body is read.
const ERROR_BYTES_MAX: usize = 64 << 10;
