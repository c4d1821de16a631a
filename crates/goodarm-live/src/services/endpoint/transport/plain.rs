//! HTTP/1.1 without encryption, one request at a time on each connection. The task that makes a call
//! also runs the connection, so that no second task has to be woken.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use goodarm_data::problem::KeyProblem;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use reqwest::header::{ACCEPT, HOST, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::{Method, Url};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::{Answer, Body, Cut, IDLE_MAX, READ_AHEAD_BYTES, Unanswered, innermost, whole};

/// Connections to one address.
pub(in super::super) struct Plain {
    host: String,
    port: u16,
    /// Path and query.
    target: Uri,
    headers: HeaderMap,
    connect_timeout: Duration,
    idle: Arc<Idle>,
}

/// Connections that wait for a request, the one used last on top.
#[derive(Default)]
struct Idle {
    connections: Mutex<Vec<(Box<Connection>, Instant)>>,
    /// Whether one of them spoke meanwhile, and nobody has been told.
    has_spoken: AtomicBool,
}

/// A connection that takes one request at a time.
struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// Moves the bytes; gone when the connection has ended.
    driver: Option<http1::Connection<TokioIo<TcpStream>, Full<Bytes>>>,
    /// Why it ended while no request was on its way.
    end: String,
}

/// A body that has not been read, and the connection on which it comes.
pub(super) struct PlainBody {
    incoming: Incoming,
    connection: Box<Connection>,
    idle: Arc<Idle>,
}

impl Plain {
    pub(super) fn new(
        url: &Url,
        mut headers: HeaderMap,
        connect_timeout: Duration,
    ) -> Result<Self, KeyProblem> {
        let wrong = |problem: &str| KeyProblem::new("url", problem);
        let host = url.host_str().ok_or_else(|| wrong("a host is needed"))?;
        let port = url.port_or_known_default().ok_or_else(|| wrong("a port is needed"))?;
        let named = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let named = HeaderValue::try_from(named).map_err(|_| wrong("a host is needed"))?;
        headers.entry(HOST).or_insert(named);
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(super::USER_AGENT));
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        let target = Uri::try_from(format!("{}{query}", url.path()));
        let target = target.map_err(|_| wrong("its path cannot be sent"))?;
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port, target, headers, connect_timeout, idle: Arc::default() })
    }

    /// Posts a body once. Only a request of which nothing was written goes to another connection.
    pub(super) async fn post(&self, body: &str) -> Result<Answer, Unanswered> {
        let mut request = Request::new(Full::from(body.to_owned()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = self.headers.clone();
        loop {
            let (mut connection, is_used) = match self.idle.take() {
                Some(connection) => {
                    // So that what has come meanwhile is seen before anything is asked, and is not taken
                    // for the answer.
                    tokio::task::yield_now().await;
                    (connection, true)
                }
                None => (self.connect().await?, false),
            };
            let sent = connection.sender.try_send_request(request);
            let mut error = match connection.drive(sent).await {
                Ok(response) => {
                    return Ok(Answer(response.map(|incoming| {
                        Body::Plain(PlainBody { incoming, connection, idle: self.idle.clone() })
                    })));
                }
                Err(error) => error,
            };
            // It comes back only if nothing of it was written.
            let unsent = error.take_message();
            let cause = innermost(&error.into_error());
            self.idle.note(&cause);
            match unsent {
                Some(unsent) if is_used => request = unsent,
                Some(_) => return Err(Unanswered::NotConnected(cause)),
                None => return Err(Unanswered::NoReply(cause)),
            }
        }
    }

    /// Whether the server has sent something since the last time that no call had asked for.
    pub(super) fn has_spoken_unasked(&self) -> bool {
        self.idle.has_spoken.swap(false, Ordering::Relaxed)
    }

    async fn connect(&self) -> Result<Box<Connection>, Unanswered> {
        let not_connected = |cause: String| Unanswered::NotConnected(cause);
        let stream = timeout(self.connect_timeout, self.connect_to_any())
            .await
            .map_err(|_| not_connected("it took too long".into()))?
            .map_err(|error| not_connected(error.to_string()))?;
        // Without it requests only wait longer.
        drop(stream.set_nodelay(true));
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(READ_AHEAD_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| not_connected(innermost(&error)))?;
        Ok(Box::new(Connection { sender, driver: Some(driver), end: String::new() }))
    }

    /// Tries all addresses of the host. One that says nothing leaves time for the others.
    async fn connect_to_any(&self) -> io::Result<TcpStream> {
        let addresses: Vec<_> =
            tokio::net::lookup_host((self.host.as_str(), self.port)).await?.collect();
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        let share =
            self.connect_timeout / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        for address in addresses {
            match timeout(share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, "it took too long"),
            }
        }
        Err(last)
    }
}

impl Connection {
    /// Runs the connection until the future, which waits for something from it, is done.
    async fn drive<F: Future>(&mut self, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            self.poll(context);
            future.as_mut().poll(context)
        })
        .await
    }

    /// Moves what can be moved now.
    fn poll(&mut self, context: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && let Poll::Ready(ended) = Pin::new(driver).poll(context)
        {
            self.driver = None;
            // What concerns a request is told to its future, not here.
            self.end = ended.err().map(|error| innermost(&error)).unwrap_or_default();
        }
    }
}

impl PlainBody {
    /// The whole body; only after that can the connection take another request.
    pub(super) async fn whole(self, bytes_max: usize) -> Result<Vec<u8>, Cut> {
        let Self { incoming, mut connection, idle } = self;
        let bytes = connection.drive(whole(incoming, bytes_max)).await?;
        // Whatever follows the body is here already, or comes while the connection is idle.
        poll_fn(|context| {
            connection.poll(context);
            Poll::Ready(())
        })
        .await;
        idle.note(&connection.end);
        // Not if the server closes it, has sent more, or has not read all of the request.
        if connection.sender.is_ready() {
            idle.lock().push((connection, Instant::now()));
        }
        Ok(bytes)
    }
}

impl Idle {
    fn take(&self) -> Option<Box<Connection>> {
        let mut idle = self.lock();
        let (connection, since) = idle.pop()?;
        if since.elapsed() > IDLE_MAX {
            // Those below have waited even longer.
            idle.clear();
            return None;
        }
        Some(connection)
    }

    /// Takes note of a connection that ended because the server spoke unasked.
    fn note(&self, cause: &str) {
        self.has_spoken.fetch_or(cause == UNASKED, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Box<Connection>, Instant)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What hyper says of a connection on which something came that no request had asked for.
const UNASKED: &str = "received unexpected message from connection";
