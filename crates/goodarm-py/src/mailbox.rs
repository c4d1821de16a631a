//! A queue of calls to Python functions. A run enqueues calls; threads, an event loop or a cluster dequeue
//! them and return outcomes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use goodarm_core::{Cost, CountedFailure, Failure, VoidFailure};
use goodarm_data::candidates::Candidate;
use goodarm_live::pricing::Extent;
use goodarm_live::service::attempt::{Attempt, attempts};
use goodarm_live::service::{CallFuture, Manifest, Remote, Reply, Service, Usage};
use goodarm_live::throttle::Throttle;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFloat, PyTuple};
use tokio::sync::oneshot;

use crate::awaited::duration;
use crate::errors::exception;
use crate::money::price;

/// The waiting calls of one verifier.
#[pyclass(frozen, module = "goodarm._native")]
pub(crate) struct Mailbox(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    timeout: Duration,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    out: HashMap<u64, Out>,
    number_next: u64,
    is_closed: bool,
}

/// A call that no thread has taken yet.
struct Waiting {
    number: u64,
    since: Instant,
    json: String,
    sender: oneshot::Sender<Attempt<Reply>>,
}

/// A call that was taken.
struct Out {
    since: Instant,
    sender: oneshot::Sender<Attempt<Reply>>,
}

impl State {
    fn dequeue(&mut self, now: Instant) -> Option<(u64, String)> {
        while let Some(Waiting { number, json, sender, .. }) = self.waiting.pop_front() {
            // A closed channel means that the run was dropped.
            if !sender.is_closed() {
                self.out.insert(number, Out { since: now, sender });
                return Some((number, json));
            }
        }
        None
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enqueue(&self, candidate: &Candidate) -> oneshot::Receiver<Attempt<Reply>> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        let number = state.number_next;
        state.number_next += 1;
        let (since, json) = (Instant::now(), candidate.json.clone());
        state.waiting.push_back(Waiting { number, since, json, sender });
        drop(state);
        self.changed.notify_one();
        receiver
    }

    /// Waits for calls, and dequeues at most `most`. After the first call it waits up to `linger` for more. Without
    /// a call, the list is empty after `until`. `None` when the mailbox is closed.
    fn dequeue(
        &self,
        most: usize,
        linger: Duration,
        until: Option<Instant>,
    ) -> Option<Vec<(u64, String)>> {
        let mut state = self.state();
        let mut linger_until = None;
        loop {
            if state.is_closed {
                return None;
            }
            let now = Instant::now();
            if !state.waiting.is_empty() {
                let until = *linger_until.get_or_insert(now.checked_add(linger));
                if state.waiting.len() >= most || until.is_some_and(|until| now >= until) {
                    break;
                }
            } else if until.is_some_and(|until| now >= until) {
                break;
            }
            let until = if state.waiting.is_empty() { until } else { linger_until.flatten() };
            state = match until {
                Some(until) => {
                    let wait = until.saturating_duration_since(now);
                    self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        let now = Instant::now();
        Some(std::iter::from_fn(|| state.dequeue(now)).take(most).collect())
    }

    /// The next call, without waiting for it.
    fn dequeue_one(&self) -> Option<(u64, String)> {
        self.state().dequeue(Instant::now())
    }

    /// Sends an outcome to the run; returns false if the run does not wait for it any more.
    fn give(&self, number: u64, outcome: impl FnOnce(Duration) -> Attempt<Reply>) -> bool {
        let Some(Out { since, sender }) = self.state().out.remove(&number) else { return false };
        sender.send(outcome(since.elapsed())).is_ok()
    }
}

/// A call that was taken: its number and its candidate.
type Taken<'py> = (u64, Bound<'py, PyAny>);

#[pymethods]
impl Mailbox {
    #[new]
    fn new(timeout: f64) -> PyResult<Self> {
        let timeout = Duration::try_from_secs_f64(timeout)
            .map_err(|error| PyValueError::new_err(format!("timeout: {error}")))?;
        let shared = Shared { state: Mutex::default(), changed: Condvar::new(), timeout };
        Ok(Self(Arc::new(shared)))
    }

    /// Waits for calls and dequeues at most `most` of them, each as its number and its candidate; after the
    /// first it waits `linger` seconds for more. Returns None when the mailbox is closed, and an empty
    /// list after `wait` seconds without a call.
    #[pyo3(name = "take", signature = (most, linger = 0.0, wait = None))]
    fn dequeue<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        linger: f64,
        wait: Option<f64>,
    ) -> PyResult<Option<Vec<Taken<'py>>>> {
        let (linger, wait) = (duration(linger)?, wait.map(duration).transpose()?);
        // A time beyond the range of the clock means no limit.
        let until = wait.and_then(|wait| Instant::now().checked_add(wait));
        let Some(taken) = py.detach(|| self.0.dequeue(most, linger, until)) else {
            return Ok(None);
        };
        let loads = json_loads(py)?;
        let parsed = |(number, json)| Ok((number, loads.call1((json,))?));
        taken.into_iter().map(parsed).collect::<PyResult<_>>().map(Some)
    }

    /// Returns the outcome of one call to the run, if given, and waits for the next call. The result is
    /// None when the mailbox is closed.
    #[pyo3(signature = (outcome))]
    fn next<'py>(
        &self,
        py: Python<'py>,
        outcome: Option<(u64, Bound<'py, PyAny>)>,
    ) -> PyResult<Option<Taken<'py>>> {
        if let Some((number, outcome)) = outcome {
            self.return_outcome(number, &outcome);
        }
        let taken = self.0.dequeue_one().or_else(|| {
            py.detach(|| self.0.dequeue(1, Duration::ZERO, None)).and_then(|mut taken| taken.pop())
        });
        let Some((number, json)) = taken else { return Ok(None) };
        Ok(Some((number, json_loads(py)?.call1((json,))?)))
    }

    /// Returns outcomes to the run: the number of each call, and a score or one of the tuples
    /// `("score", score, cost, reply)`, `("failed", failure, reason, cost, reply)`,
    /// `("void", reason, retry_after)` and `("lost", reason)`. Outcomes that the run does not wait for are dropped.
    #[pyo3(name = "put")]
    fn return_outcomes(&self, outcomes: Vec<(u64, Bound<'_, PyAny>)>) {
        outcomes.iter().for_each(|(number, outcome)| self.return_outcome(*number, outcome));
    }

    /// The number of calls that have waited for at least `seconds`.
    fn backlog(&self, seconds: f64) -> usize {
        let state = self.0.state();
        let now = Instant::now();
        let is_old = |call: &&Waiting| now.duration_since(call.since).as_secs_f64() >= seconds;
        state.waiting.iter().take_while(is_old).count()
    }

    /// Fails the calls that have taken longer than the timeout; returns their numbers.
    fn expire(&self) -> Vec<u64> {
        let mut state = self.0.state();
        let timeout = self.0.timeout;
        let is_late = |call: &Out| call.since.elapsed() > timeout;
        let late: Vec<u64> =
            state.out.iter().filter(|(_, call)| is_late(call)).map(|(number, _)| *number).collect();
        for number in &late {
            if let Some(Out { since, sender }) = state.out.remove(number) {
                let reason = format!("no reply within {} s", timeout.as_secs_f64());
                let reply = Reply::failed(CountedFailure::TimedOut, reason);
                let _ =
                    sender.send(attempt_with_reply(reply, None, since.elapsed(), String::new()));
            }
        }
        late
    }

    /// Closes the mailbox, and wakes all waiting threads.
    fn close(&self) {
        let mut state = self.0.state();
        state.is_closed = true;
        state.waiting.clear();
        drop(state);
        self.0.changed.notify_all();
    }
}

impl Mailbox {
    /// Returns an outcome to the run. One that cannot be read counts as a failure, so that its call is not lost.
    fn return_outcome(&self, number: u64, outcome: &Bound<'_, PyAny>) {
        self.0.give(number, |worked| {
            attempt_of(outcome, worked).unwrap_or_else(|error| {
                let reply = Reply::failed(CountedFailure::Unreadable, error.to_string());
                attempt_with_reply(reply, None, worked, String::new())
            })
        });
    }

    /// The service whose calls come into this mailbox.
    pub(crate) fn service(&self, function: String) -> Service {
        let extent = Extent { timeout: self.0.timeout, ..Extent::default() };
        let manifest = Manifest { extent, ..Manifest::default() };
        Service::remote(manifest, PythonFunction { shared: Arc::clone(&self.0), function })
    }
}

/// Converts a value from Python into an attempt; `worked` is how long the call took.
fn attempt_of(outcome: &Bound<'_, PyAny>, worked: Duration) -> PyResult<Attempt<Reply>> {
    if let Ok(score) = outcome.cast::<PyFloat>() {
        return Ok(attempt_with_reply(Reply::score(score.extract()?), None, worked, String::new()));
    }
    let outcome = outcome.cast::<PyTuple>()?;
    let text = |index: usize| -> PyResult<String> {
        Ok(outcome.get_item(index)?.extract::<Option<String>>()?.unwrap_or_default())
    };
    let cost = |index: usize| -> PyResult<Option<Cost>> {
        let cost = outcome.get_item(index)?;
        if cost.is_none() { Ok(None) } else { price(&cost).map(Some) }
    };
    Ok(match text(0)?.as_str() {
        "score" => {
            let reply = Reply::score(outcome.get_item(1)?.extract()?);
            attempt_with_reply(reply, cost(2)?, worked, text(3)?)
        }
        "failed" => {
            let name = text(1)?;
            let Some(Failure::Counted(failure)) = Failure::from_name(&name) else {
                return Err(PyValueError::new_err(format!("{name:?} is not a counted failure")));
            };
            attempt_with_reply(Reply::failed(failure, text(2)?), cost(3)?, worked, text(4)?)
        }
        "void" => {
            let seconds: Option<f64> = outcome.get_item(2)?.extract()?;
            let retry_after = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let failure = match retry_after {
                Some(_) => VoidFailure::RateLimited,
                None => VoidFailure::NotConnected,
            };
            Attempt::Void { failure, retry_after, reason: text(1)? }
        }
        "lost" => Attempt::Broke(Reply::failed(CountedFailure::Lost, text(1)?)),
        name => return Err(exception("Error", "", format!("{name:?} is not an outcome"))),
    })
}

fn attempt_with_reply(
    reply: Reply,
    cost: Option<Cost>,
    worked: Duration,
    text: String,
) -> Attempt<Reply> {
    let usage = Usage { cost, worked, ..reply.usage };
    Attempt::Answered(Reply { usage, text, ..reply })
}

fn json_loads(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    LOADS.import(py, "json", "loads")
}

/// A Python function as a service: its calls go into the mailbox.
struct PythonFunction {
    shared: Arc<Shared>,
    function: String,
}

impl PythonFunction {
    async fn attempt(&self, candidate: &Candidate) -> Attempt<Reply> {
        self.shared.enqueue(candidate).await.unwrap_or_else(|_| {
            // The mailbox was closed, which happens only when a run is dropped.
            Attempt::Hopeless { reason: "the verifier takes no more calls".into() }
        })
    }
}

impl Remote for PythonFunction {
    fn preview(&self, candidate: &Candidate) -> String {
        format!("{}({})", self.function, candidate.json)
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, throttle: &'a Throttle) -> CallFuture<'a> {
        Box::pin(async move {
            let attempt = || self.attempt(candidate);
            attempts(throttle, attempt).await.unwrap_or_else(|reply| reply)
        })
    }
}
