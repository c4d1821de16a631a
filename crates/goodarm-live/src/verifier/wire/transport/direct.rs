//! HTTP/1.1 in the clear, one request at a time on each connection. Whoever makes a call moves its
//! bytes: there is no task for the connection, and nothing is made that nobody reads.

mod message;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, HOST, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::{StatusCode, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::time::Instant;

use self::message::{Body, Head, Request};
use super::{Cut, IDLE_MAX, Unanswered};
use crate::verifier::problem::Problem as Wrong;

/// Connections to one address.
pub(in super::super) struct Direct {
    host: String,
    port: u16,
    request: Request,
    connect_timeout: Duration,
    idle: Arc<Idle>,
}

/// Connections that wait for a request, the one used last on top.
#[derive(Default)]
struct Idle(Mutex<Vec<(Connection, Instant)>>);

/// A connection that takes one request at a time.
struct Connection {
    stream: TcpStream,
    /// What is being sent.
    outgoing: Vec<u8>,
    /// What has arrived and is not read yet.
    incoming: Vec<u8>,
    /// Whether all of the request was sent.
    is_sent: bool,
}

/// A response of which the head has been read, and the connection on which it comes.
pub(in super::super) struct DirectAnswer {
    head: Head,
    connection: Connection,
    idle: Arc<Idle>,
}

/// Why there is no response on a connection.
enum Silence {
    /// Nothing was written.
    Unsent(io::Error),
    /// Something was.
    Sent(String),
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
        let request = Request::new(&format!("{}{query}", url.path()), &headers);
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port, request, connect_timeout, idle: Arc::default() })
    }

    /// Posts a body once. Only a request of which nothing was written goes to another connection.
    pub(super) async fn post(&self, body: &str) -> Result<DirectAnswer, Unanswered> {
        loop {
            let (mut connection, is_used) = match self.idle.take() {
                Some(connection) => (connection, true),
                None => (self.connect().await?, false),
            };
            // Nobody has looked since its last answer.
            if is_used && !connection.is_quiet() {
                continue;
            }
            self.request.write(body, &mut connection.outgoing);
            match connection.exchange().await {
                Ok(head) => {
                    return Ok(DirectAnswer { head, connection, idle: Arc::clone(&self.idle) });
                }
                Err(Silence::Unsent(_)) if is_used => {}
                Err(Silence::Unsent(error)) => {
                    return Err(Unanswered::NotConnected(error.to_string()));
                }
                Err(Silence::Sent(cause)) => return Err(Unanswered::NoReply(cause)),
            }
        }
    }

    async fn connect(&self) -> Result<Connection, Unanswered> {
        let connecting = tokio::time::timeout(self.connect_timeout, self.connect_to_any());
        let stream = match connecting.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(Unanswered::NotConnected(error.to_string())),
            Err(_) => return Err(Unanswered::NotConnected("it took too long".into())),
        };
        // Without it requests only wait longer.
        drop(stream.set_nodelay(true));
        Ok(Connection { stream, outgoing: Vec::new(), incoming: Vec::new(), is_sent: false })
    }

    /// Tries all addresses of the host. One that says nothing leaves time for the others.
    async fn connect_to_any(&self) -> io::Result<TcpStream> {
        let addresses: Vec<_> =
            tokio::net::lookup_host((self.host.as_str(), self.port)).await?.collect();
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        let share =
            self.connect_timeout / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        for address in addresses {
            match tokio::time::timeout(share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, "it took too long"),
            }
        }
        Err(last)
    }
}

impl Connection {
    /// Sends the request and reads up to the end of the response's head.
    async fn exchange(&mut self) -> Result<Head, Silence> {
        self.is_sent = false;
        let sent = self.stream.write(&self.outgoing).await.map_err(Silence::Unsent)?;
        let mut trouble = None;
        if sent < self.outgoing.len() {
            match self.send_rest(sent).await {
                Ok(None) => {}
                Ok(Some(head)) => return Ok(head),
                // The server may have said why it wants no more of it.
                Err(error) => trouble = Some(error),
            }
        } else {
            self.is_sent = true;
        }
        loop {
            if let Some(head) = Head::take(&mut self.incoming).map_err(Silence::Sent)? {
                return Ok(head);
            }
            let read = self.read().await;
            if let Ok(0) | Err(_) = read {
                let cause = trouble.or(read.err()).map(|error| error.to_string());
                let closed = || "it closed the connection".to_owned();
                return Err(Silence::Sent(cause.unwrap_or_else(closed)));
            }
        }
    }

    /// Sends what did not fit at once, and listens: a refusal ends it. The head of the response, if it
    /// has come.
    async fn send_rest(&mut self, mut sent: usize) -> io::Result<Option<Head>> {
        let mut head = None;
        while sent < self.outgoing.len() {
            let is_listening = self.incoming.len() < EARLY_BYTES_MAX;
            let reading = if is_listening { Interest::READABLE } else { Interest::WRITABLE };
            let ready = self.stream.ready(reading | Interest::WRITABLE).await?;
            if is_listening && ready.is_readable() {
                self.incoming.reserve(READ_BYTES);
                match self.stream.try_read_buf(&mut self.incoming) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(_) if head.is_none() => {
                        head = Head::take(&mut self.incoming).map_err(io::Error::other)?;
                        if head.as_ref().is_some_and(|head| !head.status.is_success()) {
                            return Ok(head);
                        }
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
            if ready.is_writable() {
                match self.stream.try_write(&self.outgoing[sent..]) {
                    Ok(count) => sent += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
        }
        self.is_sent = true;
        Ok(head)
    }

    async fn read(&mut self) -> io::Result<usize> {
        self.incoming.reserve(READ_BYTES);
        self.stream.read_buf(&mut self.incoming).await
    }

    /// Whether the server has said nothing unasked, above all not that it closes. The runtime would
    /// hear of it too late: only when it waits.
    #[cfg(unix)]
    fn is_quiet(&self) -> bool {
        use rustix::net::{RecvFlags, recv};
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        recv(&self.stream, &mut [0_u8; 1][..], flags)
            .is_err_and(|error| error == rustix::io::Errno::AGAIN)
    }

    /// Elsewhere the request finds out.
    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "the same signature as on Unix")]
    fn is_quiet(&self) -> bool {
        true
    }
}

impl DirectAnswer {
    pub(super) const fn status(&self) -> StatusCode {
        self.head.status
    }

    /// Empty if it is a success: nobody reads them.
    pub(super) const fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The whole body; only after that the connection can take another request.
    pub(super) async fn body(self, bytes_max: usize) -> Result<Vec<u8>, Cut> {
        let Self { head, mut connection, idle } = self;
        let mut body = Body::new(&head, bytes_max)?;
        while !body.take(&mut connection.incoming)? {
            match connection.read().await {
                Ok(0) => {
                    body.end()?;
                    return Ok(body.into_bytes());
                }
                Ok(_) => {}
                Err(error) => return Err(Cut::Broken(error.to_string())),
            }
        }
        if head.keeps_open && connection.is_sent && connection.incoming.is_empty() {
            idle.give_back(connection);
        }
        Ok(body.into_bytes())
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

    fn give_back(&self, mut connection: Connection) {
        // One long text must not be kept in memory for every connection.
        connection.outgoing.clear();
        connection.outgoing.shrink_to(KEPT_BYTES_MAX);
        connection.incoming.shrink_to(KEPT_BYTES_MAX);
        self.lock().push((connection, Instant::now()));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Connection, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for what is read at once.
const READ_BYTES: usize = 8 << 10;
const KEPT_BYTES_MAX: usize = 32 << 10;
/// So much of a reply is read before all of the request is sent.
const EARLY_BYTES_MAX: usize = 256 << 10;
