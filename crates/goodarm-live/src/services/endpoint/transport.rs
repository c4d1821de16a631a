//! Sends HTTP requests and reads responses, with the client of reqwest.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Once;
use std::time::Duration;

use goodarm_data::problem::KeyProblem;
use reqwest::header::{CONNECTION, HeaderMap, HeaderValue};
use reqwest::{Client, Method, Request, Response, Url, redirect, retry};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Posts to one address, over connections of its own.
pub(super) struct Transport {
    client: Client,
    url: Url,
    headers: HeaderMap,
}

/// Why there is no response.
pub(super) enum SendError {
    /// No byte of the request was sent.
    NotConnected(String),
    /// The server may have received a part of the request.
    NoResponse(String),
}

/// Why there is no complete body.
pub(super) enum BodyError {
    TooLong,
    Broken(String),
}

impl Transport {
    pub(super) fn new(
        url: Url,
        mut headers: HeaderMap,
        timeout: Duration,
    ) -> Result<Self, KeyProblem> {
        // One connection for each request, unless the job asks for "keep-alive": a second reply to one request,
        // sent while the next one is in flight, would be taken for the reply about another answer.
        if url.scheme() == "http" {
            headers.entry(CONNECTION).or_insert(HeaderValue::from_static("close"));
        }
        // Connecting has less time than the whole call, so a timeout of the call means that the request was sent.
        let client = client(&url, CONNECT_MAX.min(timeout / 2))?;
        Ok(Self { client, url, headers })
    }

    /// Posts a body once.
    pub(super) async fn post(&self, body: &str) -> Result<Response, SendError> {
        let mut request = Request::new(Method::POST, self.url.clone());
        *request.headers_mut() = self.headers.clone();
        *request.body_mut() = Some(body.to_owned().into());
        // A reused connection on which the server has sent something is closed as soon as its task runs. Without
        // this yield the request could be written first, and those bytes would be taken for its response.
        tokio::task::yield_now().await;
        // Boxed, because otherwise the task of each call in flight would be several kilobytes larger.
        Box::pin(self.client.execute(request)).await.map_err(|error| {
            if error.is_connect() || error.is_builder() {
                SendError::NotConnected(innermost(&error))
            } else {
                SendError::NoResponse(innermost(&error))
            }
        })
    }
}

/// The complete body of a response, unless it is longer than `bytes_max`.
pub(super) async fn body_of(
    mut response: Response,
    bytes_max: usize,
) -> Result<Vec<u8>, BodyError> {
    let announced = response.content_length().unwrap_or(0);
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    if announced > bytes_max {
        return Err(BodyError::TooLong);
    }
    let mut room = None;
    if announced > SHORT_BYTES {
        room = Some(room_for(announced).await);
    }
    let mut bytes = Vec::with_capacity(announced);
    loop {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|error| BodyError::Broken(innermost(&error)))?;
        let Some(chunk) = chunk else { break };
        if bytes.len() + chunk.len() > bytes_max {
            return Err(BodyError::TooLong);
        }
        // Room for the longest possible body at once: calls that each held a part of what they need would
        // wait for each other.
        if bytes.len() + chunk.len() > SHORT_BYTES && room.is_none() {
            room = Some(room_for(bytes_max).await);
        }
        bytes.extend_from_slice(&chunk);
    }
    // The room is free again, because the caller reads the body at once and keeps little of it.
    drop(room);
    Ok(bytes)
}

/// Waits for room for one long body. All calls of the process share it: thousands of calls with the longest
/// possible bodies would need more memory than a machine has.
async fn room_for(bytes: usize) -> SemaphorePermit<'static> {
    let units = bytes.div_ceil(ROOM_UNIT).min(ROOM_BYTES / ROOM_UNIT);
    let units = u32::try_from(units).unwrap_or(u32::MAX);
    ROOM.acquire_many(units).await.expect("it is never closed")
}

static ROOM: Semaphore = Semaphore::const_new(ROOM_BYTES / ROOM_UNIT);
/// The most bytes of bodies in memory at once, not counting the first [`SHORT_BYTES`] of each.
const ROOM_BYTES: usize = 512 << 20;
const ROOM_UNIT: usize = 1 << 10;
/// The first bytes of each body that need no room.
const SHORT_BYTES: usize = 16 << 10;

/// Whether a URL names this machine, also as `0.0.0.0`, `localhost.` or an IPv4 address in IPv6. A host that only begins
/// like a local address is not local.
pub(super) fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>().map(|it| it.to_canonical());
    matches!(host, "localhost" | "localhost.")
        || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}

fn client(url: &Url, connect_timeout: Duration) -> Result<Client, KeyProblem> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Fails if another part of the process has installed a provider, which serves as well.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .tcp_nodelay(true)
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE_MAX);
    if is_this_machine(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // Plain HTTP verifies no certificates, so the client also works on a machine that has none.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| KeyProblem::new("url", innermost(&error)))
}

/// The innermost cause. The layers above it may show the URL, which may contain a key.
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
/// How long an idle connection is kept. This is shorter than the keep-alive of common servers, so that few requests
/// meet a closing connection.
const IDLE_MAX: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests;
