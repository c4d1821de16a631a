//! Verifiers with several addresses: the choice of the address, pauses, and no call twice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use goodarm_core::CountedFailure;
use goodarm_live::service::{Remote, Reply, Verdict};
use goodarm_live::services::http::Http;
use goodarm_live::services::llm::Llm;
use goodarm_live::throttle::Throttle;
use goodarm_record::ending::Ending;
use goodarm_record::job_file::Unit;
use goodarm_record::notice::Condition;
use goodarm_record::run_error::RunError;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{
    assert_down, assert_failed, assert_score, assert_wrong, candidate, line, make, question,
};
use crate::job_folder::JobFolder;
use goodarm_testing::{Action, Request, Server, closed_url, completion, status};

const KEY_VARIABLE: &str = "CARGO_MANIFEST_DIR";

fn http(urls: &[String], keys: Value) -> Http {
    let mut keys = keys;
    keys["urls"] = urls.into();
    make(keys, Http::new).expect("a verifier")
}

fn good() -> Action {
    Action::Json(json!({"score": 1}))
}

fn busy(seconds: u32) -> Action {
    Action::Status(429, ("Retry-After", seconds.to_string()), "slow down".into())
}

/// `count` calls, eight at once, each about another candidate.
async fn call_all(verifier: Http, line: &Arc<Throttle>, count: usize) -> Vec<Reply> {
    let verifier = Arc::new(verifier);
    let mut replies = Vec::new();
    for at in (0..count).step_by(8) {
        let mut calls = JoinSet::new();
        for id in at..count.min(at + 8) {
            let (verifier, line) = (Arc::clone(&verifier), Arc::clone(line));
            let candidate = candidate(json!({"id": format!("c{id}")}));
            calls.spawn(async move { verifier.call(&candidate, &line).await });
        }
        replies.extend(calls.join_all().await);
    }
    replies
}

/// The candidates that a server has received.
fn ids(server: &Server) -> Vec<String> {
    let id = |seen: &Request| seen.json()["id"].as_str().expect("an id").to_owned();
    server.requests().iter().map(id).collect()
}

#[tokio::test]
async fn calls_are_spread_and_each_is_made_once() {
    let (left, right) = (Server::start([good()]), Server::start([good()]));
    let keys = json!({"api_key_env": KEY_VARIABLE, "headers": {"X-Team": "blue"}});
    let verifier = http(&[left.url("/a"), right.url("/b")], keys);
    assert_eq!(verifier.manifest().addresses, [left.url("/a"), right.url("/b")]);
    let line = Arc::new(line(None).with_addresses(2));
    let replies = call_all(verifier, &line, 40).await;
    replies.iter().for_each(|reply| assert_score(reply, 1.0));
    assert_eq!((left.request_count(), right.request_count()), (20, 20));
    let mut all = [ids(&left), ids(&right)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 40, "every candidate once");
    let key = std::env::var(KEY_VARIABLE).expect("cargo sets it");
    for (server, path) in [(&left, "/a"), (&right, "/b")] {
        let seen = &server.requests()[0];
        assert_eq!(seen.path, path);
        assert_eq!(seen.header("authorization"), Some(format!("Bearer {key}").as_str()));
        assert_eq!(seen.header("x-team"), Some("blue"));
    }
}

#[tokio::test]
async fn a_pause_of_one_address_does_not_stop_the_other() {
    let (left, right) = (Server::start([busy(300)]), Server::start([good()]));
    let verifier = http(&[left.url("/"), right.url("/")], json!({}));
    let line = Arc::new(line(None).with_addresses(2));
    let began = Instant::now();
    let replies = call_all(verifier, &line, 40).await;
    replies.iter().for_each(|reply| assert_score(reply, 1.0));
    assert!(began.elapsed() < Duration::from_secs(60), "nobody waits for the pause");
    assert_eq!(right.request_count(), 40);
    // Requests that were in flight already.
    assert!((1..=8).contains(&left.request_count()), "{}", left.request_count());
    assert_eq!(line.retry_count(), left.request_count() as u64);
    let Condition::Partly { troubled: 1, of: 2, reason } = line.condition() else {
        panic!("{:?}", line.condition())
    };
    let host = left.url("").replace("http://", "");
    assert_eq!(reason, format!("{host}: 429: slow down (Retry-After: 300 s)"));
}

#[tokio::test]
async fn an_address_that_refuses_connections_costs_only_an_attempt() {
    let server = Server::start([good()]);
    let dead = closed_url();
    let verifier = http(&[dead.clone(), server.url("/")], json!({}));
    let line = Arc::new(line(None).with_addresses(2));
    let replies = call_all(verifier, &line, 16).await;
    replies.iter().for_each(|reply| assert_score(reply, 1.0));
    assert_eq!(server.request_count(), 16);
    let Condition::Partly { reason, .. } = line.condition() else { panic!("one is down") };
    assert!(reason.contains(&dead.replace("http://", "cannot connect to ")), "{reason}");
}

#[tokio::test]
async fn a_service_is_down_if_all_addresses_are() {
    let (left, right) = (closed_url(), closed_url());
    let verifier = http(&[left.clone(), right.clone()], json!({}));
    let line = line(Some(1)).with_addresses(2);
    let reply = verifier.call(&question(), &line).await;
    assert_failed(&reply, CountedFailure::GivenUp, "given up after 2 attempts: cannot connect");
    for address in [left, right] {
        assert_down(&line, &address.replace("http://", "cannot connect to "));
    }
}

/// A request that may have been read counts, and is not sent to another address.
#[tokio::test]
async fn a_call_that_counts_is_not_made_again_elsewhere() {
    for act in
        [status(500), status(400), status(404), Action::Close, Action::HalfBody("{}  ".into())]
    {
        let (left, right) = (Server::start([act]), Server::start([good()]));
        let verifier = http(&[left.url("/"), right.url("/")], json!({}));
        let line = line(None).with_addresses(2);
        let reply = verifier.call(&question(), &line).await;
        let host = left.url("").replace("http://", "");
        let Verdict::Failed(_, reason) = &reply.verdict else { panic!("{reply:?}") };
        assert!(reason.contains(&host), "{reason}");
        assert_eq!((left.request_count(), right.request_count()), (1, 0));
        assert_eq!(line.retry_count(), 0);
    }
    let hang = Server::start([Action::Hang]);
    let other = Server::start([good()]);
    let verifier = http(&[hang.url("/"), other.url("/")], json!({"timeout": 0.2}));
    let reply = verifier.call(&question(), &line(None).with_addresses(2)).await;
    assert_failed(&reply, CountedFailure::TimedOut, "no reply within 0.2 s");
    assert_eq!((hang.request_count(), other.request_count()), (1, 0));
}

#[tokio::test]
async fn reasons_of_unreadable_replies_name_the_address() {
    let (left, right) =
        (Server::start([Action::Json(json!({"points": 1}))]), Server::start([good()]));
    let verifier = http(&[left.url("/"), right.url("/")], json!({}));
    let reply = verifier.call(&question(), &line(None).with_addresses(2)).await;
    let host = left.url("").replace("http://", "");
    assert_failed(&reply, CountedFailure::Unreadable, &format!("{host}: nothing at /score"));
}

#[tokio::test]
async fn a_model_may_have_several_addresses() {
    let (left, right) = (Server::start([completion("Yes")]), Server::start([completion("Yes")]));
    let urls = [left.url("/v1"), right.url("/v1")];
    let keys = json!({"urls": urls, "model": "m", "prompt": "Is {{ answer }} right?"});
    let judge = make(keys, Llm::new).expect("a judge");
    let line = line(None).with_addresses(judge.manifest(Unit::Calls).addresses.len());
    for _ in 0..4 {
        assert_score(&judge.call(&question(), &line).await, 1.0);
    }
    assert_eq!((left.request_count(), right.request_count()), (2, 2));
    assert_eq!(right.requests()[0].path, "/v1/chat/completions");
    let preview = judge.preview(&question());
    assert!(preview.starts_with(&format!("{} m\n{} m\n", urls[0], urls[1])), "{preview}");
}

/// Code that does not choose addresses calls the first one.
#[tokio::test]
async fn a_throttle_of_one_address_uses_the_first() {
    let (left, right) = (Server::start([good()]), Server::start([good()]));
    let verifier = http(&[left.url("/"), right.url("/")], json!({}));
    assert_score(&verifier.call(&question(), &line(None)).await, 1.0);
    assert_score(&verifier.call(&question(), &line(None)).await, 1.0);
    assert_eq!((left.request_count(), right.request_count()), (2, 0));
}

#[test]
fn problems_with_addresses_name_the_key_and_the_number() {
    let new = |keys: Value| make(keys, Http::new);
    let (a, b) = ("http://127.0.0.1:9/a", "http://127.0.0.1:9/b");
    assert!(new(json!({"urls": [a]})).is_ok());
    let wrong = assert_wrong(new(json!({"url": a, "urls": [b]})), &["urls"]);
    assert_eq!(wrong, "urls: either url or urls, not both");
    assert_wrong(new(json!({"urls": []})), &["urls"]);
    let wrong = assert_wrong(
        new(json!({"urls": [a, "localhost:8000/v1", "sk-secret"]})),
        &["urls", "urls"],
    );
    let expected = "urls: address 2: an address begins with http:// or https://; did you mean \
                    \"http://localhost:8000/v1\"?\nurls: address 3: an address begins with http:// or https://";
    assert_eq!(wrong, expected);
    let wrong = assert_wrong(new(json!({"urls": [a, b, a]})), &["urls"]);
    assert_eq!(wrong, "urls: address 3: the same as address 1");
    let many: Vec<String> = (0..257).map(|port| format!("http://127.0.0.1:{}", port + 1)).collect();
    assert_wrong(new(json!({"urls": many})), &["urls"]);
    let preview = new(json!({"urls": many[..9]})).expect("nine").preview(&question());
    assert!(preview.contains("POST http://127.0.0.1:4\nand 5 more\n{"), "{preview}");
    let hidden = ["http://127.0.0.1:9/", "http://127.0.0.1:9/?key=query-key-1"];
    let verifier = new(json!({"urls": hidden})).expect("a verifier");
    let shown = format!("{verifier:?} {}", verifier.preview(&question()));
    assert!(!shown.contains("query-key-1"), "{shown}");
}

fn job(urls: &str) -> String {
    format!(
        "candidates = \"answers.jsonl\"\nbudget = 400\ndelta = 0.1\nconcurrency = 8\n\
         [[verifiers]]\nname = \"v\"\nkind = \"http\"\nthreshold = 0.5\nscores = \"binary\"\n\
         patience = 1\nurls = {urls}\n"
    )
}

fn scored(seen: &Request) -> Action {
    Action::Json(json!({"score": u8::from(seen.body.contains("right"))}))
}

#[test]
fn a_run_uses_all_addresses_and_continues_with_one() {
    let servers = [Server::with(scored), Server::with(scored)];
    let dead = closed_url();
    let place = JobFolder::new(9);
    let urls = format!("[\"{}\", \"{dead}\", \"{}\"]", servers[0].url("/"), servers[1].url("/"));
    place.write("job.toml", &job(&urls));
    let (ending, summary) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    place.assert_clean();
    assert_eq!(summary.certified, 6);
    let counts = servers.each_ref().map(Server::request_count);
    assert!(counts.iter().all(|count| *count * 4 > counts.iter().sum()), "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>() as u64, summary.calls, "no call was made twice");
    // Another server may run another model.
    place.write("job.toml", &job(&urls.replace(&format!("\"{dead}\", "), "")));
    let Err(RunError::Changed { changes, .. }) = place.resume() else { panic!("another job") };
    assert!(changes[0].contains("verifiers[v].urls"), "{changes:?}");
}

#[test]
fn a_run_stops_when_no_address_was_ever_reached() {
    let dead = [closed_url(), closed_url()];
    let place = JobFolder::new(3);
    place.write("job.toml", &job(&format!("[\"{}\", \"{}\"]", dead[0], dead[1])));
    let (ending, summary) = place.run();
    let Ending::NeverScored(failed) = ending else { panic!("{ending:?}") };
    assert_eq!((failed.verifier.as_str(), summary.calls), ("v", 0));
    for address in dead {
        assert!(failed.reason.contains(&address.replace("http://", "")), "{failed:?}");
    }
}

#[test]
fn a_wrong_address_in_a_job_is_reported_with_its_line() {
    let place = JobFolder::new(3);
    place.write("job.toml", &job("[\"http://127.0.0.1:9\", \"127.0.0.1:8\"]"));
    let error = place.job().err().expect("it is wrong");
    let problem = &error.problems[0];
    assert_eq!((problem.key.as_deref(), problem.line), (Some("urls"), Some(11)));
    place.write("job.toml", &job("[\"http://127.0.0.1:9\"]\nurl = \"http://127.0.0.1:9\""));
    let error = place.job().err().expect("it is wrong");
    assert_eq!(
        (error.problems[0].key.as_deref(), error.problems[0].line),
        (Some("urls"), Some(11))
    );
    place.write("job.toml", &job("\"http://127.0.0.1:9\""));
    let error = place.job().err().expect("it is wrong");
    assert!(error.to_string().contains("line 11"), "{error}");
}
