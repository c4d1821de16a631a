//! How bytes get to a server and back: in the clear over connections of our own, which takes a
//! fraction of the work of a full client, or else by one that knows encryption and proxies.

mod direct;

use std::error::Error;
use std::sync::Once;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Body, Client, Method, Request, Response, StatusCode, Url, redirect, retry};

use self::direct::{Direct, DirectAnswer};
use crate::verifier::problem::Problem as Wrong;

/// A way to one address.
pub(super) enum Transport {
    Direct(Direct),
    Full { client: Client, url: Url, headers: HeaderMap },
}

/// A response of which only the head has been read.
pub(super) enum Answer {
    Direct(DirectAnswer),
    Full(Response),
}

/// Why there is no response.
pub(super) enum Unanswered {
    /// No byte of the request was sent.
    NotConnected(String),
    /// Some may have arrived.
    NoReply(String),
}

/// Why there is no whole body.
pub(super) enum Cut {
    TooLong,
    Broken(String),
}

impl Transport {
    pub(super) fn new(url: Url, headers: HeaderMap, timeout: Duration) -> Result<Self, Wrong> {
        // So that a timeout of the whole always means that the request was sent.
        let connect_timeout = CONNECT_MAX.min(timeout / 2);
        if is_direct(&url) {
            return Direct::new(&url, headers, connect_timeout).map(Self::Direct);
        }
        let client = client(&url, connect_timeout)?;
        Ok(Self::Full { client, url, headers })
    }

    /// Posts a body once.
    pub(super) async fn post(&self, body: &str) -> Result<Answer, Unanswered> {
        match self {
            Self::Direct(direct) => direct.post(body).await.map(Answer::Direct),
            Self::Full { client, url, headers } => {
                let mut request = Request::new(Method::POST, url.clone());
                *request.headers_mut() = headers.clone();
                *request.body_mut() = Some(Body::from(body.to_owned()));
                // In a box, as whoever goes directly has no need of so much room.
                let response = Box::pin(client.execute(request)).await;
                response.map(Answer::Full).map_err(|error| {
                    let cause = innermost(&error);
                    if error.is_connect() || error.is_builder() {
                        Unanswered::NotConnected(cause)
                    } else {
                        Unanswered::NoReply(cause)
                    }
                })
            }
        }
    }
}

impl Answer {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Direct(answer) => answer.status(),
            Self::Full(response) => response.status(),
        }
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        match self {
            Self::Direct(answer) => answer.headers(),
            Self::Full(response) => response.headers(),
        }
    }

    /// The whole body, unless it is longer than this.
    pub(super) async fn body(self, bytes_max: usize) -> Result<Vec<u8>, Cut> {
        match self {
            Self::Direct(answer) => answer.body(bytes_max).await,
            Self::Full(response) => Box::pin(whole_body(response, bytes_max)).await,
        }
    }
}

async fn whole_body(mut response: Response, bytes_max: usize) -> Result<Vec<u8>, Cut> {
    let mut body = Bounded::new(response.content_length(), bytes_max)?;
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => body.push(&chunk)?,
            Ok(None) => return Ok(body.bytes),
            Err(error) => return Err(Cut::Broken(innermost(&error))),
        }
    }
}

/// A body that is being read.
struct Bounded {
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl Bounded {
    /// Makes room for what was announced.
    fn new(announced: Option<u64>, bytes_max: usize) -> Result<Self, Cut> {
        let announced = usize::try_from(announced.unwrap_or(0)).unwrap_or(usize::MAX);
        if announced > bytes_max {
            return Err(Cut::TooLong);
        }
        Ok(Self { bytes: Vec::with_capacity(announced), bytes_max })
    }

    fn push(&mut self, chunk: &[u8]) -> Result<(), Cut> {
        if self.bytes.len() + chunk.len() > self.bytes_max {
            return Err(Cut::TooLong);
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }
}

/// Nothing to encrypt, nobody to log in, and no proxy in between.
fn is_direct(url: &Url) -> bool {
    let has_login = !url.username().is_empty() || url.password().is_some();
    let has_proxy = || {
        ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    };
    url.scheme() == "http" && !has_login && (is_loopback(url) || !has_proxy())
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "localhost" || host.starts_with("127.") || host == "[::1]"
}

fn client(url: &Url, connect_timeout: Duration) -> Result<Client, Wrong> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Another part of the process may have installed one, which is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .tcp_nodelay(true)
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE_MAX);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // Nothing to verify, so a machine without certificates will do.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| Wrong::new("url", innermost(&error)))
}

/// The cause below all layers. The layers above may show the address, in which a key may be.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        Some(_) => "the request failed".into(),
        None => cause.to_string(),
    }
}

const USER_AGENT: &str = concat!("goodarm/", env!("CARGO_PKG_VERSION"));
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Shorter than what servers keep idle connections for, so that few requests meet a closing one.
const IDLE_MAX: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
