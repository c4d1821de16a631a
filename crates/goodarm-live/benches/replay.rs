//! Recorded verifiers at full speed, journal on: `cargo bench -p goodarm-live --bench replay`.
//!
//! - calls a second, beside the same session without files, on the same scores;
//! - a million candidates: time to load and to begin, memory, and the speed at which it decides;
//! - taking up a run of ten million calls.

mod field;

use std::fmt::Write as _;
use std::fs;
use std::time::Instant;

use goodarm_core::{Ask, Options, Outcome, Session, policy};
use goodarm_live::job::Job;
use goodarm_live::run::Run;
use goodarm_live::service::{CallContext, Dispatch, Verdict};

use crate::field::{Field, drive, say};

fn main() {
    a_million_candidates();
    calls_a_second();
    resume();
}

fn a_million_candidates() {
    let field = recorded(1_000_000, 4);
    field.write_job(&replay_job(3_000_000));
    let begin = Instant::now();
    let job = field.job();
    let loaded = begin.elapsed().as_secs_f64();
    let mut run = Run::begin(job).expect("a new run");
    let begun = begin.elapsed().as_secs_f64();
    let memory_begun = peak_megabytes();
    let begin = Instant::now();
    drive(&mut run);
    let rate = calls(&run) / begin.elapsed().as_secs_f64();
    say(&format!(
        "1,000,000 candidates × 3 verifiers: loaded after {loaded:.1} s, first call after {begun:.1} s with {memory_begun:.0} MB at most; \
         {:.0} calls at {rate:.0} a second, {:.0} MB at most",
        calls(&run),
        peak_megabytes()
    ));
}

fn calls_a_second() {
    let field = recorded(20_000, 16);
    field.write_job(&replay_job(3_000_000));
    say("| 20,000 candidates, 3 verifiers | calls | calls/s | share of the bare session |");
    say("|---|---:|---:|---:|");
    let (mut bare, mut journalled) = (0.0_f64, 0.0_f64);
    let mut count = 0.0;
    for _ in 0..ROUNDS {
        bare = bare.max(bare_session(&field.job()));
        field.clear();
        let mut run = Run::begin(field.job()).expect("a new run");
        let begin = Instant::now();
        drive(&mut run);
        count = calls(&run);
        journalled = journalled.max(count / begin.elapsed().as_secs_f64());
    }
    say(&format!("| bare session | {count:.0} | {bare:.0} | |"));
    say(&format!(
        "| with journal | {count:.0} | {journalled:.0} | {:.0} % |",
        100.0 * journalled / bare
    ));
}

/// The same asks and scores without a journal.
fn bare_session(job: &Job) -> f64 {
    let policy = policy::by_name(&job.settings.policy, &policy::Parameters::default());
    let policy = policy.expect("the job's policy");
    let options = Options { stop_when_hopeless: false, ..Options::default() };
    let mut session =
        Session::with_options(job.problem.clone(), policy, options).expect("default options");
    let mut count = 0.0;
    let begin = Instant::now();
    while let Ask::Call(call) = session.ask().expect("policies name open pairs") {
        let (arm, attribute) = call.pair().expect("there are no questions");
        let verifier = &job.verifiers()[attribute.index()];
        let tally = session.books().tally(arm, attribute);
        let order = tally.dispatched_count - 1;
        let candidates = &job.candidates;
        let context = CallContext { candidates, arm, attribute, order };
        let Some(Dispatch::Now(reply)) = verifier.service.dispatch(context) else {
            panic!("it answers here")
        };
        let Verdict::Score(score) = reply.verdict else { panic!("no failure is recorded") };
        let charged = verifier.tariff.charge(&reply.usage, reply.contact);
        let cost = charged.expect("a recorded cost");
        let settled = session.settle(call.ticket, &Outcome::Score(score), cost);
        settled.expect("the ticket is out");
        count += 1.0;
    }
    count / begin.elapsed().as_secs_f64()
}

fn resume() {
    let field = recorded(100_000, 8);
    field.write_job(&replay_job(10_000_000));
    let mut run = Run::begin(field.job()).expect("a new run");
    drive(&mut run);
    let count = calls(&run);
    drop(run);
    let size = fs::metadata(field.path().join("run/journal")).expect("a journal").len();
    let job = field.job();
    let begin = Instant::now();
    let run = Run::resume(job).expect("a run to resume");
    assert!((calls(&run) - count).abs() < 0.5, "every call is there again");
    say(&format!(
        "{count:.0} calls, a journal of {} MB: taken up in {:.1} s",
        size / 1_000_000,
        begin.elapsed().as_secs_f64()
    ));
}

fn recorded(candidate_count: usize, draws: usize) -> Field {
    let field = Field::new(candidate_count);
    record(&field, "one.jsonl", "one", candidate_count, draws);
    record(&field, "two.jsonl", "two", candidate_count, draws);
    field
}

/// Outcomes at a mean of 0.6 with a price of 1, `draws` for each candidate.
fn record(field: &Field, file: &str, verifier: &str, candidate_count: usize, draws: usize) {
    let count = candidate_count + 1;
    field.write_lines(file, count, |line, row| {
        let Some(index) = row.checked_sub(1) else {
            line.push_str(r#"{"goodarm_recording":1,"unit":"calls"}"#);
            return;
        };
        let score = |draw: usize| if (index * 7 + draw * 3) % 5 < 3 { "1" } else { "0" };
        let scores: Vec<&str> = (0..draws).map(score).collect();
        let costs = vec!["1"; draws].join(",");
        let scores = scores.join(",");
        let _ = write!(
            line,
            r#"{{"id":"q{index}","verifier":"{verifier}","scores":[{scores}],"costs":[{costs}]}}"#
        );
    });
}

/// The three verifiers of the replay benchmarks; nothing is ever decided, so all money is spent.
fn replay_job(budget: usize) -> String {
    format!(
        "candidates = \"answers.jsonl\"\nbudget = {budget}\nunit = \"calls\"\ndelta = 0.05\n\
         stop_when_hopeless = false\n\
         [[verifiers]]\nname = \"form\"\nkind = \"check\"\ncheck = \"final-answer\"\nextract = \"gsm8k\"\n\
         [[verifiers]]\nname = \"one\"\nkind = \"replay\"\nrecording = \"one.jsonl\"\nthreshold = 0.6\n\
         [[verifiers]]\nname = \"two\"\nkind = \"replay\"\nrecording = \"two.jsonl\"\nthreshold = 0.6\n"
    )
}

#[expect(clippy::cast_precision_loss, reason = "millions")]
fn calls(run: &Run) -> f64 {
    run.account().call_count() as f64
}

/// What Linux says was the most memory this process ever had; 0 elsewhere.
fn peak_megabytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    kilobytes.and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1000.0
}

const ROUNDS: usize = 3;
