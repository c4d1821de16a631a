//! What goes in comes out, whatever happens to the file in between.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use goodarm_core::{
    ArmId, AttributeId, Bill, BlockingFailure, Cost, CountedFailure, Event, Failure, Outcome,
    Target, Ticket, VoidFailure,
};

use super::*;
use crate::reply::Delivery;

mod crash;
mod damage;
mod fixture;
mod round_trip;

/// A disk whose cache can be lost, and which can break down.
#[derive(Clone, Debug, Default)]
struct Disk(Rc<RefCell<DiskState>>);

#[derive(Debug, Default)]
struct DiskState {
    /// What a reader finds as long as there is power.
    bytes: Vec<u8>,
    /// How much of it a power cut leaves for certain.
    synced_len: usize,
    operations: usize,
    /// The operation that fails, and how many bytes it still writes.
    failure: Option<(usize, usize)>,
}

impl Disk {
    fn holding(bytes: &[u8]) -> Self {
        let state =
            DiskState { bytes: bytes.to_vec(), synced_len: bytes.len(), ..DiskState::default() };
        Self(Rc::new(RefCell::new(state)))
    }

    fn failing(operation: usize, bytes_written: usize) -> Self {
        let failure = Some((operation, bytes_written));
        Self(Rc::new(RefCell::new(DiskState { failure, ..DiskState::default() })))
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.borrow().bytes.clone()
    }

    fn synced_len(&self) -> usize {
        self.0.borrow().synced_len
    }

    fn operations(&self) -> usize {
        self.0.borrow().operations
    }
}

impl DiskState {
    /// How many bytes the present operation may write before it fails, if it does.
    fn next_operation(&mut self) -> Option<usize> {
        let failing = self.failure.filter(|(operation, _)| *operation == self.operations);
        self.operations += 1;
        failing.map(|(_, bytes)| bytes)
    }
}

impl Storage for Disk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.0.borrow_mut();
        let failing_after = disk.next_operation();
        let written = failing_after.unwrap_or(bytes.len()).min(bytes.len());
        disk.bytes.extend_from_slice(&bytes[..written]);
        match failing_after {
            Some(_) => Err(io::ErrorKind::StorageFull.into()),
            None => Ok(()),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.0.borrow_mut();
        if disk.next_operation().is_some() {
            return Err(io::Error::other("the disk is gone"));
        }
        disk.synced_len = disk.bytes.len();
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        let mut disk = self.0.borrow_mut();
        if disk.next_operation().is_some() {
            return Err(io::Error::other("the disk is gone"));
        }
        let len = usize::try_from(len).unwrap();
        assert!(len <= disk.bytes.len(), "cutting never makes a file longer");
        disk.bytes.truncate(len);
        disk.synced_len = disk.synced_len.min(len);
        Ok(())
    }
}

fn header() -> Header {
    Header {
        version: "0.1.0".to_owned(),
        decisions: 7,
        terms: "{\"budget\":5}\n".to_owned(),
        candidates: std::array::from_fn(|index| u8::try_from(index).unwrap()),
        arm_count: 1000,
        attribute_count: 3,
    }
}

fn asked(ticket: u64, arm: u32, attribute: u32) -> Record<'static> {
    let (arm, attribute) = (ArmId(arm), AttributeId(attribute));
    Event::Asked { ticket: Ticket(ticket), target: Target::Arm(arm, attribute), loan: None }.into()
}

fn told(ticket: u64, score: f64, reply: &str) -> Record<'static> {
    let cost = Cost::of_price(0.02).unwrap();
    let latency = Duration::from_millis(730);
    let reply = Cow::Owned(reply.to_owned());
    Record {
        event: Event::Settled {
            ticket: Ticket(ticket),
            outcome: Outcome::Score(score),
            bill: cost.into(),
        },
        note: Note { latency, reply, ..Note::default() },
    }
}

fn told_all(ticket: u64, scores: &[Option<f64>], reason: &str) -> Record<'static> {
    let cost = Cost::of_price(0.02).unwrap();
    Record {
        event: Event::Settled {
            ticket: Ticket(ticket),
            outcome: Outcome::Scores(scores.into()),
            bill: cost.into(),
        },
        note: Note {
            latency: Duration::from_millis(730),
            reply: Cow::Borrowed("{}"),
            reason: Cow::Owned(reason.to_owned()),
            ..Note::default()
        },
    }
}

fn failed(ticket: u64, failure: Failure) -> Record<'static> {
    Record {
        event: Event::Settled {
            ticket: Ticket(ticket),
            outcome: Outcome::Failed(failure),
            bill: Cost::from_picos(u128::MAX).into(),
        },
        note: Note {
            latency: Duration::MAX,
            reply: Cow::Borrowed("<html>"),
            reason: Cow::Borrowed("status 502"),
            ..Note::default()
        },
    }
}

fn added(count: u32, candidates: [u8; 32]) -> Record<'static> {
    Record { event: Event::ArmsAdded { count }, note: Note { candidates, ..Note::default() } }
}

fn raised(budget: Cost) -> Record<'static> {
    Event::BudgetRaised { budget }.into()
}

/// The records of some frames: short ones, one of several sectors, and all kinds of records.
fn groups() -> Vec<Vec<Record<'static>>> {
    vec![
        vec![asked(0, 0, 0), asked(1, 999, 2)],
        vec![told(0, 1.0, "")],
        vec![told(1, 0.25, &"a long reply, äöü\n".repeat(60)), asked(2, 7, 1)],
        vec![
            failed(2, Failure::Counted(CountedFailure::Unreadable)),
            raised(Cost::from_units(12)),
            asked(3, 8, 0),
        ],
        vec![failed(3, Failure::Void(VoidFailure::RateLimited)), told(4, 0.0, "no")],
    ]
}

/// The bytes of a journal of these groups, and where its frames end.
fn written(groups: &[Vec<Record<'_>>]) -> (Vec<u8>, Vec<usize>) {
    let disk = Disk::default();
    let mut journal =
        Journal::create_with_clock(disk.clone(), &header(), || 1_700_000_000_000).unwrap();
    let mut ends = vec![disk.bytes().len()];
    for group in groups {
        for record in group {
            journal.append(record);
        }
        journal.commit().unwrap();
        ends.push(disk.bytes().len());
    }
    assert_eq!(disk.synced_len(), disk.bytes().len(), "what is committed is on the disk");
    (disk.bytes(), ends)
}

/// What a reader makes of a file.
#[derive(Debug, PartialEq)]
enum Content {
    NeverBegun,
    Records(Vec<Record<'static>>, JournalEnd),
}

fn read(bytes: &[u8]) -> Result<Content, OpenError> {
    let mut reader = match Reader::open(bytes, bytes.len() as u64)? {
        OpenedJournal::Begun(reader) => reader,
        OpenedJournal::NeverBegun { bytes_cut } => {
            assert_eq!(bytes_cut, bytes.len() as u64);
            return Ok(Content::NeverBegun);
        }
    };
    let mut records = Vec::new();
    loop {
        match reader.next_record() {
            Ok(Some((_, record))) => records.push(owned(record)),
            Ok(None) => break,
            Err(error) => {
                assert!(reader.next_record().is_err(), "an error is not the end");
                return Err(error);
            }
        }
    }
    let tail = reader.finish()?;
    assert_eq!(tail.len_valid + tail.bytes_cut, bytes.len() as u64, "all bytes are accounted for");
    Ok(Content::Records(records, tail))
}

/// The records, where the file must be readable, and how many bytes are cut.
fn read_records(bytes: &[u8]) -> (Vec<Record<'static>>, u64) {
    match read(bytes).unwrap() {
        Content::NeverBegun => panic!("the journal was begun"),
        Content::Records(records, tail) => (records, tail.bytes_cut),
    }
}

fn owned(Record { event, note }: Record<'_>) -> Record<'static> {
    Record { event, note: note.into_owned() }
}
