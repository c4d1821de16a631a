//! The server: on a thread of its own, one request per connection, and everything has a limit. Its
//! errors never reach the run.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use goodarm_core::ArmId;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::answer;
use super::guard::{Guard, Route};
use super::page::Page;
use super::state::Shared;

/// Serves until it is dropped.
pub(super) struct Server {
    _stop: oneshot::Sender<()>,
}

/// Starts to serve.
pub(super) fn start(
    listener: std::net::TcpListener,
    guard: Guard,
    shared: Arc<Shared>,
) -> io::Result<Server> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build()?;
    let site = Arc::new(Site::new(guard, shared));
    let (stop, stopped) = oneshot::channel::<()>();
    thread::Builder::new().name("watch".into()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = stopped => {}
                _ = serve(listener, site) => {}
            }
        });
        runtime.shutdown_background();
    })?;
    Ok(Server { _stop: stop })
}

/// Accepts every connection. When there are too many, the oldest is closed: a request takes
/// milliseconds, so the oldest one is stalling, and our own page is still served.
async fn serve(listener: std::net::TcpListener, site: Arc<Site>) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    let mut oldest_first: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Perhaps too many files are open, which passes.
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        oldest_first.retain(|connection| !connection.is_finished());
        if oldest_first.len() >= CONNECTIONS_MAX
            && let Some(oldest) = oldest_first.pop_front()
        {
            oldest.abort();
        }
        let connection = connection(stream, Arc::clone(&site));
        oldest_first.push_back(connections.spawn(connection));
    }
}

async fn connection(stream: TcpStream, site: Arc<Site>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let site = Arc::clone(&site);
        async move { Ok::<_, Infallible>(site.answer(&request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_TIME_MAX)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX)
        .keep_alive(false)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that reads or writes too slowly is cut off; its other errors do not matter here.
    let _ = timeout(CONNECTION_TIME_MAX, connection).await;
}

/// The pages and what they need.
struct Site {
    guard: Guard,
    shared: Arc<Shared>,
    page: Bytes,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// One reader of the journal at a time.
    journal_turn: Arc<Semaphore>,
}

impl Site {
    fn new(guard: Guard, shared: Arc<Shared>) -> Self {
        let page = Page::new();
        let policy = HeaderValue::from_str(&page.policy).expect("our own text, all of it ASCII");
        let mut headers: Vec<_> = HEADERS
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        headers.push((hyper::header::CONTENT_SECURITY_POLICY, policy));
        let journal_turn = Arc::new(Semaphore::new(1));
        Self { guard, shared, page: page.html.into(), headers, journal_turn }
    }

    /// The body of a request is never read.
    async fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let body = match self.guard.admit(request) {
            None => None,
            Some(Route::Page) => Some(("text/html; charset=utf-8", self.page.clone())),
            Some(Route::State { rank_known }) => Some((JSON, self.shared.json(rank_known).into())),
            Some(Route::Answer { arm }) => {
                self.certified(ArmId(arm)).await.map(|body| (JSON, body))
            }
            Some(Route::Pause(is_paused)) => {
                self.shared.control.set_paused(is_paused);
                Some((JSON, Bytes::from_static(b"{}")))
            }
        };
        let Some((kind, body)) = body else { return nothing() };
        let mut response = Response::new(Full::new(body));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.extend(self.headers.iter().cloned());
        response
    }

    /// A certified answer. Its calls are read from the disk, away from this thread.
    async fn certified(&self, arm: ArmId) -> Option<Bytes> {
        let certificate = self.shared.snapshot().certificate(arm)?;
        let turn = Arc::clone(&self.journal_turn).acquire_owned().await.ok()?;
        let shared = Arc::clone(&self.shared);
        let reading = tokio::task::spawn_blocking(move || {
            let json = answer::json(&shared.job, &shared.journal(), &certificate);
            drop(turn);
            json
        });
        reading.await.ok().map(Bytes::from)
    }
}

/// The same answer for every request that is not admitted.
fn nothing() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

const JSON: &str = "application/json";
/// Browsers must not cache, frame, sniff or pass on what we send.
const HEADERS: [(&str, &str); 6] = [
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

const CONNECTIONS_MAX: usize = 32;
const HEADERS_MAX: usize = 64;
const HEADER_BYTES_MAX: usize = 16 << 10;
const HEADERS_TIME_MAX: Duration = Duration::from_secs(3);
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(15);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
