//! Programs that live on and answer one JSON line for each JSON line.
//!
//! A line too many would be taken for the answer to the next request. So each request has a number,
//! `call`, which the answer may repeat; an answer that does not is believed only if nothing follows it,
//! and a worker that has said something unasked, or something that is no score, is not used again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;
use std::{io, mem};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use super::process::{Pipes, Process, Tail};
use super::{Outcome, Program, input_line, read};
use crate::candidates::Candidate;
use crate::transcript::{Exchange, Transcript};
use crate::verifier::score::shorten;
use crate::verifier::{BODY_BYTES_MAX, Remark, Verdict};

/// Workers that wait for work. There are never more than calls were in flight at once.
#[derive(Debug)]
pub(super) struct Pool {
    state: Mutex<State>,
    /// A new worker may take so much longer for its first answer.
    startup: Duration,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Worker>,
    is_closed: bool,
    call_count: u64,
    /// Whether a worker ever said something unasked.
    has_said_too_much: bool,
}

#[derive(Debug)]
struct Worker {
    process: Process,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    complaint: Arc<Mutex<Tail>>,
    /// Ends when stderr does.
    listener: JoinHandle<()>,
    has_answered: bool,
    /// Whether its answers are known by their numbers, so that other lines do no harm.
    repeats_calls: bool,
}

/// Why a worker gave no line.
enum ReadError {
    /// It closed its output.
    Ended,
    TooLong,
}

impl Pool {
    pub(super) fn new(startup: Duration) -> Self {
        Self { state: Mutex::default(), startup }
    }

    /// Gives the candidate to a worker, a new one if none is idle. An error means that no worker
    /// could be started.
    pub(super) async fn call(
        &self,
        program: &Program,
        candidate: &Candidate,
        timeout: Duration,
        transcript: &Transcript,
    ) -> io::Result<Outcome> {
        let mut worker = match self.idle_worker() {
            Some(worker) => worker,
            None => Worker::start(program)?,
        };
        let startup = if worker.has_answered { Duration::ZERO } else { self.startup };
        let request = Request::new(candidate, self.next_call());
        let asked = tokio::time::timeout(startup + timeout, worker.ask(&request)).await;
        transcript.note(|| request.exchange(&asked));
        Ok(match asked {
            Ok(Ok(line)) => match worker.objection(&line, &request).await {
                Some(Objection::Unasked(reason)) => {
                    self.state().has_said_too_much = true;
                    Outcome::crashed(reason, line)
                }
                Some(Objection::Mismatch(reason)) => Outcome::crashed(reason, line),
                None => {
                    // What it meant to say may yet come.
                    if is_score(&line) {
                        self.give_back(worker);
                    }
                    Outcome::Answered(line)
                }
            },
            Ok(Err(ReadError::Ended)) => Outcome::crashed(worker.last_words().await, Vec::new()),
            Ok(Err(ReadError::TooLong)) => {
                Outcome::truncated(format!("it wrote more than {BODY_BYTES_MAX} bytes"), Vec::new())
            }
            Err(_) => Outcome::timed_out(startup + timeout),
        })
    }

    /// What a person should know about the workers.
    pub(super) fn remark(&self) -> Option<Remark> {
        self.state().has_said_too_much.then(|| Remark {
            is_doubt: false,
            text: "a worker wrote a line that was not asked for. It must write one line a request, logs \
                   to stderr, and should repeat the request's \"call\", or it is restarted each time"
                .to_owned(),
        })
    }

    fn next_call(&self) -> u64 {
        let mut state = self.state();
        state.call_count += 1;
        state.call_count
    }

    /// Kills the idle workers; busy ones die when their call ends.
    pub(super) fn close(&self) {
        let idle = {
            let mut state = self.state();
            state.is_closed = true;
            mem::take(&mut state.idle)
        };
        drop(idle);
    }

    /// A worker that is alive and has said nothing unasked.
    fn idle_worker(&self) -> Option<Worker> {
        loop {
            let mut worker = self.state().idle.pop()?;
            match worker.noise() {
                None => return Some(worker),
                Some(Noise::Line) => {
                    self.state().has_said_too_much = true;
                    if worker.repeats_calls {
                        return Some(worker);
                    }
                }
                Some(Noise::End) => {}
            }
        }
    }

    fn give_back(&self, worker: Worker) {
        let mut state = self.state();
        if !state.is_closed {
            state.idle.push(worker);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker {
    fn start(program: &Program) -> io::Result<Self> {
        let mut process = Process::start(program)?;
        let Pipes { stdin, stdout, stderr } =
            process.pipes().ok_or_else(|| io::Error::other("its pipes are gone"))?;
        let complaint = Arc::new(Mutex::new(Tail::default()));
        let listener = tokio::spawn(follow(stderr, Arc::clone(&complaint)));
        let stdout = BufReader::new(stdout);
        Ok(Self {
            process,
            stdin,
            stdout,
            complaint,
            listener,
            has_answered: false,
            repeats_calls: false,
        })
    }

    async fn ask(&mut self, request: &Request) -> Result<Vec<u8>, ReadError> {
        let skips = self.repeats_calls && request.call.is_some();
        let Self { stdin, stdout, .. } = self;
        // At once, since a worker may answer before it has read all.
        let write = async {
            // What comes back, or does not, tells more than why it did not listen.
            drop(stdin.write_all(request.line.as_bytes()).await);
            drop(stdin.flush().await);
            Ok(())
        };
        let answer = async {
            let mut byte_count = 0;
            loop {
                let line = read_line(stdout).await?;
                if !skips || has_number(&line) {
                    return Ok(line);
                }
                byte_count += line.len();
                if byte_count > BODY_BYTES_MAX {
                    return Err(ReadError::TooLong);
                }
            }
        };
        tokio::try_join!(write, answer).map(|((), line)| line)
    }

    /// Why a line is not the answer to the request.
    async fn objection(&mut self, line: &[u8], request: &Request) -> Option<Objection> {
        let is_first = !mem::replace(&mut self.has_answered, true);
        let answer: Option<Value> = serde_json::from_slice(line).ok();
        let repeated = |key| answer.as_ref().and_then(|answer| answer.get(key));
        if let Some(id) = repeated("id").filter(|&id| !request.ids.contains(id)) {
            let own = request.ids[0].as_str().unwrap_or_default();
            return Some(Objection::Mismatch(format!("it answered for {id}, not for {own}")));
        }
        match request.call.zip(repeated("call")) {
            Some((own, call)) if call.as_u64() == Some(own) => {
                self.repeats_calls = true;
                None
            }
            Some((own, call)) => {
                Some(Objection::Mismatch(format!("it answered call {call}, not call {own}")))
            }
            None => {
                // One that says too much mostly does so from the start.
                if is_first {
                    drop(tokio::time::timeout(FIRST_QUIET, self.stdout.fill_buf()).await);
                }
                matches!(self.noise(), Some(Noise::Line)).then(|| {
                    let reason =
                        "it wrote more than one line for one request: logs belong on stderr";
                    Objection::Unasked(reason.to_owned())
                })
            }
        }
    }

    /// What waits to be read.
    fn noise(&mut self) -> Option<Noise> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let ready = std::pin::pin!(self.stdout.fill_buf());
        match std::future::Future::poll(ready, &mut context) {
            Poll::Pending => None,
            Poll::Ready(Ok(bytes)) if !bytes.is_empty() => Some(Noise::Line),
            Poll::Ready(_) => Some(Noise::End),
        }
    }

    /// Why it ended, as far as it said.
    async fn last_words(&mut self) -> String {
        drop(tokio::time::timeout(LAST_WORDS, &mut self.listener).await);
        self.process.settle(LAST_WORDS).await;
        self.process.ending(&self.complaint.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a worker is sent, and what its answer may repeat of it.
struct Request {
    line: String,
    /// The candidate's name, and how its own field `id` has it.
    ids: Vec<Value>,
    /// The number of the call; none if the candidate has a field of that name, which it may share with
    /// others.
    call: Option<u64>,
}

impl Request {
    /// The candidate with its `id` and the number of the call, as one line. Fields of its own that are
    /// called so stay as they are.
    fn new(candidate: &Candidate, number: u64) -> Self {
        let fields = candidate.fields();
        let name = Value::from(candidate.id.as_str());
        let mut added = Vec::new();
        if !fields.contains_key("id") {
            added.push(format!("\"id\":{name}"));
        }
        if !fields.contains_key("call") {
            added.push(format!("\"call\":{number}"));
        }
        let line = input_line(&candidate.json);
        let line = match line.trim_start().strip_prefix('{') {
            Some(rest) if !added.is_empty() => {
                let comma = if fields.is_empty() { "" } else { "," };
                format!("{{{}{comma}{rest}", added.join(","))
            }
            _ => line,
        };
        let ids = [Some(name), fields.get("id").cloned()].into_iter().flatten().collect();
        let call = (!fields.contains_key("call")).then_some(number);
        Self { line, ids, call }
    }
}

/// What came of a request, if it came in time.
type Asked = Result<Result<Vec<u8>, ReadError>, tokio::time::error::Elapsed>;

impl Request {
    fn exchange(&self, asked: &Asked) -> Exchange {
        let received = match asked {
            Ok(Ok(line)) => String::from_utf8_lossy(line).into_owned(),
            Ok(Err(_)) | Err(_) => String::new(),
        };
        Exchange { sent: shorten(self.line.clone()), received: shorten(received) }
    }
}

/// Why a line is not believed.
enum Objection {
    /// It answers another question, and so would all further ones.
    Mismatch(String),
    /// Another line follows, which nobody asked for.
    Unasked(String),
}

/// What a worker says unasked.
enum Noise {
    Line,
    End,
}

/// Whether a line says which call it answers.
fn has_number(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok_and(|answer| answer.get("call").is_some())
}

fn is_score(line: &[u8]) -> bool {
    matches!(read(&String::from_utf8_lossy(line)), (Verdict::Score(_), _))
}

async fn read_line(stdout: &mut BufReader<ChildStdout>) -> Result<Vec<u8>, ReadError> {
    let mut line = Vec::new();
    let limit = u64::try_from(BODY_BYTES_MAX).unwrap_or(u64::MAX);
    loop {
        line.clear();
        let read = stdout.take(limit).read_until(b'\n', &mut line).await;
        match (read, line.last()) {
            (Err(_) | Ok(0), _) => return Err(ReadError::Ended),
            (Ok(_), Some(b'\n')) if line.trim_ascii().is_empty() => {}
            (Ok(_), Some(b'\n')) => return Ok(line),
            (Ok(_), _) if line.len() >= BODY_BYTES_MAX => return Err(ReadError::TooLong),
            // Half a line, then the end.
            (Ok(_), _) => return Err(ReadError::Ended),
        }
    }
}

async fn follow(mut stderr: ChildStderr, complaint: Arc<Mutex<Tail>>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
        complaint.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..count]);
    }
}

/// A new worker that does not repeat the request's number is listened to for so long after its first
/// answer.
const FIRST_QUIET: Duration = Duration::from_millis(100);
/// A worker that closes its output has so long to say why.
const LAST_WORDS: Duration = Duration::from_millis(200);
