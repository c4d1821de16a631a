//! Calls that others make: started together, back in any order.

use std::future::Future;
use std::io;

use goodarm_core::Call;
use goodarm_record::notice::Condition;
use goodarm_record::reply::Reply;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::throttle::Throttle;

/// Makes calls.
pub(crate) struct Engine {
    throttles: Vec<Throttle>,
    sender: UnboundedSender<CallReturn>,
    receiver: UnboundedReceiver<CallReturn>,
    /// What a wait brought.
    first: Option<CallReturn>,
    in_flight_count: usize,
    concurrency: usize,
    /// Those of calls in flight end with the engine.
    tasks: JoinSet<()>,
}

/// What came back from a call; no reply if the task that made it died, which is a bug of ours.
pub(crate) struct CallReturn {
    pub(crate) call: Call,
    pub(crate) reply: Option<Reply>,
}

impl Engine {
    /// An engine for verifiers with these throttles, and so many calls in flight at once over all.
    pub(crate) fn new(throttles: impl Iterator<Item = Throttle>, concurrency: usize) -> Self {
        let (sender, receiver) = unbounded_channel();
        let tasks = JoinSet::new();
        let throttles = throttles.collect();
        Self { throttles, sender, receiver, first: None, in_flight_count: 0, concurrency, tasks }
    }

    /// Starts a call of a verifier. Must be called inside a runtime; calls in flight end with it, or
    /// with the engine.
    pub(crate) fn start<F>(
        &mut self,
        call: Call,
        verifier: usize,
        made_by: impl FnOnce(Throttle) -> F,
    ) where
        F: Future<Output = Reply> + Send + 'static,
    {
        let reply = made_by(self.throttles[verifier].clone());
        let mut guard = CallGuard { call: Some(call), sender: self.sender.clone() };
        self.in_flight_count += 1;
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(async move {
            guard.hand_in(Some(reply.await));
        });
    }

    /// What has come back, without waiting.
    pub(crate) fn take(&mut self) -> Option<CallReturn> {
        let returned = self.first.take().or_else(|| self.receiver.try_recv().ok())?;
        self.in_flight_count -= 1;
        Some(returned)
    }

    /// Waits until something has come back, which is then there to take. Cancelling it loses nothing.
    pub(crate) async fn wait(&mut self) {
        if self.first.is_none() {
            self.first = self.receiver.recv().await;
        }
    }

    /// Calls that wait for their turn come back as void.
    pub(crate) fn stop(&self) {
        self.throttles.iter().for_each(Throttle::stop);
    }

    /// Takes up calls again after a stop; a verifier that was down is given another chance.
    pub(crate) fn reopen(&self) {
        self.throttles.iter().for_each(Throttle::reopen);
    }

    /// How the verifiers are doing.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        self.throttles.iter().map(Throttle::condition)
    }

    /// The throttle of a verifier.
    pub(crate) fn throttle(&self, verifier: usize) -> &Throttle {
        &self.throttles[verifier]
    }

    /// Of each verifier: calls that were turned away and go on trying.
    pub(crate) fn throttled_counts(&self) -> impl Iterator<Item = usize> + '_ {
        self.throttles.iter().map(Throttle::throttled_count)
    }

    /// How many calls may be in flight now: if all that may are turned away, one more finds out whether
    /// others are, too.
    pub(crate) fn concurrency(&self) -> usize {
        let needed =
            (self.throttled_counts().sum::<usize>() + 1).min(self.concurrency + THROTTLED_MAX);
        self.concurrency.max(needed)
    }

    /// Requests that had to be sent again.
    pub(crate) fn retry_count(&self) -> u64 {
        self.throttles.iter().map(Throttle::retry_count).sum()
    }
}

/// Sees to it that every call is answered, even if the task that makes it dies.
struct CallGuard {
    call: Option<Call>,
    sender: UnboundedSender<CallReturn>,
}

impl CallGuard {
    fn hand_in(&mut self, reply: Option<Reply>) {
        if let Some(call) = self.call.take() {
            // No one listens any more when the work has been left.
            let _ = self.sender.send(CallReturn { call, reply });
        }
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.hand_in(None);
    }
}

/// A runtime on this thread.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// So many calls beyond the job's concurrency may wait because they were turned away.
const THROTTLED_MAX: usize = 16;
