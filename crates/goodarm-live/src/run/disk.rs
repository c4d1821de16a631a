//! Writes the journal to the disk. One thread only waits for the disk; meanwhile the run settles calls and asks
//! for the next ones, which the next sync makes durable.
//!
//! A call can start only when its intent is durable. At most one frame is being written at a time, so a power
//! cut loses only the last frame.
//!
//! Verifiers that reply faster than the disk writes would wait for the disk. So replies that come back within a
//! moment become durable together, and a few calls are asked for ahead of time: as many as come back while the
//! disk writes. With slower verifiers, no call is asked for ahead of time.

use std::collections::VecDeque;
use std::future;
use std::io;
use std::mem;
use std::path::Path;
use std::thread;
use std::time::Duration;

use goodarm_core::{Call, Event};
use goodarm_record::journal::{FileStorage, Journal, Record, Storage};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::service::CallTask;

pub(super) struct Disk {
    journal: Journal<Box<dyn SyncedStorage>>,
    /// Each message orders one sync.
    orders: UnboundedSender<()>,
    results: UnboundedReceiver<SyncResult>,
    gathered: Batch,
    writing: Option<Batch>,
    /// Calls whose intents are durable.
    ready: VecDeque<PendingCall>,
    sent_at: Instant,
    pace: Pace,
}

/// A sync that has ended.
pub(super) struct SyncResult {
    pub(super) result: io::Result<()>,
    pub(super) time: Duration,
}

/// Creates and opens the storage of journals: files, or the simulated storage of tests.
pub(super) trait StorageFactory {
    /// Creates storage, which must not exist yet.
    fn create(&self, path: &Path) -> io::Result<Box<dyn SyncedStorage>>;

    /// Opens storage for appending.
    fn open(&self, path: &Path) -> io::Result<Box<dyn SyncedStorage>>;
}

/// The storage of a journal, with a thread that syncs it.
pub(super) trait SyncedStorage: Storage + Send + Sync {
    /// For each order, syncs everything that was written before it and sends the result, until `orders` is
    /// closed.
    fn serve(
        &self,
        orders: UnboundedReceiver<()>,
        results: UnboundedSender<SyncResult>,
    ) -> io::Result<()>;
}

impl Storage for Box<dyn SyncedStorage> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        (**self).truncate(len)
    }
}

/// The storage of real runs: journals are files.
pub(super) struct Files;

impl StorageFactory for Files {
    fn create(&self, path: &Path) -> io::Result<Box<dyn SyncedStorage>> {
        Ok(Box::new(FileStorage::create(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn SyncedStorage>> {
        Ok(Box::new(FileStorage::open(path)?))
    }
}

impl SyncedStorage for FileStorage {
    fn serve(
        &self,
        orders: UnboundedReceiver<()>,
        results: UnboundedSender<SyncResult>,
    ) -> io::Result<()> {
        let syncer = self.syncer()?;
        sync_in_thread(move || syncer.sync(), orders, results)
    }
}

/// A call that is asked for and not started.
pub(super) struct PendingCall {
    pub(super) call: Call,
    pub(super) task: CallTask,
}

/// Records that become durable together.
#[derive(Default)]
struct Batch {
    /// The calls whose intents are in the batch. They start when the batch is durable.
    calls: Vec<PendingCall>,
    /// Whether the run waits for the batch: it has the intent or the outcome of a call that is not quick.
    is_awaited: bool,
}

impl Disk {
    pub(super) fn new(journal: Journal<Box<dyn SyncedStorage>>) -> io::Result<Self> {
        let (orders, incoming) = unbounded_channel();
        let (sender, results) = unbounded_channel();
        journal.storage().serve(incoming, sender)?;
        Ok(Self {
            journal,
            orders,
            results,
            gathered: Batch::default(),
            writing: None,
            ready: VecDeque::new(),
            sent_at: Instant::now(),
            pace: Pace::new(),
        })
    }

    /// Appends a record that can be made again, so the run does not wait for it.
    pub(super) fn append(&mut self, record: &Record<'_>) {
        self.journal.append(record);
    }

    /// Appends the outcome of a call that is not quick. The outcome is not announced before it is durable.
    pub(super) fn append_outcome(&mut self, record: &Record<'_>) {
        self.append_awaited(record);
        // Calls that failed do not count for the speed of a verifier.
        let is_made =
            matches!(&record.event, Event::Settled { outcome, .. } if !outcome.is_failed());
        self.pace.count += u32::from(is_made);
    }

    /// Appends the intent of a call that is not quick, and keeps the call until the intent is durable.
    pub(super) fn append_intent(&mut self, record: &Record<'_>, call: PendingCall) {
        self.append_awaited(record);
        self.gathered.calls.push(call);
    }

    /// Appends a record that the run waits for, such as the intent of a call for people, who read it in the
    /// journal.
    pub(super) fn append_awaited(&mut self, record: &Record<'_>) {
        self.journal.append(record);
        self.gathered.is_awaited = true;
    }

    /// The number of calls that are asked for and not started.
    pub(super) fn kept_count(&self) -> usize {
        let writing = self.writing.as_ref().map_or(0, |batch| batch.calls.len());
        self.gathered.calls.len() + writing + self.ready.len()
    }

    /// The number of calls to ask for ahead of time, beyond the calls in flight.
    pub(super) fn ahead_count(&self) -> usize {
        self.pace.ahead_count
    }

    /// A call that can start.
    pub(super) fn next_ready(&mut self) -> Option<PendingCall> {
        self.ready.pop_front()
    }

    /// Whether everything that the run waits for is durable.
    pub(super) fn is_safe(&self) -> bool {
        !self.gathered.is_awaited && !self.writing.as_ref().is_some_and(|batch| batch.is_awaited)
    }

    /// Whether the gathered records fill a frame.
    pub(super) fn is_full(&self) -> bool {
        self.journal.buffered_bytes() > BYTES_MAX
    }

    /// Whether the run must wait because the disk is too slow.
    pub(super) fn is_behind(&self) -> bool {
        self.writing.is_some() && self.is_full()
    }

    /// Writes the gathered records if that is due and no frame is being written. `in_flight_count` includes the
    /// calls that are kept here.
    pub(super) fn push(&mut self, in_flight_count: usize) -> io::Result<()> {
        self.look()?;
        let is_gathering = self.is_gathering(in_flight_count);
        let is_due = (self.gathered.is_awaited && !is_gathering)
            || self.journal.buffered_bytes() > BYTES_DUE
            || self.sent_at.elapsed() > INTERVAL_MAX;
        if is_due && self.writing.is_none() { self.send() } else { Ok(()) }
    }

    /// Waits until the frame being written is durable or a push is due; forever if there is nothing to wait
    /// for. Cancelling the wait is safe.
    pub(super) async fn wait(&mut self, in_flight_count: usize) -> io::Result<()> {
        if self.writing.is_some() {
            self.arrival().await
        } else if self.is_gathering(in_flight_count) {
            tokio::time::sleep(GATHER_TIME).await;
            Ok(())
        } else if self.gathered.is_awaited {
            // The time for gathering is over.
            Ok(())
        } else {
            future::pending().await
        }
    }

    /// Waits until everything is durable.
    pub(super) async fn commit(&mut self) -> io::Result<()> {
        self.arrival().await?;
        self.send()?;
        self.arrival().await
    }

    /// Waits until the frame being written is durable, if there is one.
    async fn arrival(&mut self) -> io::Result<()> {
        if self.writing.is_none() {
            return Ok(());
        }
        let synced = self.results.recv().await;
        self.arrived(synced)
    }

    /// The same as [`Disk::commit`], on this thread. Must be called before anything was sent to the disk's
    /// thread.
    pub(super) fn commit_first(&mut self) -> io::Result<()> {
        self.journal.commit()?;
        self.gathered.is_awaited = false;
        Ok(())
    }

    /// Removes and returns all calls that were not started.
    pub(super) fn take_back(&mut self) -> Vec<PendingCall> {
        let mut calls: Vec<PendingCall> = self.ready.drain(..).collect();
        if let Some(batch) = &mut self.writing {
            calls.append(&mut batch.calls);
        }
        calls.append(&mut self.gathered.calls);
        calls
    }

    /// Whether to wait a moment for more replies before the next write.
    fn is_gathering(&self, in_flight_count: usize) -> bool {
        let Batch { calls, is_awaited } = &self.gathered;
        let others_count = in_flight_count.saturating_sub(self.kept_count());
        *is_awaited
            && self.pace.ahead_count > 0
            && others_count > 0
            && calls.len() * BATCHES_OUT < in_flight_count
            && self.sent_at.elapsed() < GATHER_TIME
    }

    fn send(&mut self) -> io::Result<()> {
        let is_empty = self.journal.buffered_bytes() == 0;
        self.journal.write()?;
        if !is_empty {
            self.orders.send(()).map_err(|_| gone())?;
            self.writing = Some(mem::take(&mut self.gathered));
        }
        self.sent_at = Instant::now();
        Ok(())
    }

    /// Takes the result of a sync that has ended, without waiting.
    fn look(&mut self) -> io::Result<()> {
        match self.results.try_recv() {
            Ok(synced) => self.arrived(Some(synced)),
            Err(TryRecvError::Empty) => Ok(()),
            Err(TryRecvError::Disconnected) => self.arrived(None),
        }
    }

    fn arrived(&mut self, synced: Option<SyncResult>) -> io::Result<()> {
        let failed = || SyncResult { result: Err(gone()), time: Duration::ZERO };
        let SyncResult { result, time } = synced.unwrap_or_else(failed);
        let batch = self.writing.take().unwrap_or_default();
        if result.is_err() {
            // The calls of the batch never start, and nothing later becomes durable.
            self.journal.poison();
            self.gathered.is_awaited = true;
            return result;
        }
        self.ready.extend(batch.calls);
        self.pace.synced(time);
        Ok(())
    }
}

/// How fast calls come back, compared with the disk.
struct Pace {
    /// When the count of calls that came back was last set to 0.
    since: Instant,
    count: u32,
    /// The time of a sync in seconds, smoothed.
    sync_time: f64,
    ahead_count: usize,
}

impl Pace {
    fn new() -> Self {
        Self { since: Instant::now(), count: 0, sync_time: 0.0, ahead_count: 0 }
    }

    fn synced(&mut self, time: Duration) {
        let weight = if self.sync_time > 0.0 { SYNC_WEIGHT } else { 1.0 };
        self.sync_time += weight * (time.as_secs_f64() - self.sync_time);
        let elapsed = self.since.elapsed();
        if elapsed >= PACE_INTERVAL {
            let rate = f64::from(self.count) / elapsed.as_secs_f64();
            // A call waits for the current sync and for its own, and while others gather.
            let expected = if rate < FAST_RATE { 0.0 } else { 4.0 * rate * self.sync_time };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a small number, and rounding down is meant"
            )]
            {
                self.ahead_count = expected as usize;
            }
            (self.since, self.count) = (Instant::now(), 0);
        }
    }
}

fn sync_in_thread(
    mut sync: impl FnMut() -> io::Result<()> + Send + 'static,
    mut orders: UnboundedReceiver<()>,
    results: UnboundedSender<SyncResult>,
) -> io::Result<()> {
    let serve = move || {
        while let Some(()) = orders.blocking_recv() {
            let begin = Instant::now();
            let result = sync();
            if results.send(SyncResult { result, time: begin.elapsed() }).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("disk".into()).spawn(serve)?;
    Ok(())
}

fn gone() -> io::Error {
    io::Error::other("the thread that makes the journal durable is gone")
}

/// Records that can be made again are written when there are more bytes than this.
const BYTES_DUE: usize = 256 << 10;
/// Records that can be made again are written after this time.
const INTERVAL_MAX: Duration = Duration::from_secs(1);
/// With more bytes than this, further replies wait for the next frame: with tens of thousands of calls in
/// flight, more may come back at once than a frame can hold.
const BYTES_MAX: usize = 16 << 20;
/// Fast calls are divided into about this many batches, one of which is being written.
const BATCHES_OUT: usize = 3;
/// The longest time that a call waits for others before it is written.
const GATHER_TIME: Duration = Duration::from_millis(1);
/// In calls per second. Calls are asked for ahead of time only at this rate or above: fast verifiers are cheap,
/// so a crash may cost a few more calls. Slower verifiers do not wait for the disk.
const FAST_RATE: f64 = 2_000.0;
const PACE_INTERVAL: Duration = Duration::from_millis(50);
const SYNC_WEIGHT: f64 = 0.1;

#[cfg(test)]
mod tests;
