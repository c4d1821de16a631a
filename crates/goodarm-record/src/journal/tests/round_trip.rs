//! Records and files without any accident.

use std::fs;

use proptest::prelude::*;

use goodarm_core::{GeneratorId, Label, Loan, Outcome, QuestionId, Share, Source, Target};

use super::*;

fn any_failure() -> impl Strategy<Value = Failure> {
    prop::sample::select(Failure::ALL.to_vec())
}

/// Numbers of all lengths, not only the longest.
fn any_number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64u32).prop_map(|(number, shift)| number >> shift)
}

fn any_cost() -> impl Strategy<Value = Cost> {
    (any::<u128>(), 0..128u32).prop_map(|(picos, shift)| Cost::from_picos(picos >> shift))
}

fn any_latency() -> impl Strategy<Value = Duration> {
    (any_number(), 0..1_000_000_000u32).prop_map(|(secs, nanos)| Duration::new(secs, nanos))
}

fn any_score() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), Just(-0.0), Just(f64::INFINITY), 0.0..=1.0]
}

fn lent(ticket: u64, arm: u32, attribute: u32, parts: u64, weights: u64) -> Record<'static> {
    let share = Share::from_parts(parts).expect("at most the whole");
    Event::Asked {
        ticket: Ticket(ticket),
        target: Target::Arm(ArmId(arm), AttributeId(attribute)),
        loan: Some((ArmId(arm), Loan { share, weights })),
    }
    .into()
}

fn any_text() -> impl Strategy<Value = Cow<'static, str>> {
    prop_oneof![Just(String::new()), ".{0,40}", ".{200,400}"].prop_map(Cow::Owned)
}

fn any_delivery() -> impl Strategy<Value = Delivery> {
    (prop::option::of(any::<u16>()), prop::option::of(any::<u16>()), any::<u32>()).prop_map(
        |(status, address, throttled_count)| Delivery { status, address, throttled_count },
    )
}

pub(super) fn any_record() -> impl Strategy<Value = Record<'static>> {
    let ticket = || any_number().prop_map(Ticket);
    let told = (ticket(), any_score(), any_cost(), any_latency(), any_text());
    let failed = (ticket(), any_failure(), any_cost(), any_latency(), any_text(), any_text());
    prop_oneof![
        (any_number(), 0..1000u32, 0..3u32)
            .prop_map(|(ticket, arm, attribute)| asked(ticket, arm, attribute)),
        told.prop_map(|(ticket, score, cost, latency, reply)| Record {
            event: Event::Settled { ticket, outcome: Outcome::Score(score), bill: cost.into() },
            note: Note { latency, reply, ..Note::default() },
        }),
        (failed, any_cost(), any_delivery()).prop_map(|(failed, more, delivery)| {
            let (ticket, failure, cost, latency, reply, reason) = failed;
            let bill = Bill::unknown(cost, cost.saturating_add(more));
            Record {
                event: Event::Settled { ticket, outcome: Outcome::Failed(failure), bill },
                note: Note { latency, delivery, reply, reason, ..Note::default() },
            }
        }),
        (any_number(), prop::collection::vec(prop::option::of(any_score()), 0..5), ".{0,40}")
            .prop_map(|(ticket, scores, reason)| told_all(ticket, &scores, &reason)),
        any_cost().prop_map(raised),
        (any_number(), 0..1000u32, 0..3u32, 1..=Share::WHOLE.parts(), any::<u64>()).prop_map(
            |(ticket, arm, attribute, parts, weights)| lent(ticket, arm, attribute, parts, weights)
        ),
        (0..1000u32).prop_map(|arm| Event::Released { arm: ArmId(arm) }.into()),
        (any::<u32>(), any::<[u8; 32]>()).prop_map(|(count, candidates)| added(count, candidates)),
        any_question(),
        (any_number(), prop::option::of(0..1000u32), any_cost(), any_text(), any_text()).prop_map(
            |(ticket, label, cost, reply, answer)| Record {
                event: Event::Settled {
                    ticket: Ticket(ticket),
                    outcome: Outcome::Answer(label.map(Label)),
                    bill: cost.into(),
                },
                note: Note { reply, answer, ..Note::default() },
            }
        ),
    ]
}

fn any_question() -> impl Strategy<Value = Record<'static>> {
    let source = prop_oneof![
        (0..3u32).prop_map(|attribute| Source::Votes(AttributeId(attribute))),
        any::<u32>().prop_map(|generator| Source::Generator(GeneratorId(generator))),
    ];
    let loan =
        (0..1000u32, 1..=Share::WHOLE.parts(), any::<u64>()).prop_map(|(arm, parts, weights)| {
            let share = Share::from_parts(parts).expect("at most the whole");
            (ArmId(arm), Loan { share, weights })
        });
    (any_number(), any::<u32>(), source, prop::option::of(loan)).prop_map(
        |(ticket, question, source, loan)| {
            let (ticket, question) = (Ticket(ticket), QuestionId(question));
            Event::Asked { ticket, target: Target::Question(question, source), loan }.into()
        },
    )
}

pub(super) fn any_groups() -> impl Strategy<Value = Vec<Vec<Record<'static>>>> {
    prop::collection::vec(prop::collection::vec(any_record(), 1..8), 0..8)
}

proptest! {
    #[test]
    fn every_record_comes_back(groups in any_groups()) {
        let (bytes, ends) = written(&groups);
        let Content::Records(records, tail) = read(&bytes).unwrap() else { panic!("never begun") };
        prop_assert_eq!(records, groups.concat());
        prop_assert_eq!(tail.bytes_cut, 0);
        prop_assert_eq!(tail.next_sequence, ends.len() as u64);
    }
}

#[test]
fn a_score_keeps_its_bits() {
    for score in [0.0, -0.0, 1.0, 0.1, f64::MIN_POSITIVE, f64::NAN] {
        let (bytes, _) = written(&[vec![told(0, score, "")]]);
        let (records, _) = read_records(&bytes);
        let Event::Settled { outcome: Outcome::Score(found), .. } = records[0].event else {
            panic!("{records:?}")
        };
        assert_eq!(found.to_bits(), score.to_bits());
    }
}

/// More scores than a call can have: no room is made for them.
#[test]
fn a_count_of_scores_that_lies_is_damage() {
    let scores = vec![None; goodarm_core::problem::ATTRIBUTES_MAX + 1];
    let (bytes, _) = written(&[vec![told_all(0, &scores, "")]]);
    let error = read(&bytes).expect_err("too many").to_string();
    assert!(error.contains("a number is too large"), "{error}");
}

#[test]
fn the_header_comes_back_and_positions_tell_the_frames() {
    let (bytes, ends) = written(&groups());
    let OpenedJournal::Begun(mut reader) = Reader::open(&*bytes, bytes.len() as u64).unwrap()
    else {
        panic!("never begun")
    };
    assert_eq!(*reader.header(), header());
    let mut positions = Vec::new();
    while let Some((position, _)) = reader.next_record().unwrap() {
        positions.push((position.sequence, position.offset, position.unix_millis));
    }
    let expected: Vec<(u64, u64, u64)> = groups()
        .iter()
        .zip(1..)
        .flat_map(|(group, frame)| {
            let offset = ends[usize::try_from(frame).unwrap() - 1] as u64;
            vec![(frame, offset, 1_700_000_000_000); group.len()]
        })
        .collect();
    assert_eq!(positions, expected);
}

#[test]
fn small_records_are_small() {
    let outcome = Outcome::Score(1.0);
    let cheap = Event::Settled { ticket: Ticket(100), outcome, bill: Bill::ZERO }.into();
    for (record, length) in [(asked(100, 100, 2), 4), (cheap, 7)] {
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        assert_eq!(bytes.len(), length, "{record:?}");
    }
}

#[test]
fn nothing_is_written_before_commit_and_an_empty_commit_does_nothing() {
    let disk = Disk::default();
    let mut journal = Journal::create(disk.clone(), &header()).unwrap();
    let operations = disk.operations();
    journal.commit().unwrap();
    journal.append(&asked(0, 1, 2));
    assert_eq!(journal.buffered_bytes(), 4);
    assert_eq!(disk.operations(), operations);
    journal.commit().unwrap();
    assert_eq!(journal.buffered_bytes(), 0);
    assert_eq!(disk.operations(), operations + 2, "one write, one sync");
    journal.commit().unwrap();
    assert_eq!(disk.operations(), operations + 2);
}

#[test]
fn a_commit_syncs_what_was_only_written() {
    let disk = Disk::default();
    let mut journal = Journal::create(disk.clone(), &header()).unwrap();
    let begun = disk.synced_len();
    for ticket in 0..3 {
        journal.append(&asked(ticket, 1, 2));
        journal.write().unwrap();
    }
    assert_eq!(disk.synced_len(), begun);
    journal.commit().unwrap();
    assert_eq!(disk.synced_len(), disk.bytes().len());
    let (records, _) = read_records(&disk.bytes());
    assert_eq!(records, [asked(0, 1, 2), asked(1, 1, 2), asked(2, 1, 2)]);
}

#[test]
fn a_file_is_written_cut_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut journal = Journal::create(FileStorage::create(&path).unwrap(), &header()).unwrap();
    for record in groups().concat() {
        journal.append(&record);
    }
    journal.commit().unwrap();
    assert!(FileStorage::create(&path).is_err(), "a journal is never written over");
    drop(journal);

    let whole = fs::read(&path).unwrap();
    let torn = [&*whole, &whole[..20]].concat();
    fs::write(&path, torn).unwrap();
    let OpenedJournal::Begun(mut reader) = open(&path).unwrap() else { panic!("never begun") };
    let mut records = Vec::new();
    while let Some((_, record)) = reader.next_record().unwrap() {
        records.push(owned(record));
    }
    assert_eq!(records, groups().concat());
    let tail = reader.finish().unwrap();
    assert_eq!(tail.bytes_cut, 20);
    let mut journal = Journal::resume(FileStorage::open(&path).unwrap(), tail).unwrap();
    assert_eq!(fs::read(&path).unwrap(), whole);
    journal.append(&asked(5, 5, 0));
    journal.commit().unwrap();

    let (records, bytes_cut) = read_records(&fs::read(&path).unwrap());
    assert_eq!(records, [groups().concat(), vec![asked(5, 5, 0)]].concat());
    assert_eq!(bytes_cut, 0);
}

#[test]
fn a_file_that_was_never_begun_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut storage = FileStorage::create(&path).unwrap();
    storage.append(b"GAJ1\x05").unwrap();
    assert!(matches!(open(&path), Ok(OpenedJournal::NeverBegun { bytes_cut: 5 })));
    let second = FileStorage::open(&path).unwrap_err();
    assert_eq!(second.kind(), std::io::ErrorKind::ResourceBusy, "one process writes: {second}");
    drop(storage);
    let mut storage = FileStorage::open(&path).unwrap();
    storage.truncate(0).unwrap();
    Journal::create(storage, &header()).unwrap();
    assert!(matches!(open(&path), Ok(OpenedJournal::Begun(_))));
}

#[test]
fn a_folder_has_one_owner_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let first = FolderLock::take(folder.path()).unwrap();
    let second = FolderLock::take(folder.path()).unwrap_err();
    assert!(matches!(second, LockError::Held { .. }), "{second}");
    assert!(second.to_string().contains("in use by another process"));
    drop(first);
    FolderLock::take(folder.path()).unwrap();
    let missing = folder.path().join("missing");
    assert!(matches!(FolderLock::take(&missing), Err(LockError::Io { .. })));
}
