//! Sends one POST request and interprets its result, for the kinds `http` and `llm`.
//!
//! A request that may have reached the server is never sent again. The HTTP client itself retries only requests
//! of which no byte was written, because the server had closed a pooled connection.

mod address;
mod retry_after;
mod secrets;
mod transport;
mod void_status;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use goodarm_core::{CountedFailure, VoidFailure};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Response, StatusCode, Url};
use tokio::time::Instant;

use self::address::Address;
pub(crate) use self::secrets::{
    add_from_url, has_pasted_key, key_from_environment, looks_like_a_key, pasted_key_problem,
};
use self::transport::{BodyError, SendError, body_of, is_this_machine};
use self::void_status::VoidStatus;
use crate::pricing::Extent;
use crate::secrets::Secrets;
use crate::service::Manifest;
use crate::service::attempt::{Attempt, attempts_at, reason_of};
use crate::throttle::Throttle;
use crate::transcript;
use goodarm_data::problem::{KeyProblem, collect};
use goodarm_files::words::in_short;
use goodarm_record::reply::{Contact, Delivery, NOTHING, Reply, Usage, shorten};

/// One or several addresses, with everything that does not change from call to call. The throttle chooses the
/// address of each request.
pub(crate) struct Endpoint {
    addresses: Vec<Address>,
    timeout: Duration,
    /// The environment variable that holds the key.
    key_from: Option<String>,
    /// The headers of the job, without secrets.
    headers_shown: String,
    void_status: VoidStatus,
    /// Reads the usage that the body of an error states; `None` if it states none.
    stated_usage: fn(&[u8]) -> Option<Usage>,
    secrets: Arc<Secrets>,
    /// A problem that is visible before any request.
    warning: Option<String>,
}

/// The complete body of a response whose status is a success.
pub(crate) struct ResponseBody {
    pub(crate) body: Vec<u8>,
    /// The time from the request to the last byte.
    pub(crate) worked: Duration,
    /// The number of the address that sent the response, counted from 0.
    pub(crate) address: usize,
}

/// The keys common to all endpoints.
#[derive(Clone, Copy)]
pub(crate) struct EndpointKeys<'a> {
    pub(crate) url: Option<&'a str>,
    pub(crate) urls: Option<&'a [String]>,
    pub(crate) api_key_env: Option<&'a str>,
    /// The name of the header for the API key, in lower case. In `authorization` the key follows `Bearer`.
    pub(crate) key_header: &'static str,
    pub(crate) headers: Option<&'a BTreeMap<String, String>>,
    pub(crate) void_status: Option<&'a [u16]>,
    /// Reads the usage that the body of an error states; `None` if it states none.
    pub(crate) stated_usage: fn(&[u8]) -> Option<Usage>,
}

/// A request, from the moment when it was sent.
struct SentRequest<'a> {
    address: &'a Address,
    /// The number of the address.
    number: usize,
    began: Instant,
}

/// The result of one attempt. If the server answered it: a complete body, or the reply of a call without one.
type HttpAttempt = Attempt<Result<ResponseBody, Reply>>;

/// A longer body is cut off, and the call counts as failed.
pub const BODY_BYTES_MAX: usize = 4 << 20;

impl Endpoint {
    /// An endpoint at the addresses of the job. `complete` adds the rest of the path to an address. Reads API keys
    /// from the environment.
    pub(crate) fn new(
        keys: EndpointKeys<'_>,
        complete: impl Fn(Url) -> Result<Url, KeyProblem>,
        timeout: Duration,
    ) -> Result<Self, Vec<KeyProblem>> {
        let mut problems = Vec::new();
        let written = address::read(keys, complete).unwrap_or_else(|more| {
            problems.extend(more);
            Vec::new()
        });
        let mut secrets = Secrets::default();
        let mut headers = secrets::headers(keys, &mut secrets, &mut problems);
        let headers_shown = secrets::shown(&headers);
        let void_status = collect(VoidStatus::new(keys.void_status), &mut problems);
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        let malformed = secrets::add_from_proxies(&mut secrets);
        if let Some(name) = malformed
            && written.iter().any(|written| !is_this_machine(&written.url))
        {
            problems.push(KeyProblem::new(
                "url",
                format!("the environment variable {name} is not the address of a proxy, such as http://host:3128"),
            ));
        }
        written.iter().for_each(|written| add_from_url(&mut secrets, &written.url));
        let mut addresses = Vec::with_capacity(written.len());
        for written in &written {
            let address = Address::new(written, headers.clone(), timeout, &secrets);
            addresses.extend(collect(address.map_err(|it| written.problem(it)), &mut problems));
        }
        let key_from = keys.api_key_env.map(str::to_owned);
        match void_status {
            Some(void_status) if problems.is_empty() => {
                let warning = address::exposed_key(keys, &written);
                Ok(Self {
                    addresses,
                    timeout,
                    key_from,
                    headers_shown,
                    void_status,
                    stated_usage: keys.stated_usage,
                    secrets: Arc::new(secrets),
                    warning,
                })
            }
            _ => Err(problems),
        }
    }

    /// The first addresses as the job has them, without secrets. `line` makes the line for each.
    pub(crate) fn shown(&self, line: impl Fn(&str) -> String) -> String {
        let first = self.addresses.iter().take(SHOWN_MAX);
        let mut lines: Vec<String> = first.map(|address| line(&address.shown)).collect();
        let more = self.addresses.len() - lines.len();
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines.join("\n")
    }

    /// The addresses without secrets; empty if there is only one.
    fn fleet(&self) -> Vec<String> {
        let all = self.addresses.iter().map(|address| address.shown.clone());
        if self.addresses.len() > 1 { all.collect() } else { Vec::new() }
    }

    /// Facts about a service at this endpoint.
    pub(crate) fn manifest(&self) -> Manifest {
        Manifest {
            extent: Extent { timeout: self.timeout, ..Extent::default() },
            addresses: self.fleet(),
            void_status: self.void_status.listed().to_vec(),
            files_per_request: 1,
            secrets: Some(Arc::clone(&self.secrets)),
            warning: self.warning.clone(),
            ..Manifest::default()
        }
    }

    /// Posts a JSON body when the throttle permits, and again as long as the server began no work. `read` interprets
    /// the body of a response. The error is the reply of a call without a complete body, without a status of success,
    /// or with a body that cannot be read: an address that sends several of these in a row is paused.
    pub(crate) async fn post<T>(
        &self,
        throttle: &Throttle,
        body: &str,
        read: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Result<(T, ResponseBody), Reply> {
        let attempt = async |number| match self.attempt(throttle, number, body).await {
            Attempt::Answered(Ok(received)) => match read(&received.body) {
                Ok(value) => Attempt::Answered(Ok((value, received))),
                Err(reason) => Attempt::Broke(self.unreadable(&received, reason)),
            },
            Attempt::Answered(Err(reply)) => Attempt::Answered(Err(reply)),
            Attempt::Broke(reply) => Attempt::Broke(reply),
            Attempt::Mistrusted(reply) => Attempt::Mistrusted(reply),
            Attempt::Hopeless { reason } => Attempt::Hopeless { reason },
            Attempt::Void { failure, retry_after, reason } => {
                Attempt::Void { failure, retry_after, reason }
            }
        };
        attempts_at(throttle, attempt).await?
    }

    /// The reply of a call whose response cannot be read.
    pub(crate) fn unreadable(&self, received: &ResponseBody, reason: String) -> Reply {
        let usage = Usage { worked: received.worked, ..Usage::default() };
        let reason = self.reason_at(received.address, self.clean(reason));
        let text = self.clean(String::from_utf8_lossy(&received.body).into_owned());
        let failed = Reply::failed(CountedFailure::Unreadable, reason);
        Reply { usage, text, contact: Contact::Nothing, ..failed }
    }

    /// Adds the host to a reason if there are several addresses.
    pub(crate) fn reason_at(&self, address: usize, reason: String) -> String {
        let host = &self.address(address).host;
        if self.addresses.len() == 1 || reason.contains(host) {
            return reason;
        }
        format!("{host}: {reason}")
    }

    /// The address with this number; the last one if the throttle has more addresses.
    fn address(&self, number: usize) -> &Address {
        &self.addresses[number.min(self.addresses.len() - 1)]
    }

    /// The exact request to the first address, without secrets.
    pub(crate) fn request(&self, body: &str) -> String {
        self.request_to(self.address(0), body)
    }

    fn request_to(&self, address: &Address, body: &str) -> String {
        self.clean(format!("POST {}\n{}{body}", address.target, self.headers_shown))
    }

    /// What an attempt received, or why it received nothing.
    fn received(&self, attempt: &HttpAttempt) -> String {
        match attempt {
            Attempt::Answered(Ok(response)) => String::from_utf8_lossy(&response.body).into_owned(),
            Attempt::Answered(Err(reply)) => reply.text.clone(),
            Attempt::Broke(reply) | Attempt::Mistrusted(reply) => reason_of(reply).to_owned(),
            Attempt::Void { reason, .. } | Attempt::Hopeless { reason } => reason.clone(),
        }
    }

    /// A text without secrets, cut to the length that is kept.
    pub(crate) fn clean(&self, text: String) -> String {
        shorten(self.secrets.remove(text))
    }

    /// A text without secrets, at its full length.
    pub(crate) fn unsecret(&self, text: String) -> String {
        self.secrets.remove(text)
    }

    /// Makes one attempt at the address with this number.
    async fn attempt(&self, throttle: &Throttle, number: usize, body: &str) -> HttpAttempt {
        let sent = SentRequest { address: self.address(number), number, began: Instant::now() };
        let mut refusal = String::new();
        // Connecting has a shorter timeout, so a request that reaches this one has been sent.
        let exchange = self.exchange(&sent, body, &mut refusal);
        let attempt = match tokio::time::timeout(self.timeout, exchange).await {
            Ok(attempt) => attempt,
            Err(_) => {
                let reason = format!("no reply within {} s", self.timeout.as_secs_f64());
                self.broken(&sent, CountedFailure::TimedOut, reason)
            }
        };
        throttle.transcript().note(|| {
            let received = if refusal.is_empty() { self.received(&attempt) } else { refusal };
            let sent = self.request_to(sent.address, body);
            transcript::Exchange { sent, received: self.clean(received) }
        });
        attempt
    }

    /// Sends the request. A status without success, and its body, are written to `refusal`.
    async fn exchange(
        &self,
        sent: &SentRequest<'_>,
        body: &str,
        refusal: &mut String,
    ) -> HttpAttempt {
        let response = match sent.address.transport.post(body).await {
            Ok(response) => response,
            Err(error) => return self.unanswered(sent, error),
        };
        if !response.status().is_success() {
            return self.refused(sent, response, refusal).await;
        }
        let reason = match body_of(response, BODY_BYTES_MAX).await {
            Ok(body) => {
                let (worked, address) = (sent.began.elapsed(), sent.number);
                return Attempt::Answered(Ok(ResponseBody { body, worked, address }));
            }
            Err(BodyError::TooLong) => format!("the reply is longer than {BODY_BYTES_MAX} bytes"),
            Err(BodyError::Broken(cause)) => format!("the reply was cut off: {cause}"),
        };
        self.broken(sent, CountedFailure::Truncated, reason)
    }

    /// The attempt of a request after which the server may have begun to work, but sent no usable reply.
    fn broken(
        &self,
        sent: &SentRequest<'_>,
        failure: CountedFailure,
        reason: String,
    ) -> HttpAttempt {
        Attempt::Broke(self.failed(sent, failure, reason))
    }

    fn failed(&self, sent: &SentRequest<'_>, failure: CountedFailure, reason: String) -> Reply {
        let usage = Usage { worked: sent.began.elapsed(), ..Usage::default() };
        let failed = Reply::failed(failure, self.reason_at(sent.number, reason));
        Reply { usage, contact: Contact::Nothing, ..failed }
    }

    /// The attempt of a request that got no response.
    fn unanswered(&self, sent: &SentRequest<'_>, error: SendError) -> HttpAttempt {
        let host = &sent.address.host;
        match error {
            SendError::NotConnected(cause) => {
                let hint = if cause.contains("Too many open files") {
                    "; more need a higher limit (ulimit -n), or lower concurrency"
                } else {
                    ""
                };
                let reason = format!("cannot connect to {host}: {cause}{hint}");
                Attempt::Void {
                    failure: VoidFailure::NotConnected,
                    retry_after: None,
                    reason: self.secrets.remove(reason),
                }
            }
            // The request may have arrived, so this counts and is not sent again.
            SendError::NoResponse(cause) => {
                let reason = self.secrets.remove(format!("{host} gave no reply: {cause}"));
                self.broken(sent, CountedFailure::Crashed, reason)
            }
        }
    }

    /// The attempt of a request that got a response without a status of success.
    async fn refused(
        &self,
        sent: &SentRequest<'_>,
        response: Response,
        refusal: &mut String,
    ) -> HttpAttempt {
        let status = response.status();
        let retry_after = retry_after::read(response.headers());
        let body = body_of(response, ERROR_BYTES_MAX).await;
        let shown = body.as_deref().unwrap_or_default();
        let text = self.clean(String::from_utf8_lossy(shown).into_owned());
        *refusal = format!("{}\n{text}", status.as_u16());
        let mut reason = match in_short(&text) {
            said if said.is_empty() => status.as_u16().to_string(),
            said => format!("{}: {said}", status.as_u16()),
        };
        reason += &match status.as_u16() {
            404 => format!(" (there is nothing at {}: is `url` right?)", sent.address.target),
            code @ (500 | 502 | 503 | 504 | 529) if !self.void_status.listed().contains(&code) => {
                format!(" (if that never depends on the answer: void_status = [{code}])")
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
        let reason = self.reason_at(sent.number, reason);
        if let Some(failure) = self.void_status.failure(status.as_u16(), retry_after, shown) {
            let reason = retry_after::noted(reason, retry_after);
            // `Some`, because the server is up and announces that it will be back.
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
                let failed = self.failed(sent, failure, reason);
                let worked = failed.usage.worked;
                // An error uses nothing, as far as it does not say otherwise.
                let usage = match &body {
                    Ok(body) => (self.stated_usage)(body).unwrap_or(NOTHING),
                    Err(_) => Usage::default(),
                };
                let usage = Usage { worked, ..usage };
                let delivery = Delivery { status: Some(code), ..Delivery::default() };
                let reply = Reply { text, usage, delivery, contact: Contact::Error, ..failed };
                if is_about_the_request(status) {
                    Attempt::Answered(Err(reply))
                } else {
                    Attempt::Broke(reply)
                }
            }
        }
    }
}

/// Shows the hosts and no secret.
impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<&str> = self.addresses.iter().map(|it| it.host.as_str()).collect();
        formatter.debug_struct("Endpoint").field("hosts", &hosts).finish_non_exhaustive()
    }
}

/// Whether this status means that the server works, and that the request is bad, too long or filtered.
const fn is_about_the_request(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 413 | 422 | 451)
}

/// The most addresses that are shown.
const SHOWN_MAX: usize = 4;
/// The most bytes that are read of the body of an error.
const ERROR_BYTES_MAX: usize = 64 << 10;
