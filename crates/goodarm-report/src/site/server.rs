//! The server: on its own thread, one request per connection, with limits on everything. Its errors never reach
//! the thread that started it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::guard::Guard;
use super::{Site, SitePage};

/// Serves until it is dropped.
pub(crate) struct Server {
    _stop: oneshot::Sender<()>,
}

/// Starts the server.
pub(super) fn start(
    listener: std::net::TcpListener,
    guard: Guard,
    page: SitePage,
    site: Arc<impl Site>,
) -> io::Result<Server> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build()?;
    let state = Arc::new(ServerState::new(guard, page, site));
    let (stop, stopped) = oneshot::channel::<()>();
    thread::Builder::new().name("page".into()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = stopped => {}
                _ = serve(listener, state) => {}
            }
        });
        runtime.shutdown_background();
    })?;
    Ok(Server { _stop: stop })
}

/// Accepts every connection. If there are too many, the oldest is closed: a request takes milliseconds, so the
/// oldest connection is stalled, and our own page is still served.
async fn serve(
    listener: std::net::TcpListener,
    state: Arc<ServerState<impl Site>>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut connections = JoinSet::new();
    let mut oldest_first: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Perhaps too many files are open, which is temporary.
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
        let connection = connection(stream, Arc::clone(&state));
        oldest_first.push_back(connections.spawn(connection));
    }
}

async fn connection(stream: TcpStream, state: Arc<ServerState<impl Site>>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let state = Arc::clone(&state);
        async move { Ok::<_, Infallible>(state.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_TIME_MAX)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX)
        .keep_alive(false)
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service);
    // A client that reads or writes too slowly is disconnected; its other errors do not matter.
    let _ = timeout(CONNECTION_TIME_MAX, connection).await;
}

/// A site with its guard.
struct ServerState<S> {
    guard: Guard,
    page: Bytes,
    headers: Vec<(HeaderName, HeaderValue)>,
    site: Arc<S>,
}

impl<S: Site> ServerState<S> {
    fn new(guard: Guard, page: SitePage, site: Arc<S>) -> Self {
        let policy = HeaderValue::from_str(&page.policy).expect("our own ASCII text");
        let mut headers: Vec<_> = HEADERS
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        headers.push((hyper::header::CONTENT_SECURITY_POLICY, policy));
        Self { guard, page: page.html.into(), headers, site }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let Some((kind, body)) = self.body(request).await else { return not_found() };
        let mut response = Response::new(Full::new(body));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.extend(self.headers.iter().cloned());
        response
    }

    async fn body(&self, request: Request<Incoming>) -> Option<(&'static str, Bytes)> {
        let admitted = self.guard.admit(&request)?;
        if admitted.path.is_empty() && !admitted.may_change {
            return Some(("text/html; charset=utf-8", self.page.clone()));
        }
        let route = S::route(&admitted)?;
        let body = match S::body_bytes_max(&route) {
            0 => Bytes::new(),
            bytes_max => {
                let body = Limited::new(request.into_body(), bytes_max);
                body.collect().await.ok()?.to_bytes()
            }
        };
        let json = Arc::clone(&self.site).answer(route, body).await?;
        Some(("application/json", json.into()))
    }
}

/// The response to every request that is not admitted.
fn not_found() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

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
