//! A server throttles the calls on some answers again and again, and answers all others.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use goodarm_live::run::Run;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::view::Overview;
use serde_json::json;

use crate::job_folder::JobFolder;
use goodarm_testing::{Action, Request, Server, status};

const COUNT: usize = 20;

/// Good answers, and a verifier that throttles some of them.
fn place(url: &str, concurrency: usize, rest: &str) -> JobFolder {
    let place = JobFolder::new(0);
    let lines =
        (0..COUNT).map(|index| format!("{{\"id\": \"q{index}\", \"answer\": \"a{index}\"}}"));
    place.write("answers.jsonl", &lines.collect::<Vec<_>>().join("\n"));
    place.write(
        "job.toml",
        &format!(
            "candidates = \"answers.jsonl\"\nbudget = 900\ndelta = 0.1\npolicy = \"uniform\"\nconcurrency = {concurrency}\n[[verifiers]]\nname = \"judge\"\nkind = \"http\"\nurl = \"{url}\"\nthreshold = 0.6\nscores = \"binary\"\n{rest}"
        ),
    );
    place
}

fn is_about(seen: &Request, index: usize) -> bool {
    seen.json()["id"] == format!("q{index}")
}

/// The server works, so the run ends by itself with all other answers certified.
#[track_caller]
fn assert_others_certified(
    place: &JobFolder,
    (ending, overview): &(Ending, Overview),
    refused: &[usize],
) {
    let calls = place.read("run/calls.jsonl");
    let unscored: Vec<&str> = calls.lines().filter(|it| it.contains("\"score\":null")).collect();
    let count = calls.lines().count();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}, {count} calls: {unscored:#?}");
    assert_eq!(overview.certified, COUNT - refused.len(), "{overview:?}");
    for line in place.certified() {
        assert!(refused.iter().all(|index| !line.contains(&format!("\"a{index}\""))), "{line}");
    }
    place.assert_clean();
}

fn run(code: u16, header: (&'static str, &str), refused: &'static [usize], concurrency: usize) {
    let header = (header.0, header.1.to_owned());
    let script = move |seen: &Request| {
        if refused.iter().any(|&index| is_about(seen, index)) {
            return Action::Status(code, header.clone(), "too large".into());
        }
        // So that other calls are in flight when one has been throttled often enough.
        Action::Later(Duration::from_millis(5), Box::new(Action::Json(json!({"score": 1}))))
    };
    let server = Server::with(script);
    let place = place(&server.url("/"), concurrency, "patience = 10\n");
    let began = Instant::now();
    let ended = place.run();
    assert_others_certified(&place, &ended, refused);
    assert!(began.elapsed() < Duration::from_secs(100), "{:?}", began.elapsed());
    let calls = place.read("run/calls.jsonl");
    let given_up = calls.lines().find(|line| line.contains("given-up")).expect("a call given up");
    let words = format!("while other calls got replies: {code}: too large");
    assert!(given_up.contains(&words), "{given_up}");
}

#[test]
fn the_others_are_certified_one_at_a_time() {
    run(429, ("", ""), &[0], 1);
}

#[test]
fn the_others_are_certified_eight_at_a_time() {
    run(429, ("", ""), &[7], 8);
}

#[test]
fn a_key_that_is_refused_for_one_answer_is_not_a_wrong_key() {
    run(401, ("", ""), &[0], 1);
    run(401, ("", ""), &[3], 8);
}

/// A policy may leave that answer to the end. Others were answered meanwhile, so the server is not down,
/// and the run ends.
#[test]
fn a_throttled_answer_that_is_left_last_is_given_up_if_others_were_answered() {
    let script = |seen: &Request| {
        if is_about(seen, 7) { status(429) } else { Action::Json(json!({"score": 1})) }
    };
    let server = Server::with(script);
    // With connections that are open, all first calls arrive at about the same time, also on a busy machine.
    let keys = "patience = 3\nheaders = { Connection = \"keep-alive\" }\n";
    let place = place(&server.url("/"), 8, keys);
    let job = place.read("job.toml");
    place.write("job.toml", &job.replace("policy = \"uniform\"", "policy = \"rcb\""));
    let (ending, overview) = place.run();
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!(overview.certified, COUNT - 1, "{overview:?}");
    place.assert_clean();
    let (_, overview) = place.resume().expect("it continues");
    assert_eq!(overview.certified, COUNT - 1, "{overview:?}");
    place.assert_clean();
}

/// Each of its calls pauses the verifier only until others are answered.
#[test]
fn with_fixed_retries_the_others_do_not_wait_for_a_throttled_answer() {
    let script = |seen: &Request| {
        if is_about(seen, 0) { status(429) } else { Action::Json(json!({"score": 1})) }
    };
    let server = Server::with(script);
    let place = place(&server.url("/"), 1, "patience = 30\nretries = 2\n");
    let ended = place.run();
    assert_others_certified(&place, &ended, &[0]);
    let calls = place.read("run/calls.jsonl");
    let given_up = calls.lines().filter(|line| line.contains("given-up")).count();
    assert!((3..=5).contains(&given_up), "{given_up}");
}

#[test]
fn several_throttled_answers_do_not_look_like_a_server_that_is_down() {
    run(503, ("retry-after", "0"), &[0, 1, 2], 2);
    run(401, ("", ""), &[0, 1, 2], 2);
}

/// The pause that a server asks for because of one answer is longer than the patience of the verifier.
#[test]
fn a_long_pause_for_some_answers_does_not_stop_the_run() {
    run(429, ("retry-after", "3600"), &[0], 1);
    run(429, ("retry-after", "3600"), &[7], 8);
    run(503, ("retry-after", "3600"), &[0, 1, 2], 2);
}

/// The run was stopped while only calls on the throttled answer were in flight.
#[test]
fn throttled_answers_are_restored_on_resume() {
    let is_open = Arc::new(AtomicBool::new(false));
    let open = Arc::clone(&is_open);
    let script = move |seen: &Request| {
        if is_about(seen, 0) || !open.load(Ordering::SeqCst) {
            return status(429);
        }
        Action::Json(json!({"score": 1}))
    };
    let server = Server::with(script);
    let place = place(&server.url("/"), 1, "patience = 10\n");
    let control = Control::default();
    let mut run = Run::begin(place.good_job()).expect("a new run");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(1500));
            control.stop();
        });
        let ending = run.drive(&control, &mut ()).expect("it is stopped");
        assert_eq!(ending, Ending::Stopped { at_once: false });
    });
    drop(run);
    is_open.store(true, Ordering::SeqCst);
    let ended = place.resume().expect("it continues");
    assert_others_certified(&place, &ended, &[0]);
    let again = place.resume().expect("there is nothing left to do");
    assert_others_certified(&place, &again, &[0]);
}

/// The server limits the requests per second and throttles the others, independently of the answer.
#[test]
fn a_busy_server_makes_no_answer_look_bad() {
    let taken = Mutex::new((Instant::now(), 0));
    let script = move |_: &Request| {
        let mut taken = taken.lock().expect("not poisoned");
        if taken.0.elapsed() > Duration::from_millis(300) {
            *taken = (Instant::now(), 0);
        }
        taken.1 += 1;
        if taken.1 > 12 { status(429) } else { Action::Json(json!({"score": 1})) }
    };
    let server = Server::with(script);
    let place = place(&server.url("/"), 16, "patience = 10\n");
    let ended = place.run();
    assert_others_certified(&place, &ended, &[]);
    let calls = place.read("run/calls.jsonl");
    assert_eq!(calls.lines().find(|line| line.contains("given-up")), None);
}

/// As long as no call is answered, nothing is evidence against an answer.
#[test]
fn a_server_that_throttles_all_calls_is_down() {
    let count = Mutex::new(0);
    let script = move |_: &Request| {
        let mut count = count.lock().expect("not poisoned");
        *count += 1;
        if *count > 30 { status(429) } else { Action::Json(json!({"score": 1})) }
    };
    let server = Server::with(script);
    for concurrency in [1, 8] {
        let place = place(&server.url("/"), concurrency, "patience = 8\n");
        let (ending, overview) = place.run();
        let is_down = matches!(&ending, Ending::VerifierDown { reason, .. } if reason == "429");
        assert!(is_down, "{ending:?}");
        assert_eq!(overview.rejected, 0, "{overview:?}");
        assert!(!place.read("run/calls.jsonl").contains("given-up"));
        place.assert_clean();
    }
}

/// A pause that is asked for in all replies is kept, apart from a few tests.
#[test]
fn a_server_that_asks_all_calls_for_a_long_pause_gets_few_requests() {
    let server = Server::with(|_: &Request| {
        Action::Status(429, ("retry-after", "3600".to_owned()), "closed until noon".into())
    });
    let place = place(&server.url("/"), 8, "patience = 4\n");
    let (ending, _) = place.run();
    let is_down = matches!(&ending, Ending::VerifierDown { reason, .. } if reason.contains("noon"));
    assert!(is_down, "{ending:?}");
    let count = server.request_count();
    assert!((5..=30).contains(&count), "{count} requests");
}
