use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use goodarm_core::{
    ArmId, AttributeId, Bill, Cost, CountedFailure, Failure, Label, Outcome, Target, Ticket,
    VoidFailure,
};
use goodarm_record::journal::{Header, OpenedJournal, open};
use goodarm_record::reply::Reply;
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;

const NONE: [u64; 0] = [];

/// A disk that syncs when it is told to, and says what it was told.
struct Slow {
    disk: Disk,
    began: Receiver<()>,
    end: Sender<io::Result<()>>,
    place: TempDir,
}

/// A file that is synced as it is told.
struct Told {
    storage: FileStorage,
    begin: Sender<()>,
    ended: Mutex<Option<Receiver<io::Result<()>>>>,
}

impl Storage for Told {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.storage.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.storage.sync()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.storage.truncate(len)
    }
}

impl SyncedStorage for Told {
    fn serve(
        &self,
        orders: UnboundedReceiver<()>,
        results: UnboundedSender<SyncResult>,
    ) -> io::Result<()> {
        let begin = self.begin.clone();
        let ended = self.ended.lock().expect("not poisoned").take().expect("served once");
        let sync = move || {
            begin.send(()).expect("the test is there");
            ended.recv().expect("the test is there")
        };
        sync_in_thread(sync, orders, results)
    }
}

impl Slow {
    fn new() -> Self {
        let place = tempfile::tempdir().expect("a folder");
        let storage = FileStorage::create(&place.path().join("journal")).expect("a file");
        let header = Header {
            version: "0".into(),
            decisions: 1,
            terms: String::new(),
            candidates: [0; 32],
            arm_count: 100,
            attribute_count: 1,
        };
        let (begin, began) = channel();
        let (end, ended) = channel();
        let told = Box::new(Told { storage, begin, ended: Mutex::new(Some(ended)) });
        let journal = Journal::create(told as Box<dyn SyncedStorage>, &header).expect("a journal");
        Self { disk: Disk::new(journal).expect("a thread"), began, end, place }
    }

    fn ask(&mut self, ticket: u64) {
        let call = call(ticket);
        let task = CallTask::Local(Arc::new(|_| Reply::score(1.0)));
        self.disk.append_intent(&Event::from(call).into(), PendingCall { call, task });
    }

    /// Lets the sync that is under way end, and the disk hear of it.
    async fn sync(&mut self, result: io::Result<()>) -> io::Result<()> {
        self.end.send(result).expect("the thread is there");
        self.disk.wait(0).await
    }

    fn ready(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.disk.next_ready()).map(|pending| pending.call.ticket.0).collect()
    }

    /// How many intents a reader finds.
    fn written(&self) -> usize {
        let Ok(OpenedJournal::Begun(mut reader)) = open(&self.place.path().join("journal")) else {
            panic!("no journal")
        };
        std::iter::from_fn(|| reader.next_record().expect("a whole journal").map(|_| ())).count()
    }
}

fn call(ticket: u64) -> Call {
    let arm = ArmId(u32::try_from(ticket).expect("a small number"));
    let target = Target::Arm(arm, AttributeId(0));
    Call::again(Ticket(ticket), target, Cost::from_units(1))
}

#[tokio::test]
async fn no_call_is_ready_before_its_intent_is_durable() {
    let mut slow = Slow::new();
    slow.ask(0);
    assert!(!slow.disk.is_safe());
    slow.disk.push(1).expect("a write");
    slow.began.recv().expect("a sync began");
    assert_eq!(slow.written(), 1, "it is written");
    slow.disk.push(1).expect("nothing to do");
    assert!(timeout(Duration::from_millis(20), slow.disk.wait(1)).await.is_err(), "not durable");
    assert_eq!(slow.ready(), NONE, "and so not ready");
    assert_eq!(slow.disk.kept_count(), 1);
    assert!(!slow.disk.is_safe());
    slow.sync(Ok(())).await.expect("durable");
    assert_eq!(slow.ready(), [0]);
    assert_eq!(slow.disk.kept_count(), 0);
    assert!(slow.disk.is_safe());
}

#[tokio::test]
async fn what_comes_during_a_sync_goes_with_the_next_and_never_two_are_under_way() {
    let mut slow = Slow::new();
    slow.ask(0);
    slow.disk.push(1).expect("a write");
    slow.began.recv().expect("a sync began");
    for ticket in 1..4 {
        slow.ask(ticket);
        slow.disk.push(4).expect("nothing is written");
    }
    assert_eq!(slow.written(), 1, "one frame is under way");
    slow.sync(Ok(())).await.expect("durable");
    assert_eq!(slow.ready(), [0], "the others are not");
    slow.disk.push(4).expect("a write");
    assert_eq!(slow.written(), 4);
    slow.began.recv().expect("a sync began");
    slow.sync(Ok(())).await.expect("durable");
    assert_eq!(slow.ready(), [1, 2, 3]);
    assert!(slow.began.try_recv().is_err(), "two syncs for two frames");
}

#[tokio::test]
async fn after_a_failed_sync_nothing_is_ready_and_nothing_is_written() {
    let mut slow = Slow::new();
    slow.ask(0);
    slow.disk.push(1).expect("a write");
    slow.ask(1);
    assert!(slow.sync(Err(io::ErrorKind::StorageFull.into())).await.is_err());
    assert_eq!(slow.ready(), NONE);
    assert!(!slow.disk.is_safe());
    for _ in 0..2 {
        assert!(slow.disk.commit().await.is_err(), "after a failed sync");
        assert!(slow.disk.push(1).is_err());
        assert_eq!(slow.ready(), NONE);
    }
    assert_eq!(slow.written(), 1);
}

#[tokio::test]
async fn all_that_was_kept_can_be_taken_back() {
    let mut slow = Slow::new();
    for ticket in 0..3 {
        slow.ask(ticket);
        if ticket < 2 {
            slow.disk.push(1).expect("a write");
        }
        if ticket == 0 {
            slow.sync(Ok(())).await.expect("durable");
        }
    }
    assert_eq!(slow.disk.kept_count(), 3);
    let back: Vec<u64> =
        slow.disk.take_back().iter().map(|pending| pending.call.ticket.0).collect();
    assert_eq!(back, [0, 1, 2], "durable, under way, and not written");
    slow.sync(Ok(())).await.expect("durable");
    assert_eq!(slow.ready(), NONE, "none of them starts");
    assert_eq!(slow.disk.kept_count(), 0);
}

#[tokio::test]
async fn everything_is_durable_after_a_commit() {
    let mut slow = Slow::new();
    slow.ask(0);
    slow.disk.push(1).expect("a write");
    slow.ask(1);
    slow.end.send(Ok(())).expect("the thread is there");
    slow.end.send(Ok(())).expect("the thread is there");
    slow.disk.commit().await.expect("durable");
    assert!(slow.disk.is_safe());
    assert_eq!(slow.ready(), [0, 1]);
    slow.disk.commit().await.expect("nothing to do");
    assert_eq!(slow.began.try_iter().count(), 2);
}

#[tokio::test]
async fn what_can_be_made_again_waits_for_nobody() {
    let mut slow = Slow::new();
    slow.disk.append(&Event::from(call(0)).into());
    assert!(slow.disk.is_safe());
    slow.disk.push(0).expect("nothing is due");
    assert!(slow.began.try_recv().is_err());
    slow.disk.sent_at -= INTERVAL_MAX * 2;
    slow.disk.push(0).expect("a write");
    slow.began.recv().expect("a sync began after a while");
    assert!(slow.disk.is_safe());
}

/// Calls that came back in a time, with syncs of this many microseconds.
fn ahead_count(count: u32, time: Duration, sync_micros: u64) -> usize {
    let mut pace = Pace::new();
    pace.count = count;
    pace.since -= time;
    pace.synced(Duration::from_micros(sync_micros));
    pace.ahead_count
}

#[test]
fn only_verifiers_faster_than_the_disk_are_asked_ahead() {
    assert_eq!(ahead_count(64, Duration::from_secs(2), 333), 0, "64 that take two seconds");
    assert_eq!(ahead_count(64, Duration::from_millis(200), 333), 0, "or come all at once");
    assert_eq!(ahead_count(64, Duration::from_millis(200), 20_000), 0, "however slow the disk");
    assert!(ahead_count(4_000, Duration::from_millis(100), 333) >= 20, "40,000 a second");
    assert_eq!(ahead_count(4_000, Duration::from_millis(10), 333), 0, "too early to tell");
}

#[test]
fn lost_and_void_calls_do_not_make_a_verifier_fast() {
    let mut slow = Slow::new();
    let (bill, ticket) = (Bill::ZERO, Ticket(0));
    for failure in
        [Failure::Counted(CountedFailure::Lost), Failure::Void(VoidFailure::NotConnected)]
    {
        slow.disk.append_outcome(
            &Event::Settled { ticket, outcome: Outcome::Failed(failure), bill }.into(),
        );
    }
    assert_eq!(slow.disk.pace.count, 0);
    slow.disk.append_outcome(&Event::Settled { ticket, outcome: Outcome::Score(1.0), bill }.into());
    assert_eq!(slow.disk.pace.count, 1);
    slow.disk.append_outcome(
        &Event::Settled { ticket, outcome: Outcome::Answer(Some(Label(0))), bill }.into(),
    );
    assert_eq!(slow.disk.pace.count, 2, "an answer to a question came back, too");
}

#[tokio::test]
async fn fast_calls_go_to_the_disk_together_but_wait_for_no_slow_one() {
    let mut slow = Slow::new();
    slow.disk.pace.ahead_count = 8;
    slow.disk.sent_at = Instant::now();
    slow.ask(0);
    slow.disk.push(12).expect("nothing is written yet");
    assert_eq!(slow.written(), 0, "eleven others are out");
    slow.disk.wait(12).await.expect("a moment");
    slow.disk.push(12).expect("a write");
    assert_eq!(slow.written(), 1, "but they are not waited for any longer");
    slow.sync(Ok(())).await.expect("durable");
    for ticket in 1..5 {
        slow.ask(ticket);
    }
    slow.disk.push(12).expect("a write");
    assert_eq!(slow.written(), 5, "a third of them is enough");
}
