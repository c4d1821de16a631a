//! A server that does what it is told, above all what no server should.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Answers 200 with this.
    Json(Value),
    /// Answers with a status, a header unless its name is empty, and a body.
    Status(u16, (&'static str, String), String),
    /// Waits before it acts.
    Later(Duration, Box<Self>),
    /// Never answers.
    Hang,
    /// Closes the connection without a word.
    Close,
    /// Sends bytes as they are, then closes.
    Bytes(Vec<u8>),
    /// Sends bytes as they are, and stays open.
    Open(Vec<u8>),
    /// Sends bytes, and after a while others, before it listens again.
    Unasked(Vec<u8>, Duration, Vec<u8>),
    /// Announces a body, sends half of it, and closes.
    HalfBody(String),
    /// Announces a body, sends half of it, and says no more.
    HalfBodyThenHang(String),
    /// Answers 200 in chunks.
    Chunks(Vec<String>),
    /// Sends chunks without end.
    Endless,
    /// Sends back what it got.
    Echo,
}

/// A request that arrived in full.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// Where a server runs beside a run that blocks.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The server; gone when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Log>>,
    listener: JoinHandle<()>,
}

#[derive(Default)]
struct Log {
    seen: Vec<Seen>,
    connection_count: usize,
    out: usize,
    out_max: usize,
}

type Script = Arc<dyn Fn(&Seen) -> Act + Send + Sync>;

impl Server {
    /// Acts in this order, one for each request; the last one for all that follow.
    pub(crate) async fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let acts: Mutex<VecDeque<Act>> = Mutex::new(acts.into_iter().collect());
        Self::with(move |_| {
            let mut acts = acts.lock().unwrap_or_else(PoisonError::into_inner);
            let act = if acts.len() > 1 { acts.pop_front() } else { acts.front().cloned() };
            act.unwrap_or(Act::Hang)
        })
        .await
    }

    /// Decides for each request.
    pub(crate) async fn with(script: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = socket.local_addr().expect("it is bound");
        let log = Arc::new(Mutex::new(Log::default()));
        let listener = tokio::spawn(listen(socket, Arc::new(script), Arc::clone(&log)));
        Self { address, log, listener }
    }

    /// `http://127.0.0.1:…` and the path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log().seen.clone()
    }

    /// How many requests have arrived.
    pub(crate) fn request_count(&self) -> usize {
        self.log().seen.len()
    }

    /// How many connections were made.
    pub(crate) fn connection_count(&self) -> usize {
        self.log().connection_count
    }

    /// The most requests that were being answered at once.
    pub(crate) fn out_max(&self) -> usize {
        self.log().out_max
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.log)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl Seen {
    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }
}

/// A chat completion that says this, with 10 tokens in and 2 out.
pub(crate) fn completion(text: &str) -> Act {
    Act::Json(json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }))
}

/// A status with neither header nor body.
pub(crate) fn status(code: u16) -> Act {
    Act::Status(code, ("", String::new()), String::new())
}

/// A port on which no one listens.
pub(crate) async fn closed_port() -> String {
    let socket = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    drop(socket);
    format!("http://{address}")
}

async fn listen(socket: TcpListener, script: Script, log: Arc<Mutex<Log>>) {
    while let Ok((stream, _)) = socket.accept().await {
        lock(&log).connection_count += 1;
        tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&log)));
    }
}

async fn serve(stream: TcpStream, script: Script, log: Arc<Mutex<Log>>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read_request(&mut stream).await {
        let act = {
            let mut log = lock(&log);
            log.seen.push(request.clone());
            log.out += 1;
            log.out_max = log.out_max.max(log.out);
            script(&request)
        };
        let is_open = perform(act, &request, stream.get_mut()).await;
        lock(&log).out -= 1;
        if !is_open {
            return;
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut first = String::new();
    stream.read_line(&mut first).await.ok().filter(|count| *count > 0)?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|count| *count > 0)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let mut seen = Seen { path, headers, body: String::new() };
    let length = seen.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    seen.body = String::from_utf8(body).ok()?;
    Some(seen)
}

/// Whether the connection stays open.
async fn perform(act: Act, request: &Seen, stream: &mut TcpStream) -> bool {
    let mut act = act;
    while let Act::Later(wait, then) = act {
        tokio::time::sleep(wait).await;
        act = *then;
    }
    let ok = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let (bytes, is_open) = match act {
        Act::Json(value) => {
            let body = value.to_string();
            (format!("{ok}content-length: {}\r\n\r\n{body}", body.len()).into_bytes(), true)
        }
        Act::Echo => {
            let body = json!({"score": 0.5, "headers": request.headers, "body": request.body});
            let body = body.to_string();
            (format!("{ok}content-length: {}\r\n\r\n{body}", body.len()).into_bytes(), true)
        }
        Act::Status(code, (name, value), body) => {
            let header =
                if name.is_empty() { String::new() } else { format!("{name}: {value}\r\n") };
            let length = body.len();
            let head = format!("HTTP/1.1 {code} Scripted\r\n{header}content-length: {length}\r\n");
            (format!("{head}\r\n{body}").into_bytes(), true)
        }
        Act::Bytes(bytes) => (bytes, false),
        Act::Open(bytes) => (bytes, true),
        Act::Unasked(bytes, wait, unasked) => {
            drop(stream.write_all(&bytes).await);
            tokio::time::sleep(wait).await;
            (unasked, true)
        }
        Act::HalfBody(body) => {
            let half = &body[..body.floor_char_boundary(body.len() / 2)];
            (format!("{ok}content-length: {}\r\n\r\n{half}", body.len()).into_bytes(), false)
        }
        Act::HalfBodyThenHang(body) => {
            let half = &body[..body.floor_char_boundary(body.len() / 2)];
            let bytes = format!("{ok}content-length: {}\r\n\r\n{half}", body.len());
            drop(stream.write_all(bytes.as_bytes()).await);
            std::future::pending().await
        }
        Act::Chunks(chunks) => {
            let mut text = format!("{ok}transfer-encoding: chunked\r\n\r\n");
            for chunk in &chunks {
                text.push_str(&format!("{:x}\r\n{chunk}\r\n", chunk.len()));
            }
            (format!("{text}0\r\n\r\n").into_bytes(), true)
        }
        Act::Endless => return endless(stream).await,
        Act::Close => return false,
        Act::Hang | Act::Later(..) => std::future::pending().await,
    };
    stream.write_all(&bytes).await.is_ok() && is_open
}

async fn endless(stream: &mut TcpStream) -> bool {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, " ".repeat(1 << 16));
    let mut written = stream.write_all(head.as_bytes()).await;
    while written.is_ok() {
        written = stream.write_all(chunk.as_bytes()).await;
    }
    false
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
