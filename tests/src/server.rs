//! An HTTP server that does what a test tells it, above all what no server should.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// What the server does with one request.
#[derive(Clone, Debug)]
pub enum Action {
    /// Answers 200 with this.
    Json(Value),
    /// Answers with a status, a header unless its name is empty, and a body.
    Status(u16, (&'static str, String), String),
    /// Waits before it acts.
    Later(Duration, Box<Self>),
    /// Never answers.
    Hang,
    /// Closes the connection without a reply.
    Close,
    /// Sends bytes as they are, then closes.
    Bytes(Vec<u8>),
    /// Sends bytes as they are, and stays open.
    Open(Vec<u8>),
    /// Sends bytes, and after a while others, before it reads the next request.
    Unasked(Vec<u8>, Duration, Vec<u8>),
    /// Announces a body, sends half of it, and closes.
    HalfBody(String),
    /// Announces a body, sends half of it, and then nothing.
    HalfBodyThenHang(String),
    /// Answers 200 in chunks.
    Chunks(Vec<String>),
    /// Sends chunks without end.
    Endless,
    /// Sends back the request.
    Echo,
}

/// A request that arrived in full.
#[derive(Clone, Debug)]
pub struct Request {
    /// With the query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// The server. Its port is closed when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    log: Arc<Mutex<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    requests: Vec<Request>,
    connection_count: usize,
    in_flight: usize,
    in_flight_max: usize,
    is_closed: bool,
}

type Script = Arc<dyn Fn(&Request, usize) -> Action + Send + Sync>;

impl Server {
    /// Acts in this order, one action for each request; the last one for all that follow.
    pub fn start(actions: impl IntoIterator<Item = Action>) -> Self {
        let actions: Mutex<VecDeque<Action>> = Mutex::new(actions.into_iter().collect());
        Self::with(move |_| {
            let mut actions = lock(&actions);
            let next =
                if actions.len() > 1 { actions.pop_front() } else { actions.front().cloned() };
            next.unwrap_or(Action::Hang)
        })
    }

    /// Decides for each request.
    pub fn with(script: impl Fn(&Request) -> Action + Send + Sync + 'static) -> Self {
        Self::counting(move |request, _| script(request))
    }

    /// Decides for each request, given the number of requests before it.
    pub fn counting(script: impl Fn(&Request, usize) -> Action + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let log = Arc::new(Mutex::new(Log::default()));
        let (script, own_log): (Script, _) = (Arc::new(script), Arc::clone(&log));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if lock(&own_log).is_closed {
                    return;
                }
                lock(&own_log).connection_count += 1;
                let (script, log) = (Arc::clone(&script), Arc::clone(&own_log));
                thread::spawn(move || serve(stream, &script, &log));
            }
        });
        Self { address, log }
    }

    /// `http://127.0.0.1:…` and the path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.log).requests.clone()
    }

    /// The number of requests so far.
    pub fn request_count(&self) -> usize {
        lock(&self.log).requests.len()
    }

    /// The number of connections so far.
    pub fn connection_count(&self) -> usize {
        lock(&self.log).connection_count
    }

    /// The most requests that were being answered at once.
    pub fn in_flight_max(&self) -> usize {
        lock(&self.log).in_flight_max
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        lock(&self.log).is_closed = true;
        // Wakes the thread that accepts connections.
        let _ = TcpStream::connect(self.address);
    }
}

impl Request {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a JSON body")
    }

    fn read(stream: &mut BufReader<TcpStream>) -> Option<Self> {
        let mut first = String::new();
        stream.read_line(&mut first).ok().filter(|count| *count > 0)?;
        let path = first.split(' ').nth(1)?.to_owned();
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).ok().filter(|count| *count > 0)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_owned())),
                None => break,
            }
        }
        let mut request = Self { path, headers, body: String::new() };
        let length = request.header("content-length").and_then(|text| text.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).ok()?;
        request.body = String::from_utf8(body).ok()?;
        Some(request)
    }
}

/// A chat completion with this text, 10 tokens in and 2 out.
pub fn completion(text: &str) -> Action {
    Action::Json(json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }))
}

/// A status with neither header nor body.
pub fn status(code: u16) -> Action {
    Action::Status(code, ("", String::new()), String::new())
}

/// A port that was free a moment ago.
pub fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

/// An address that refuses connections.
pub fn closed_url() -> String {
    format!("http://127.0.0.1:{}", closed_port())
}

fn serve(stream: TcpStream, script: &Script, log: &Mutex<Log>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = Request::read(&mut stream) {
        let mut action = {
            let mut log = lock(log);
            log.requests.push(request.clone());
            log.in_flight += 1;
            log.in_flight_max = log.in_flight_max.max(log.in_flight);
            script(&request, log.requests.len() - 1)
        };
        while let Action::Later(wait, then) = action {
            thread::sleep(wait);
            action = *then;
        }
        // Before the reply is written: with it the client may send its next request, on another connection.
        lock(log).in_flight -= 1;
        let is_open = perform(action, &request, stream.get_mut());
        if !is_open {
            return;
        }
    }
}

/// Whether the connection stays open.
fn perform(action: Action, request: &Request, stream: &mut TcpStream) -> bool {
    let ok = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let whole =
        |body: &str| format!("{ok}content-length: {}\r\n\r\n{body}", body.len()).into_bytes();
    let half = |body: &str| {
        let mut bytes = whole(body);
        bytes.truncate(bytes.len() - body.len() + body.floor_char_boundary(body.len() / 2));
        bytes
    };
    let (bytes, is_open) = match action {
        Action::Json(value) => (whole(&value.to_string()), true),
        Action::Echo => {
            let body = json!({"score": 0.5, "headers": request.headers, "body": request.body});
            (whole(&body.to_string()), true)
        }
        Action::Status(code, (name, value), body) => {
            let header =
                if name.is_empty() { String::new() } else { format!("{name}: {value}\r\n") };
            let length = body.len();
            let head = format!("HTTP/1.1 {code} Scripted\r\n{header}content-length: {length}\r\n");
            (format!("{head}\r\n{body}").into_bytes(), true)
        }
        Action::Bytes(bytes) => (bytes, false),
        Action::Open(bytes) => (bytes, true),
        Action::Unasked(bytes, wait, unasked) => {
            drop(stream.write_all(&bytes));
            thread::sleep(wait);
            (unasked, true)
        }
        Action::HalfBody(body) => (half(&body), false),
        Action::HalfBodyThenHang(body) => {
            drop(stream.write_all(&half(&body)));
            hang()
        }
        Action::Chunks(chunks) => {
            let chunks: String =
                chunks.iter().map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len())).collect();
            let reply = format!("{ok}transfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
            (reply.into_bytes(), true)
        }
        Action::Endless => return endless(stream),
        Action::Close => return false,
        Action::Hang | Action::Later(..) => hang(),
    };
    stream.write_all(&bytes).is_ok() && is_open
}

fn hang() -> ! {
    loop {
        thread::park();
    }
}

fn endless(stream: &mut TcpStream) -> bool {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, " ".repeat(1 << 16));
    let mut written = stream.write_all(head.as_bytes());
    while written.is_ok() {
        written = stream.write_all(chunk.as_bytes());
    }
    false
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
