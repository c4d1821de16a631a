use goodarm_core::{CountedFailure, Ticket, VoidFailure};
use goodarm_record::journal::{LockError, Note};

use super::*;

const HEADING: &str = "{\"goodarm_recording\":1,\"unit\":\"calls\",\"note\":\"\"}";
const BEFORE: &str = "{\"id\":\"a\",\"verifier\":\"old\",\"scores\":[1.0],\"costs\":[\"1\"]}";

fn terms(recording_bytes: usize) -> Terms {
    let verifier = |name: &str, is_exact, is_solver| VerifierTerms {
        name: name.into(),
        ceiling: Amount(Cost::from_units(5)),
        is_exact,
        is_solver,
        has_scored: false,
    };
    Terms {
        recording_bytes: Some(recording_bytes as u64),
        heading: HEADING.into(),
        ids: vec!["a".into(), "b".into()],
        verifiers: vec![
            verifier("solver", false, true),
            verifier("exact", true, false),
            verifier("broken", false, false),
        ],
        beyond: BTreeMap::new(),
    }
}

/// A recording of `before`, and a journal with calls of all fates.
fn pending(folder: &Path, before: &str) -> Pending {
    let path = folder.join("recording.jsonl");
    if !before.is_empty() {
        fs::write(&path, before).unwrap();
    }
    let pending = Pending::take(&path).unwrap();
    let mut journal = pending.begin(&terms(before.len())).unwrap();
    let calls = [(0, 0), (1, 0), (0, 0), (0, 1), (0, 2), (1, 0)];
    for (ticket, (arm, attribute)) in (0..).map(Ticket).zip(calls) {
        let (arm, attribute) = (ArmId(arm), AttributeId(attribute));
        journal.append(&Event::Asked { ticket, arm, attribute, loan: None }.into());
    }
    let crashed = Failure::Counted(CountedFailure::Crashed);
    let outcomes = [
        // In another order than they were asked for. Calls 0 and 3 never come back.
        (2, Ok(0.25), "the second"),
        (4, Err(crashed), ""),
        (1, Ok(1.0), "the first"),
        (5, Err(Failure::Void(VoidFailure::NotConnected)), ""),
    ];
    for (ticket, outcome, answer) in outcomes {
        let cost = if ticket == 5 { Cost::ZERO } else { Cost::from_units(3) };
        let note = Note { reply: answer.into(), ..Note::default() };
        journal.append(&Record { event: Event::of_outcome(Ticket(ticket), outcome, cost), note });
        journal.write().unwrap();
    }
    pending
}

const SCORED: &str = "{\"id\":\"a\",\"verifier\":\"solver\",\"scores\":[null,0.25],\"costs\":[\"5\",\"3\"],\"answers\":[\"\",\"the second\"]}\n";
const BROKEN: &str = "{\"id\":\"a\",\"verifier\":\"broken\",\"scores\":[null],\"costs\":[\"3\"]}\n";
const LAST: &str = "{\"id\":\"b\",\"verifier\":\"solver\",\"scores\":[1.0],\"costs\":[\"3\"],\"answers\":[\"the first\"]}\n";

fn paid(merged: &Merged) -> Vec<(&str, String)> {
    let beyond = merged.beyond.iter();
    beyond.map(|(verifier, Amount(cost))| (verifier.as_str(), cost.to_string())).collect()
}

/// A process that is killed while it writes rows leaves any part of them, heading included.
#[test]
fn whatever_was_written_of_the_rows_is_completed_and_nothing_is_doubled() {
    for (before, heading) in
        [("", format!("{HEADING}\n")), (&*format!("{HEADING}\n{BEFORE}\n"), String::new())]
    {
        for (unscored, rows) in [
            (Unscored::Kept, [SCORED, BROKEN, LAST].concat()),
            (Unscored::LeftOut, [SCORED, LAST].concat()),
        ] {
            let text = format!("{heading}{rows}");
            for written in (0..text.len()).step_by(11).chain([text.len() - 1, text.len()]) {
                let folder = tempfile::tempdir().unwrap();
                let pending = pending(folder.path(), before);
                if written > 0 {
                    pending.append(&text.as_bytes()[..written]).unwrap();
                }
                let merged = pending.merge(unscored).unwrap();
                let found = fs::read_to_string(&pending.recording).unwrap();
                assert_eq!(found, format!("{before}{text}"), "after {written} bytes");
                assert_eq!(merged.lost_count, 2);
                let again = pending.merge(Unscored::Kept).unwrap();
                assert_eq!((paid(&again), again.lost_count), (paid(&merged), 0));
                assert_eq!(fs::read_to_string(&pending.recording).unwrap(), found);
                let exact = ("exact", "5".to_owned());
                match unscored {
                    Unscored::Kept => assert_eq!(paid(&merged), [exact]),
                    Unscored::LeftOut => {
                        assert_eq!(paid(&merged), [("broken", "3".to_owned()), exact]);
                    }
                }
            }
        }
    }
}

/// Having left out what never scored, a process may die before it has said so.
#[test]
fn rows_that_were_left_out_stay_so() {
    let folder = tempfile::tempdir().unwrap();
    let pending = pending(folder.path(), "");
    let text = format!("{HEADING}\n{SCORED}{LAST}");
    pending.append(text.as_bytes()).unwrap();
    let merged = pending.merge(Unscored::Kept).unwrap();
    assert_eq!(fs::read_to_string(&pending.recording).unwrap(), text);
    assert_eq!(paid(&merged).len(), 2);
}

#[test]
fn a_recording_that_others_have_changed_is_left_alone() {
    let before = format!("{HEADING}\n{BEFORE}\n");
    for changed in [&*format!("{HEADING}\n"), &format!("{before}{BEFORE}\n"), "mine"] {
        let folder = tempfile::tempdir().unwrap();
        let pending = pending(folder.path(), &before);
        fs::write(&pending.recording, changed).unwrap();
        let error = pending.merge(Unscored::Kept).unwrap_err();
        assert!(matches!(error, RecordError::Changed { .. }), "{error}");
        assert!(error.to_string().contains("recording.jsonl.journal"), "{error}");
        assert_eq!(fs::read_to_string(&pending.recording).unwrap(), changed);
    }
}

#[test]
fn what_is_no_journal_of_a_recording_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pending = Pending::take(&folder.path().join("recording.jsonl")).unwrap();
    fs::write(&pending.journal, "my notes").unwrap();
    let error = pending.merge(Unscored::Kept).unwrap_err().to_string();
    assert!(error.contains("recording.jsonl.journal: not a journal of goodarm"), "{error}");
}

#[test]
fn one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording.jsonl");
    let first = Pending::take(&path).unwrap();
    assert!(matches!(Pending::take(&path), Err(RecordError::Locked(LockError::Held { .. }))));
    drop(first);
    assert!(Pending::take(&path).is_ok());
}
