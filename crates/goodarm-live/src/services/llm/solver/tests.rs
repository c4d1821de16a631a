use std::time::Duration;

use goodarm_core::VoidFailure;
use serde_json::json;

use super::*;

fn solver(votes: u32) -> Solver {
    let keys = json!({"votes": votes, "extract": "gsm8k"});
    Solver::new(&serde_json::from_value(keys).unwrap(), false, &mut Vec::new()).unwrap()
}

fn said(text: &str) -> Result<ChatReply, Reply> {
    let worked = Duration::from_secs(1);
    let usage = Usage { input_tokens: Some(10), output_tokens: Some(2), cost: None, worked };
    Ok(ChatReply { text: text.into(), usage, ..ChatReply::default() })
}

fn failed(failure: CountedFailure) -> Result<ChatReply, Reply> {
    Err(Reply::failed(failure, "why"))
}

fn void() -> Result<ChatReply, Reply> {
    Err(Reply::void(VoidFailure::NotConnected))
}

fn count(answer: &str, replies: Vec<Result<ChatReply, Reply>>) -> Reply {
    let solver = solver(u32::try_from(replies.len()).unwrap());
    let votes = replies.into_iter().map(|reply| solver.vote(reply)).collect();
    solver.count(Some(answer), votes)
}

#[test]
fn the_most_frequent_answer_counts() {
    let replies = || vec![said("#### 1"), said("#### 18"), said("#### 18.0")];
    assert_eq!(count("18", replies()).verdict, Verdict::Score(1.0));
    assert_eq!(count("1", replies()).verdict, Verdict::Score(0.0));
    let reply = count("18", replies());
    assert!(reply.text.starts_with("2 of 3: 18\n"), "{}", reply.text);
    assert_eq!(reply.usage.input_tokens, Some(30));
    assert_eq!(reply.usage.output_tokens, Some(6));
    assert_eq!(reply.usage.worked, Duration::from_secs(3));
}

#[test]
fn among_equals_the_first_asked_for_counts() {
    let replies = || vec![said("#### 2"), said("#### 1"), said("#### 1"), said("#### 2.0")];
    assert_eq!(count("2", replies()).verdict, Verdict::Score(1.0));
    assert_eq!(count("1", replies()).verdict, Verdict::Score(0.0));
}

#[test]
fn unreadable_and_failed_votes_are_votes_for_nothing() {
    let replies =
        vec![said("no idea"), failed(CountedFailure::TimedOut), said("none"), said("#### 18")];
    let reply = count("18", replies);
    assert_eq!(reply.verdict, Verdict::Score(1.0));
    // What the failed one took is unknown, and so is the sum.
    assert_eq!(reply.usage.input_tokens, None);
}

#[test]
fn if_all_fail_the_call_fails() {
    let reply = count("18", vec![failed(CountedFailure::TimedOut), said("no idea")]);
    assert!(matches!(reply.verdict, Verdict::Failed(CountedFailure::TimedOut, _)));
    let reply = count("18", vec![said("no idea")]);
    assert!(matches!(reply.verdict, Verdict::Failed(CountedFailure::Unreadable, _)));
    assert_eq!(reply.usage.input_tokens, Some(10));
    let cut = said("#### 18").map(|reply| ChatReply { is_cut: true, ..reply });
    let reply = count("18", vec![cut]);
    assert!(matches!(reply.verdict, Verdict::Failed(CountedFailure::Truncated, _)));
}

#[test]
fn a_stop_before_the_first_vote_is_void_and_later_it_counts() {
    let reply = count("18", vec![void(), void()]);
    assert!(matches!(reply.verdict, Verdict::Void(_)));
    let reply = count("18", vec![said("#### 18"), void()]);
    assert!(matches!(reply.verdict, Verdict::Failed(CountedFailure::Lost, _)), "{reply:?}");
}

#[test]
fn votes_that_never_arrived_took_nothing() {
    let given_up =
        failed(CountedFailure::GivenUp).map_err(|reply| Reply { usage: NOTHING, ..reply });
    let reply = count("18", vec![given_up, said("#### 18")]);
    assert_eq!(reply.usage.input_tokens, Some(10));
}

#[test]
fn long_replies_are_cut_to_their_share() {
    let long = format!("{}#### 18", "é".repeat(REPLY_BYTES_MAX));
    let reply = count("18", vec![said(&long), said(&long)]);
    assert_eq!(reply.verdict, Verdict::Score(1.0));
    assert!(reply.text.len() <= REPLY_BYTES_MAX);
    assert!(reply.text.contains("\n---\n"));
}

#[test]
fn votes_have_limits() {
    let mut problems = Vec::new();
    for votes in [0, VOTES_MAX + 1] {
        let keys = LlmKeys { votes: Some(votes), ..LlmKeys::default() };
        Solver::new(&keys, false, &mut problems);
    }
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["votes", "votes"]);
}

#[test]
fn an_answer_that_takes_too_many_steps_is_missing() {
    let keys = json!({"extract": "regex", "pattern": "a.*b|a"});
    let solver =
        Solver::new(&serde_json::from_value(keys).unwrap(), false, &mut Vec::new()).unwrap();
    let own_answer = |answer: String| {
        let candidate = Candidate::new("1".into(), json!({"answer": answer}).to_string());
        crate::engine::runtime().unwrap().block_on(solver.own_answer(&candidate))
    };
    assert_eq!(own_answer("a".into()).unwrap(), "a");
    let reply = own_answer("a".repeat(300_000)).unwrap_err();
    assert_eq!(reply.verdict, Verdict::Known(0.0));
    assert!(reply.text.contains("too much work"), "{}", reply.text);
}
