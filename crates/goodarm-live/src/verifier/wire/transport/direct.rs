//! HTTP/1.1 in the clear, one request at a time on each connection. Whoever uses a connection moves
//! its bytes, too: a task of its own for each would only wake and be woken.

use std::future::{self, Future};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
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
type Moving = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

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
struct Idle(Mutex<Vec<(Connection, Instant)>>);

/// A connection that takes one request at a time.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    mover: Mover,
    peephole: Peephole,
}

/// Moves the bytes of a connection while it is polled.
struct Mover {
    /// None once it has ended; what went wrong is told to the request.
    moving: Option<Pin<Box<Moving>>>,
}

/// A response, and the connection on which it comes.
pub(in super::super) struct DirectAnswer {
    response: hyper::Response<Incoming>,
    connection: Connection,
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
            let Connection { sender, mover, peephole } = &mut connection;
            // Nobody has looked since its last answer.
            if is_used && !peephole.is_quiet() {
                continue;
            }
            if mover.move_during(sender.ready()).await.is_err() && is_used {
                continue;
            }
            match mover.move_during(sender.try_send_request(request)).await {
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

    async fn connect(&self) -> Result<Connection, Unanswered> {
        let address = (self.host.as_str(), self.port);
        let stream =
            match tokio::time::timeout(self.connect_timeout, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => return Err(Unanswered::NotConnected(error.to_string())),
                Err(_) => return Err(Unanswered::NotConnected("it took too long".into())),
            };
        // Without it requests only wait longer.
        drop(stream.set_nodelay(true));
        let peephole = Peephole::new(&stream);
        let (sender, moving) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Unanswered::NotConnected(innermost(&error)))?;
        Ok(Connection { sender, mover: Mover { moving: Some(Box::pin(moving)) }, peephole })
    }
}

impl Mover {
    /// Waits for what needs this connection's bytes to move.
    async fn move_during<T>(&mut self, wanted: impl Future<Output = T>) -> T {
        let mut wanted = pin!(wanted);
        future::poll_fn(|context| {
            if let Poll::Ready(output) = wanted.as_mut().poll(context) {
                return Poll::Ready(output);
            }
            self.move_some(context);
            // What has just arrived is often all that was wanted.
            wanted.as_mut().poll(context)
        })
        .await
    }

    fn move_some(&mut self, context: &mut Context<'_>) {
        let ended =
            self.moving.as_mut().is_some_and(|moving| moving.as_mut().poll(context).is_ready());
        if ended {
            self.moving = None;
        }
    }
}

/// Sees whether a server has said something unasked, above all that it closes. The runtime would
/// hear of it too late: only when it waits.
#[cfg(unix)]
struct Peephole(Option<std::os::fd::OwnedFd>);

#[cfg(unix)]
impl Peephole {
    fn new(stream: &TcpStream) -> Self {
        use std::os::fd::AsFd;
        Self(stream.as_fd().try_clone_to_owned().ok())
    }

    fn is_quiet(&self) -> bool {
        use rustix::net::{RecvFlags, recv};
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        self.0.as_ref().is_none_or(|socket| {
            recv(socket, &mut [0_u8; 1][..], flags)
                .is_err_and(|error| error == rustix::io::Errno::AGAIN)
        })
    }
}

/// Elsewhere the request finds out.
#[cfg(not(unix))]
struct Peephole;

#[cfg(not(unix))]
impl Peephole {
    fn new(_stream: &TcpStream) -> Self {
        Self
    }

    fn is_quiet(&self) -> bool {
        true
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
        let Self { response, mut connection, idle } = self;
        let mut incoming = response.into_body();
        let mut body = Bounded::new(incoming.size_hint().exact(), bytes_max)?;
        while let Some(frame) = connection.mover.move_during(incoming.frame()).await {
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
    fn take(&self) -> Option<Connection> {
        let mut idle = self.lock();
        let (connection, since) = idle.pop()?;
        if since.elapsed() > IDLE_MAX {
            // Those below have waited even longer.
            idle.clear();
            return None;
        }
        Some(connection)
    }

    fn give_back(&self, connection: Connection) {
        if connection.mover.moving.is_some() && !connection.sender.is_closed() {
            self.lock().push((connection, Instant::now()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Connection, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
