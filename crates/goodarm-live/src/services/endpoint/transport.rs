//! How bytes get to a server and back: without encryption over connections that the calls themselves
//! run, which takes a fraction of the work of a full client, or else by one that knows encryption and
//! proxies. Both are hyper's below.

mod plain;

use std::error::Error;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Once;
use std::time::Duration;

use goodarm_data::problem::KeyProblem;
use goodarm_record::reply::ServiceWarning;
use http_body_util::BodyExt;
use hyper::body::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, Request, StatusCode, Url, redirect, retry};
use tokio::sync::{Semaphore, SemaphorePermit};

use self::plain::{Plain, PlainBody};

/// A way to one address.
pub(super) enum Transport {
    Plain(Plain),
    Full { client: Client, url: Url, headers: HeaderMap },
}

/// A response of which only the head has been read.
pub(super) struct Answer(hyper::Response<Body>);

enum Body {
    Plain(PlainBody),
    Full(reqwest::Body),
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
    pub(super) fn new(url: Url, headers: HeaderMap, timeout: Duration) -> Result<Self, KeyProblem> {
        // So that a timeout of the whole always means that the request was sent.
        let connect_timeout = CONNECT_MAX.min(timeout / 2);
        if is_plain(&url) {
            return Plain::new(&url, headers, connect_timeout).map(Self::Plain);
        }
        let client = client(&url, connect_timeout)?;
        Ok(Self::Full { client, url, headers })
    }

    /// Of a server that spoke when no call was made. A full client closes such a connection, too, but
    /// does not say so.
    pub(super) fn warning(&self, host: &str) -> Option<ServiceWarning> {
        let Self::Plain(plain) = self else { return None };
        plain.has_spoken_unasked().then(|| ServiceWarning {
            weakens_promise: true,
            text: format!(
                "{host} sent a reply that no call had asked for, so that another one may have been taken for the answer to a call. The connection was closed."
            ),
        })
    }

    /// Posts a body once.
    pub(super) async fn post(&self, body: &str) -> Result<Answer, Unanswered> {
        let (client, url, headers) = match self {
            Self::Plain(plain) => return plain.post(body).await,
            Self::Full { client, url, headers } => (client, url, headers),
        };
        let mut request = Request::new(Method::POST, url.clone());
        *request.headers_mut() = headers.clone();
        *request.body_mut() = Some(body.to_owned().into());
        // In a box, as a plain call does not need so much room.
        match Box::pin(client.execute(request)).await {
            Ok(response) => Ok(Answer(hyper::Response::from(response).map(Body::Full))),
            Err(error) if error.is_connect() || error.is_builder() => {
                Err(Unanswered::NotConnected(innermost(&error)))
            }
            Err(error) => Err(Unanswered::NoReply(innermost(&error))),
        }
    }
}

impl Answer {
    pub(super) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// The whole body, unless it is longer than this.
    pub(super) async fn body(self, bytes_max: usize) -> Result<Vec<u8>, Cut> {
        match self.0.into_body() {
            Body::Plain(body) => body.whole(bytes_max).await,
            Body::Full(body) => Box::pin(whole(body, bytes_max)).await,
        }
    }
}

async fn whole<B>(body: B, bytes_max: usize) -> Result<Vec<u8>, Cut>
where
    B: hyper::body::Body<Data = Bytes, Error: Error + 'static>,
{
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > bytes_max {
        return Err(Cut::TooLong);
    }
    let mut room = None;
    if announced > SHORT_BYTES {
        room = Some(room_for(announced).await);
    }
    let mut bytes = Vec::with_capacity(announced);
    let mut body = pin!(body);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Cut::Broken(innermost(&error)))?;
        // What is not data is headers behind the body, which no one reads.
        let chunk = frame.into_data().unwrap_or_default();
        if bytes.len() + chunk.len() > bytes_max {
            return Err(Cut::TooLong);
        }
        // For all that may come, at once: calls that each held a part of what they need would wait for
        // each other.
        if bytes.len() + chunk.len() > SHORT_BYTES && room.is_none() {
            room = Some(room_for(bytes_max).await);
        }
        bytes.extend_from_slice(&chunk);
    }
    // Whoever asked goes on at once, and keeps little of it.
    drop(room);
    Ok(bytes)
}

/// Waits for room for one long reply. What there is is for all calls of the process: thousands of them,
/// each with the longest reply that there may be, would take more memory than there is.
async fn room_for(bytes: usize) -> SemaphorePermit<'static> {
    let units = bytes.div_ceil(ROOM_UNIT).min(ROOM_BYTES / ROOM_UNIT);
    let units = u32::try_from(units).unwrap_or(u32::MAX);
    ROOM.acquire_many(units).await.expect("no one closes it")
}

static ROOM: Semaphore = Semaphore::const_new(ROOM_BYTES / ROOM_UNIT);
/// Bytes of replies in memory at once, beside the first ones of each.
const ROOM_BYTES: usize = 512 << 20;
const ROOM_UNIT: usize = 1 << 10;
/// So much of each reply needs no room.
const SHORT_BYTES: usize = 16 << 10;
/// So much of a connection is read ahead; a response whose head is longer is refused.
const READ_AHEAD_BYTES: usize = 64 << 10;

/// Nothing to encrypt, no proxy in between, and an address of some machine.
fn is_plain(url: &Url) -> bool {
    let has_proxy = || {
        ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    };
    let names_none = address_of(url).is_some_and(|address| address.is_unspecified());
    url.scheme() == "http" && !names_none && (is_loopback(url) || !has_proxy())
}

/// Whether an address is this machine; a name that only begins like one is anyone's.
pub(super) fn is_loopback(url: &Url) -> bool {
    let is_own = address_of(url).is_some_and(|address| address.is_loopback());
    is_own || url.host_str() == Some("localhost")
}

/// The address of a machine that stands in place of its name.
fn address_of(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_matches(['[', ']']).parse().ok()
}

fn client(url: &Url, connect_timeout: Duration) -> Result<Client, KeyProblem> {
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
    builder.build().map_err(|error| KeyProblem::new("url", innermost(&error)))
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
