//! Calls that others make: started together, and back in any order through one channel.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use goodarm_core::{Cost, Pull};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

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
}

/// Who makes the calls.
pub(super) struct Calls {
    /// To the thread that makes calls; none if every verifier is our own.
    orders: Option<UnboundedSender<Vec<Pull>>>,
    bench: Arc<Bench>,
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
        let lines = job.verifiers.iter().map(|verifier| Line::new(verifier.limits)).collect();
        let bench = Arc::new(Bench { job: Arc::clone(job), lines });
        let (sender, receiver) = channel();
        let orders = is_remote.then(|| make_calls(Arc::clone(&bench), sender)).transpose()?;
        Ok(Self { orders, bench, receiver, first: None, had_news: false })
    }

    /// Starts calls whose intents are durable.
    pub(super) fn start_all(&mut self, pulls: Vec<Pull>) {
        self.had_news = false;
        if !pulls.is_empty() {
            let orders = self.orders.as_ref().expect("a remote verifier has somebody to call it");
            orders.send(pulls).expect("the thread works as long as we live");
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

    /// Waits until something has come back, or the time is up. If more is out, it waits a moment
    /// longer: what comes back together is made durable together.
    pub(super) fn wait(&mut self, time: Duration, out_count: usize) {
        if self.first.is_none() {
            self.first = self.receiver.recv_timeout(time).ok();
            if self.first.is_some() && out_count > GATHER_FROM {
                thread::sleep(GATHER_TIME);
            }
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

/// Starts the thread that makes calls. One moves tens of thousands a second, more than any verifier
/// answers, and needs no locks for that.
fn make_calls(bench: Arc<Bench>, sender: Sender<Done>) -> io::Result<UnboundedSender<Vec<Pull>>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (orders, mut incoming) = unbounded_channel::<Vec<Pull>>();
    let work = async move {
        while let Some(pulls) = incoming.recv().await {
            for pull in pulls {
                let slip = Slip { pull, sender: Some(sender.clone()) };
                tokio::spawn(make(Arc::clone(&bench), slip));
            }
        }
        // Whoever leaves with calls out does not want to wait for them: they are dropped here.
    };
    thread::Builder::new().name("calls".into()).spawn(move || runtime.block_on(work))?;
    Ok(orders)
}

async fn make(bench: Arc<Bench>, mut slip: Slip) {
    let Pull { arm, attribute, .. } = slip.pull;
    let Work::Remote(remote) = &bench.job.verifiers[attribute.index()].work else { return };
    let candidate = bench.job.candidates.get(arm);
    let reply = remote.call(&candidate, &bench.lines[attribute.index()]).await;
    slip.hand_in(reply);
}

/// Sees to it that every call is answered, even if the task that makes it dies.
struct Slip {
    pull: Pull,
    sender: Option<Sender<Done>>,
}

impl Slip {
    fn hand_in(&mut self, reply: Reply) {
        if let Some(sender) = self.sender.take() {
            // Nobody listens any more when the run has been left.
            let _ = sender.send(Done { pull: self.pull, reply, cost: None });
        }
    }
}

impl Drop for Slip {
    fn drop(&mut self) {
        self.hand_in(crashed());
    }
}

/// With fewer calls out there is little to gather.
const GATHER_FROM: usize = 4;
/// Half of what a disk needs to make something durable.
const GATHER_TIME: Duration = Duration::from_micros(100);
