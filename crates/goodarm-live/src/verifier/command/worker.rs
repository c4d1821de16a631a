//! Programs that live on and answer one JSON line for each JSON line.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, mem};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use super::process::{Pipes, Process, Tail};
use super::{Outcome, Program, input_line};
use crate::candidates::Candidate;
use crate::verifier::BODY_BYTES_MAX;

/// Workers that wait for work. There are never more than calls were in flight at once.
#[derive(Debug, Default)]
pub(super) struct Pool {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Worker>,
    is_closed: bool,
}

#[derive(Debug)]
struct Worker {
    process: Process,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    complaint: Arc<Mutex<Tail>>,
    /// Ends when stderr does.
    listener: JoinHandle<()>,
}

/// Why a worker gave no line.
enum ReadError {
    /// It closed its output.
    Ended,
    TooLong,
}

impl Pool {
    /// Gives the candidate to a worker, a new one if none is idle. An error means that no worker
    /// could be started.
    pub(super) async fn call(
        &self,
        program: &Program,
        candidate: &Candidate,
        timeout: Duration,
    ) -> io::Result<Outcome> {
        let mut worker = match self.idle_worker() {
            Some(worker) => worker,
            None => Worker::start(program)?,
        };
        let asked = tokio::time::timeout(timeout, worker.ask(&request(candidate))).await;
        Ok(match asked {
            Ok(Ok(line)) => {
                // A worker that answers another question would answer all further ones wrongly.
                if let Some(reason) = mismatch(&line, candidate) {
                    return Ok(Outcome::crashed(reason, line));
                }
                self.give_back(worker);
                Outcome::Answered(line)
            }
            Ok(Err(ReadError::Ended)) => Outcome::crashed(worker.last_words().await, Vec::new()),
            Ok(Err(ReadError::TooLong)) => {
                Outcome::truncated(format!("it wrote more than {BODY_BYTES_MAX} bytes"), Vec::new())
            }
            Err(_) => Outcome::timed_out(timeout),
        })
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
            if worker.is_quiet() {
                return Some(worker);
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
        Ok(Self { process, stdin, stdout: BufReader::new(stdout), complaint, listener })
    }

    async fn ask(&mut self, request: &str) -> Result<Vec<u8>, ReadError> {
        let Self { stdin, stdout, .. } = self;
        // At once, since a worker may answer before it has read all.
        let write = async {
            // What comes back, or does not, tells more than why it did not listen.
            drop(stdin.write_all(request.as_bytes()).await);
            drop(stdin.flush().await);
            Ok(())
        };
        tokio::try_join!(write, read_line(stdout)).map(|((), line)| line)
    }

    /// Whether nothing waits to be read, not even the end.
    fn is_quiet(&mut self) -> bool {
        if !self.stdout.buffer().is_empty() {
            return false;
        }
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let ready = std::pin::pin!(self.stdout.fill_buf());
        std::future::Future::poll(ready, &mut context).is_pending()
    }

    /// Why it ended, as far as it said.
    async fn last_words(&mut self) -> String {
        drop(tokio::time::timeout(LAST_WORDS, &mut self.listener).await);
        self.process.settle(LAST_WORDS).await;
        self.process.ending(&self.complaint.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The candidate with its `id`, as one line.
fn request(candidate: &Candidate) -> String {
    let line = input_line(&candidate.json);
    match line.trim_start().strip_prefix('{') {
        Some(rest) if !candidate.fields().contains_key("id") => {
            let comma = if candidate.fields().is_empty() { "" } else { "," };
            format!("{{\"id\":{}{comma}{rest}", Value::from(candidate.id.as_str()))
        }
        _ => line,
    }
}

/// What is wrong if the answer names another candidate.
fn mismatch(line: &[u8], candidate: &Candidate) -> Option<String> {
    let answer: Value = serde_json::from_slice(line).ok()?;
    let id = answer.get("id")?;
    let is_same = match candidate.fields().get("id") {
        Some(own) => own == id || id.as_str() == Some(&candidate.id),
        None => id.as_str() == Some(&candidate.id),
    };
    (!is_same).then(|| format!("it answered for {id}, not for {}", candidate.id))
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

/// A worker that closes its output has so long to say why.
const LAST_WORDS: Duration = Duration::from_millis(200);
