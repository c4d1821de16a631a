//! Scores from the probabilities that a server says its tokens have.

use goodarm_core::CountedFailure;
use goodarm_data::candidates::Candidates;
use goodarm_live::service::{Remote as _, Verdict};
use goodarm_live::services::llm::Llm;
use goodarm_record::job_file::{Scores, Unit};
use serde_json::{Value, json};

use super::super::{assert_failed, assert_wrong, line, make, question};
use super::{judge_keys, llm, most, with};
use goodarm_testing::{Action, Server, completion};

fn keys(url: &str, keys: Value) -> Value {
    judge_keys(url, with(json!({"parse": "logprobs"}), keys))
}

/// A token at whose place yes has this probability, and no the rest.
fn place(token: &str, yes: f64) -> Value {
    let top = json!([
        {"token": " yes", "logprob": yes.ln()}, {"token": " no", "logprob": (1.0 - yes).ln()},
    ]);
    json!({"token": token, "logprob": -9999.0, "top_logprobs": top})
}

fn weighed(places: &[Value], finish: &str) -> Action {
    Action::Json(json!({
        "choices": [{
            "message": {"content": "Yes"}, "finish_reason": finish,
            "logprobs": {"content": places},
        }],
        "usage": {"prompt_tokens": 10, "completion_tokens": 1},
    }))
}

#[tokio::test]
async fn one_call_tells_the_probability_of_a_first_yes() {
    let server = Server::start([weighed(&[place("Yes", 0.9)], "length")]);
    let judge = llm(keys(&server.url("/v1"), json!({"margin": 0.01, "threshold": 0.8})));
    assert_eq!(judge.manifest(Unit::Calls).scores, Scores::Exact);
    for (index, requests) in [2, 2, 2, 1, 1].into_iter().enumerate() {
        let before = server.request_count();
        let reply = judge.call(&question(), &line(None)).await;
        let Verdict::Score(score) = reply.verdict else { panic!("{reply:?}") };
        assert!((score - 0.89).abs() < 1e-9, "{score}");
        assert_eq!(server.request_count() - before, requests, "call {index}");
        assert_eq!(reply.usage.input_tokens, Some(10 * requests as u64));
    }
    let sent = server.requests()[0].json();
    assert_eq!((&sent["logprobs"], &sent["top_logprobs"]), (&json!(true), &json!(20)));
    assert_eq!((&sent["max_tokens"], &sent["temperature"]), (&json!(1), &json!(1.0)));
    let candidates = Candidates::from_lines([question().json.as_str()], "id").expect("one");
    assert_eq!(judge.warnings(), []);
    let extent = most(judge, &candidates);
    assert_eq!((extent.input_tokens, extent.output_tokens), (Some(2 * (22 + 256)), Some(2)));
}

#[tokio::test]
async fn a_server_that_is_noisier_than_the_margin_fails_the_call_and_is_named() {
    let replies = [0.7, 0.8].map(|yes| weighed(&[place("Yes", yes)], "length"));
    let server = Server::start(replies);
    let judge = llm(keys(&server.url("/v1"), json!({})));
    let reply = judge.call(&question(), &line(None)).await;
    assert_failed(&reply, CountedFailure::Unreadable, "0.7000 and 0.8000");
    let warning = judge.warnings().pop().expect("a warning");
    assert!(warning.text.contains("declare a larger one"), "{warning:?}");
}

#[tokio::test]
async fn an_endpoint_without_log_probabilities_is_named() {
    let server = Server::start([completion("Yes")]);
    let judge = llm(keys(&server.url("/v1"), json!({})));
    let reply = judge.call(&question(), &line(None)).await;
    assert_failed(&reply, CountedFailure::Unreadable, "the endpoint gives no log-probabilities");
}

#[tokio::test]
async fn a_verdict_after_reasoning_is_weighed_at_its_position() {
    let places = [place("no", 0.1), place("so", 0.5), place(" yes", 0.6)];
    let server = Server::start([weighed(&places, "stop")]);
    let last = json!({"verdict": "last", "max_tokens": 300, "temperature": 0.7});
    let judge = llm(keys(&server.url("/v1"), last));
    assert_eq!(judge.manifest(Unit::Calls).scores, Scores::UNIT);
    let reply = judge.call(&question(), &line(None)).await;
    let Verdict::Score(score) = reply.verdict else { panic!("{reply:?}") };
    assert!((score - 0.6).abs() < 1e-9, "{score}");
    assert_eq!(server.request_count(), 1);
    assert_eq!(server.requests()[0].json()["max_tokens"], 300);
}

#[test]
fn incompatible_settings_are_refused() {
    let new = |more: Value| make(keys("http://127.0.0.1:9", more), Llm::new);
    assert_wrong(new(json!({"temperature": 0.0})), &["temperature"]);
    assert_wrong(new(json!({"verdict": "last", "temperature": 0.0})), &["temperature"]);
    assert_wrong(new(json!({"scores": "binary"})), &["scores"]);
    assert_wrong(new(json!({"verdict": "last", "scores": "exact"})), &["temperature"]);
    assert_wrong(new(json!({"margin": 0.9})), &["margin"]);
    assert_wrong(new(json!({"verdict": "last", "margin": 0.1})), &["margin"]);
    assert_wrong(new(json!({"top_logprobs": 0})), &["top_logprobs"]);
    let wrong = assert_wrong(new(json!({"threshold": 0.99})), &["threshold"]);
    assert!(wrong.contains("margin = 0.02 is taken off"), "{wrong}");
    assert_wrong(new(json!({"parameters": {"logprobs": true}})), &["parameters"]);
    assert_wrong(new(json!({"range": [0, 1], "pointer": "/x"})), &["range", "pointer"]);
    assert!(new(json!({"temperature": "default", "scores": "exact"})).is_ok());
    let plain = judge_keys("http://127.0.0.1:9", json!({"margin": 0.1, "verdict": "first"}));
    assert_wrong(make(plain, Llm::new), &["verdict", "margin"]);
}
