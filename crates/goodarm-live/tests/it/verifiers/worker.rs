//! Programs that live on.

use std::path::Path;

use goodarm_core::CountedFailure;
use goodarm_live::verifier::Verifier as _;
use goodarm_live::verifier::command::Command;
use serde_json::{Value, json};

use super::{assert_down, assert_failed, assert_gone, assert_score, candidate, line, question};

fn worker(shell: &str, keys: Value) -> Command {
    let mut keys = keys;
    keys["shell"] = shell.into();
    keys["worker"] = true.into();
    super::command::command(keys, Path::new("."))
}

#[tokio::test]
async fn one_process_answers_many_calls() {
    let counting = "n=0; while read -r line; do n=$((n+1)); echo $n; done";
    let (verifier, line) = (worker(counting, json!({})), line(None));
    for expected in [1.0, 2.0, 3.0] {
        assert_score(&verifier.call(&question(), &line).await, expected);
    }
}

#[tokio::test]
async fn it_gets_the_id_and_all_fields_on_one_line() {
    let echo = r#"while read -r line; do printf '{"score": 1, "got": %s}\n' "$line"; done"#;
    let (verifier, line) = (worker(echo, json!({})), line(None));
    let got = |text: &str| serde_json::from_str::<Value>(text).expect("JSON")["got"].clone();
    let reply = verifier.call(&question(), &line).await;
    assert_score(&reply, 1.0);
    assert_eq!(
        got(&reply.text),
        json!({"id": "q1", "question": "2 + 2?", "answer": "It is #### 4"})
    );
    let reply = verifier.call(&candidate(json!({"nr": 7})), &line).await;
    assert_eq!(got(&reply.text), json!({"id": "q1", "nr": 7}));
    let reply = verifier.call(&candidate(json!({})), &line).await;
    assert_eq!(got(&reply.text), json!({"id": "q1"}));
}

#[tokio::test]
async fn calls_at_once_have_workers_of_their_own() {
    let shell = r#"while read -r line; do echo "{\"score\": 1, \"cost\": $$}"; done"#;
    let (verifier, line, question) = (worker(shell, json!({})), line(None), question());
    let (left, right) =
        tokio::join!(verifier.call(&question, &line), verifier.call(&question, &line));
    assert_ne!(left.usage.cost, right.usage.cost);
    let third = verifier.call(&question, &line).await;
    assert!([left.usage.cost, right.usage.cost].contains(&third.usage.cost));
}

#[tokio::test]
async fn a_dying_worker_fails_its_call_and_is_replaced() {
    let mortal = "read -r line; echo 1; read -r line; echo 'out of memory' >&2; exit 7";
    let (verifier, line) = (worker(mortal, json!({})), line(None));
    assert_score(&verifier.call(&question(), &line).await, 1.0);
    let reply = verifier.call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::Crashed, "exit status: 7: out of memory");
    assert_score(&verifier.call(&question(), &line).await, 1.0);
    let half = worker("read -r line; printf 0.5; exit 0", json!({}));
    let reply = half.call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::Crashed, "exit status: 0");
}

#[tokio::test]
async fn a_silent_worker_is_killed_and_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let pid = folder.path().join("pid");
    let shell = format!(
        "if [ -e '{0}' ]; then read -r line; echo 1; else echo $$ > '{0}'; sleep 600; fi",
        pid.display()
    );
    let (verifier, line) = (worker(&shell, json!({"timeout": 2.0})), line(None));
    let reply = verifier.call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::TimedOut, "within 2 s");
    let process = std::fs::read_to_string(&pid).expect("it was written");
    assert_gone(process.trim().parse().expect("a number")).await;
    assert_score(&verifier.call(&question(), &line).await, 1.0);
}

/// The second line would be read as the answer to the next question.
#[tokio::test]
async fn a_worker_that_says_too_much_is_replaced() {
    let talkative = "while read -r line; do printf '1\\n2\\n'; done";
    let (verifier, line) = (worker(talkative, json!({})), line(None));
    for _ in 0..3 {
        assert_score(&verifier.call(&question(), &line).await, 1.0);
    }
}

#[tokio::test]
async fn an_answer_to_another_question_counts_as_a_crash() {
    let confused = r#"while read -r line; do echo '{"id": "q2", "score": 1}'; done"#;
    let reply = worker(confused, json!({})).call(&question(), &line(None)).await;
    assert_failed(&reply, CountedFailure::Crashed, "it answered for \"q2\", not for q1");
    let right = r#"while read -r line; do echo '{"id": "q1", "score": 1}'; done"#;
    assert_score(&worker(right, json!({})).call(&question(), &line(None)).await, 1.0);
}

#[tokio::test]
async fn long_and_unreadable_lines() {
    let reply =
        worker("read -r line; yes | tr -d '\\n'", json!({})).call(&question(), &line(None)).await;
    assert_failed(&reply, CountedFailure::Truncated, "more than");
    let shell = "while read -r line; do echo; echo hello; done";
    let reply = worker(shell, json!({})).call(&question(), &line(None)).await;
    assert_failed(&reply, CountedFailure::Unreadable, "no score in the last line: hello");
}

#[tokio::test]
async fn a_shutdown_ends_the_workers() {
    let shell = r#"while read -r line; do echo "{\"score\": 1, \"cost\": $$}"; done"#;
    let (verifier, line) = (worker(shell, json!({})), line(None));
    let cost = verifier.call(&question(), &line).await.usage.cost.expect("its number");
    let process = format!("{cost}").parse().expect("a whole number");
    assert!(super::is_running(process));
    verifier.shutdown();
    assert_gone(process).await;
}

#[tokio::test]
async fn a_worker_that_cannot_be_started_takes_the_line_down() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("no-program"), "a text").expect("a file");
    let keys = json!({"command": ["./no-program"], "worker": true});
    let verifier = super::command::command(keys, folder.path());
    let line = line(Some(0));
    let reply = verifier.call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::GivenUp, "cannot start");
    assert_down(&line, "Permission denied");
}
