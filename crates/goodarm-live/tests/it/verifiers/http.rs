//! The outcomes of replies, timeouts and wrong replies of servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use goodarm_core::{CountedFailure, VoidFailure};
use goodarm_live::service::{REPLY_BYTES_MAX, Remote as _, Reply, Verdict};
use goodarm_live::services::BODY_BYTES_MAX;
use goodarm_live::services::http::Http;
use goodarm_record::notice::Condition;
use serde_json::{Value, json};

use super::{
    assert_down, assert_failed, assert_score, assert_wrong, candidate, cost, line, make, question,
};
use goodarm_testing::{Action, Server, closed_url, status};

/// A variable that exists in every test run, used as a key.
const KEY_VARIABLE: &str = "CARGO_MANIFEST_DIR";

fn key() -> String {
    std::env::var(KEY_VARIABLE).expect("cargo sets it")
}

fn http(url: &str, keys: Value) -> Http {
    let mut keys = keys;
    keys["url"] = url.into();
    make(keys, Http::new).expect("a verifier")
}

/// One call to a server that does this.
async fn call(act: Action, keys: Value) -> Reply {
    let server = Server::start([act]);
    let reply = http(&server.url("/score"), keys).call(&question(), &line(None)).await;
    assert_eq!(server.request_count(), 1, "one request, never a second");
    reply
}

fn said(code: u16, body: &str) -> Action {
    Action::Status(code, ("", String::new()), body.into())
}

#[tokio::test]
async fn the_candidate_is_posted_and_the_score_read() {
    let server = Server::start([Action::Json(json!({"score": 0.25, "cost": 3}))]);
    let verifier = http(&server.url("/v?x=1"), json!({}));
    let reply = verifier.call(&question(), &line(None)).await;
    assert_score(&reply, 0.25);
    assert_eq!(reply.usage.cost, cost(3.0));
    assert!(reply.usage.worked > Duration::ZERO);
    assert_eq!(reply.text, r#"{"cost":3,"score":0.25}"#);
    let seen = &server.requests()[0];
    assert_eq!(seen.path, "/v?x=1");
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.body, question().json);
}

#[tokio::test]
async fn the_pointer_selects_the_score() {
    let pointer = || json!({"pointer": "/result/0"});
    assert_score(&call(Action::Json(json!({"result": [0.5]})), pointer()).await, 0.5);
    assert_score(&call(Action::Json(json!({"result": [true]})), pointer()).await, 1.0);
    assert_score(&call(Action::Json(json!(0.5)), json!({"pointer": ""})).await, 0.5);
    let chunks = Action::Chunks(vec!["{\"sco".into(), "re\": 1}".into()]);
    assert_score(&call(chunks, json!({})).await, 1.0);
    let slow =
        Action::Later(Duration::from_millis(50), Box::new(Action::Json(json!({"score": 1}))));
    let reply = call(slow, json!({})).await;
    assert!(reply.usage.worked >= Duration::from_millis(50));
}

#[tokio::test]
async fn replies_without_a_score_are_unreadable() {
    let unreadable = CountedFailure::Unreadable;
    let reply = call(Action::Json(json!({"score": "high"})), json!({})).await;
    assert_failed(&reply, unreadable, "/score is not a score: \"high\"");
    let reply = call(Action::Json(json!({"points": 1, "cost": 2})), json!({})).await;
    assert_failed(&reply, unreadable, "nothing at /score");
    assert_eq!(reply.usage.cost, cost(2.0));
    let reply = call(said(200, "<html>no</html>"), json!({})).await;
    assert_failed(&reply, unreadable, "not JSON");
    assert_eq!(reply.text, "<html>no</html>");
    assert_failed(&call(said(200, "{\"score\": 1e999}"), json!({})).await, unreadable, "");
    assert_failed(&call(status(204), json!({})).await, unreadable, "not JSON");
    let reply = call(said(200, &"x".repeat(REPLY_BYTES_MAX + 5)), json!({})).await;
    assert_eq!(reply.text.len(), REPLY_BYTES_MAX);
}

#[tokio::test]
async fn bodies_are_made_from_templates() {
    let server = Server::start([Action::Json(json!({"score": 1}))]);
    let template = "{\"q\": {{ question | tojson }}, \"all\": {{ candidate | tojson }}}";
    let verifier = http(&server.url("/"), json!({"body": template}));
    assert_eq!(verifier.manifest().fields, ["question".to_owned()].into());
    assert_score(&verifier.call(&question(), &line(None)).await, 1.0);
    assert_eq!(server.requests()[0].json()["q"], "2 + 2?");
    assert_eq!(server.requests()[0].json()["all"]["answer"], "It is #### 4");
}

#[tokio::test]
async fn a_body_that_is_not_json_is_not_sent() {
    let server = Server::start([Action::Json(json!({"score": 1}))]);
    let verifier = http(&server.url("/"), json!({"body": "{\"a\": \"{{ answer }}\"}"}));
    let quoted = candidate(json!({"answer": "say \"4\""}));
    let reply = verifier.call(&quoted, &line(None)).await;
    assert_failed(&reply, CountedFailure::Unreadable, "tojson");
    assert_eq!(reply.usage.cost, cost(0.0));
    assert_eq!(server.request_count(), 0);
}

#[tokio::test]
async fn a_429_is_retried_after_the_requested_pause() {
    let busy = |wait: &str| Action::Status(429, ("Retry-After", wait.into()), String::new());
    let server = Server::start([busy("1"), busy("0"), Action::Json(json!({"score": 1}))]);
    let line = line(None);
    let began = Instant::now();
    let reply = http(&server.url("/"), json!({})).call(&question(), &line).await;
    assert_score(&reply, 1.0);
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert!(reply.usage.worked < began.elapsed());
    assert_eq!(server.request_count(), 3);
    assert_eq!(line.retry_count(), 2);
    assert_eq!(line.condition(), Condition::Open);
}

#[tokio::test]
async fn too_many_429s_give_the_call_up() {
    let server = Server::start([said(429, "slow down")]);
    let line = line(Some(1));
    let reply = http(&server.url("/"), json!({})).call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::GivenUp, "429: slow down");
    assert_eq!(reply.usage.cost, cost(0.0));
    assert_eq!(server.request_count(), 2);
    assert!(matches!(line.condition(), Condition::BackingOff { .. }));
}

#[tokio::test]
async fn a_refused_key_takes_the_line_down_without_showing_the_key() {
    let server = Server::with(|seen| {
        let key = seen.header("authorization").unwrap_or_default().to_owned();
        Action::Status(401, ("", String::new()), format!("Incorrect API key: {key}"))
    });
    let line = line(Some(0));
    let verifier = http(&server.url("/"), json!({"api_key_env": KEY_VARIABLE}));
    let reply = verifier.call(&question(), &line).await;
    let words = "401: Incorrect API key: Bearer *** (the key was refused: it is from CARGO_MAN";
    assert_failed(&reply, CountedFailure::GivenUp, words);
    assert_down(&line, words);
    assert_eq!(
        server.requests()[0].header("authorization"),
        Some(format!("Bearer {}", key()).as_str())
    );
    assert!(!format!("{reply:?} {:?} {verifier:?}", line.condition()).contains(&key()));
}

#[tokio::test]
async fn a_key_in_the_body_is_refused() {
    for body in [
        r#"{"api_key": "AbCd0123456789abcdef0123", "a": {{ answer | tojson }}}"#,
        r#"{"a": {{ answer | tojson }}, "with": "sk-proj-0123456789abcdef"}"#,
    ] {
        let keys = json!({"url": "http://127.0.0.1:9/", "body": body});
        let text = assert_wrong(make(keys, Http::new), &["body"]);
        assert!(text.contains("looks like a key") && !text.contains("0123"), "{text}");
    }
    // sk-learn is a library, and a field may have the name key.
    let body = r#"{"tool": "sk-learn", "key": {{ answer | tojson }}}"#;
    http("http://127.0.0.1:9/", json!({"body": body}));
}

#[tokio::test]
async fn keys_are_removed_from_all_texts() {
    let headers = json!({"X-Token": format!("env:{KEY_VARIABLE}"), "X-Plain": "plain-value"});
    let keys = json!({"api_key_env": KEY_VARIABLE, "headers": headers});
    let reply = call(Action::Echo, keys.clone()).await;
    assert_score(&reply, 0.5);
    assert!(reply.text.contains("Bearer ***"), "{}", reply.text);
    assert!(reply.text.contains("plain-value"), "{}", reply.text);
    assert!(!reply.text.contains(&key()));
    let verifier = http("http://127.0.0.1:9/?key=query-key-1", keys);
    let shown = format!("{verifier:?}");
    for secret in ["query-key-1", &key()] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let server = Server::with(|_| said(400, "bad key query-key-1"));
    let url = server.url("/?key=query-key-1");
    let reply = http(&url, json!({})).call(&question(), &line(None)).await;
    assert_failed(&reply, CountedFailure::Refused, "400: bad key ***");
    assert!(!format!("{reply:?}").contains("query-key-1"));
}

/// They would not be sent, but kept with the run.
#[test]
fn a_name_and_a_password_in_an_address_are_refused_with_the_job() {
    for url in ["http://user:password-1@127.0.0.1:9/", "https://user@host/", "http://:pw@host"] {
        let wrong = assert_wrong(make(json!({"url": url}), Http::new), &["url"]);
        assert!(wrong.contains("authorization = \"env:NAME\""), "{wrong}");
        assert!(!wrong.contains("password-1"), "{wrong}");
    }
    let urls = json!({"urls": ["http://127.0.0.1:9/", "http://user:password-1@127.0.0.1:9/"]});
    let wrong = assert_wrong(make(urls, Http::new), &["urls"]);
    assert!(wrong.starts_with("urls: address 2: a name or a password"), "{wrong}");
}

#[test]
fn a_key_that_is_sent_without_encryption_raises_a_warning() {
    let header = json!({"x-token": format!("env:{KEY_VARIABLE}")});
    let keys = [json!({"api_key_env": KEY_VARIABLE}), json!({"headers": header})];
    for keys in keys {
        let far = [
            "http://10.0.0.1/",
            "http://127.evil.com/",
            "http://localhost.evil.com/",
            "http://[::ffff:10.0.0.1]/",
            "http://0.0.0.1/",
        ];
        for url in far {
            let text = http(url, keys.clone()).manifest().warning.expect(url);
            assert!(text.contains("without encryption"), "{text}");
        }
        let near = [
            "http://127.0.0.1:9/",
            "http://127.9.9.9/",
            "http://[::1]/",
            "http://localhost/",
            "http://LOCALHOST./",
            "http://0.0.0.0/",
            "http://[::]/",
            "http://[::ffff:127.0.0.1]/",
        ];
        for url in near.into_iter().chain(["https://10.0.0.1/"]) {
            assert_eq!(http(url, keys.clone()).manifest().warning, None, "{url}");
        }
    }
    assert_eq!(http("http://10.0.0.1/", json!({})).manifest().warning, None, "there is no key");
    let urls = json!(["http://127.0.0.1:9/", "http://judge.example/"]);
    let keys = json!({"urls": urls, "api_key_env": KEY_VARIABLE});
    let text = make(keys, Http::new).expect("a verifier").manifest().warning.expect("the second");
    assert!(text.contains("judge.example"), "{text}");
}

/// The second reply must not be taken for the reply to the next call, even if that is in flight when it comes.
#[tokio::test]
async fn an_unsolicited_reply_is_never_the_reply_to_another_call() {
    let reply = |score: f64| {
        let body = json!({"score": score}).to_string();
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    };
    let two = [reply(0.5), reply(0.25)].concat();
    let later = |millis| Action::Unasked(reply(0.5), Duration::from_millis(millis), reply(0.25));
    for first in [Action::Open(two), later(0), later(5), later(50)] {
        let good = Action::Json(json!({"score": 0.75}));
        let slow = || Action::Later(Duration::from_millis(100), Box::new(good.clone()));
        let server = Server::start([first, slow(), slow()]);
        let (verifier, line) = (http(&server.url("/"), json!({})), line(None));
        assert_score(&verifier.call(&question(), &line).await, 0.5);
        assert_score(&verifier.call(&question(), &line).await, 0.75);
        assert_score(&verifier.call(&question(), &line).await, 0.75);
        assert_eq!((server.request_count(), server.connection_count()), (3, 3));
    }
}

/// The user's word that the server never sends a second reply.
#[tokio::test]
async fn connections_are_reused_if_the_job_asks_for_it() {
    let server = Server::start([Action::Json(json!({"score": 1}))]);
    let keys = json!({"headers": {"Connection": "keep-alive"}});
    let (verifier, line) = (http(&server.url("/"), keys), line(None));
    for _ in 0..3 {
        assert_score(&verifier.call(&question(), &line).await, 1.0);
    }
    assert_eq!((server.request_count(), server.connection_count()), (3, 1));
}

#[tokio::test]
async fn refusals_of_the_request_leave_the_line_open() {
    for code in [400, 413, 422] {
        let server = Server::start([said(code, "content filter")]);
        let (verifier, line) = (http(&server.url("/"), json!({})), line(None));
        for _ in 0..6 {
            let reply = verifier.call(&question(), &line).await;
            assert_failed(&reply, CountedFailure::Refused, &format!("{code}: content filter"));
            assert_eq!(reply.text, "content filter");
        }
        assert_eq!(line.condition(), Condition::Open);
        assert_eq!(server.request_count(), 6);
    }
}

#[tokio::test]
async fn a_server_that_keeps_breaking_takes_the_line_down() {
    for (code, failure) in [
        (403, CountedFailure::Refused),
        (404, CountedFailure::Refused),
        (405, CountedFailure::Refused),
        (500, CountedFailure::Crashed),
        (503, CountedFailure::Crashed),
        (504, CountedFailure::Crashed),
    ] {
        let server = Server::start([said(code, "sorry")]);
        let (verifier, line) = (http(&server.url("/"), json!({})), line(None));
        for _ in 0..5 {
            assert_eq!(line.condition(), Condition::Open);
            let reply = verifier.call(&question(), &line).await;
            assert_failed(&reply, failure, &format!("{code}: sorry"));
        }
        assert_down(&line, &format!("{code}: sorry"));
        assert_eq!(server.request_count(), 5, "a call that counts is not sent again");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Server::start([Action::Json(json!({"score": 1}))]);
    for code in [301, 302, 303, 307, 308] {
        let moved = Action::Status(code, ("Location", elsewhere.url("/")), String::new());
        let reply = call(moved, json!({})).await;
        assert_failed(&reply, CountedFailure::Refused, "redirects are not followed");
    }
    assert_eq!(elsewhere.request_count(), 0);
}

#[tokio::test]
async fn no_connection_is_void_until_it_is_given_up() {
    let line = line(Some(1));
    let url = closed_url();
    let reply = http(&url, json!({})).call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::GivenUp, "given up after 2 attempts: cannot connect");
    assert_down(&line, "Connection refused");
}

#[tokio::test]
async fn an_unknown_host_is_void() {
    let line = line(Some(0));
    let reply = http("http://no-such-host.invalid/", json!({})).call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::GivenUp, "cannot connect to no-such-host.invalid");
}

#[tokio::test]
async fn a_call_that_waits_for_a_server_ends_void_when_the_run_stops() {
    let verifier = Arc::new(http(&closed_url(), json!({})));
    let line = Arc::new(line(None));
    let call = {
        let (verifier, line) = (Arc::clone(&verifier), Arc::clone(&line));
        tokio::spawn(async move { verifier.call(&question(), &line).await })
    };
    while line.condition() == Condition::Open {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    line.stop();
    let reply = call.await.expect("it ends");
    assert_eq!(reply.verdict, Verdict::Void(VoidFailure::NotConnected));
}

#[tokio::test]
async fn silence_after_the_request_is_a_timeout() {
    let keys = json!({"timeout": 0.3});
    let reply = call(Action::Hang, keys.clone()).await;
    assert_failed(&reply, CountedFailure::TimedOut, "within 0.3 s");
    assert!(reply.usage.worked >= Duration::from_millis(300));
    let reply = call(Action::HalfBodyThenHang("{\"score\": 1}".into()), keys).await;
    assert_failed(&reply, CountedFailure::TimedOut, "");
}

#[tokio::test]
async fn cut_replies_are_truncated() {
    let truncated = CountedFailure::Truncated;
    let reply = call(Action::HalfBody("{\"score\": 1}      ".into()), json!({})).await;
    assert_failed(&reply, truncated, "cut off");
    let half = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nc\r\n{\"score\": 1}\r\n";
    let reply = call(Action::Bytes(half.into()), json!({})).await;
    assert_failed(&reply, truncated, "cut off");
}

#[tokio::test]
async fn huge_replies_are_truncated_and_not_read() {
    let truncated = CountedFailure::Truncated;
    let huge = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", BODY_BYTES_MAX + 1);
    let reply = call(Action::Bytes(huge.into()), json!({})).await;
    assert_failed(&reply, truncated, "longer than");
    assert_failed(&call(Action::Endless, json!({})).await, truncated, "longer than");
}

#[tokio::test]
async fn no_reply_and_garbage_are_crashes() {
    let crashed = CountedFailure::Crashed;
    assert_failed(&call(Action::Close, json!({})).await, crashed, "gave no reply");
    assert_failed(
        &call(Action::Bytes(b"\0\x01garbage\r\n\r\n".into()), json!({})).await,
        crashed,
        "",
    );
    assert_failed(
        &call(Action::Bytes(b"HTTP/1.1 200 OK\r\ncont".into()), json!({})).await,
        crashed,
        "",
    );
}

#[tokio::test]
async fn a_busy_server_and_one_that_loads_its_model_are_asked_again() {
    let busy = |code: u16| Action::Status(code, ("Retry-After", "0".into()), "later".into());
    let loading = r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#;
    let other = r#"{"error": "Model a/b is currently loading", "estimated_time": 20.0}"#;
    for act in [busy(503), busy(529), said(503, loading), said(503, other)] {
        let server = Server::start([act, Action::Json(json!({"score": 1}))]);
        let line = line(None);
        let reply = http(&server.url("/"), json!({})).call(&question(), &line).await;
        assert_score(&reply, 1.0);
        assert_eq!((server.request_count(), line.retry_count()), (2, 1));
    }
}

/// A failure that may depend on the answer is never void.
#[tokio::test]
async fn a_server_that_may_have_broken_over_the_answer_is_not_asked_again() {
    let quoted = r#"{"error": {"message": "cannot read: Loading model"}}"#;
    let busy = |code: u16| Action::Status(code, ("Retry-After", "0".into()), "later".into());
    for act in
        [said(503, "sorry"), said(503, quoted), said(529, ""), busy(500), busy(502), busy(504)]
    {
        assert_failed(&call(act, json!({})).await, CountedFailure::Crashed, "");
    }
    assert_failed(&call(busy(400), json!({})).await, CountedFailure::Refused, "400");
}

#[tokio::test]
async fn a_job_says_which_statuses_are_void() {
    for code in [500, 502, 503, 504, 529] {
        let server = Server::start([said(code, "x"), Action::Json(json!({"score": 1}))]);
        let verifier = http(&server.url("/"), json!({"void_status": [500, 502, 503, 504, 529]}));
        assert_score(&verifier.call(&question(), &line(None)).await, 1.0);
        assert_eq!(server.request_count(), 2);
    }
    let busy = Action::Status(503, ("Retry-After", "0".into()), String::new());
    let reply = call(busy, json!({"void_status": []})).await;
    assert_failed(&reply, CountedFailure::Crashed, "503");
    let server = Server::start([status(429), Action::Json(json!({"score": 1}))]);
    let verifier = http(&server.url("/"), json!({"void_status": []}));
    assert_score(&verifier.call(&question(), &line(None)).await, 1.0);
    for code in [200, 400, 404, 413, 422, 451, 501] {
        let keys = json!({"url": "http://127.0.0.1:9", "void_status": [503, code]});
        let wrong = assert_wrong(make(keys, Http::new), &["void_status"]);
        assert!(wrong.contains(&format!("{code} may depend on the answer")), "{wrong}");
    }
}

#[test]
fn a_key_that_was_pasted_is_not_shown() {
    let url = "http://127.0.0.1:9/";
    for key in ["sk-abc", "sk-proj-0123456789abcdef", "0123456789abcdef0123456789abcdef"] {
        for (keys, name) in [
            (json!({"url": url, "api_key_env": key}), "api_key_env"),
            (json!({"url": url, "headers": {"api-key": format!("env:{key}")}}), "headers"),
            (json!({"url": url, "headers": {"Authorization": format!("Bearer {key}")}}), "headers"),
        ] {
            let wrong = assert_wrong(make(keys, Http::new), &[name]);
            assert!(!wrong.contains(key) && wrong.contains("NAME"), "{wrong}");
        }
    }
    let plain = json!({"X-Team": "verification-2", "api-key": "none", "X-Trace": "a/b:c"});
    assert!(make(json!({"url": url, "headers": plain}), Http::new).is_ok());
}

/// The server closes a connection that was idle; a client might send the request again.
#[tokio::test]
async fn a_request_on_a_reused_connection_is_not_sent_twice() {
    let good = || Action::Json(json!({"score": 1}));
    let server = Server::start([good(), Action::Close, good()]);
    let keys = json!({"headers": {"Connection": "keep-alive"}});
    let (verifier, line) = (http(&server.url("/"), keys), line(None));
    assert_score(&verifier.call(&question(), &line).await, 1.0);
    let reply = verifier.call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::Crashed, "gave no reply");
    assert_eq!((server.request_count(), server.connection_count()), (2, 1));
    assert_score(&verifier.call(&question(), &line).await, 1.0);
    assert_eq!((server.request_count(), server.connection_count()), (3, 2));
}

/// A closed connection is replaced, since nothing was sent on it.
#[tokio::test]
async fn a_closed_connection_is_replaced_before_anything_is_sent() {
    let body = "{\"score\": 1}";
    let length = body.len();
    let last =
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    let server = Server::start([Action::Bytes(last.into())]);
    let (verifier, line) = (http(&server.url("/"), json!({})), line(None));
    for _ in 0..20 {
        assert_score(&verifier.call(&question(), &line).await, 1.0);
    }
    assert_eq!((server.request_count(), server.connection_count()), (20, 20));
}

#[test]
fn problems_name_their_key() {
    let new = |keys: Value| make(keys, Http::new);
    let wrong = assert_wrong(new(json!({})), &["url"]);
    assert_eq!(wrong, "url: an address is needed");
    for (url, expected) in [
        ("score.example/v1", "; did you mean \"https://score.example/v1\"?"),
        ("localhost:8000/v1", "; did you mean \"http://localhost:8000/v1\"?"),
        ("127.0.0.1:8000", "; did you mean \"http://127.0.0.1:8000\"?"),
        ("ftp://score.example", ""),
        ("score.example?key=secret-key-1", ""),
    ] {
        let wrong = assert_wrong(new(json!({"url": url})), &["url"]);
        assert_eq!(wrong, format!("url: an address begins with http:// or https://{expected}"));
    }
    let url = "http://127.0.0.1:9/";
    let keys = json!({
        "url": url, "api_key_env": "NO_SUCH_VARIABLE", "headers": {"A": "env:NO_SUCH_EITHER"},
        "pointer": "score", "body": "{{",
    });
    let keys = assert_wrong(new(keys), &["api_key_env", "headers", "pointer", "body"]);
    assert!(keys.contains("NO_SUCH_VARIABLE is not set"), "{keys}");
    assert_wrong(new(json!({"url": url, "headers": {"a b": "c"}})), &["headers"]);
    let wrong = assert_wrong(new(json!({"url": url, "headers": {"a": "x\nzz"}})), &["headers"]);
    assert!(!wrong.contains("zz"), "no value is shown: {wrong}");
    let wrong =
        assert_wrong(new(json!({"url": url, "headers": {"Content-Length": "3"}})), &["headers"]);
    assert!(wrong.contains("follows from the body"), "{wrong}");
}

#[tokio::test]
async fn an_encrypted_address_needs_no_server_to_be_made() {
    let line = line(Some(0));
    let url = closed_url().replace("http", "https");
    let reply = http(&url, json!({})).call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::GivenUp, "cannot connect");
    let server = Server::start([Action::Hang]);
    let url = server.url("/").replace("http", "https");
    let reply = http(&url, json!({"timeout": 0.5})).call(&question(), &super::line(Some(0))).await;
    assert_failed(&reply, CountedFailure::GivenUp, "cannot connect");
    assert_eq!(server.request_count(), 0, "a handshake is not a request");
}
