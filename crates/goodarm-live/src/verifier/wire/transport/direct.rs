//! HTTP/1.1 in the clear, one request at a time on each connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use reqwest::header::{ACCEPT, HOST, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::{Method, StatusCode, Url};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::{Bounded, Cut, IDLE_MAX, Unanswered, innermost};
use crate::verifier::wrong::Wrong;

type Request = hyper::Request<Full<Bytes>>;

/// Connections to one address.
pub(in super::super) struct Direct {
    host: String,
    port: u16,
    path: hyper::Uri,
    headers: HeaderMap,
    connect_timeout: Duration,
    idle: Arc<Idle>,
}

/// Connections that wait for a request, the one used last on top.
#[derive(Default)]
struct Idle(Mutex<Vec<(SendRequest<Full<Bytes>>, Instant)>>);

/// A response, and the connection on which it comes.
pub(in super::super) struct DirectAnswer {
    response: hyper::Response<Incoming>,
    connection: SendRequest<Full<Bytes>>,
    idle: Arc<Idle>,
}

impl Direct {
    pub(super) fn new(
        url: &Url,
        mut headers: HeaderMap,
        connect_timeout: Duration,
    ) -> Result<Self, Wrong> {
        let wrong = |problem: &str| Wrong::new("url", problem);
        let host = url.host_str().ok_or_else(|| wrong("a host is needed"))?;
        let port = url.port_or_known_default().ok_or_else(|| wrong("a port is needed"))?;
        let named = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let named = HeaderValue::try_from(named).map_err(|_| wrong("a host is needed"))?;
        headers.entry(HOST).or_insert(named);
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(super::USER_AGENT));
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        let path = format!("{}{query}", url.path());
        let path = path.parse().map_err(|_| wrong("a path that can be sent is needed"))?;
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port, path, headers, connect_timeout, idle: Arc::default() })
    }

    /// Posts a body once. Only a request of which nothing was written goes to another connection.
    pub(super) async fn post(&self, body: &str) -> Result<DirectAnswer, Unanswered> {
        let mut request = Request::new(Full::from(body.to_owned()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = self.headers.clone();
        loop {
            let (mut connection, is_used) = match self.idle.take() {
                Some(connection) => (connection, true),
                None => (self.connect().await?, false),
            };
            if connection.ready().await.is_err() && is_used {
                continue;
            }
            match connection.try_send_request(request).await {
                Ok(response) => {
                    let idle = Arc::clone(&self.idle);
                    return Ok(DirectAnswer { response, connection, idle });
                }
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) if is_used => request = unsent,
                    Some(_) => {
                        let cause = "it closed the connection at once".to_owned();
                        return Err(Unanswered::NotConnected(cause));
                    }
                    None => return Err(Unanswered::NoReply(innermost(failed.error()))),
                },
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Unanswered> {
        let address = (self.host.as_str(), self.port);
        let stream =
            match tokio::time::timeout(self.connect_timeout, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => return Err(Unanswered::NotConnected(error.to_string())),
                Err(_) => return Err(Unanswered::NotConnected("it took too long".into())),
            };
        // Without it requests only wait longer.
        drop(stream.set_nodelay(true));
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Unanswered::NotConnected(innermost(&error)))?;
        // It ends with the server's or with our last interest in it; what is wrong with it is told
        // to the request.
        tokio::spawn(connection);
        Ok(sender)
    }
}

impl DirectAnswer {
    pub(super) fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The whole body; only after that the connection can take another request.
    pub(super) async fn body(self, bytes_max: usize) -> Result<Vec<u8>, Cut> {
        let Self { response, connection, idle } = self;
        let mut incoming = response.into_body();
        let mut body = Bounded::new(incoming.size_hint().exact(), bytes_max)?;
        while let Some(frame) = incoming.frame().await {
            let frame = frame.map_err(|error| Cut::Broken(innermost(&error)))?;
            if let Some(chunk) = frame.data_ref() {
                body.push(chunk)?;
            }
        }
        idle.give_back(connection);
        Ok(body.bytes)
    }
}

impl Idle {
    fn take(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.lock();
        let (connection, since) = idle.pop()?;
        if since.elapsed() > IDLE_MAX {
            // Those below have waited even longer.
            idle.clear();
            return None;
        }
        Some(connection)
    }

    fn give_back(&self, connection: SendRequest<Full<Bytes>>) {
        if !connection.is_closed() {
            self.lock().push((connection, Instant::now()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(SendRequest<Full<Bytes>>, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
