//! One POST, and what its fate means: what `http` and `llm` share.
//!
//! A request that may have reached the server is never sent again. The only silent retry that is
//! left below us is of a request of which no byte was written, because its pooled connection turned
//! out to be closed.

mod retry_after;
mod secrets;
mod transport;

use std::fmt;
use std::time::Duration;

use goodarm_core::{CountedFailure, VoidFailure};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{StatusCode, Url};
use tokio::time::Instant;

use self::secrets::Secrets;
use self::transport::{Answer, Cut, Transport, Unanswered};
use super::score::{NOTHING, in_short, shorten};
use super::wrong::{Wrong, sort_out};
use super::{BODY_BYTES_MAX, Reply, Usage};
use crate::job_file::VerifierFile;
use crate::line::{Line, Stopping, Turn};

/// An address with everything that does not change from call to call.
pub(crate) struct Wire {
    transport: Box<Transport>,
    /// The server's name, and its port if it has an unusual one.
    host: String,
    timeout: Duration,
    /// The environment variable that holds the key.
    key_from: Option<String>,
    secrets: Secrets,
}

/// A whole body that came with a status of success.
pub(crate) struct Received {
    pub(crate) body: Vec<u8>,
    /// From the request to the last byte.
    pub(crate) worked: Duration,
}

/// What became of one attempt.
enum Attempt {
    Received(Vec<u8>),
    /// No work was begun.
    Void {
        failure: VoidFailure,
        retry_after: Option<Duration>,
        reason: String,
    },
    /// It counts.
    Failed {
        failure: CountedFailure,
        reason: String,
        text: String,
        blame: Blame,
    },
}

/// Whether a failure says something about the server or about the request.
#[derive(Clone, Copy)]
enum Blame {
    Server,
    Request,
}

impl Wire {
    /// A wire to `url`.
    pub(crate) fn new(file: &VerifierFile, url: Result<Url, Wrong>) -> Result<Self, Vec<Wrong>> {
        let mut wrongs = Vec::new();
        let url = sort_out(url, &mut wrongs);
        let timeout = sort_out(timeout_of(file), &mut wrongs);
        let mut secrets = Secrets::default();
        let mut headers = secrets::headers(file, &mut secrets, &mut wrongs);
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        let (Some(url), Some(timeout)) = (url, timeout) else { return Err(wrongs) };
        secrets.add_from_url(&url);
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let transport = sort_out(Transport::new(url, headers, timeout), &mut wrongs);
        let key_from = file.api_key_env.clone();
        match transport {
            Some(transport) if wrongs.is_empty() => {
                Ok(Self { transport: Box::new(transport), host, timeout, key_from, secrets })
            }
            _ => Err(wrongs),
        }
    }

    /// Posts a JSON body when the line lets it, again as long as no work was begun. What is not a
    /// whole body with a status of success is the call's reply already.
    pub(crate) async fn post(&self, line: &Line, body: &str) -> Result<Received, Reply> {
        let mut attempts = 0;
        loop {
            let turn = match line.turn().await {
                Ok(turn) => turn,
                Err(Stopping) => return Err(Reply::void(VoidFailure::NotConnected)),
            };
            let began = Instant::now();
            let attempt = self.attempt(body).await;
            let worked = began.elapsed();
            match attempt {
                Attempt::Received(body) => {
                    turn.answered();
                    return Ok(Received { body, worked });
                }
                Attempt::Void { failure, retry_after, reason } => {
                    attempts += 1;
                    turn.refused(failure, retry_after, reason.clone());
                    if line.is_given_up(attempts) {
                        let reason = format!("given up after {attempts} attempts: {reason}");
                        let failed = Reply::failed(CountedFailure::GivenUp, reason);
                        return Err(Reply { usage: NOTHING, ..failed });
                    }
                }
                Attempt::Failed { failure, reason, text, blame } => {
                    blame.tell(turn, &reason);
                    let usage = Usage { worked, ..Usage::default() };
                    return Err(Reply { usage, text, ..Reply::failed(failure, reason) });
                }
            }
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

    async fn attempt(&self, body: &str) -> Attempt {
        // Connecting has a shorter limit of its own, so what is cut off here has been sent.
        match tokio::time::timeout(self.timeout, self.exchange(body)).await {
            Ok(attempt) => attempt,
            Err(_) => Attempt::broken(
                CountedFailure::TimedOut,
                format!("no reply within {} s", self.timeout.as_secs_f64()),
            ),
        }
    }

    async fn exchange(&self, body: &str) -> Attempt {
        let answer = match self.transport.post(body).await {
            Ok(answer) => answer,
            Err(unanswered) => return self.unanswered(unanswered),
        };
        if !answer.status().is_success() {
            return self.refused(answer).await;
        }
        match answer.body(BODY_BYTES_MAX).await {
            Ok(body) => Attempt::Received(body),
            Err(Cut::TooLong) => Attempt::broken(
                CountedFailure::Truncated,
                format!("the reply is longer than {BODY_BYTES_MAX} bytes"),
            ),
            Err(Cut::Broken(cause)) => Attempt::broken(
                CountedFailure::Truncated,
                format!("the reply was cut off: {cause}"),
            ),
        }
    }

    /// There is no response at all.
    fn unanswered(&self, unanswered: Unanswered) -> Attempt {
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
                Attempt::broken(CountedFailure::Crashed, reason)
            }
        }
    }

    /// There is a response, without success.
    async fn refused(&self, answer: Answer) -> Attempt {
        let status = answer.status();
        let retry_after = retry_after::read(answer.headers());
        let body = answer.body(ERROR_BYTES_MAX).await.unwrap_or_default();
        let text = self.clean(String::from_utf8_lossy(&body).into_owned());
        let reason = match in_short(&text) {
            said if said.is_empty() => status.as_u16().to_string(),
            said => format!("{}: {said}", status.as_u16()),
        };
        match status.as_u16() {
            429 => Attempt::Void { failure: VoidFailure::RateLimited, retry_after, reason },
            401 => Attempt::Void {
                failure: VoidFailure::NotConnected,
                retry_after,
                reason: match &self.key_from {
                    Some(name) => format!("401: the key was refused (from {name})"),
                    None => "401: a key is needed: name its variable in api_key_env".into(),
                },
            },
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
                Attempt::Failed { failure, reason, text, blame: Blame::of(status) }
            }
        }
    }
}

/// Says where to, and no secret.
impl fmt::Debug for Wire {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Wire").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Attempt {
    const fn broken(failure: CountedFailure, reason: String) -> Self {
        Self::Failed { failure, reason, text: String::new(), blame: Blame::Server }
    }
}

impl Blame {
    /// Bad requests, long ones and filtered ones depend on the answer; the server is well.
    const fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            400 | 413 | 422 | 451 => Self::Request,
            _ => Self::Server,
        }
    }

    fn tell(self, turn: Turn<'_>, reason: &str) {
        match self {
            Self::Server => turn.broke(reason),
            Self::Request => turn.answered(),
        }
    }
}

/// Seconds until a call counts as failed.
pub(crate) fn timeout_of(file: &VerifierFile) -> Result<Duration, Wrong> {
    let seconds = file.timeout.unwrap_or(TIMEOUT_SECONDS);
    let wrong = || Wrong::new("timeout", format!("{seconds} is no number of seconds above 0"));
    if seconds <= 0.0 {
        return Err(wrong());
    }
    let timeout = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    Ok(timeout.clamp(Duration::from_millis(1), TIMEOUT_MAX))
}

/// An address to POST to.
pub(crate) fn url_of(file: &VerifierFile) -> Result<Url, Wrong> {
    let url = file.url.as_deref().ok_or_else(|| Wrong::new("url", "an address is needed"))?;
    let url = Url::parse(url).map_err(|error| Wrong::new("url", error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(Wrong::new("url", "an address that begins with http:// or https:// is needed"));
    }
    Ok(url)
}

const TIMEOUT_SECONDS: f64 = 60.0;
/// Longer waits are not waited.
const TIMEOUT_MAX: Duration = Duration::from_secs(86_400);
/// So much of an error's body is read.
const ERROR_BYTES_MAX: usize = 64 << 10;
