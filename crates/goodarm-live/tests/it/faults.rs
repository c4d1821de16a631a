//! Verifiers that fail in every way a server can: the run continues, the budget holds, and no failure
//! is evidence for an answer.

use goodarm_core::{AttributeId, Target};
use std::time::Duration;

use goodarm_live::run::Run;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::folder::Folder;
use goodarm_record::history::History;
use goodarm_record::notice::{Notice, Observer};
use serde_json::json;

use crate::job_folder::{JobFolder, is_good};
use goodarm_testing::{Action, Request, Server};

fn job(url: &str, rest: &str) -> String {
    format!(
        r#"
candidates = "answers.jsonl"
budget = 400
delta = 0.1
concurrency = 8
[[verifiers]]
name = "server"
kind = "http"
url = "{url}"
threshold = 0.5
{rest}
"#
    )
}

fn score_of(seen: &Request) -> f64 {
    if seen.body.contains("right") { 1.0 } else { 0.0 }
}

/// Runs a job against a server that misbehaves by its own rule.
fn run_against(
    script: impl Fn(&Request, usize) -> Action + Send + Sync + 'static,
    rest: &str,
) -> (JobFolder, Ending, goodarm_record::view::Overview, usize) {
    let server = Server::counting(script);
    let place = JobFolder::new(9);
    place.write("job.toml", &job(&server.url("/"), rest));
    let (ending, summary) = place.run();
    place.assert_clean();
    let spent = summary.money.spent.units();
    assert!(spent <= 400.0, "{spent}");
    for line in place.certified() {
        assert!(line.contains("right"), "a wrong answer was certified: {line}");
    }
    (place, ending, summary, server.request_count())
}

fn answer(seen: &Request) -> Action {
    Action::Json(json!({"score": score_of(seen)}))
}

#[test]
fn every_good_answer_is_certified_when_nothing_goes_wrong() {
    let (_, ending, summary, requests) = run_against(|seen, _| answer(seen), "");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    let good = (0..9).filter(|&index| is_good(index)).count();
    assert_eq!(summary.certified, good);
    assert_eq!(summary.calls, requests as u64);
}

/// Calls that are decided ahead of the disk are not started early.
#[test]
fn verifiers_together_never_get_more_calls_than_the_job_allows() {
    let slowly = |seen: &Request| Action::Later(Duration::from_millis(1), Box::new(answer(seen)));
    let server = Server::with(slowly);
    let place = JobFolder::new(90);
    let verifier = |name: &str| {
        format!(
            "[[verifiers]]\nname = \"{name}\"\nkind = \"http\"\nurl = \"{}\"\nthreshold = 0.5\n",
            server.url("/")
        )
    };
    place.write(
        "job.toml",
        &format!(
            "candidates = \"answers.jsonl\"\nbudget = 6000\ndelta = 0.1\nconcurrency = 8\nstop_when_hopeless = false\n{}{}",
            verifier("first"),
            verifier("second")
        ),
    );
    let (_, summary) = place.run();
    place.assert_clean();
    assert!(summary.calls > 1000, "{}", summary.calls);
    assert!((2..=8).contains(&server.in_flight_max()), "{} at once", server.in_flight_max());
}

/// Reads the journal at every notice.
struct Witness {
    folder: Folder,
    heard_count: usize,
}

impl Observer for Witness {
    fn notice(&mut self, notice: Notice<'_>) {
        let written = || {
            let mut history = History::open(&self.folder.journal()).expect("a journal");
            let mut count = 0;
            while let Some(entry) = history.next_entry().expect("a whole journal") {
                let is_call = entry
                    .call
                    .is_some_and(|call| matches!(call.target, Target::Arm(_, AttributeId(1))));
                count += usize::from(is_call);
            }
            count
        };
        match notice {
            Notice::Called { verifier: "server", .. } => {
                self.heard_count += 1;
                assert!(written() >= self.heard_count, "a call was told before it was written");
            }
            Notice::Progress(progress) => {
                let count = progress.overview.verifiers[1].calls;
                let count = usize::try_from(count).expect("a small number");
                assert_eq!(written(), count, "progress was shown before it was written");
            }
            _ => {}
        }
    }

    fn wants_calls(&self) -> bool {
        true
    }
}

#[test]
fn replies_are_announced_only_after_they_are_durable() {
    let server = Server::with(answer);
    let place = JobFolder::new(9);
    let check = "[[verifiers]]\nname = \"says something\"\nkind = \"check\"\ncheck = \"regex\"\npattern = \"right|wrong\"\n";
    place.write("job.toml", &job(&server.url("/"), "").replacen("[[", &format!("{check}[["), 1));
    let mut run = Run::begin(place.good_job()).expect("a new run");
    let mut witness = Witness { folder: place.output(), heard_count: 0 };
    run.drive(&Control::default(), &mut witness).expect("the run ends");
    assert!(witness.heard_count > 20, "{}", witness.heard_count);
}

#[test]
fn a_429_is_sent_again_in_its_place_and_costs_nothing() {
    let refuse = |seen: &Request, index: usize| match index % 5 {
        2 => Action::Status(429, ("Retry-After", "0".into()), String::new()),
        _ => answer(seen),
    };
    let (_, _, summary, requests) = run_against(refuse, "");
    assert_eq!(summary.certified, 6);
    assert!(requests as u64 > summary.calls, "some were sent again");
    assert_eq!(summary.money.spent.to_string(), summary.calls.to_string());
    assert!(summary.verifiers[0].failures.is_empty(), "{:?}", summary.verifiers[0].failures);
}

/// The server announces that it closes the connection; otherwise the next request might use it.
const GARBAGE: &[u8] =
    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\n\xff\xfe\x00{";

#[test]
fn every_kind_of_bad_reply_counts_as_the_lowest_score() {
    let misbehave = |seen: &Request, index: usize| match index % 24 {
        3 => Action::Status(500, ("", String::new()), "oops".into()),
        7 => Action::Bytes(GARBAGE.to_vec()),
        11 => Action::HalfBody("{\"score\": 1.0, \"more\": 12345}".into()),
        15 => Action::Json(json!({"score": 17})),
        18 => Action::Json(json!({"score": "NaN"})),
        21 => Action::Close,
        _ => answer(seen),
    };
    let (_, _, summary, requests) = run_against(misbehave, "");
    assert_eq!(summary.calls, requests as u64, "nothing is sent twice");
    assert!(summary.verifiers[0].failures.values().sum::<u64>() > 0);
    assert_eq!(summary.money.spent.to_string(), summary.calls.to_string(), "a failed call is paid");
}

#[test]
fn a_scale_of_its_own_certifies_nothing() {
    let act = |_: &Request, _: usize| Action::Json(json!({"score": 3}));
    let (_, _, summary, _) = run_against(act, "");
    assert_eq!(summary.certified, 0, "3 of 10 points are not a full score");
    let failures = &summary.verifiers[0].failures;
    assert_eq!(failures.keys().collect::<Vec<_>>(), ["unreadable"], "{failures:?}");
}

#[test]
fn slow_and_out_of_order_replies_change_nothing() {
    let dawdle = |seen: &Request, index: usize| {
        let wait = Duration::from_millis([0, 12, 3, 25, 1][index % 5]);
        Action::Later(wait, Box::new(answer(seen)))
    };
    let (_, _, summary, _) = run_against(dawdle, "");
    assert_eq!(summary.certified, 6);
}

#[test]
fn a_bill_that_is_missing_is_believed_at_the_mean_and_one_that_is_too_high_is_recorded() {
    let bill = |seen: &Request, index: usize| {
        let score = score_of(seen);
        Action::Json(match index % 10 {
            4 => json!({"score": score}),
            7 => json!({"score": score, "cost": 2.5}),
            _ => json!({"score": score, "cost": 0.25}),
        })
    };
    let (_, _, summary, requests) = run_against(bill, "metered = { reported = true, ceiling = 1 }");
    let overruns = (0..requests).filter(|index| index % 10 == 7).count();
    assert_eq!(summary.money.overruns, overruns as u64);
    let bills = |missing: f64| -> f64 {
        let bill = |index| match index % 10 {
            4 => missing,
            7 => 2.5,
            _ => 0.25,
        };
        (0..requests).map(bill).sum()
    };
    let (spent, possible) = (summary.money.spent.units(), summary.money.possible.units());
    assert!((possible - bills(1.0)).abs() < 1e-9, "{possible} for {}", bills(1.0));
    assert!(spent > bills(0.25) && spent < bills(0.8), "{spent} with means of 0.25 and 2.5");
    let missing = (0..requests).filter(|index| index % 10 == 4).count();
    assert_eq!(summary.money.unknown_bills, missing as u64);
}

#[test]
fn a_server_that_is_down_stops_the_run_and_is_not_evidence() {
    let place = JobFolder::new(9);
    // Nothing listens there: port 9 of this machine.
    place.write("job.toml", &job("http://127.0.0.1:9/", "patience = 0.6"));
    let (ending, summary) = place.run();
    assert!(matches!(ending, Ending::VerifierDown { .. }), "{ending:?}");
    assert_eq!(summary.money.spent.to_string(), "0");
    let counted = summary.verifiers[0].failures.keys().find(|name| **name != "not-connected");
    assert_eq!(counted, None, "a call that never began does not count");
    place.assert_clean();
}

#[test]
fn a_server_that_breaks_again_and_again_gets_no_more_calls() {
    let (_, ending, summary, _) = run_against(
        |seen, count| {
            let oops = Action::Status(500, ("", String::new()), "oops".into());
            if count < 5 { answer(seen) } else { oops }
        },
        "patience = 0.6",
    );
    assert!(matches!(ending, Ending::VerifierDown { .. }), "{ending:?}");
    assert!(summary.calls < 40, "{} calls were wasted on a broken server", summary.calls);
}
