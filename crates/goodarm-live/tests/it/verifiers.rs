//! Each kind of verifier against the world as it is.

mod addresses;
mod command;
mod http;
mod llm;
mod worker;

use std::path::Path;
use std::time::Duration;

use goodarm_core::{Cost, CountedFailure};
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_data::problem::KeyProblem;
use goodarm_live::service::{Reply, Verdict};
use goodarm_live::services::ServiceContext;
use goodarm_live::throttle::{CallLimits, Throttle};
use goodarm_record::job_file::{ServiceKeys, Unit};
use goodarm_record::notice::Condition;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Makes a verifier of a kind's own keys and those of every verifier, which stand together as in a
/// job file.
fn make<K: DeserializeOwned, V>(
    keys: Value,
    new: impl FnOnce(&K, &ServiceContext<'_>) -> Result<V, Vec<KeyProblem>>,
) -> Result<V, Vec<KeyProblem>> {
    let Value::Object(mut own) = keys else { panic!("keys") };
    let mut common = json!({"name": "v", "kind": "k"});
    for key in ["scores", "metered", "timeout", "threshold"] {
        common[key] = own.remove(key).unwrap_or_default();
    }
    let common: ServiceKeys = serde_json::from_value(common).expect("keys of every service");
    let own: K = serde_json::from_value(Value::Object(own)).expect("keys of the kind");
    let candidates = Candidates::from_lines([r#"{"id": "q1"}"#], "id").expect("a candidate");
    let timeout = Duration::from_secs_f64(common.timeout.unwrap_or(60.0));
    let folder = Path::new(".");
    new(
        &own,
        &ServiceContext {
            makes_answers: false,
            keys: &common,
            timeout,
            folder,
            candidates: &candidates,
            questions: None,
            seed: 0,
            unit: Unit::Calls,
        },
    )
}

#[expect(clippy::unnecessary_wraps, reason = "what a reply has")]
fn cost(units: f64) -> Option<Cost> {
    Some(Cost::of_price(units).expect("an amount"))
}

fn candidate(fields: Value) -> Candidate {
    let id = fields["id"].as_str().unwrap_or("q1").to_owned();
    Candidate::new(id, fields.to_string())
}

fn question() -> Candidate {
    candidate(json!({"id": "q1", "question": "2 + 2?", "answer": "It is #### 4"}))
}

/// A line that gives a call up after this many retries, and is otherwise patient.
fn line(retries: Option<u32>) -> Throttle {
    let patience = Duration::from_secs(600);
    Throttle::new(CallLimits { concurrency: 64, rate: None, retries, patience })
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
fn assert_down(throttle: &Throttle, words: &str) {
    match throttle.condition() {
        Condition::Down { reason, .. } => assert!(reason.contains(words), "{reason}"),
        condition => panic!("{condition:?}"),
    }
}

#[track_caller]
fn assert_given_up(throttle: &Throttle, words: &str) {
    match throttle.condition() {
        Condition::GivenUp { reason } => assert!(reason.contains(words), "{reason}"),
        condition => panic!("{condition:?}"),
    }
}

/// Exactly these keys are wrong.
#[track_caller]
fn assert_wrong<T>(made: Result<T, Vec<KeyProblem>>, keys: &[&str]) -> String {
    let problems = made.err().expect("it is wrong");
    let found: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(found, keys, "{problems:?}");
    problems.iter().map(KeyProblem::to_string).collect::<Vec<_>>().join("\n")
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
