//! One worker: writes a request to it, reads the reply, and checks that no other line follows.

use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::request::{LineOwner, WorkerRequest};
use crate::services::BODY_BYTES_MAX;
use crate::services::command::process::{ChildProcess, Pipes, StderrTail};
use crate::services::command::{ProcessOutcome, Program, is_wanted};

/// A program that waits for requests.
#[derive(Debug)]
pub(super) struct Worker {
    process: ChildProcess,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    complaint: Arc<Mutex<StderrTail>>,
    /// Reads standard error until it ends.
    listener: JoinHandle<()>,
    /// Whether its replies repeat the number of the call, so that other lines are harmless.
    pub(super) repeats_calls: bool,
    answer_count: u64,
    /// The longest time that a reply took.
    slowest: Duration,
    /// How long it has worked since the last wait for more output.
    unheard: Duration,
}

/// Why a worker wrote no complete line.
enum NoLine {
    /// The output has ended, perhaps within a line.
    End,
    TooMuch,
}

/// The output of a worker while no reply is expected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerState {
    Silence,
    Line,
    End,
}

impl Worker {
    pub(super) fn start(program: &Program, repeats_calls: bool) -> io::Result<Self> {
        let mut process = ChildProcess::start(program)?;
        let Pipes { stdin, stdout, mut stderr } =
            process.pipes().ok_or_else(|| io::Error::other("its pipes are gone"))?;
        let complaint = Arc::new(Mutex::new(StderrTail::default()));
        let heard = Arc::clone(&complaint);
        let listener = tokio::spawn(async move {
            let take =
                |bytes: &[u8]| heard.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
            StderrTail::follow(&mut stderr, take).await;
        });
        Ok(Self {
            process,
            stdin,
            stdout: BufReader::new(stdout),
            complaint,
            listener,
            repeats_calls,
            answer_count: 0,
            slowest: Duration::ZERO,
            unheard: Duration::ZERO,
        })
    }

    pub(super) const fn has_answered(&self) -> bool {
        self.answer_count > 0
    }

    /// Sends a request. Returns the outcome, and the time until the reply without the wait for more output.
    pub(super) async fn answer(
        &mut self,
        program: &Program,
        request: &WorkerRequest,
        limit: Duration,
    ) -> (ProcessOutcome, Duration) {
        let began = Instant::now();
        let asked = timeout(limit, self.ask(request)).await;
        let worked = began.elapsed();
        self.answer_count += 1;
        self.slowest = self.slowest.max(worked);
        self.unheard += worked;
        let outcome = match asked {
            Err(_) => ProcessOutcome::timed_out(limit),
            Ok(Err(NoLine::End)) => ProcessOutcome::crashed(self.last_words().await, Vec::new()),
            Ok(Err(NoLine::TooMuch)) => {
                let reason = format!("it wrote more than {BODY_BYTES_MAX} bytes");
                ProcessOutcome::truncated(reason, Vec::new())
            }
            Ok(Ok((line, LineOwner::This))) => {
                self.repeats_calls = true;
                ProcessOutcome::Answered(line)
            }
            Ok(Ok((line, LineOwner::Other(reason)))) => ProcessOutcome::crashed(reason, line),
            Ok(Ok((line, LineOwner::Unknown))) => {
                self.confirmed(program, line, request, began + limit).await
            }
        };
        (outcome, worked)
    }

    /// Sends a request, and returns the first line that may be the reply.
    async fn ask(&mut self, request: &WorkerRequest) -> Result<(Vec<u8>, LineOwner), NoLine> {
        let has_numbers = self.repeats_calls && request.is_numbered();
        let Self { process, stdin, stdout, .. } = self;
        // Concurrently, since a worker may reply before it has read the whole request.
        let write = async {
            // If this fails, the output of the worker explains it better than an error of the pipe.
            drop(stdin.write_all(request.line.as_bytes()).await);
            drop(stdin.flush().await);
            Ok(())
        };
        let answer = async {
            let mut skipped_bytes = 0;
            loop {
                let line = read_line(stdout).await?;
                let owner = request.owner(&line, has_numbers);
                if !has_numbers || !matches!(owner, LineOwner::Unknown) {
                    return Ok((line, owner));
                }
                skipped_bytes += line.len();
                if skipped_bytes > BODY_BYTES_MAX {
                    return Err(NoLine::TooMuch);
                }
            }
        };
        let mut asked = pin!(async { tokio::try_join!(write, answer) });
        let asked = tokio::select! {
            biased;
            asked = &mut asked => asked,
            // The worker has ended. Its output is available at once; a child that holds the pipe open does not count.
            () = process.end() => timeout(LAST_WORDS, asked).await.unwrap_or(Err(NoLine::End)),
        };
        asked.map(|((), answer)| answer)
    }

    /// The outcome of a line without a number: the line is the reply if no other one follows within a short time. A
    /// new worker may write a greeting before a reply with a number.
    async fn confirmed(
        &mut self,
        program: &Program,
        line: Vec<u8>,
        request: &WorkerRequest,
        end: Instant,
    ) -> ProcessOutcome {
        let is_first = self.answer_count == 1 && request.is_numbered();
        let may_greet = is_first && !is_wanted(&line, &program.wanted);
        let patience = if may_greet { GREETING } else { self.quiet() };
        let mut skipped_bytes = 0;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let patience = if may_greet { patience.min(left) } else { patience };
            if self.stir(patience).await != WorkerState::Line {
                return ProcessOutcome::Answered(line);
            }
            let next = self.rest_of_line().await;
            skipped_bytes += next.len();
            match request.owner(&next, false) {
                LineOwner::This => {
                    self.repeats_calls = true;
                    return ProcessOutcome::Answered(next);
                }
                _ if may_greet
                    && !is_wanted(&next, &program.wanted)
                    && skipped_bytes <= BODY_BYTES_MAX => {}
                _ => return ProcessOutcome::mistrusted(program, &next, line),
            }
        }
    }

    /// How long to wait for more output after this reply; zero after most replies. There is a wait after the first
    /// three replies, after each power of two, and when the worker has worked for 20 times the length of a wait.
    fn quiet(&mut self) -> Duration {
        let quiet = (self.slowest * 2).clamp(QUIET_MIN, QUIET_MAX);
        let count = self.answer_count;
        let is_due = count <= 3 || count.is_power_of_two() || self.unheard >= quiet * 20;
        if !is_due {
            return Duration::ZERO;
        }
        self.unheard = Duration::ZERO;
        quiet
    }

    /// Waits up to `patience` for output, and returns what came. Empty lines do not count.
    pub(super) async fn stir(&mut self, patience: Duration) -> WorkerState {
        // Without this, output that has already arrived might not be seen.
        tokio::task::yield_now().await;
        let sound = async {
            loop {
                match self.stdout.fill_buf().await {
                    Err(_) | Ok([]) => return WorkerState::End,
                    Ok(bytes) if !bytes.trim_ascii().is_empty() => return WorkerState::Line,
                    Ok(bytes) => {
                        let count = bytes.len();
                        self.stdout.consume(count);
                    }
                }
            }
        };
        timeout(patience, sound).await.unwrap_or(WorkerState::Silence)
    }

    /// The rest of a line; empty if its end does not arrive in a short time.
    pub(super) async fn rest_of_line(&mut self) -> Vec<u8> {
        let line = timeout(LAST_WORDS, read_line(&mut self.stdout)).await;
        line.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Why the worker ended: its exit status, and the last lines of standard error.
    async fn last_words(&mut self) -> String {
        drop(timeout(LAST_WORDS, &mut self.listener).await);
        self.process.settle(LAST_WORDS).await;
        self.process.ending(&self.complaint.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn read_line(stdout: &mut BufReader<ChildStdout>) -> Result<Vec<u8>, NoLine> {
    let mut line = Vec::new();
    let limit = u64::try_from(BODY_BYTES_MAX).unwrap_or(u64::MAX);
    loop {
        line.clear();
        let read = stdout.take(limit).read_until(b'\n', &mut line).await;
        match (read, line.last()) {
            (Err(_) | Ok(0), _) => return Err(NoLine::End),
            (Ok(_), Some(b'\n')) if line.trim_ascii().is_empty() => {}
            (Ok(_), Some(b'\n')) => return Ok(line),
            (Ok(_), _) if line.len() >= BODY_BYTES_MAX => return Err(NoLine::TooMuch),
            // The output ends within a line.
            (Ok(_), _) => return Err(NoLine::End),
        }
    }
}

/// A wait for more output is twice as long as the slowest reply took, within these bounds.
const QUIET_MIN: Duration = Duration::from_millis(100);
const QUIET_MAX: Duration = Duration::from_secs(2);
/// The time that a new worker has after a greeting to send a reply with a number.
const GREETING: Duration = Duration::from_secs(10);
/// The time that a worker has to finish a line, to write an error, or to end.
const LAST_WORDS: Duration = Duration::from_millis(200);
