//! Programs that serve many calls: one JSON line in, one JSON line out.
//!
//! An extra line would be taken for the reply to the next request. So each request has a number, `call`. If a
//! worker repeats the number in its replies, lines without it are skipped. Otherwise a late line cannot be told
//! from a reply: then goodarm sometimes waits for more output before the next request, and one unsolicited line
//! ends the service.

pub(crate) mod request;
mod talk;

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use goodarm_data::candidates::Candidate;
use goodarm_record::reply::{ServiceWarning, shorten};

use self::request::WorkerRequest;
use self::talk::{Worker, WorkerState};
use super::{ProcessOutcome, Program, is_wanted};
use crate::transcript::{Exchange, Transcript};

/// The idle workers of a program. There are never more than the calls that were in flight at the same time.
#[derive(Debug)]
pub(super) struct WorkerPool {
    state: Mutex<State>,
    /// The additional time that a new worker has for its first reply.
    startup: Duration,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Worker>,
    call_count: u64,
    /// Whether a worker has repeated the number of its call. All workers run the same program, so then all do.
    repeats_calls: bool,
    /// The first unsolicited line of a worker.
    unasked: Option<String>,
}

impl WorkerPool {
    pub(super) fn new(startup: Duration) -> Self {
        Self { state: Mutex::default(), startup }
    }

    /// Sends the candidate to an idle worker, or to a new one. Returns the outcome and how long the worker worked. An
    /// error means that no worker could be started.
    pub(super) async fn call(
        &self,
        program: &Program,
        candidate: &Candidate,
        timeout: Duration,
        transcript: &Transcript,
    ) -> io::Result<(ProcessOutcome, Duration)> {
        let mut worker = match self.idle_worker().await {
            Ok(Some(worker)) => worker,
            Ok(None) => Worker::start(program, self.state().repeats_calls)?,
            Err(unasked) => {
                let outcome = ProcessOutcome::mistrusted(program, &unasked, Vec::new());
                self.note_unasked(&outcome);
                return Ok((outcome, Duration::ZERO));
            }
        };
        let startup = if worker.has_answered() { Duration::ZERO } else { self.startup };
        let request = WorkerRequest::new(candidate, self.next_call());
        let (outcome, worked) = worker.answer(program, &request, startup + timeout).await;
        self.note_unasked(&outcome);
        transcript.note(|| Exchange {
            sent: shorten(program.secrets.remove(format!(
                "$ {}\n{}",
                program.line(),
                request.line
            ))),
            received: shorten(program.text(outcome.output())),
        });
        // After any other outcome a reply may still come, so the worker is not used again.
        if matches!(&outcome, ProcessOutcome::Answered(line) if is_wanted(line, &program.wanted)) {
            self.give_back(worker);
        }
        Ok((outcome, worked))
    }

    /// Records the first unsolicited line, for the warning.
    fn note_unasked(&self, outcome: &ProcessOutcome) {
        if let ProcessOutcome::Mistrusted { unasked, .. } = outcome {
            self.state().unasked.get_or_insert_with(|| format!("{unasked:?}"));
        }
    }

    /// A warning about unsolicited lines.
    pub(super) fn warning(&self) -> Option<ServiceWarning> {
        self.state().unasked.as_ref().map(|unasked| ServiceWarning {
            weakens_promise: true,
            text: format!(
                "a worker wrote an unsolicited line ({unasked}), and it does not repeat \"call\": \
                 scores may belong to other answers, and certificates may be wrong"
            ),
        })
    }

    fn next_call(&self) -> u64 {
        let mut state = self.state();
        state.call_count += 1;
        state.call_count
    }

    /// Takes an idle worker that is still alive, if there is one. The error is an unsolicited line that it wrote.
    async fn idle_worker(&self) -> Result<Option<Worker>, Vec<u8>> {
        loop {
            let Some(mut worker) = self.state().idle.pop() else { return Ok(None) };
            match worker.stir(Duration::ZERO).await {
                WorkerState::Line if !worker.repeats_calls => {
                    return Err(worker.rest_of_line().await);
                }
                WorkerState::Line | WorkerState::Silence => return Ok(Some(worker)),
                WorkerState::End => {}
            }
        }
    }

    fn give_back(&self, worker: Worker) {
        let mut state = self.state();
        state.repeats_calls |= worker.repeats_calls;
        state.idle.push(worker);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
