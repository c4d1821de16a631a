//! Each kind of verifier against the world as it is.

mod command;
mod http;
mod llm;
mod worker;

use std::time::Duration;

use goodarm_core::CountedFailure;
use goodarm_live::candidates::Candidate;
use goodarm_live::job_file::VerifierFile;
use goodarm_live::line::{Condition, Limits, Line};
use goodarm_live::verifier::wrong::Wrong;
use goodarm_live::verifier::{Reply, Verdict};
use serde_json::{Value, json};

/// A verifier's entry with these keys.
fn file(kind: &str, keys: Value) -> VerifierFile {
    let mut keys = keys;
    keys["name"] = "v".into();
    keys["kind"] = kind.into();
    serde_json::from_value(keys).expect("keys of the job file")
}

fn candidate(fields: Value) -> Candidate {
    let id = fields["id"].as_str().unwrap_or("q1").to_owned();
    Candidate::new(id, fields.to_string())
}

fn question() -> Candidate {
    candidate(json!({"id": "q1", "question": "2 + 2?", "answer": "It is #### 4"}))
}

/// A line that gives a call up after so many retries, and is otherwise patient.
fn line(retries: Option<u32>) -> Line {
    let patience = Duration::from_secs(600);
    Line::new(Limits { concurrency: 64, rate: None, retries, patience })
}

#[track_caller]
fn assert_score(reply: &Reply, score: f64) {
    assert_eq!(reply.verdict, Verdict::Score(score), "{reply:?}");
}

/// It counted as a failure of this kind, for a reason that holds these words.
#[track_caller]
fn assert_failed(reply: &Reply, failure: CountedFailure, words: &str) {
    match &reply.verdict {
        Verdict::Failed(found, reason) => {
            assert_eq!(*found, failure, "{reason}");
            assert!(reason.contains(words), "{reason}");
        }
        verdict => panic!("{verdict:?}"),
    }
}

#[track_caller]
fn assert_down(line: &Line, words: &str) {
    match line.condition() {
        Condition::Down { reason, .. } => assert!(reason.contains(words), "{reason}"),
        condition => panic!("{condition:?}"),
    }
}

/// Exactly these keys are wrong.
#[track_caller]
fn assert_wrong<T>(made: Result<T, Vec<Wrong>>, keys: &[&str]) -> String {
    let wrongs = made.err().expect("it is wrong");
    let found: Vec<&str> = wrongs.iter().map(|wrong| wrong.key).collect();
    assert_eq!(found, keys, "{wrongs:?}");
    wrongs.iter().map(Wrong::to_string).collect::<Vec<_>>().join("\n")
}

/// Whether a process still runs; one that only waits to be collected does not.
fn is_running(process: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits until a process is gone.
async fn assert_gone(process: u32) {
    for _ in 0..1000 {
        if !is_running(process) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {process} is still there");
}
