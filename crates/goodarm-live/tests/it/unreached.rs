//! Verifiers that have never given a score because no server answers, or the key is wrong.

use std::time::{Duration, Instant};

use goodarm_live::run::Run;
use goodarm_live::try_calls::{suspicions, try_out};
use goodarm_record::control::Control;
use goodarm_record::ending::{Ending, NeverScored};

use crate::job_folder::JobFolder;
use goodarm_testing::{Action, Server};

fn place(url: &str) -> JobFolder {
    let place = JobFolder::new(6);
    place.write(
        "job.toml",
        &format!(
            "candidates = \"answers.jsonl\"\nbudget = 400\ndelta = 0.05\n[[verifiers]]\nname = \"judge\"\nkind = \"http\"\nurl = \"{url}\"\nthreshold = 0.6\n"
        ),
    );
    place
}

/// The run is over long before its verifier's patience, and nothing was spent or counted against an answer.
#[track_caller]
fn assert_stops(place: &JobFolder) -> NeverScored {
    let began = Instant::now();
    let (ending, overview) = place.run();
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    let Ending::NeverScored(failed) = ending else { panic!("{ending:?}") };
    assert_eq!((overview.money.spent.units(), overview.rejected), (0.0, 0));
    let note = &overview.notes[0];
    assert!(note.starts_with("judge has never given a score: it was not reached: "), "{note}");
    assert!(note.contains(&failed.reason) && note.contains("begin again"), "{note}");
    place.assert_clean();
    *failed
}

#[test]
fn a_dead_address_stops_the_run_within_seconds() {
    // Nothing listens there: port 9 of this machine.
    let failed = assert_stops(&place("http://127.0.0.1:9/judge"));
    assert!(failed.reason.contains("cannot connect to 127.0.0.1:9"), "{failed:?}");
    assert!(failed.request.starts_with("POST http://127.0.0.1:9/judge\n{\"id\""), "{failed:?}");
}

#[test]
fn an_output_below_a_file_is_refused_with_its_name() {
    let place = place("http://127.0.0.1:9/");
    place.write("afile", "");
    let text = place.read("job.toml");
    place.write("job.toml", &format!("output = \"afile/x\"\n{text}"));
    let error = Run::begin(place.good_job()).err().expect("a file is in the way").to_string();
    assert!(error.contains("afile is a file, and the output must be a folder"), "{error}");
}

#[test]
fn a_worker_is_shown_with_its_command_line() {
    let place = place("http://127.0.0.1:9/");
    let job = place.read("job.toml");
    let shell =
        "kind = \"command\"\nworker = true\nshell = \"while read -r line; do echo 0.91; done\"";
    let http = "kind = \"http\"\nurl = \"http://127.0.0.1:9/\"";
    place.write("job.toml", &job.replace(http, shell));
    let job = place.good_job();
    let arms: Vec<_> = job.candidates.arms().take(1).collect();
    let trials = try_out(&job, &arms, &Control::default()).expect("a runtime");
    let sent = &trials[0].exchanges[0].sent;
    assert!(sent.starts_with("$ while read -r line; do echo 0.91; done\n{\"call\":1,"), "{sent}");
}

#[test]
fn a_wrong_key_stops_the_run_within_seconds_with_the_reply_of_the_server() {
    let body = r#"{"error": "invalid_api_key: no such team"}"#;
    let refuse = |_: &_| Action::Status(401, ("", String::new()), body.to_owned());
    let server = Server::with(refuse);
    let place = place(&server.url("/"));
    let failed = assert_stops(&place);
    assert!(
        failed.reason.contains("401: ") && failed.reason.contains("no such team"),
        "{failed:?}"
    );
    assert!(failed.reason.contains("api_key_env"), "{failed:?}");

    let job = place.good_job();
    let arms: Vec<_> = job.candidates.arms().take(1).collect();
    let trials = try_out(&job, &arms, &Control::default()).expect("a runtime");
    assert_eq!(trials[0].exchanges[0].received, format!("401\n{body}"));
    let texts = suspicions(&job, &trials);
    assert_eq!(texts, ["judge was not reached: a run would stop after a few attempts"]);
}

/// A person waits for the result of a trial, so it ends before a long pause.
#[test]
fn a_trial_of_a_server_that_throttles_all_calls_ends_and_says_what_the_server_said() {
    for header in [("", ""), ("Retry-After", "0"), ("Retry-After", "3600")] {
        let throttle = move |_: &_| {
            Action::Status(429, (header.0, header.1.to_owned()), "slow down".to_owned())
        };
        let server = Server::with(throttle);
        let job = place(&server.url("/")).good_job();
        let arms: Vec<_> = job.candidates.arms().collect();
        let began = Instant::now();
        let trials = try_out(&job, &arms, &Control::default()).expect("a runtime");
        assert!(began.elapsed() < Duration::from_secs(30), "{header:?}: {:?}", began.elapsed());
        let last = trials.last().and_then(|trial| trial.reason.as_deref()).unwrap_or_default();
        assert!(last.contains("429: slow down"), "{header:?}: {last}");
        assert_eq!(last.contains("(Retry-After: 3600 s)"), header.1 == "3600", "{last}");
        let texts = suspicions(&job, &trials);
        assert_eq!(texts, ["judge asks for a pause: a run would wait for it, up to 300 s"]);
    }
}

#[test]
fn a_trial_waits_for_a_short_pause() {
    let pause = Action::Status(429, ("Retry-After", "3".to_owned()), "slow down".to_owned());
    let server = Server::start([pause, Action::Json(serde_json::json!({"score": 1}))]);
    let job = place(&server.url("/")).good_job();
    let arms: Vec<_> = job.candidates.arms().take(2).collect();
    let began = Instant::now();
    let trials = try_out(&job, &arms, &Control::default()).expect("a runtime");
    assert!(trials.len() == 2 && trials.iter().all(|trial| trial.score == Some(1.0)), "{trials:?}");
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
}
