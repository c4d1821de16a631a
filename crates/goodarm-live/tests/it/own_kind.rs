//! Verifiers from outside the crate: as a kind that a job file names, and handed in by code.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use goodarm_core::{Cost, VoidFailure};
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_data::problem::{KeyProblem, ProblemKind};
use goodarm_live::job::{self, Job, JobInputs, JobSettings, JobSpec, Overrides, ServiceSpec};
use goodarm_live::pricing::{Extent, Meter, Pricing, Tariff};
use goodarm_live::run::Run;
use goodarm_live::service::attempt::{Attempt, attempts};
use goodarm_live::service::{CallFuture, Manifest, Remote, Reply, Service, Usage};
use goodarm_live::services::{KINDS, KindKeys, ServiceContext, ServiceKind, ServiceKinds};
use goodarm_live::throttle::Throttle;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::job_file::{self, FailedCalls};
use goodarm_record::notice::Notice;
use goodarm_record::run_error::RunError;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Notify;

use crate::job_folder::JobFolder;
use crate::observer::on_notice;

/// The keys of a kind that is not ours.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CoinKeys {
    /// Of ten tosses, how many a right answer wins.
    wins: u64,
    /// What a toss costs.
    stake: Option<f64>,
}

impl KindKeys for CoinKeys {
    fn build(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>> {
        if self.wins > 10 {
            return Err(vec![KeyProblem::new("wins", format!("{} of ten", self.wins))]);
        }
        assert_eq!(context.keys.kind, "coin");
        let stake = Cost::of_price(self.stake.unwrap_or(2.0));
        let stake = stake.map_err(|error| vec![KeyProblem::new("stake", error.to_string())])?;
        Ok(Coin { wins: self.wins, stake, tosses: AtomicU64::new(0) }.service())
    }
}

/// Tosses a coin that is not fair: the answer right wins more often.
struct Coin {
    wins: u64,
    stake: Cost,
    tosses: AtomicU64,
}

impl Coin {
    fn service(self) -> Service {
        let ceiling = Some(self.stake);
        let meter = Meter { reported: true, ceiling, ..Meter::default() };
        let manifest = Manifest {
            fields: ["answer".to_owned()].into(),
            price: Some(Pricing::Metered(meter)),
            ..Manifest::default()
        };
        Service::remote(manifest, self)
    }

    fn toss(&self, candidate: &Candidate) -> Reply {
        let toss = self.tosses.fetch_add(1, Ordering::SeqCst);
        let is_right = candidate.fields()["answer"] == "right";
        let is_won = toss.wrapping_mul(7) % 10 < if is_right { self.wins } else { 1 };
        let usage = Usage { cost: Some(self.stake), ..Usage::default() };
        Reply { usage, ..Reply::score(f64::from(u8::from(is_won))) }
    }
}

impl Remote for Coin {
    fn preview(&self, candidate: &Candidate) -> String {
        format!("a coin for {}", candidate.id)
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, throttle: &'a Throttle) -> CallFuture<'a> {
        Box::pin(async move {
            let toss = || async { Attempt::Answered(self.toss(candidate)) };
            attempts(throttle, toss).await.unwrap_or_else(|reply| reply)
        })
    }
}

const JOB: &str = r#"candidates = "answers.jsonl"
budget = 2000
delta = 0.1

[[verifiers]]
name = "tosses"
kind = "coin"
wins = 9
threshold = 0.5
"#;

fn kinds() -> ServiceKinds {
    ServiceKinds::default().with(ServiceKind::new::<CoinKeys>("coin"))
}

fn read(place: &JobFolder, job: &str) -> Result<Job, goodarm_live::job::JobError> {
    place.write("job.toml", job);
    Job::read_with(
        &place.path().join("job.toml"),
        JobInputs { kinds: kinds(), ..JobInputs::default() },
    )
}

#[test]
fn a_kind_from_outside_can_be_named_in_a_job_file_and_run() {
    let place = JobFolder::new(6);
    let job = Arc::new(read(&place, JOB).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(job.terms.verifiers[0].kind, "coin");
    assert_eq!(job.terms.verifiers[0].ceiling, Cost::from_units(2));
    let mut run = Run::begin(job).expect("a new run");
    let ending = run.drive(&Control::default(), &mut ()).expect("the run ends");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!(run.session().certified().len(), 4);
    let spent = run.session().books().ledger().settled();
    assert_eq!(spent.picos(), u128::from(run.account().call_count()) * Cost::from_units(2).picos());
    run.write_outputs(&ending).expect("outputs");
    place.assert_clean();
}

#[test]
fn its_keys_are_checked_like_ours() {
    let place = JobFolder::new(3);
    let complaint = |from: &str, to: &str| {
        let error = read(&place, &JOB.replace(from, to)).err().expect("it is wrong");
        let problem = error.problems[0].clone();
        assert_eq!(error.problems.len(), 1, "{error}");
        (problem.kind.clone(), problem.line, problem.to_string())
    };
    let (kind, line, text) = complaint("wins = 9", "wins = 9\nwin = 8");
    assert_eq!((kind, line), (ProblemKind::UnknownKey, Some(9)));
    assert!(text.contains("no such key; did you mean `wins`? (kind coin)"), "{text}");
    let (kind, line, _) = complaint("wins = 9\n", "");
    assert_eq!((kind, line), (ProblemKind::MissingKey, Some(5)));
    let (kind, line, text) = complaint("wins = 9", "wins = \"many\"");
    assert_eq!((kind, line), (ProblemKind::Value, Some(8)));
    assert!(text.contains("verifier \"tosses\": wins: expected"), "{text}");
    let (_, line, text) = complaint("wins = 9", "wins = 99");
    assert_eq!(line, Some(8));
    assert!(text.ends_with("wins: 99 of ten"), "{text}");
    let plain = Job::read(&place.path().join("job.toml"), &Overrides::default());
    let text = plain.err().expect("no such kind").to_string();
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert!(text.contains(&format!("\"coin\" is not one of {}", names.join(", "))), "{text}");
}

#[test]
fn the_schema_has_one_variant_a_kind() {
    let schema: serde_json::Value = serde_json::from_str(&job::schema(&kinds())).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let job = |text: &str| toml::from_str::<serde_json::Value>(text).expect("TOML");
    assert!(validator.is_valid(&job(JOB)));
    for wrong in [
        JOB.replace("wins = 9", "wins = \"many\""),
        JOB.replace("wins = 9", ""),
        JOB.replace("wins = 9", "wins = 9\nurl = \"http://127.0.0.1:9\""),
        JOB.replace("\"coin\"", "\"dice\""),
        JOB.replace("budget", "budgt"),
    ] {
        assert!(!validator.is_valid(&job(&wrong)), "{wrong}");
    }
}

fn spec(place: &JobFolder, identity: &str) -> JobSpec {
    let text = place.read("answers.jsonl");
    let candidates = Candidates::from_lines(text.lines(), "id").expect("candidates");
    let coin = Coin { wins: 9, stake: Cost::from_units(1), tosses: AtomicU64::new(0) };
    let tosses = ServiceSpec {
        threshold: Some(0.5),
        identity: identity.to_owned(),
        ..ServiceSpec::new("tosses", coin.service())
    };
    let settings = JobSettings {
        output: place.path().join("run"),
        ..JobSettings::new(Cost::from_units(1000), 0.1)
    };
    JobSpec { settings, candidates, verifiers: vec![tosses], questions: None }
}

#[test]
fn a_job_made_in_code_runs_and_is_resumed_as_the_same_only() {
    let place = JobFolder::new(6);
    let job = |identity| Arc::new(Job::new(spec(&place, identity)).expect("a job"));
    let mut run = Run::begin(job("first")).expect("a new run");
    let ending = run.drive(&Control::default(), &mut ()).expect("the run ends");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!(run.session().certified().len(), 4);
    run.write_outputs(&ending).expect("outputs");
    let count = run.account().call_count();
    drop(run);
    place.assert_clean();
    let again = Run::resume(job("first")).expect("the same job");
    assert_eq!(again.account().call_count(), count);
    drop(again);
    let Err(RunError::Changed { changes, .. }) = Run::resume(job("second")) else {
        panic!("another verifier is another job");
    };
    assert_eq!(changes, ["  verifiers[tosses].identity: \"first\" → \"second\""]);
}

#[test]
fn a_run_that_was_stopped_can_be_driven_again() {
    let place = JobFolder::new(6);
    let mut slow = spec(&place, "");
    // It lasts longer than the time between two looks.
    slow.verifiers[0].rate = Some(100.0);
    let mut run = Run::begin(Arc::new(Job::new(slow).expect("a job"))).expect("a run");
    let control = Control::default();
    let mut certified = 0;
    let mut stopper = on_notice(|notice| {
        if matches!(notice, Notice::Certified { .. }) {
            certified += 1;
            control.stop();
        }
    });
    let ending = run.drive(&control, &mut stopper).expect("the run continues");
    assert_eq!(ending, Ending::Stopped { at_once: false });
    let ending = run.drive(&Control::default(), &mut stopper).expect("the run continues");
    drop(stopper);
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!((run.session().certified().len(), certified), (4, 4), "each is announced once");
}

/// Never begins to work, and never waits for its turn.
struct Absent;

impl Remote for Absent {
    fn preview(&self, _: &Candidate) -> String {
        String::new()
    }

    fn call<'a>(&'a self, _: &'a Candidate, _: &'a Throttle) -> CallFuture<'a> {
        Box::pin(async { Reply::void(VoidFailure::NotConnected) })
    }
}

#[test]
fn a_verifier_that_never_begins_to_work_does_not_keep_a_run_for_ever() {
    let place = JobFolder::new(2);
    let mut absent = spec(&place, "");
    absent.verifiers[0].service = Absent.into();
    let mut run = Run::begin(Arc::new(Job::new(absent).expect("a job"))).expect("a run");
    let ending = run.drive(&Control::default(), &mut ()).expect("it continues");
    assert!(matches!(ending, Ending::NeverScored(_)), "{ending:?}");
    let spent = run.session().books().ledger().settled();
    let given_up = run.account().services[0].outcomes.failures["given-up"];
    assert_eq!(spent, Cost::from_units(given_up), "what is void costs nothing");
    assert!(run.session().certified().is_empty());
}

/// Never answers. The other handle waits for a call, and counts those that hold the verifier.
struct Silent(Arc<Notify>);

impl Remote for Silent {
    fn preview(&self, _: &Candidate) -> String {
        String::new()
    }

    fn call<'a>(&'a self, _: &'a Candidate, _: &'a Throttle) -> CallFuture<'a> {
        self.0.notify_one();
        Box::pin(std::future::pending())
    }
}

/// Calls in flight hold the job, and with it the verifier.
#[test]
fn a_run_that_is_dropped_takes_its_calls_with_it() {
    let place = JobFolder::new(2);
    let called = Arc::new(Notify::new());
    let mut silent = spec(&place, "");
    silent.verifiers[0].service = Silent(Arc::clone(&called)).into();
    let job = Arc::new(Job::new(silent).expect("a job"));
    let host = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("one");
    host.block_on(async {
        let mut run = Run::begin(job).expect("a new run");
        let (control, mut nobody) = (Control::default(), ());
        tokio::select! {
            ending = run.drive_async(&control, &mut nobody) => panic!("nothing comes back: {ending:?}"),
            () = called.notified() => {}
        }
        assert!(run.session().books().in_flight_count() > 0);
        drop(run);
        let gone = async {
            while Arc::strong_count(&called) > 1 {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        let patience = std::time::Duration::from_secs(60);
        tokio::time::timeout(patience, gone).await.expect("its calls have ended");
    });
}

/// Panics in every call.
struct Broken;

impl Remote for Broken {
    fn preview(&self, _: &Candidate) -> String {
        String::new()
    }

    fn call<'a>(&'a self, _: &'a Candidate, _: &'a Throttle) -> CallFuture<'a> {
        Box::pin(async { panic!("a verifier with a bug") })
    }
}

#[test]
fn a_call_whose_task_dies_keeps_its_ceiling() {
    let place = JobFolder::new(2);
    let mut broken = spec(&place, "");
    broken.settings.budget = Cost::from_units(200);
    broken.settings.unit = job_file::Unit::Seconds;
    broken.verifiers[0].service = Broken.into();
    let mut run = Run::begin(Arc::new(Job::new(broken).expect("a job"))).expect("a run");
    run.drive(&Control::default(), &mut ()).expect("it continues");
    let ceiling = run.job().verifiers()[0].tariff.ceiling;
    let possible = run.session().books().ledger().possible();
    assert!(run.account().call_count() > 0);
    assert_eq!(possible.picos(), u128::from(run.account().call_count()) * ceiling.picos());
    assert!(run.session().certified().is_empty());
}

#[test]
fn a_budget_that_no_file_can_hold_is_refused() {
    let mut large = spec(&JobFolder::new(2), "");
    large.settings.budget = Cost::from_picos(u128::MAX);
    let error = Job::new(large).err().expect("it is too large");
    assert!(error.to_string().contains("more than 10^15"), "{error}");
}

/// The host has a runtime with several threads, and drives the run as one task among others.
#[test]
fn a_run_is_driven_in_the_runtime_of_its_host() {
    let place = JobFolder::new(6);
    let job = Arc::new(Job::new(spec(&place, "")).expect("a job"));
    let host = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let driven = host.spawn(async move {
        let mut run = Run::begin(job).expect("a new run");
        let ending = run.drive_async(&Control::default(), &mut ()).await.expect("it continues");
        (ending, run.session().certified().len())
    });
    let (ending, certified) = host.block_on(driven).expect("no panic");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    assert_eq!(certified, 4);
}

#[test]
fn what_is_wrong_with_a_job_made_in_code_can_be_told_apart() {
    let place = JobFolder::new(3);
    let mut wrong = spec(&place, "");
    wrong.settings.delta = 2.0;
    wrong.verifiers[0].threshold = None;
    wrong.verifiers[0].rate = Some(-1.0);
    let error = Job::new(wrong).err().expect("it is wrong");
    let found: Vec<(Option<&str>, &ProblemKind)> =
        error.problems.iter().map(|problem| (problem.key.as_deref(), &problem.kind)).collect();
    let expected = [
        (Some("delta"), &ProblemKind::Value),
        (Some("threshold"), &ProblemKind::MissingKey),
        (Some("rate"), &ProblemKind::Value),
    ];
    assert_eq!(found, expected, "{error}");
    let mut misspelt = spec(&place, "");
    misspelt.candidates =
        Candidates::from_lines([r#"{"id": "a", "anwser": "x"}"#], "id").expect("one");
    let error = Job::new(misspelt).err().expect("it is wrong");
    assert_eq!(error.problems[0].kind, ProblemKind::UnknownField("answer".into()));
    let mut empty = spec(&place, "");
    empty.verifiers.clear();
    let error = Job::new(empty).err().expect("it is wrong");
    assert_eq!(error.to_string(), "verifiers: at least one [[verifiers]] is needed");
}

#[test]
fn the_ledger_reserves_what_the_tariff_says_to_the_last_digit() {
    let place = JobFolder::new(3);
    let mut exact = spec(&place, "");
    let second = Some(Cost::from_picos(123_456_789_012_345_677));
    let pricing = Pricing::Metered(Meter { second, ..Meter::default() });
    exact.settings.budget = Cost::from_units(1_000_000_000);
    exact.verifiers[0].pricing = Some(pricing);
    let job = Job::new(exact).expect("a job");
    let tariff = Tariff::new(&pricing, FailedCalls::Ceiling, Extent::default).expect("a tariff");
    assert_eq!(tariff.ceiling.picos(), 61 * 123_456_789_012_345_677);
    assert_eq!(job.problem.attribute(goodarm_core::AttributeId(0)).price, tariff.ceiling);
    // A call takes two seconds, by a guess.
    let typical = || Usage { worked: Duration::from_secs(2), ..Usage::default() };
    assert_eq!(job.verifiers()[0].tariff, tariff.expecting(typical));
    assert_eq!(job.verifiers()[0].tariff.expected.picos(), 2 * 123_456_789_012_345_677);
}
