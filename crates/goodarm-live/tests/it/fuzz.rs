//! Files of a run that were changed at random: an audit finds it, and does not panic. More cases with
//! `PROPTEST_CASES=100000 cargo test -p goodarm-live --test it fuzz`. What others write is read in `fuzz/`.

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::crash::replay_place;
use crate::job_folder::JobFolder;

/// One change of a file.
#[derive(Clone, Debug)]
enum Change {
    Byte(Index, u8),
    Insert(Index, Vec<u8>),
    Cut(Index, Index),
    Double(Index, Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let words = prop_oneof![
        vec(any::<u8>(), 0..8),
        prop::sample::select(WORDS).prop_map(|word| word.as_bytes().to_vec()),
    ];
    let change = prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (any::<Index>(), words).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Cut(from, to)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Double(from, to)),
    ];
    vec(change, 1..5)
}

/// What readers find hard.
const WORDS: &[&str] = &[
    "\n",
    "\r",
    "{}",
    "[",
    "\"",
    "null",
    "NaN",
    "1e999",
    "-1",
    "0",
    "-0",
    "1e308",
    "\\ud800",
    "\u{feff}",
    "99999999999999999999",
    "{\"id\":",
    "[[verifiers]]",
    "''' ",
    "\"\"\"",
    "kind = \"llm\"",
    "goodarm",
];

fn changed(bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for change in changes {
        let end = bytes.len() + 1;
        match change {
            Change::Byte(at, byte) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Change::Byte(..) => {}
            Change::Insert(at, more) => {
                let at = at.index(end);
                bytes.splice(at..at, more.iter().copied());
            }
            Change::Cut(from, to) | Change::Double(from, to) => {
                let (from, to) = (from.index(end), to.index(end));
                let (from, to) = (from.min(to), from.max(to));
                if matches!(change, Change::Cut(..)) {
                    bytes.drain(from..to);
                } else {
                    bytes.extend_from_within(from..to);
                }
            }
        }
    }
    bytes
}

fn change_file(path: &Path, changes: &[Change]) -> Vec<u8> {
    let before = fs::read(path).expect("a file");
    fs::write(path, changed(&before, changes)).expect("a file");
    before
}

/// A folder that is made once: changes are undone.
fn with_place<T>(body: impl FnOnce(&JobFolder) -> T) -> T {
    thread_local! {
        static PLACE: JobFolder = {
            let place = replay_place();
            place.run();
            place
        };
    }
    PLACE.with(body)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_run_left_may_be_anything(
        name in prop::sample::select(RUN_FILES),
        changes in changes(),
    ) {
        with_place(|place| {
            let path = place.output().path().join(name);
            let before = change_file(&path, &changes);
            let after = fs::read(&path).expect("a file");
            let report = place.audit();
            // White space and the copy of the job's comments aside, a change is found.
            let is_told = name == "journal" || name == "calls.jsonl";
            let is_same = after.trim_ascii_end() == before.trim_ascii_end();
            assert!(!is_told || is_same || !report.is_clean() || is_harmless(&before, &after), "{name}: {changes:?}");
            fs::write(&path, before).expect("a file");
        });
    }
}

/// Lines that say the same, spaces and empty lines aside; a journal's torn tail.
fn is_harmless(before: &[u8], after: &[u8]) -> bool {
    let lines = |bytes: &[u8]| -> Option<Vec<serde_json::Value>> {
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        lines.map(|line| serde_json::from_slice(line).ok()).collect()
    };
    match (lines(before), lines(after)) {
        (Some(before), Some(after)) => before == after,
        _ => after.starts_with(before),
    }
}

const RUN_FILES: &[&str] =
    &["journal", "calls.jsonl", "certified.jsonl", "undecided.jsonl", "summary.json", "job.toml"];
