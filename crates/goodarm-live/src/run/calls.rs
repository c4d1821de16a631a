//! Calls that others make: started together, and back in any order through one channel.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use goodarm_core::{Cost, Pull};
use tokio::runtime::{Builder, Runtime};

use crate::job::{Job, Work};
use crate::line::{Condition, Line};
use crate::run::crashed;
use crate::verifier::Reply;

/// What came back from a call.
pub(super) struct Done {
    pub(super) pull: Pull,
    pub(super) reply: Reply,
    /// Known without the tariff, for calls of our own.
    pub(super) cost: Option<Cost>,
    pub(super) latency: Duration,
}

/// Who makes the calls.
pub(super) struct Calls {
    /// None if every verifier is our own.
    runtime: Option<Runtime>,
    bench: Arc<Bench>,
    sender: Sender<Done>,
    receiver: Receiver<Done>,
    /// What a wait brought.
    first: Option<Done>,
    had_news: bool,
}

/// What a call needs.
struct Bench {
    job: Arc<Job>,
    lines: Vec<Line>,
}

impl Calls {
    pub(super) fn new(job: &Arc<Job>) -> io::Result<Self> {
        let is_remote =
            job.verifiers.iter().any(|verifier| matches!(verifier.work, Work::Remote(_)));
        let runtime = is_remote.then(|| {
            Builder::new_multi_thread().worker_threads(1).thread_name("calls").enable_all().build()
        });
        let lines = job.verifiers.iter().map(|verifier| Line::new(verifier.limits)).collect();
        let (sender, receiver) = channel();
        Ok(Self {
            runtime: runtime.transpose()?,
            bench: Arc::new(Bench { job: Arc::clone(job), lines }),
            sender,
            receiver,
            first: None,
            had_news: false,
        })
    }

    /// Starts calls whose intents are durable.
    pub(super) fn start_all(&mut self, pulls: impl Iterator<Item = Pull>) {
        self.had_news = false;
        for pull in pulls {
            let runtime = self.runtime.as_ref().expect("a remote verifier has a runtime");
            let bench = Arc::clone(&self.bench);
            let mut slip =
                Slip { pull, started: Instant::now(), sender: Some(self.sender.clone()) };
            runtime.spawn(async move {
                let verifier = &bench.job.verifiers[pull.attribute.index()];
                let Work::Remote(remote) = &verifier.work else { return };
                let candidate = bench.job.candidates.get(pull.arm);
                let reply = remote.call(&candidate, &bench.lines[pull.attribute.index()]).await;
                slip.hand_in(reply);
            });
        }
    }

    /// What has come back, without waiting.
    pub(super) fn take(&mut self) -> Option<Done> {
        let done = self.first.take().or_else(|| self.receiver.try_recv().ok())?;
        self.had_news = true;
        Some(done)
    }

    /// Whether something has come back since calls were last started.
    pub(super) const fn had_news(&self) -> bool {
        self.had_news
    }

    /// Waits until something has come back, or the time is up.
    pub(super) fn wait(&mut self, time: Duration) {
        if self.first.is_none() {
            self.first = self.receiver.recv_timeout(time).ok();
        }
    }

    /// Calls that wait for their turn come back as void.
    pub(super) fn stop_lines(&self) {
        self.bench.lines.iter().for_each(Line::stop);
    }

    pub(super) fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        self.bench.lines.iter().map(Line::condition)
    }

    pub(super) fn retry_count(&self) -> u64 {
        self.bench.lines.iter().map(Line::retry_count).sum()
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Whoever leaves with calls out does not want to wait for them.
            runtime.shutdown_background();
        }
    }
}

/// Sees to it that every call is answered, even if the task that makes it dies.
struct Slip {
    pull: Pull,
    started: Instant,
    sender: Option<Sender<Done>>,
}

impl Slip {
    fn hand_in(&mut self, reply: Reply) {
        if let Some(sender) = self.sender.take() {
            let latency = self.started.elapsed();
            // Nobody listens any more when the run has been left.
            let _ = sender.send(Done { pull: self.pull, reply, cost: None, latency });
        }
    }
}

impl Drop for Slip {
    fn drop(&mut self) {
        self.hand_in(crashed());
    }
}
