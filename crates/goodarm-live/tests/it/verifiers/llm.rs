//! Models that judge and solve, behind a server that may do anything.

mod apis;
mod logprobs;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use goodarm_core::CountedFailure;
use goodarm_data::candidates::Candidates;
use goodarm_live::pricing::Extent;
use goodarm_live::service::{Remote as _, Service, Verdict};
use goodarm_live::services::ServiceContext;
use goodarm_live::services::llm::Llm;
use goodarm_live::throttle::{CallLimits, Throttle};
use goodarm_record::job_file::{Scores, Unit};
use goodarm_record::notice::Condition;
use serde_json::{Value, json};

use super::{assert_failed, assert_score, assert_wrong, candidate, line, make, question};
use goodarm_testing::{Action, Server, completion, status};

fn with(base: Value, keys: Value) -> Value {
    let (Value::Object(mut all), Value::Object(more)) = (base, keys) else { panic!("objects") };
    all.extend(more);
    Value::Object(all)
}

fn judge_keys(url: &str, keys: Value) -> Value {
    with(json!({"url": url, "model": "m", "prompt": "Is {{ answer }} right?"}), keys)
}

fn solver_keys(url: &str, keys: Value) -> Value {
    let base = json!({"url": url, "model": "m", "role": "solver", "extract": "gsm8k"});
    with(base, keys)
}

fn llm(keys: Value) -> Llm {
    make(keys, Llm::new).expect("a verifier")
}

/// The most time and tokens of a call about one of these.
fn most(llm: Llm, candidates: &Candidates) -> Extent {
    Service::remote(llm.manifest(Unit::Calls), llm).extent(candidates)
}

fn reply_with(choice: Value, usage: Value) -> Action {
    Action::Json(json!({"id": "x", "choices": [choice], "usage": usage}))
}

#[tokio::test]
async fn a_judge_asks_and_reads_yes_or_no() {
    let server = Server::start([completion("**Yes**, it is."), completion("No.")]);
    let keys = json!({
        "system": "You judge {{ id }}.", "max_tokens": 5, "temperature": 0.7,
        "parameters": {"top_p": 0.9},
    });
    let judge = llm(judge_keys(&server.url("/v1"), keys));
    let line = line(None);
    let reply = judge.call(&question(), &line).await;
    assert_score(&reply, 1.0);
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (Some(10), Some(2)));
    assert_eq!(reply.text, "**Yes**, it is.");
    assert_score(&judge.call(&question(), &line).await, 0.0);
    let seen = &server.requests()[0];
    assert_eq!(seen.path, "/v1/chat/completions");
    let expected = json!({
        "model": "m", "temperature": 0.7, "max_tokens": 5, "stream": false, "top_p": 0.9,
        "messages": [
            {"role": "system", "content": "You judge q1."},
            {"role": "user", "content": "Is It is #### 4 right?"},
        ],
    });
    assert_eq!(seen.json(), expected);
    assert_eq!(judge.manifest(Unit::Calls).fields, ["answer", "id"].map(String::from).into());
    assert_eq!(judge.manifest(Unit::Calls).scores, Scores::Binary);
    let candidates = Candidates::from_lines([question().json.as_str()], "id").expect("one");
    let extent =
        Extent { input_tokens: Some(13 + 22 + 256), output_tokens: Some(5), ..Extent::default() };
    let preview = judge.preview(&question());
    let expected = "m\nsystem: You judge q1.\nuser: Is It is #### 4 right?";
    assert!(preview.ends_with(expected), "{preview}");
    assert_eq!(most(judge, &candidates), extent);
}

/// What calls typically use is a guess from the lengths of prompts and the kind of reply.
#[test]
fn a_typical_call_has_a_token_for_four_bytes_and_a_reply_of_its_kind() {
    let url = "http://127.0.0.1:9/v1";
    let answer = |bytes: usize| json!({"id": bytes.to_string(), "answer": "x".repeat(bytes)});
    let lines = [answer(390), answer(790)].map(|line| line.to_string());
    let candidates = Candidates::from_lines(lines.iter().map(String::as_str), "id").expect("two");
    let typical = |llm: Llm| {
        let usage = Service::remote(llm.manifest(Unit::Calls), llm).typical_usage(&candidates);
        (usage.input_tokens.expect("a prompt"), usage.output_tokens.expect("a reply"))
    };
    let judge = |keys| typical(llm(judge_keys(url, keys)));
    // Prompts of 400 and 800 bytes, and 8 tokens around them.
    assert_eq!(judge(json!({"max_tokens": 5})), (158, 2));
    assert_eq!(judge(json!({"max_tokens": 1})), (158, 1), "never more than the limit");
    assert_eq!(judge(json!({"max_tokens": 5, "input_tokens_max": 90})), (90, 2));
    assert_eq!(judge(json!({"max_completion_tokens": 900})), (158, 300), "with thoughts");
    assert_eq!(judge(json!({"parse": "number", "max_tokens": 8})), (158, 2));
    assert_eq!(judge(json!({"parse": "number", "max_tokens": 300})), (158, 100));
    assert_eq!(judge(json!({"parse": "json", "pointer": "/a", "max_tokens": 60})), (158, 12));
    assert_eq!(judge(json!({"parse": "logprobs"})), (158, 1), "only the first calls ask twice");
    let prompt = json!({"prompt": "{{ answer }}", "max_tokens": 300, "votes": 2});
    assert_eq!(typical(llm(solver_keys(url, prompt))), (2 * 156, 2 * 100));
}

#[tokio::test]
async fn addresses_may_have_any_ending() {
    let server = Server::start([completion("Yes")]);
    for path in ["/v1", "/v1/", "/v1/chat/completions", "/openai/v1?api-version=1"] {
        let judge = llm(judge_keys(&server.url(path), json!({})));
        assert_score(&judge.call(&question(), &line(None)).await, 1.0);
    }
    let paths: Vec<String> = server.requests().into_iter().map(|seen| seen.path).collect();
    let plain = "/v1/chat/completions";
    let query = "/openai/v1/chat/completions?api-version=1";
    assert_eq!(paths, [plain, plain, plain, query]);
}

#[tokio::test]
async fn other_parsers_give_scores_in_between() {
    let server = Server::start([completion("I say 7"), completion(r#"{"grade": 3}"#)]);
    let url = server.url("/v1");
    let number = llm(judge_keys(&url, json!({"parse": "number", "range": [0, 10]})));
    assert_score(&number.call(&question(), &line(None)).await, 0.7);
    assert_eq!(number.manifest(Unit::Calls).scores, Scores::UNIT);
    let keys = json!({"parse": "json", "pointer": "/grade", "range": [1, 5]});
    assert_score(&llm(judge_keys(&url, keys)).call(&question(), &line(None)).await, 0.5);
}

#[tokio::test]
async fn replies_that_are_no_judgement() {
    let judge = |act: Action, keys: Value| async move {
        let server = Server::start([act]);
        let line = line(None);
        let reply = llm(judge_keys(&server.url("/v1"), keys)).call(&question(), &line).await;
        assert_eq!(server.request_count(), 1);
        assert_eq!(line.condition(), Condition::Open);
        reply
    };
    let number = || json!({"parse": "number"});
    let usage = || json!({"prompt_tokens": 9, "completion_tokens": 1});
    let say =
        |text: Value, finish: &str| json!({"message": {"content": text}, "finish_reason": finish});
    let reply = judge(completion("Perhaps"), json!({})).await;
    assert_failed(&reply, CountedFailure::Unreadable, "neither yes nor no: Perhaps");
    assert_eq!(reply.usage.input_tokens, Some(10));
    let reply = judge(reply_with(say(json!(null), "stop"), usage()), json!({})).await;
    assert_failed(&reply, CountedFailure::Unreadable, "no text");
    let reply = judge(reply_with(say(json!("0.9"), "length"), usage()), number()).await;
    assert_failed(&reply, CountedFailure::Truncated, "max_tokens");
    assert_eq!((reply.usage.input_tokens, reply.text.as_str()), (Some(9), "0.9"));
    let reply = judge(reply_with(say(json!("Yes, be"), "length"), usage()), json!({})).await;
    assert_score(&reply, 1.0);
    let reply = judge(reply_with(say(json!("Hmm"), "length"), usage()), json!({})).await;
    assert_failed(&reply, CountedFailure::Truncated, "max_tokens");
    let reply = judge(reply_with(say(json!("Yes"), "content_filter"), usage()), json!({})).await;
    assert_failed(&reply, CountedFailure::Refused, "content filter");
    let reply = judge(Action::Json(json!({"choices": []})), json!({})).await;
    assert_failed(&reply, CountedFailure::Unreadable, "no choices");
    let reply = judge(Action::Json(json!({"error": {"message": "overloaded"}})), json!({})).await;
    assert_failed(&reply, CountedFailure::Refused, "overloaded");
    let reply = judge(Action::Json(json!("Yes")), json!({})).await;
    assert_failed(&reply, CountedFailure::Unreadable, "not a chat completion");
    let reply = judge(Action::HalfBody("{\"choices\": []}".into()), json!({})).await;
    assert_failed(&reply, CountedFailure::Truncated, "cut off");
}

#[tokio::test]
async fn wrong_or_missing_usage_is_unknown() {
    let choice = || json!({"message": {"content": "Yes"}, "finish_reason": "stop"});
    for usage in [json!(null), json!("many"), json!({"prompt_tokens": -3}), json!([])] {
        let server = Server::start([reply_with(choice(), usage.clone())]);
        let reply =
            llm(judge_keys(&server.url("/v1"), json!({}))).call(&question(), &line(None)).await;
        assert_score(&reply, 1.0);
        assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (None, None), "{usage}");
    }
}

#[tokio::test]
async fn a_prompt_that_cannot_be_made_is_not_sent() {
    let server = Server::start([completion("Yes")]);
    let judge = llm(judge_keys(&server.url("/v1"), json!({})));
    let reply = judge.call(&candidate(json!({"question": "?"})), &line(None)).await;
    assert_failed(&reply, CountedFailure::Unreadable, "prompt: line 1");
    assert_eq!((server.request_count(), reply.usage.input_tokens), (0, Some(0)));
}

#[tokio::test]
async fn a_solver_compares_final_answers() {
    let server = Server::start([completion("So #### 4.0"), completion("#### 5")]);
    let solver = llm(solver_keys(&server.url("/v1"), json!({})));
    let line = line(None);
    assert_score(&solver.call(&question(), &line).await, 1.0);
    assert_score(&solver.call(&question(), &line).await, 0.0);
    assert_eq!(server.requests()[0].json()["messages"][0]["content"], "2 + 2?");
    assert_eq!(
        solver.manifest(Unit::Calls).fields,
        ["answer", "question"].map(String::from).into()
    );
    let mute = candidate(json!({"question": "2 + 2?", "answer": "who knows"}));
    let reply = solver.call(&mute, &line).await;
    assert_eq!(reply.verdict, Verdict::Known(0.0));
    assert_eq!(reply.usage.input_tokens, Some(0));
    assert!(reply.text.contains("not asked"), "{}", reply.text);
    assert_eq!(server.request_count(), 2);
}

#[tokio::test]
async fn votes_are_requests_of_their_own_at_once() {
    let arrived = AtomicUsize::new(0);
    // Replies only after all five requests.
    let server = Server::with(move |_| {
        let number = arrived.fetch_add(1, Ordering::SeqCst);
        let text = if number.is_multiple_of(2) { "#### 4" } else { "#### 5" };
        Action::Later(Duration::from_millis(300), Box::new(completion(text)))
    });
    let solver = llm(solver_keys(&server.url("/v1"), json!({"votes": 5})));
    let reply = solver.call(&question(), &line(None)).await;
    assert_score(&reply, 1.0);
    assert!(reply.text.starts_with("3 of 5: 4\n"), "{}", reply.text);
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (Some(50), Some(10)));
    assert_eq!(server.request_count(), 5);
}

#[tokio::test]
async fn votes_keep_to_the_lines_limit() {
    let server =
        Server::with(|_| Action::Later(Duration::from_millis(20), Box::new(completion("#### 4"))));
    let patience = Duration::from_secs(600);
    let line = Throttle::new(CallLimits { concurrency: 2, rate: None, retries: None, patience });
    let solver = llm(solver_keys(&server.url("/v1"), json!({"votes": 6})));
    assert_score(&solver.call(&question(), &line).await, 1.0);
    assert_eq!((server.request_count(), server.in_flight_max()), (6, 2));
}

#[tokio::test]
async fn an_error_takes_nothing_unless_it_states_its_usage() {
    let stated = r#"{"error": "late", "usage": {"prompt_tokens": 12, "completion_tokens": 3}}"#;
    for (body, tokens) in [("oops", 0), (stated, 12)] {
        let server = Server::start([Action::Status(500, ("", String::new()), body.into())]);
        let solver = llm(solver_keys(&server.url("/v1"), json!({})));
        let reply = solver.call(&question(), &line(None)).await;
        assert_eq!(reply.usage.input_tokens, Some(tokens), "{body}");
        assert_eq!(reply.delivery.status, Some(500));
    }
}

#[tokio::test]
async fn a_vote_that_met_a_429_is_asked_for_again_and_a_broken_one_is_not() {
    let acts = [status(429), status(500), completion("#### 4"), completion("#### 4")];
    let server = Server::start(acts);
    let solver = llm(solver_keys(&server.url("/v1"), json!({"votes": 3})));
    let reply = solver.call(&question(), &line(None)).await;
    assert_score(&reply, 1.0);
    assert!(reply.text.starts_with("2 of 3: 4\n"), "{}", reply.text);
    assert_eq!(reply.usage.input_tokens, Some(20), "an error takes nothing");
    assert_eq!(reply.delivery.status, Some(500));
    assert_eq!(server.request_count(), 4);
}

#[tokio::test]
async fn a_run_that_stops_between_votes_counts_the_call_as_lost() {
    let server =
        Server::with(|_| Action::Later(Duration::from_millis(200), Box::new(completion("#### 4"))));
    let patience = Duration::from_secs(600);
    let line = Throttle::new(CallLimits { concurrency: 1, rate: None, retries: None, patience });
    let solver = llm(solver_keys(&server.url("/v1"), json!({"votes": 3})));
    let question = question();
    let stop = async {
        while server.request_count() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        line.stop();
    };
    let (reply, ()) = tokio::join!(solver.call(&question, &line), stop);
    assert_failed(&reply, CountedFailure::Lost, "stopped after 1 of 3");
    assert_eq!(reply.usage.input_tokens, Some(10));
    let reply = solver.call(&question, &line).await;
    assert!(matches!(reply.verdict, Verdict::Void(_)), "{reply:?}");
}

#[tokio::test]
async fn a_cache_in_between_is_noticed() {
    let long = "The answer is right, because two and two have always been four.";
    let server = Server::start([completion(&format!("Yes. {long}"))]);
    let judge = llm(judge_keys(&server.url("/v1"), json!({})));
    let line = line(None);
    for expected in [false, false, true] {
        judge.call(&question(), &line).await;
        assert_eq!(!judge.warnings().is_empty(), expected);
    }
    let warning = &judge.warnings()[0];
    assert!(warning.weakens_promise && warning.text.contains("candidate q1:"), "{warning:?}");
}

#[tokio::test]
async fn a_text_can_be_had_unjudged() {
    let server = Server::start([completion("Paris")]);
    let keys = json!({"url": server.url("/v1"), "model": "m", "temperature": 0.0});
    let generator = make(keys, |keys, context| {
        Llm::new(keys, &ServiceContext { makes_answers: true, ..*context })
    });
    let said = generator.expect("a generator").call(&question(), &line(None)).await;
    assert_eq!(said.verdict, Verdict::answer("Paris".into(), String::new()));
    assert_eq!(said.usage.output_tokens, Some(2));
}

#[test]
fn settings_that_repeat_are_refused_unless_declared() {
    let new = |keys: Value| make(judge_keys("http://127.0.0.1:9", keys), Llm::new);
    let wrong = assert_wrong(new(json!({"temperature": 0.0})), &["temperature"]);
    assert_eq!(
        wrong,
        "temperature: 0 gives the same reply again and again, and repeats are not evidence: \
         use more than 0, or declare scores = \"exact\""
    );
    assert_wrong(new(json!({"parameters": {"seed": 1}})), &["parameters"]);
    assert_wrong(new(json!({"parameters": {"top_k": 1}})), &["parameters"]);
    assert_wrong(new(json!({"parameters": {"top_p": 0}})), &["parameters"]);
    assert_wrong(new(json!({"scores": "exact"})), &["temperature"]);
    for fine in [
        json!({"temperature": 0.0, "scores": "exact"}),
        json!({"parameters": {"seed": 1}, "scores": "exact"}),
        json!({"parameters": {"seed": null, "top_k": 40}}),
    ] {
        assert!(new(fine.clone()).is_ok(), "{fine}");
    }
}

#[test]
fn problems_name_their_key() {
    let new = |keys: Value| make(keys, Llm::new);
    let wrong = assert_wrong(new(json!({})), &["url", "model", "prompt"]);
    assert!(wrong.ends_with("prompt: a template is needed"), "{wrong}");
    let judge = |keys: Value| new(judge_keys("http://127.0.0.1:9", keys));
    assert_wrong(judge(json!({"prompt": "ok\n{{ answer"})), &["prompt"]);
    assert_wrong(judge(json!({"system": "{% if %}"})), &["system"]);
    let keys = json!({"votes": 3, "field": "a", "extract": "boxed", "pattern": "x"});
    assert_wrong(judge(keys), &["votes", "field", "extract", "pattern"]);
    assert_wrong(judge(json!({"temperature": -1.0})), &["temperature"]);
    assert_wrong(judge(json!({"max_tokens": 0})), &["max_tokens"]);
    assert_wrong(judge(json!({"max_completion_tokens": 0})), &["max_completion_tokens"]);
    let both = json!({"max_tokens": 5, "max_completion_tokens": 5});
    assert_wrong(judge(both), &["max_completion_tokens"]);
    let wrong = assert_wrong(judge(json!({"parse": "json"})), &["pointer"]);
    assert!(wrong.contains("such as \"/score\""), "{wrong}");
    for name in
        ["model", "messages", "system", "stream", "n", "temperature", "max_completion_tokens"]
    {
        let mut parameters = json!({});
        parameters[name] = 2.into();
        assert_wrong(judge(json!({"parameters": parameters})), &["parameters"]);
    }
    assert_wrong(judge(json!({"metered": {"output": 1.0}})), &["max_tokens"]);
    for fine in [
        json!({"metered": {"output": 1.0}, "max_tokens": 9}),
        json!({"metered": {"output": 1.0, "ceiling": 5.0}}),
        json!({"metered": {"output": 1.0}, "max_completion_tokens": 9}),
    ] {
        assert!(judge(fine.clone()).is_ok(), "{fine}");
    }
    let solver = |keys: Value| new(solver_keys("http://127.0.0.1:9", keys));
    assert_wrong(solver(json!({"parse": "number", "range": [0, 1]})), &["parse", "range"]);
    assert_wrong(solver(json!({"votes": 0})), &["votes"]);
}
