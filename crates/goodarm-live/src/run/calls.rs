//! Calls that others make: started together, and back in any order.

use std::sync::Arc;

use goodarm_core::Pull;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::job::Job;
use crate::line::{Condition, Line};
use crate::run::crashed;
use crate::verifier::Reply;

/// What came back from a call.
pub(super) struct Done {
    pub(super) pull: Pull,
    pub(super) reply: Reply,
}

/// Who makes the calls.
pub(super) struct Calls {
    bench: Arc<Bench>,
    receiver: UnboundedReceiver<Done>,
    /// What a wait brought.
    first: Option<Done>,
}

/// What a call needs.
struct Bench {
    job: Arc<Job>,
    lines: Vec<Line>,
    sender: UnboundedSender<Done>,
}

impl Calls {
    pub(super) fn new(job: &Arc<Job>) -> Self {
        let lines = job.verifiers.iter().map(|verifier| Line::new(verifier.limits)).collect();
        let (sender, receiver) = unbounded_channel();
        let bench = Arc::new(Bench { job: Arc::clone(job), lines, sender });
        Self { bench, receiver, first: None }
    }

    /// Starts a call whose intent is durable. Whoever leaves with calls out drops them with the
    /// runtime.
    pub(super) fn start(&self, pull: Pull) {
        tokio::spawn(make(Slip { pull, bench: Some(Arc::clone(&self.bench)) }));
    }

    /// What has come back, without waiting.
    pub(super) fn take(&mut self) -> Option<Done> {
        self.first.take().or_else(|| self.receiver.try_recv().ok())
    }

    /// Waits until something has come back, which is then there to take. Whoever stops waiting misses
    /// nothing.
    pub(super) async fn wait(&mut self) {
        if self.first.is_none() {
            self.first = self.receiver.recv().await;
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

async fn make(mut slip: Slip) {
    let Pull { arm, attribute, .. } = slip.pull;
    let Some(bench) = slip.bench.clone() else { return };
    let verifier = &bench.job.verifiers[attribute.index()].verifier;
    let candidate = bench.job.candidates.get(arm);
    let reply = verifier.call(&candidate, &bench.lines[attribute.index()]).await;
    slip.hand_in(reply);
}

/// Sees to it that every call is answered, even if the task that makes it dies.
struct Slip {
    pull: Pull,
    bench: Option<Arc<Bench>>,
}

impl Slip {
    fn hand_in(&mut self, reply: Reply) {
        if let Some(bench) = self.bench.take() {
            // Nobody listens any more when the run has been left.
            let _ = bench.sender.send(Done { pull: self.pull, reply });
        }
    }
}

impl Drop for Slip {
    fn drop(&mut self) {
        self.hand_in(crashed());
    }
}
