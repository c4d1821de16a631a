use serde_json::{Value, json};

use super::*;

fn logprobs(place: VerdictPosition, margin: f64) -> Logprobs {
    Logprobs { place, margin, noise: Mutex::default() }
}

fn listed(token: &str, probabilities: &[(&str, f64)]) -> Value {
    let top: Vec<Value> = probabilities
        .iter()
        .map(|(token, share)| json!({"token": token, "logprob": share.ln(), "bytes": null}))
        .collect();
    let own = probabilities.iter().find(|(other, _)| *other == token);
    json!({"token": token, "logprob": own.map_or(-9999.0, |(_, share)| share.ln()), "top_logprobs": top})
}

fn said(places: &[Value]) -> ChatReply {
    let usage = Usage { input_tokens: Some(10), output_tokens: Some(1), ..Usage::default() };
    ChatReply {
        text: "Yes".into(),
        usage,
        logprobs: json!({"content": places}),
        ..ChatReply::default()
    }
}

#[track_caller]
fn check_score(reply: &Reply, expected: f64) {
    let Verdict::Score(score) = reply.verdict else { panic!("{reply:?}") };
    assert!((score - expected).abs() < 1e-9, "{score}");
}

#[track_caller]
fn check_failed(reply: &Reply, words: &str) {
    let Verdict::Failed(_, reason) = &reply.verdict else { panic!("{reply:?}") };
    assert!(reason.contains(words), "{reason}");
}

#[test]
fn all_spellings_of_yes_count_and_the_rest_does_not() {
    let place = listed(
        "Yes",
        &[("Yes", 0.5), (" yes", 0.2), ("YES", 0.1), ("No", 0.1), ("Yesterday", 0.05)],
    );
    check_score(
        &logprobs(VerdictPosition::First, 0.0).count(vec![Ok(said(std::slice::from_ref(&place)))]),
        0.8,
    );
    let reply = logprobs(VerdictPosition::First, 0.02).count(vec![Ok(said(&[place]))]);
    check_score(&reply, 0.78);
    assert!(reply.text.starts_with("P(yes) = 0.8000, P(no) = 0.1000\n"), "{}", reply.text);
}

#[test]
fn a_token_that_is_listed_twice_counts_once() {
    let place = listed("Yes", &[("Yes", 0.4), ("Yes", 0.4), ("No", 0.2)]);
    check_score(&logprobs(VerdictPosition::First, 0.0).count(vec![Ok(said(&[place]))]), 0.4);
}

#[test]
fn an_impossible_token_has_no_probability() {
    let mut place = listed("Yes", &[("Yes", 0.9), ("No", 0.1), ("YES", 0.1)]);
    place["top_logprobs"][2]["logprob"] = Value::Null;
    check_score(&logprobs(VerdictPosition::First, 0.0).count(vec![Ok(said(&[place]))]), 0.9);
}

#[test]
fn a_score_is_never_below_zero() {
    let place = listed("No", &[("Yes", 0.01), ("No", 0.99)]);
    check_score(&logprobs(VerdictPosition::First, 0.02).count(vec![Ok(said(&[place]))]), 0.0);
}

#[test]
fn the_first_calls_ask_twice_until_three_in_a_row_agree() {
    let verdict = logprobs(VerdictPosition::First, 0.02);
    let of = |yes: f64| Ok(said(&[listed("Yes", &[("Yes", yes), ("No", 1.0 - yes)])]));
    let reply = verdict.count(vec![of(0.9), of(0.89)]);
    check_score(&reply, 0.87);
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (Some(20), Some(2)));
    assert_eq!(verdict.warning(), None);
    check_failed(&verdict.count(vec![of(0.9), of(0.8)]), "0.8000 and 0.9000");
    assert!(verdict.warning().unwrap().contains("0.1000 apart"));
    for _ in 0..3 {
        assert_eq!(verdict.request_count(), 2);
        verdict.count(vec![of(0.9), of(0.9)]);
    }
    assert_eq!(verdict.request_count(), 1);
    assert_eq!(logprobs(VerdictPosition::Last, 0.0).request_count(), 1);
}

#[test]
fn a_verdict_after_reasoning_is_the_last_yes_or_no() {
    let places = [
        listed("no", &[("no", 0.9), ("yes", 0.1)]),
        listed(":", &[(":", 1.0)]),
        listed(" Yes", &[(" Yes", 0.7), (" No", 0.2)]),
        listed(".", &[(".", 1.0)]),
    ];
    let last = logprobs(VerdictPosition::Last, 0.0);
    check_score(&last.count(vec![Ok(said(&places))]), 0.7);
    check_failed(&last.count(vec![Ok(said(&places[1..2]))]), "no token of the reply is yes or no");
    let cut = ChatReply { is_cut: true, ..said(&places) };
    check_failed(&last.count(vec![Ok(cut)]), "cut the reply off");
}

#[test]
fn an_invalid_listing_fails_with_a_reason() {
    let first = logprobs(VerdictPosition::First, 0.02);
    for absent in [
        json!(null),
        json!({"content": null}),
        json!({"content": []}),
        json!({"tokens": []}),
        json!("x"),
    ] {
        let reply = ChatReply { logprobs: absent, ..said(&[]) };
        check_failed(&first.count(vec![Ok(reply)]), "gives no log-probabilities");
    }
    let shy = listed("<think>", &[("<think>", 0.99), ("Yes", 0.01)]);
    check_failed(&first.count(vec![Ok(said(&[shy]))]), "\"<think>\", is hardly ever yes or no");
    let absurd = json!({"token": "Yes", "logprob": 3.0, "top_logprobs": []});
    check_failed(&first.count(vec![Ok(said(&[absurd]))]), "more than 1");
}

#[test]
fn a_failed_request_fails_the_call_and_a_void_one_does_not() {
    let first = logprobs(VerdictPosition::First, 0.0);
    let good = || Ok(said(&[listed("Yes", &[("Yes", 0.75)])]));
    let failed = || Err(Reply::failed(CountedFailure::TimedOut, "late"));
    let void = || Err(Reply::void(goodarm_core::VoidFailure::NotConnected));
    let reply = first.count(vec![good(), failed()]);
    check_failed(&reply, "late");
    assert_eq!(reply.usage.input_tokens, None);
    check_score(&first.count(vec![good(), void()]), 0.75);
    assert!(matches!(first.count(vec![void(), void()]).verdict, Verdict::Void(_)));
}
