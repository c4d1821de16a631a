//! What is sent to endpoints that want it otherwise, and what they send back.

use goodarm_core::CountedFailure;
use goodarm_data::candidates::Candidates;
use goodarm_live::service::Remote as _;
use goodarm_live::services::llm::Llm;
use goodarm_record::notice::Condition;
use serde_json::{Value, json};

use super::super::{assert_failed, assert_score, assert_wrong, line, make, question};
use super::{judge_keys, llm, most, solver_keys};
use goodarm_testing::{Action, Server, completion};

/// Any variable that every test run has, in place of a key.
const KEY_VARIABLE: &str = "CARGO_MANIFEST_DIR";

fn message(text: &str, stop: &str) -> Action {
    Action::Json(json!({
        "id": "msg_1", "type": "message", "role": "assistant",
        "content": [{"type": "text", "text": text}], "stop_reason": stop,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 2},
    }))
}

fn anthropic(url: &str, keys: Value) -> Value {
    let base = json!({"api": "anthropic", "max_tokens": 5});
    judge_keys(url, super::with(base, keys))
}

#[tokio::test]
async fn newer_models_get_the_limit_under_its_new_name_and_no_temperature() {
    let server = Server::start([completion("Yes")]);
    let keys = json!({"max_completion_tokens": 500, "temperature": "default"});
    let judge = llm(judge_keys(&server.url("/v1"), keys));
    assert_score(&judge.call(&question(), &line(None)).await, 1.0);
    let expected = json!({
        "model": "m", "max_completion_tokens": 500, "stream": false,
        "messages": [{"role": "user", "content": "Is It is #### 4 right?"}],
    });
    assert_eq!(server.requests()[0].json(), expected);
    let candidates = Candidates::from_lines([question().json.as_str()], "id").expect("one");
    assert_eq!(most(judge, &candidates).output_tokens, Some(500));
}

#[test]
fn a_default_temperature_does_not_mean_equal_replies() {
    let new = |keys: Value| make(judge_keys("http://127.0.0.1:9", keys), Llm::new);
    assert_wrong(new(json!({"temperature": "default", "scores": "exact"})), &["temperature"]);
    assert!(new(json!({"temperature": "default"})).is_ok());
    assert!(new(json!({"temperature": 1})).is_ok());
}

#[tokio::test]
async fn the_messages_form_of_anthropic() {
    let server = Server::start([message("Yes", "end_turn")]);
    let keys = json!({"system": "Be strict.", "api_key_env": KEY_VARIABLE, "temperature": 0.5});
    let judge = llm(anthropic(&server.url(""), keys));
    let reply = judge.call(&question(), &line(None)).await;
    assert_score(&reply, 1.0);
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (Some(15), Some(2)));
    let seen = &server.requests()[0];
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.header("x-api-key"), std::env::var(KEY_VARIABLE).ok().as_deref());
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.header("authorization"), None);
    let expected = json!({
        "model": "m", "max_tokens": 5, "temperature": 0.5, "stream": false, "system": "Be strict.",
        "messages": [{"role": "user", "content": "Is It is #### 4 right?"}],
    });
    assert_eq!(seen.json(), expected);
}

#[tokio::test]
async fn addresses_of_anthropic_may_have_any_ending() {
    let server = Server::start([message("Yes", "end_turn")]);
    for path in ["", "/", "/v1", "/v1/", "/v1/messages", "/proxy/anthropic", "/v1?beta=true"] {
        let judge = llm(anthropic(&server.url(path), json!({})));
        assert_score(&judge.call(&question(), &line(None)).await, 1.0);
    }
    let paths: Vec<String> = server.requests().into_iter().map(|seen| seen.path).collect();
    let plain = "/v1/messages";
    let proxy = "/proxy/anthropic/v1/messages";
    assert_eq!(paths, [plain, plain, plain, plain, plain, proxy, "/v1/messages?beta=true"]);
    let keys = json!({"headers": {"Anthropic-Version": "2099-01-01"}});
    llm(anthropic(&server.url(""), keys)).call(&question(), &line(None)).await;
    let seen = server.requests().pop().expect("one more");
    assert_eq!(seen.header("anthropic-version"), Some("2099-01-01"));
}

#[tokio::test]
async fn replies_of_anthropic_without_an_answer() {
    let judge = |act: Action, keys: Value| async move {
        let server = Server::start([act]);
        let line = line(None);
        let reply = llm(anthropic(&server.url("/v1"), keys)).call(&question(), &line).await;
        assert_eq!(line.condition(), Condition::Open);
        reply
    };
    let reply = judge(message("Ye", "max_tokens"), json!({})).await;
    assert_failed(&reply, CountedFailure::Truncated, "cut the reply off");
    let reply = judge(message("", "refusal"), json!({})).await;
    assert_failed(&reply, CountedFailure::Refused, "refused");
    assert_eq!(reply.usage.input_tokens, Some(15));
    let reply = judge(completion("Yes"), json!({})).await;
    assert_failed(&reply, CountedFailure::Unreadable, "leave api = \"anthropic\" out");
    let reply = judge(Action::Json(json!("Yes")), json!({})).await;
    assert_failed(&reply, CountedFailure::Unreadable, "not a message");
    let body =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
    let refused = Action::Status(400, ("", String::new()), body.to_string());
    let reply = judge(refused, json!({})).await;
    assert_failed(&reply, CountedFailure::Refused, "invalid_request_error");
}

#[tokio::test]
async fn an_overloaded_server_with_retry_after_is_asked_again() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let busy = Action::Status(529, ("Retry-After", "0".into()), body.into());
    let server = Server::start([busy, message("Yes", "end_turn")]);
    let line = line(None);
    let reply = llm(anthropic(&server.url("/v1"), json!({}))).call(&question(), &line).await;
    assert_score(&reply, 1.0);
    assert_eq!((server.request_count(), line.retry_count()), (2, 1));
}

#[test]
fn unsupported_keys_of_anthropic_are_reported_before_any_request() {
    let new = |keys: Value| {
        let keys = super::with(json!({"api": "anthropic"}), keys);
        make(judge_keys("http://127.0.0.1:9", keys), Llm::new)
    };
    assert_wrong(new(json!({})), &["max_tokens"]);
    assert_wrong(new(json!({"metered": {"output": 1.0}})), &["max_tokens"]);
    assert_wrong(new(json!({"max_completion_tokens": 5})), &["max_completion_tokens"]);
    assert_wrong(new(json!({"max_tokens": 5, "temperature": 1.5})), &["temperature"]);
    assert_wrong(new(json!({"max_tokens": 5, "parse": "logprobs"})), &["parse"]);
}

#[test]
fn a_key_in_what_is_sent_is_refused() {
    for (key, value) in [
        ("parameters", json!({"api_key": "sk-0123456789"})),
        ("parameters", json!({"extra_body": {"auth": {"token": "0123456789abcdef0123456789"}}})),
        ("system", json!("Use the key sk-proj-0123456789abcdef.")),
    ] {
        let mut keys =
            json!({"url": "http://127.0.0.1:9/v1", "model": "m", "prompt": "{{ answer }}"});
        keys[key] = value;
        let text = assert_wrong(make(keys, Llm::new), &[key]);
        assert!(text.contains("looks like a key") && !text.contains("0123"), "{text}");
    }
}

#[test]
fn a_prompt_that_shows_nothing_of_the_candidate_is_refused() {
    let made = |prompt: &str| {
        let keys = json!({"prompt": prompt});
        make(super::with(judge_keys("http://127.0.0.1:9", json!({})), keys), Llm::new)
    };
    assert!(made("Is {{ answer }} right?").is_ok());
    let said = assert_wrong(made("Is {answer} right?"), &["prompt"]);
    assert!(said.contains("{answer} is plain text: a field is written {{ answer }}"), "{said}");
    assert_wrong(made("Is it right?"), &["prompt"]);
}

#[tokio::test]
async fn azure_has_its_version_in_the_query_and_its_key_in_a_header() {
    let server = Server::start([completion("Yes")]);
    let url = server.url("/openai/deployments/gpt?api-version=2024-10-21");
    let headers = json!({"api-key": format!("env:{KEY_VARIABLE}")});
    let judge = llm(judge_keys(&url, json!({"headers": headers})));
    assert_score(&judge.call(&question(), &line(None)).await, 1.0);
    let seen = &server.requests()[0];
    assert_eq!(seen.path, "/openai/deployments/gpt/chat/completions?api-version=2024-10-21");
    assert_eq!(seen.header("api-key"), std::env::var(KEY_VARIABLE).ok().as_deref());
    let preview = judge.preview(&question());
    assert!(preview.contains("api-version=2024-10-21"), "{preview}");
}

#[tokio::test]
async fn a_known_longest_prompt_lowers_the_ceiling() {
    let candidates = Candidates::from_lines([question().json.as_str()], "id").expect("one");
    let most = |keys: Value| most(llm(keys), &candidates).input_tokens;
    let url = "http://127.0.0.1:9/v1";
    assert_eq!(most(judge_keys(url, json!({"input_tokens_max": 50}))), Some(50));
    assert_eq!(most(judge_keys(url, json!({"input_tokens_max": 5000}))), Some(22 + 256));
    assert_eq!(most(solver_keys(url, json!({"input_tokens_max": 50, "votes": 3}))), Some(150));
    let none = judge_keys(url, json!({"input_tokens_max": 0}));
    assert_wrong(make(none, Llm::new), &["input_tokens_max"]);
}

/// Whichever the role: what is there counts only if more tokens could not have changed it.
#[tokio::test]
async fn a_cut_reply_counts_only_if_it_holds_its_verdict_already() {
    let cut = |text: &str| {
        let choice = json!({"message": {"content": text}, "finish_reason": "length"});
        Action::Json(json!({"choices": [choice]}))
    };
    let truncated = CountedFailure::Truncated;
    for (keys, text, expected) in [
        (judge_keys("", json!({})), "Yes, be", Some(1.0)),
        (judge_keys("", json!({})), "No", Some(0.0)),
        (judge_keys("", json!({})), "Let me", None),
        (judge_keys("", json!({"parse": "number"})), "0.9", None),
        (judge_keys("", json!({"parse": "json", "pointer": "/a"})), r#"{"a": 1}"#, None),
        (solver_keys("", json!({})), "#### 4", None),
        (solver_keys("", json!({"extract": "first-word", "field": "id"})), "Q1 is", Some(1.0)),
        (solver_keys("", json!({"extract": "first-word", "field": "id"})), "Q1", None),
    ] {
        let server = Server::start([cut(text)]);
        let keys = super::with(keys, json!({"url": server.url("/v1")}));
        let reply = llm(keys.clone()).call(&question(), &line(None)).await;
        match expected {
            Some(score) => assert_score(&reply, score),
            None => assert_failed(&reply, truncated, "max_tokens"),
        }
    }
}
