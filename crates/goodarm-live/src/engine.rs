//! Runs calls concurrently. They return in any order.

use std::future::Future;
use std::io;

use goodarm_core::Call;
use goodarm_record::notice::Condition;
use goodarm_record::reply::Reply;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

use crate::throttle::Throttle;

pub(crate) struct Engine {
    throttles: Vec<Throttle>,
    sender: UnboundedSender<CallReturn>,
    receiver: UnboundedReceiver<CallReturn>,
    /// The result that `wait` has received and `take` has not returned yet.
    first: Option<CallReturn>,
    in_flight_count: usize,
    concurrency: usize,
    /// The tasks of calls in flight. They end with the engine.
    tasks: JoinSet<()>,
}

/// A call that has ended. `reply` is `None` if its task died: a bug, or the runtime is gone.
pub(crate) struct CallReturn {
    pub(crate) call: Call,
    pub(crate) reply: Option<Reply>,
}

impl Engine {
    /// An engine for services with these throttles and at most `concurrency` calls in flight at once.
    pub(crate) fn new(throttles: impl Iterator<Item = Throttle>, concurrency: usize) -> Self {
        let (sender, receiver) = unbounded_channel();
        let tasks = JoinSet::new();
        let throttles = throttles.collect();
        Self { throttles, sender, receiver, first: None, in_flight_count: 0, concurrency, tasks }
    }

    /// Starts a call of the service with this index; `made_by` makes it under the service's throttle. Must be
    /// called inside a tokio runtime. Calls in flight end when the runtime or the engine is dropped.
    pub(crate) fn start<F>(
        &mut self,
        call: Call,
        service: usize,
        made_by: impl FnOnce(Throttle) -> F,
    ) where
        F: Future<Output = Reply> + Send + 'static,
    {
        let reply = made_by(self.throttles[service].clone());
        let mut guard = CallGuard { call: Some(call), sender: self.sender.clone() };
        self.in_flight_count += 1;
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(async move {
            guard.hand_in(Some(reply.await));
        });
    }

    /// Returns a call that has ended, or `None`, without waiting.
    pub(crate) fn take(&mut self) -> Option<CallReturn> {
        let returned = self.first.take().or_else(|| self.receiver.try_recv().ok())?;
        self.in_flight_count -= 1;
        Some(returned)
    }

    /// Waits until a call has ended, which `take` then returns. Cancelling the wait loses nothing.
    pub(crate) async fn wait(&mut self) {
        if self.first.is_none() {
            self.first = self.receiver.recv().await;
        }
    }

    /// Stops all throttles: calls that wait for their turn end as void.
    pub(crate) fn stop(&self) {
        self.throttles.iter().for_each(Throttle::stop);
    }

    /// Allows calls again after [`Engine::stop`], also to services that were down.
    pub(crate) fn reopen(&self) {
        self.throttles.iter().for_each(Throttle::reopen);
    }

    /// The condition of each service.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        self.throttles.iter().map(Throttle::condition)
    }

    /// The throttle of a service.
    pub(crate) fn throttle(&self, service: usize) -> &Throttle {
        &self.throttles[service]
    }

    /// The number of throttled calls in flight of each service.
    pub(crate) fn throttled_counts(&self) -> impl Iterator<Item = usize> + '_ {
        self.throttles.iter().map(Throttle::throttled_count)
    }

    /// The most calls that may be in flight now. If all calls in flight are throttled, one more is allowed: it
    /// tests whether other calls get replies.
    pub(crate) fn concurrency(&self) -> usize {
        let needed =
            (self.throttled_counts().sum::<usize>() + 1).min(self.concurrency + THROTTLED_MAX);
        self.concurrency.max(needed)
    }

    /// The number of requests that had to be sent again.
    pub(crate) fn retry_count(&self) -> u64 {
        self.throttles.iter().map(Throttle::retry_count).sum()
    }
}

/// Sends its call back to the engine, even if the task of the call dies.
struct CallGuard {
    call: Option<Call>,
    sender: UnboundedSender<CallReturn>,
}

impl CallGuard {
    fn hand_in(&mut self, reply: Option<Reply>) {
        if let Some(call) = self.call.take() {
            // The send fails only if the engine is gone.
            let _ = self.sender.send(CallReturn { call, reply });
        }
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.hand_in(None);
    }
}

/// A tokio runtime on the current thread.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// The most calls in flight beyond the job's concurrency, while calls are throttled.
const THROTTLED_MAX: usize = 16;
