//! Programs that serve many calls.

use std::path::Path;
use std::time::Duration;

use goodarm_core::{CountedFailure, VoidFailure};
use goodarm_live::service::{Remote as _, Reply, Verdict};
use goodarm_live::services::command::CommandService;
use goodarm_live::throttle::Throttle;
use goodarm_record::notice::Condition;
use goodarm_testing::TestFolder;
use serde_json::{Value, json};

use super::{assert_failed, assert_given_up, assert_gone, assert_score, candidate, line, question};

fn worker(shell: &str, keys: Value) -> CommandService {
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
        json!({"id": "q1", "call": 1, "question": "2 + 2?", "answer": "It is #### 4"})
    );
    let reply = verifier.call(&candidate(json!({"nr": 7})), &line).await;
    assert_eq!(got(&reply.text), json!({"id": "q1", "call": 2, "nr": 7}));
    let reply = verifier.call(&candidate(json!({})), &line).await;
    assert_eq!(got(&reply.text), json!({"id": "q1", "call": 3}));
    let reply = verifier.call(&candidate(json!({"call": "mine"})), &line).await;
    assert_eq!(got(&reply.text), json!({"id": "q1", "call": "mine"}));
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
    let folder = TestFolder::new(&[]);
    let pid = folder.join("pid");
    let shell = format!(
        "if [ -e '{0}' ]; then read -r line; echo 1; else echo $$ > '{0}'; sleep 600; fi",
        pid.display()
    );
    let (verifier, line) = (worker(&shell, json!({"timeout": 1.0, "startup": 1.0})), line(None));
    let reply = verifier.call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::TimedOut, "within 2 s");
    let process = std::fs::read_to_string(&pid).expect("it was written");
    assert_gone(process.trim().parse().expect("a number")).await;
    assert_score(&verifier.call(&question(), &line).await, 1.0);
}

/// The second line would be read as the answer to the next question.
#[tokio::test]
async fn a_line_that_was_not_asked_for_is_never_a_score() {
    let too_much = [
        "while read -r line; do printf '1\\n2\\n'; done",
        // Late from the first call. goodarm waits for more output twice as long as the answer took.
        "while read -r line; do sleep 0.3; echo 1; sleep 0.05; echo 1; done",
    ];
    for shell in too_much {
        let (verifier, line) = (worker(shell, json!({})), line(None));
        let reply = verifier.call(&question(), &line).await;
        assert_mistrusted(&verifier, &line, &reply);
        // It counts, since it may depend on the answer; no further call is made.
        let next = verifier.call(&question(), &line).await;
        assert_eq!(next.verdict, Verdict::Void(VoidFailure::NotConnected));
    }
}

#[track_caller]
fn assert_mistrusted(verifier: &CommandService, line: &Throttle, reply: &Reply) {
    assert_failed(reply, CountedFailure::Crashed, "more than one line for one request");
    let Condition::Mistrusted { reason } = line.condition() else {
        panic!("{:?}", line.condition())
    };
    assert!(reason.contains("Let it repeat the request's \"call\""), "{reason}");
    let warning = verifier.warnings().pop().expect("it is said");
    assert!(warning.weakens_promise && warning.text.contains("an unsolicited line"), "{warning:?}");
}

/// A late line is taken for the next answer, which is then late itself.
#[tokio::test]
async fn a_worker_that_is_one_line_behind_is_detected() {
    let shell = "n=0; while read -r line; do n=$((n+1)); echo 0.5; [ $n -ge 5 ] && { sleep 0.02; echo 1; }; done";
    let (verifier, line) = (worker(shell, json!({})), line(None));
    for _ in 0..32 {
        let reply = verifier.call(&question(), &line).await;
        if !matches!(reply.verdict, Verdict::Score(_)) {
            return assert_mistrusted(&verifier, &line, &reply);
        }
    }
    panic!("all its lines were believed");
}

/// It is unknown whether the score is the answer.
#[tokio::test]
async fn a_greeting_before_an_answer_without_a_number_is_one_line_too_many() {
    let shell = "echo loading; while read -r line; do sleep 0.05; echo 1; done";
    let (verifier, line) = (worker(shell, json!({})), line(None));
    let reply = verifier.call(&question(), &line).await;
    assert_mistrusted(&verifier, &line, &reply);
}

const REPEATS: &str = r#"echo "$line" | sed "s/.*\"call\":\([0-9]*\).*/{\"score\": 0.5, \"cost\": $$, \"call\": \1}/""#;

#[tokio::test]
async fn other_lines_of_a_worker_that_repeats_call_are_skipped() {
    let chatty = [
        format!("echo 'loading model...'; echo; echo 97 %; while read -r line; do {REPEATS}; done"),
        format!("while read -r line; do echo debug 0.5; echo '{{\"id\": 7}}'; {REPEATS}; done"),
        format!("while read -r line; do echo 1; {REPEATS}; echo 1; done"),
    ];
    for shell in chatty {
        let (verifier, line) = (worker(&shell, json!({})), line(None));
        let first = verifier.call(&question(), &line).await;
        for _ in 0..5 {
            let reply = verifier.call(&question(), &line).await;
            assert_score(&reply, 0.5);
            assert_eq!(reply.usage.cost, first.usage.cost, "the same process");
        }
        assert_eq!(
            (line.condition(), verifier.warnings()),
            (Condition::Open, Vec::new()),
            "{shell}"
        );
    }
}

#[tokio::test]
async fn skipped_lines_are_limited() {
    let shell = format!("read -r line; {REPEATS}; read -r line; yes debug");
    let (verifier, line) = (worker(&shell, json!({})), line(None));
    assert_score(&verifier.call(&question(), &line).await, 0.5);
    let reply = verifier.call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::Truncated, "more than");
}

/// If answers have numbers, other lines are harmless, and the worker continues.
#[tokio::test]
async fn lines_between_the_answers_of_a_worker_that_repeats_call_are_skipped() {
    let shell = r#"while read -r line; do
        echo "$line" | sed "s/.*\"call\":\([0-9]*\).*/{\"score\": 0.5, \"cost\": $$, \"call\": \1}/"
        sleep 0.05; echo 1; done"#;
    let (verifier, line) = (worker(shell, json!({})), line(None));
    let first = verifier.call(&question(), &line).await;
    assert_score(&first, 0.5);
    assert_eq!(verifier.warnings(), []);
    for pause in [0, 300, 0] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let next = verifier.call(&question(), &line).await;
        assert_score(&next, 0.5);
        assert_eq!(next.usage.cost, first.usage.cost, "the same process");
    }
    assert_eq!(verifier.warnings(), []);
}

#[tokio::test]
async fn a_worker_that_writes_between_calls_is_not_trusted_any_more() {
    let folder = TestFolder::new(&[]);
    let shell = "while read -r line; do echo 0.5; while [ ! -e go ]; do sleep 0.01; done; echo 1; touch said; done";
    let keys = json!({"shell": shell, "worker": true});
    let (verifier, line) = (super::command::command(keys, folder.path()), line(None));
    assert_score(&verifier.call(&question(), &line).await, 0.5);
    assert_eq!(verifier.warnings(), []);
    folder.write("go", "");
    while !folder.join("said").exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let reply = verifier.call(&question(), &line).await;
    assert_mistrusted(&verifier, &line, &reply);
}

#[tokio::test]
async fn empty_lines_are_nothing() {
    let shell = "while read -r line; do echo; echo 0.5; echo; echo; done";
    let (verifier, line) = (worker(shell, json!({})), line(None));
    for _ in 0..4 {
        assert_score(&verifier.call(&question(), &line).await, 0.5);
    }
}

/// Several candidates may have the same `call`, so it identifies none.
#[tokio::test]
async fn a_field_call_of_the_candidate_is_not_the_number() {
    let shell = r#"while read -r line; do printf '{"score": 1, "call": "search"}\n{"score": 1, "call": "search"}\n'; done"#;
    let own = candidate(json!({"call": "search"}));
    let reply = worker(shell, json!({})).call(&own, &line(None)).await;
    assert_failed(&reply, CountedFailure::Crashed, "more than one line for one request");
}

/// A late line with its call is recognised.
#[tokio::test]
async fn an_answer_to_an_earlier_call_counts_as_a_crash() {
    let late = r#"read -r line; echo '{"score": 1, "call": 1}'; read -r line; echo '{"score": 1, "call": 1}'; sleep 9"#;
    let (verifier, line) = (worker(late, json!({})), line(None));
    assert_score(&verifier.call(&question(), &line).await, 1.0);
    let reply = verifier.call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::Crashed, "it answered call 1, not call 2");
}

/// Time to load a model.
#[tokio::test]
async fn a_new_worker_has_its_own_time_to_start() {
    let slow = "sleep 1; while read -r line; do echo 1; done";
    let keys = json!({"timeout": 0.5, "startup": 30.0});
    let (verifier, line) = (worker(slow, keys), line(None));
    let reply = verifier.call(&question(), &line).await;
    assert_score(&reply, 1.0);
    assert!(
        reply.usage.worked <= Duration::from_millis(500),
        "what it takes to start is not billed"
    );
    let never = worker("sleep 600", json!({"timeout": 0.5, "startup": 0.5}));
    let reply = never.call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::TimedOut, "within 1 s");
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
    // It may still answer with a number.
    let shell = "while read -r line; do echo; echo hello; done";
    let keys = json!({"timeout": 0.5, "startup": 0.5});
    let reply = worker(shell, keys).call(&question(), &line(None)).await;
    assert_failed(&reply, CountedFailure::Unreadable, "no score in the last line: hello");
}

#[tokio::test]
async fn workers_end_with_their_service() {
    let shell = r#"while read -r line; do echo "{\"score\": 1, \"cost\": $$}"; done"#;
    let (verifier, line) = (worker(shell, json!({})), line(None));
    let cost = verifier.call(&question(), &line).await.usage.cost.expect("its number");
    let process = format!("{cost}").parse().expect("a whole number");
    assert!(super::is_running(process));
    drop(verifier);
    assert_gone(process).await;
}

#[tokio::test]
async fn a_worker_that_cannot_be_started_is_given_up_at_once() {
    let folder = TestFolder::new(&[]);
    let path = folder.join("no-program");
    std::fs::write(&path, "#!/bin/sh\n").expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, mode).expect("our own file");
    let keys = json!({"command": ["./no-program"], "worker": true});
    let verifier = super::command::command(keys, folder.path());
    std::fs::remove_file(&path).expect("our own file");
    let line = line(None);
    let reply = verifier.call(&question(), &line).await;
    assert_eq!(reply.verdict, Verdict::Void(VoidFailure::NotConnected));
    assert_given_up(&line, "cannot start");
}
