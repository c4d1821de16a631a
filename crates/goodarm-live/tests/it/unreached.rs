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
