//! What failed calls cost, which of them are repeated, and what is said about them.

use std::time::Duration;

use goodarm_core::Cost;
use goodarm_live::run::Run;
use goodarm_record::control::Control;
use goodarm_record::history::History;
use goodarm_record::view::Overview;
use goodarm_testing::{Action, Request, Server};
use serde_json::json;

use crate::job_folder::JobFolder;

/// A judge whose calls cost 33 tokens, of a ceiling of 3,000, unless `script` does something else.
fn job(url: &str, keys: &str) -> String {
    format!(
        r#"
candidates = "answers.jsonl"
budget = 30000
unit = "tokens"
delta = 0.1
concurrency = 1
[[verifiers]]
name = "judge"
kind = "http"
url = "{url}"
threshold = 0.5
{keys}
"#
    )
}

const METERED: &str = "metered = { reported = true, ceiling = 3000 }";

fn scored(seen: &Request) -> Action {
    let score = f64::from(u8::from(seen.body.contains("right")));
    Action::Json(json!({"score": score, "cost": 33}))
}

fn error(status: u16) -> Action {
    Action::Status(status, ("", String::new()), "oops".into())
}

/// Runs the job against a server that does `fault` in place of every `every`-th reply.
fn run(keys: &str, every: usize, fault: fn() -> Action) -> (JobFolder, Overview, usize) {
    run_with("30000", keys, every, fault)
}

fn run_with(
    budget: &str,
    keys: &str,
    every: usize,
    fault: fn() -> Action,
) -> (JobFolder, Overview, usize) {
    let act = move |seen: &Request, index: usize| {
        if index % every == every - 1 { fault() } else { scored(seen) }
    };
    let server = Server::counting(act);
    let place = JobFolder::new(9);
    place.write("job.toml", &job(&server.url("/"), keys).replace("30000", budget));
    let (_, overview) = place.run();
    place.assert_clean();
    (place, overview, server.request_count())
}

fn failed_count(overview: &Overview, cause: &str) -> u64 {
    overview.verifiers[0].failures.get(cause).copied().unwrap_or(0)
}

#[test]
fn an_http_error_costs_nothing_and_is_counted_by_its_status() {
    let (place, overview, requests) = run(METERED, 4, || error(500));
    let errors = failed_count(&overview, "HTTP 500");
    assert!(errors > 5, "{errors} of {requests}");
    let paid = Cost::from_units(33 * (requests as u64 - errors));
    assert_eq!((overview.money.spent, overview.money.possible), (paid, paid));
    assert_eq!((overview.money.unknown_bills, &overview.failures_note), (0, &None));
    assert!(place.read("run/calls.jsonl").contains(r#""cost":"0","status":500"#));
    let fixed = run("price = 40", 4, || error(500));
    let errors = failed_count(&fixed.1, "HTTP 500");
    assert_eq!(fixed.1.money.spent, Cost::from_units(40 * (fixed.2 as u64 - errors)));
}

#[test]
fn an_error_that_states_its_cost_is_believed() {
    let dear = || Action::Status(500, ("", String::new()), r#"{"cost": 7}"#.into());
    let (_, overview, requests) = run(METERED, 4, dear);
    let errors = failed_count(&overview, "HTTP 500");
    let paid = Cost::from_units(33 * (requests as u64 - errors) + 7 * errors);
    assert!(errors > 5 && overview.money.spent == paid, "{} for {paid}", overview.money.spent);
}

#[test]
fn errors_that_are_billed_cost_their_ceiling_and_the_run_says_so() {
    let keys = format!("failed = \"ceiling\"\n{METERED}");
    let (_, overview, requests) = run(&keys, 10, || error(500));
    let errors = failed_count(&overview, "HTTP 500");
    let paid = Cost::from_units(33 * (requests as u64 - errors) + 3000 * errors);
    assert_eq!((overview.money.spent, overview.money.possible), (paid, paid));
    let note = overview.failures_note.expect("it is most of the money");
    assert!(note.contains(&format!("of the spending: {errors} × HTTP 500")), "{note}");
}

#[test]
fn a_call_without_a_reply_costs_the_mean_and_at_most_its_ceiling() {
    let (place, overview, requests) = run(METERED, 10, || Action::Close);
    let lost = failed_count(&overview, "crashed");
    assert!(lost > 0);
    assert_eq!(overview.money.spent, Cost::from_units(33 * requests as u64));
    let possible = 33 * (requests as u64 - lost) + 3000 * lost;
    assert_eq!(overview.money.possible, Cost::from_units(possible));
    assert!(overview.money.possible <= overview.money.budget);
    assert_eq!(overview.money.unknown_bills, lost);
    let note = overview.failures_note.expect("it is most of the money");
    assert!(note.contains(&format!("{lost} × crashed. Their bills")), "{note}");
    assert!(note.contains("failed = \"mean\""), "{note}");
    assert!(place.read("run/calls.jsonl").contains(r#""cost":"33","possible":"3000""#));
}

/// The budget allows for ten ceilings, so without the user's word a few lost replies end the run.
#[test]
fn the_budget_bounds_what_is_possible_unless_the_job_says_what_is_probable() {
    let (_, careful, requests) = run(METERED, 2, || Action::Close);
    assert!(requests < 40, "{requests}");
    assert!(careful.money.left < Cost::from_units(3000), "{}", careful.money.left);
    let keys = format!("failed = \"mean\"\n{METERED}");
    let (_, trusting, requests) = run(&keys, 2, || Action::Close);
    let paid = Cost::from_units(33 * requests as u64);
    assert_eq!((trusting.money.spent, trusting.money.possible), (paid, paid));
    assert!(careful.calls < trusting.calls, "{} and {}", careful.calls, trusting.calls);
}

#[test]
fn a_call_that_was_lost_in_a_crash_costs_the_mean_and_at_most_its_ceiling() {
    let server = Server::counting(|seen, index| match index {
        20 => Action::Hang,
        _ => scored(seen),
    });
    let place = JobFolder::new(9);
    place.write("job.toml", &job(&server.url("/"), METERED));
    let mut run = Run::begin(place.good_job()).expect("a new run");
    let control = Control::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while server.request_count() < 21 {
                std::thread::sleep(Duration::from_millis(5));
            }
            control.stop();
            control.stop();
        });
        run.drive(&control, &mut ()).expect("it stops");
    });
    drop(run);
    let run = Run::resume(place.good_job()).expect("it continues");
    let ledger = run.session().books().ledger();
    assert_eq!(ledger.settled(), Cost::from_units(33 * 21));
    assert_eq!(ledger.possible(), Cost::from_units(33 * 20 + 3000));
}

#[test]
fn a_status_may_be_declared_void_and_everybody_is_told() {
    let keys = format!("void_status = [500]\n{METERED}");
    let (place, overview, _) = run(&keys, 5, || error(500));
    assert!(overview.verifiers[0].failures.is_empty(), "{:?}", overview.verifiers[0].failures);
    assert!(overview.verifiers[0].throttled > 5);
    assert_eq!(overview.certified, 6);
    let report = place.audit();
    let is_said = |notes: &[String]| notes.iter().any(|note| note.contains("judge began no work"));
    assert!(is_said(&overview.notes) && is_said(&report.notes), "{:?}", overview.notes);
    let history = History::open(&place.journal()).expect("a journal");
    assert_eq!(history.terms.verifiers[0].calls.void_status, [500]);
    // Even where it hardly ever happens.
    let (_, overview, _) = run(&keys, 60, || error(500));
    let declared = "is asked again after status 500 (void_status)";
    assert!(overview.notes.iter().any(|note| note.contains(declared)), "{:?}", overview.notes);
}

/// An exact verifier that fails at first, and one that always fails on some answers.
#[test]
fn an_exact_call_without_a_verdict_is_made_at_most_three_times_more() {
    let seen_before = std::sync::Mutex::new(std::collections::BTreeMap::<String, usize>::new());
    let server = Server::counting(move |seen, _| {
        let mut before = seen_before.lock().expect("not poisoned");
        let count = before.entry(seen.body.clone()).or_default();
        *count += 1;
        let is_one_of = |ids: &[&str]| ids.iter().any(|id| seen.body.contains(id));
        match *count {
            _ if is_one_of(&["q8"]) => error(500),
            1 if is_one_of(&["q1", "q4"]) => error(500),
            2 if is_one_of(&["q4"]) => Action::Close,
            _ => scored(seen),
        }
    });
    let place = JobFolder::new(9);
    place.write("job.toml", &job(&server.url("/"), &format!("scores = \"exact\"\n{METERED}")));
    let (_, overview) = place.run();
    place.assert_clean();
    assert_eq!((overview.certified, overview.rejected, overview.undecided), (6, 2, 1));
    assert_eq!(server.request_count(), 9 + 1 + 2 + 3, "no verdict is asked for again");
    assert_eq!(failed_count(&overview, "HTTP 500"), 4 + 2);
}

#[test]
fn throttled_requests_are_counted_and_many_of_them_are_said() {
    let busy = || Action::Status(429, ("Retry-After", "0".into()), String::new());
    let (place, overview, requests) = run_with("2000", "price = 40", 3, busy);
    let throttled = overview.verifiers[0].throttled;
    assert_eq!(throttled + overview.calls, requests as u64);
    let note = format!("judge began no work on {throttled} of {requests} requests");
    assert!(overview.notes.iter().any(|it| it.contains(&note)), "{:?}", overview.notes);
    assert!(place.read("run/calls.jsonl").contains(r#""throttled":1"#));
    let (_, overview, _) = run_with("2000", "price = 40", 30, busy);
    assert!(overview.notes.is_empty(), "{:?}", overview.notes);
}

#[test]
fn runs_that_came_before_in_the_same_folder_are_counted_and_told() {
    let server = Server::counting(|seen, _| scored(seen));
    let place = JobFolder::new(9);
    place.write("job.toml", &job(&server.url("/"), METERED));
    let (_, overview) = place.run();
    assert_eq!(overview.earlier_runs, 0);
    for earlier in 1..3 {
        let (mut run, aside) = Run::begin_again(place.good_job()).expect("a new run");
        assert!(aside.is_some());
        if earlier == 1 {
            // A run that never made a call does not count.
            drop(run);
            (run, _) = Run::begin_again(place.good_job()).expect("a new run");
        }
        run.drive(&Control::default(), &mut ()).expect("it runs");
        drop(run);
        let (_, overview) = place.resume().expect("it continues");
        assert_eq!(overview.earlier_runs, earlier);
        let note = format!("any of these {} runs has a wrong certificate is at most", earlier + 1);
        assert!(overview.notes[0].contains(&note), "{:?}", overview.notes);
        place.assert_clean();
    }
}

/// One of two addresses answers 200 with rubbish.
#[test]
fn an_address_that_answers_with_rubbish_is_set_aside_and_each_address_is_in_the_summary() {
    let good = Server::counting(|seen, _| scored(seen));
    let bad = Server::counting(|_, _| Action::Bytes(RUBBISH.to_vec()));
    let place = JobFolder::new(9);
    let text = job("", METERED);
    let urls = format!("urls = [\"{}\", \"{}\"]", good.url("/"), bad.url("/"));
    place.write("job.toml", &text.replace("url = \"\"", &urls));
    let (_, overview) = place.run();
    place.assert_clean();
    let [first, second] = &overview.verifiers[0].addresses[..] else { panic!("two addresses") };
    assert_eq!((&first.address, first.failures), (&good.url("/"), 0));
    assert_eq!((second.calls, second.failures, second.mean_score), (5, 5, None));
    assert_eq!(first.calls + second.calls, overview.calls);
    assert!(first.mean_score.is_some_and(|mean| mean > 0.5));
    assert_eq!(overview.certified, 6);
    let calls = place.read("run/calls.jsonl");
    assert_eq!(calls.matches(&format!("\"address\":\"{}\"", bad.url("/"))).count(), 5);
}

/// One of two addresses gives JSON without a score.
#[test]
fn an_address_without_scores_is_set_aside_and_named() {
    let good = Server::counting(|seen, _| scored(seen));
    let bad = Server::counting(|_, _| Action::Json(json!({"score": "purple monkey", "cost": 33})));
    let place = JobFolder::new(9);
    let urls = format!("urls = [\"{}\", \"{}\"]", good.url("/"), bad.url("/"));
    place.write("job.toml", &job("", METERED).replace("url = \"\"", &urls));
    let (_, overview) = place.run();
    place.assert_clean();
    assert_eq!(overview.certified, 6);
    assert!(bad.request_count() < 20, "{} of {}", bad.request_count(), good.request_count());
    let note = format!("judge fails at one of its addresses, {}", bad.url("/"));
    assert!(overview.notes.iter().any(|it| it.contains(&note)), "{:?}", overview.notes);
}

const RUBBISH: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\n<html>";

/// A program that prints its verdict and ends with an error, as test runners do, has given a verdict.
#[test]
fn a_verdict_with_an_exit_code_and_a_reply_without_some_scores_are_not_repeated() {
    let place = JobFolder::new(9);
    place.write("judge.sh", "echo made >> made; echo 0; exit 1\n");
    let command = "candidates = \"answers.jsonl\"\nbudget = 90\ndelta = 0.1\n[[verifiers]]\nname = \"tests\"\nkind = \"command\"\ncommand = [\"sh\", \"judge.sh\"]\nscores = \"exact\"\nthreshold = 0.5\n";
    place.write("job.toml", command);
    place.run();
    assert!(place.line_count("made") <= 9, "{}", place.line_count("made"));

    let server = Server::counting(|_, _| Action::Json(json!({"a": 0})));
    let place = JobFolder::new(9);
    let criteria = ["a", "b"].map(|name| {
        format!(
            "[[verifiers.criteria]]\nname = \"{name}\"\nthreshold = 0.5\npointer = \"/{name}\"\n"
        )
    });
    let keys = format!("scores = \"exact\"\nprice = 40\n{}", criteria.concat());
    let text = job(&server.url("/"), &keys).replace("threshold = 0.5\nscores", "scores");
    place.write("job.toml", &text);
    place.run();
    assert!(server.request_count() <= 9, "{}", server.request_count());
}

/// Of several requests at one fixed price, some are served.
#[test]
fn a_call_with_an_error_among_its_requests_has_its_price() {
    let server = Server::counting(|_, index| match index % 5 {
        0 => error(500),
        _ => Action::Json(json!({"choices": [{"message": {"content": "no number"}}]})),
    });
    let place = JobFolder::new(9);
    let text = format!(
        "candidates = \"answers.jsonl\"\nbudget = 50\nunit = \"dollars\"\ndelta = 0.1\nconcurrency = 1\n\
         [[verifiers]]\nname = \"solver\"\nkind = \"llm\"\nrole = \"solver\"\nurl = \"{}\"\nmodel = \"m\"\n\
         prompt = \"{{{{ question }}}}\"\nextract = \"whole\"\nvotes = 5\nprice = 5\nthreshold = 0.5\n",
        server.url("/v1")
    );
    place.write("job.toml", &text);
    let (_, overview) = place.run();
    place.assert_clean();
    assert_eq!(overview.money.spent, Cost::from_units(5 * overview.calls));
}

#[test]
fn what_an_error_states_is_read_in_full_and_checked() {
    let place = |body: String, keys: &str| {
        let act =
            move |_: &Request, _: usize| Action::Status(400, ("", String::new()), body.clone());
        let server = Server::counting(act);
        let place = JobFolder::new(9);
        let text = format!(
            "candidates = \"answers.jsonl\"\nbudget = 30000\nunit = \"tokens\"\ndelta = 0.1\nconcurrency = 1\n\
             [[verifiers]]\nname = \"judge\"\nkind = \"llm\"\nurl = \"{}\"\nmodel = \"m\"\nprompt = \"{{{{ answer }}}}\"\n\
             max_tokens = 5\nthreshold = 0.5\n{keys}",
            server.url("/v1")
        );
        place.write("job.toml", &text);
        let (_, overview) = place.run();
        place.assert_clean();
        overview
    };
    let stated = |tokens: u64, padding: usize| {
        let usage = json!({"prompt_tokens": tokens, "completion_tokens": 2});
        json!({"error": "y".repeat(padding), "usage": usage}).to_string()
    };
    let long = place(stated(50, 20_000), "");
    assert_eq!(long.money.spent, Cost::from_units(52 * long.calls), "a long error");
    let longer = place(stated(50, 100_000), "");
    assert_eq!(longer.money.unknown_bills, longer.calls, "an error that is not read to its end");
    let huge = place(stated(1_000_000_000_000_000, 0), "");
    assert_eq!((huge.money.overruns, huge.money.unknown_bills), (0, huge.calls));
    let ceiling = place(stated(50, 0), "failed = \"ceiling\"\n");
    assert!(ceiling.money.spent > Cost::from_units(100 * ceiling.calls));
}

/// The number of earlier runs survives a crash between two runs.
#[test]
fn a_run_that_was_moved_aside_counts_even_if_the_next_never_began() {
    let server = Server::counting(|seen, _| scored(seen));
    let place = JobFolder::new(9);
    place.write("job.toml", &job(&server.url("/"), METERED));
    place.run();
    place.output().set_aside().expect("it is moved");
    let (_, overview) = place.run();
    assert_eq!(overview.earlier_runs, 1);
}
