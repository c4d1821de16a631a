//! One worker: a request in, its answer out, and how much of what it says is believed.

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
use crate::services::command::{Program, ReplyForm, is_wanted};

/// A program that waits for requests.
#[derive(Debug)]
pub(super) struct Worker {
    process: ChildProcess,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    complaint: Arc<Mutex<StderrTail>>,
    /// Ends when stderr does.
    listener: JoinHandle<()>,
    /// Whether its answers are known by their numbers, so that other lines do no harm.
    pub(super) repeats_calls: bool,
    wanted: ReplyForm,
    answer_count: u64,
    /// The longest that an answer took.
    slowest: Duration,
    /// How long it has worked since it was last listened to.
    unheard: Duration,
}

/// What a worker said to a request.
pub(super) enum WorkerReply {
    Answer(Vec<u8>),
    /// It answers another question, and so would all further ones.
    Mismatch {
        reason: String,
        line: Vec<u8>,
    },
    /// Two lines without a number.
    Unasked {
        line: Vec<u8>,
        unasked: Vec<u8>,
    },
    /// It closed its output.
    End,
    TooMuch,
    /// It was not done in time.
    Nothing,
}

/// What a worker does when it is only listened to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerState {
    Silence,
    Line,
    End,
}

impl WorkerReply {
    /// Word for word.
    pub(super) fn words(&self) -> Vec<u8> {
        let lines: &[&[u8]] = match self {
            Self::Answer(line) | Self::Mismatch { line, .. } => &[line],
            Self::Unasked { line, unasked } => &[line, unasked],
            Self::End | Self::TooMuch | Self::Nothing => &[],
        };
        lines.concat()
    }
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
            wanted: program.wanted.clone(),
            answer_count: 0,
            slowest: Duration::ZERO,
            unheard: Duration::ZERO,
        })
    }

    pub(super) const fn has_answered(&self) -> bool {
        self.answer_count > 0
    }

    /// Asks, and says how long the answer took; to listen for more takes none of the worker's time.
    pub(super) async fn answer(
        &mut self,
        request: &WorkerRequest,
        limit: Duration,
    ) -> (WorkerReply, Duration) {
        let began = Instant::now();
        let asked = timeout(limit, self.ask(request)).await;
        let worked = began.elapsed();
        self.answer_count += 1;
        self.slowest = self.slowest.max(worked);
        self.unheard += worked;
        let said = match asked {
            Err(_) => WorkerReply::Nothing,
            Ok(Err(said)) => said,
            Ok(Ok((line, LineOwner::This))) => {
                self.repeats_calls = true;
                WorkerReply::Answer(line)
            }
            Ok(Ok((line, LineOwner::Other(reason)))) => WorkerReply::Mismatch { reason, line },
            Ok(Ok((line, LineOwner::Unknown))) => {
                self.confirmed(line, request, began + limit).await
            }
        };
        (said, worked)
    }

    /// The first line that may be the answer.
    async fn ask(&mut self, request: &WorkerRequest) -> Result<(Vec<u8>, LineOwner), WorkerReply> {
        let has_numbers = self.repeats_calls && request.is_numbered();
        let Self { process, stdin, stdout, .. } = self;
        // At once, since a worker may answer before it has read all.
        let write = async {
            // What comes back, or does not, tells more than why it did not listen.
            drop(stdin.write_all(request.line.as_bytes()).await);
            drop(stdin.flush().await);
            Ok(())
        };
        let answer = async {
            let mut room = SkipLimit::default();
            loop {
                let line = read_line(stdout).await?;
                let owner = request.owner(&line, has_numbers);
                if !has_numbers || !matches!(owner, LineOwner::Unknown) {
                    return Ok((line, owner));
                }
                if !room.has_room_for(&line) {
                    return Err(WorkerReply::TooMuch);
                }
            }
        };
        let mut asked = pin!(async { tokio::try_join!(write, answer) });
        let asked = tokio::select! {
            biased;
            asked = &mut asked => asked,
            // What it wrote is there at once; another that holds its pipe open says nothing for it.
            () = process.end() => timeout(LAST_WORDS, asked).await.unwrap_or(Err(WorkerReply::End)),
        };
        asked.map(|((), answer)| answer)
    }

    /// What to make of a line without a number: an answer if nothing follows it, as far as one can wait
    /// for that. A new worker may greet before it answers with a number.
    async fn confirmed(
        &mut self,
        line: Vec<u8>,
        request: &WorkerRequest,
        end: Instant,
    ) -> WorkerReply {
        let is_wanted = |line: &[u8], worker: &Self| is_wanted(line, &worker.wanted);
        let is_first = self.answer_count == 1 && request.is_numbered();
        let may_greet = is_first && !is_wanted(&line, self);
        let patience = if may_greet { GREETING } else { self.quiet() };
        let mut room = SkipLimit::default();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let patience = if may_greet { patience.min(left) } else { patience };
            if self.stir(patience).await != WorkerState::Line {
                return WorkerReply::Answer(line);
            }
            let next = self.rest_of_line().await;
            match request.owner(&next, false) {
                LineOwner::This => {
                    self.repeats_calls = true;
                    return WorkerReply::Answer(next);
                }
                _ if may_greet && !is_wanted(&next, self) && room.has_room_for(&next) => {}
                _ => return WorkerReply::Unasked { line, unasked: next },
            }
        }
    }

    /// For how long to listen after this answer: for a while after the first ones and whenever their
    /// number has doubled, and about a twentieth of the time.
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

    /// Waits for so long whether it says anything. Empty lines are nothing.
    pub(super) async fn stir(&mut self, patience: Duration) -> WorkerState {
        // What has come meanwhile is seen only after this.
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

    /// The line that has begun; empty if it does not end.
    pub(super) async fn rest_of_line(&mut self) -> Vec<u8> {
        let line = timeout(LAST_WORDS, read_line(&mut self.stdout)).await;
        line.ok().and_then(Result::ok).unwrap_or_default()
    }

    /// Why it ended, as far as it said.
    pub(super) async fn last_words(&mut self) -> String {
        drop(timeout(LAST_WORDS, &mut self.listener).await);
        self.process.settle(LAST_WORDS).await;
        self.process.ending(&self.complaint.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How much is passed over for one request.
#[derive(Default)]
struct SkipLimit {
    lines: usize,
    bytes: usize,
}

impl SkipLimit {
    const fn has_room_for(&mut self, line: &[u8]) -> bool {
        self.lines += 1;
        self.bytes += line.len();
        self.lines <= PASSED_OVER_MAX && self.bytes <= BODY_BYTES_MAX
    }
}

async fn read_line(stdout: &mut BufReader<ChildStdout>) -> Result<Vec<u8>, WorkerReply> {
    let mut line = Vec::new();
    let limit = u64::try_from(BODY_BYTES_MAX).unwrap_or(u64::MAX);
    loop {
        line.clear();
        let read = stdout.take(limit).read_until(b'\n', &mut line).await;
        match (read, line.last()) {
            (Err(_) | Ok(0), _) => return Err(WorkerReply::End),
            (Ok(_), Some(b'\n')) if line.trim_ascii().is_empty() => {}
            (Ok(_), Some(b'\n')) => return Ok(line),
            (Ok(_), _) if line.len() >= BODY_BYTES_MAX => return Err(WorkerReply::TooMuch),
            // Half a line, then the end.
            (Ok(_), _) => return Err(WorkerReply::End),
        }
    }
}

/// A worker whose answers have no number is listened to for twice as long as its slowest answer took,
/// within these bounds.
const QUIET_MIN: Duration = Duration::from_millis(100);
const QUIET_MAX: Duration = Duration::from_secs(2);
/// A new worker that has said something else has so long to answer with a number.
const GREETING: Duration = Duration::from_secs(10);
/// More lines for one request are not passed over.
const PASSED_OVER_MAX: usize = 10_000;
/// A worker that closes its output has so long to say why.
const LAST_WORDS: Duration = Duration::from_millis(200);
