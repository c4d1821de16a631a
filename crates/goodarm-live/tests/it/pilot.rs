//! A recording is a run: the same calls of every pair, no certificate, and all of it can be replayed.

use goodarm_core::StopReason;
use goodarm_live::run::Run;
use goodarm_record::audit;
use goodarm_record::ending::Ending;
use goodarm_record::recording::{RecordedOutcome, Recording};
use goodarm_record::run_error::RunError;
use serde_json::Value;

use crate::job_folder::JobFolder;
use crate::questions::pools;

/// A verifier that says something else at every call, and fails now and then; a check that half of the answers
/// fail; and a rubric of two.
const CALLED: &str = r#"
candidates = "answers.jsonl"
budget = 1000
delta = 0.5
concurrency = 5
policy = "fixed"
calls_per_pair = 6
output = "pilot"
[[verifiers]]
name = "is right"
kind = "check"
check = "regex"
pattern = "right"
[[verifiers]]
name = "judge"
kind = "command"
threshold = 0.5
shell = '''read line; echo x >> made; n=$(wc -l < made); [ $((n % 7)) = 3 ] || echo 0.$((n * 37 % 89 + 10))'''
[[verifiers]]
name = "rubric"
kind = "command"
shell = '''read line; echo x >> rated; n=$(wc -l < rated); echo "{\"tone\": 0.$((n * 13 % 80 + 10)), \"form\": 1}"'''
[[verifiers.criteria]]
name = "tone"
pointer = "/tone"
threshold = 0.5
[[verifiers.criteria]]
name = "form"
pointer = "/form"
threshold = 0.5
"#;

/// The same verifiers from the pilot, one outcome after the other.
const REPLAYED: &str = r#"
candidates = "answers.jsonl"
budget = 1000
delta = 0.5
policy = "fixed"
calls_per_pair = 6
output = "again"
[[verifiers]]
name = "judge"
kind = "replay"
recording = "pilot"
draws = "in-order"
threshold = 0.5
[[verifiers]]
name = "tone"
kind = "replay"
recording = "pilot"
of = "rubric/tone"
draws = "in-order"
threshold = 0.5
"#;

fn pilot() -> JobFolder {
    let place = JobFolder::new(7);
    place.write("job.toml", CALLED);
    let (ending, overview) = place.run();
    assert_eq!(ending, Ending::Done(StopReason::AllCallsMade));
    assert_eq!(
        (overview.certified, overview.promise.starts_with("Nothing is certified")),
        (0, true)
    );
    assert_clean(&place, "pilot");
    place
}

#[track_caller]
fn assert_clean(place: &JobFolder, folder: &str) {
    let report = audit::audit(&place.path().join(folder));
    assert!(report.is_clean(), "{:#?}", report.problems);
}

fn outcomes(place: &JobFolder, folder: &str, verifier: &str) -> Vec<Vec<RecordedOutcome>> {
    let recording = Recording::read(&place.path().join(folder), verifier).expect("a recording");
    let of = |index: usize| recording.of(&format!("q{index}")).unwrap_or(&[]).to_vec();
    (0..7).map(of).collect()
}

/// What the calls on each answer said, in the order in which they were asked for.
fn called(place: &JobFolder, folder: &str, verifier: &str) -> Vec<Vec<Option<f64>>> {
    let text = place.read(&format!("{folder}/calls.jsonl"));
    let mut calls: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    calls.sort_by_key(|call| call["call"].as_u64());
    let of = |index: usize| {
        let id = format!("q{index}");
        let own = calls.iter().filter(|it| it["id"] == *id && it["verifier"] == verifier);
        own.map(|call| call["score"].as_f64()).collect()
    };
    (0..7).map(of).collect()
}

#[test]
fn a_replay_of_a_pilot_says_what_the_pilot_said_in_order() {
    let place = pilot();
    let said = called(&place, "pilot", "judge");
    assert!(said.iter().all(|scores| scores.len() == 6), "{said:?}");
    assert!(said.iter().flatten().any(Option::is_none), "some calls failed");
    let recorded = outcomes(&place, "pilot", "judge");
    let scores = |all: &[Vec<RecordedOutcome>]| -> Vec<Vec<Option<f64>>> {
        all.iter().map(|own| own.iter().map(|outcome| outcome.score).collect()).collect()
    };
    assert_eq!(scores(&recorded), said);
    // An answer that failed the check has all its calls, and the check was asked once.
    assert_eq!(outcomes(&place, "pilot", "is right").concat().len(), 7);

    place.write("job.toml", REPLAYED);
    let (ending, _) = place.run();
    assert_eq!(ending, Ending::Done(StopReason::AllCallsMade));
    assert_eq!(called(&place, "again", "judge"), said);
    assert_eq!(outcomes(&place, "again", "judge"), recorded, "costs included");
    assert_eq!(outcomes(&place, "again", "tone"), outcomes(&place, "pilot", "rubric/tone"));
    assert!(
        outcomes(&place, "pilot", "rubric/form").concat().iter().all(|it| it.score == Some(1.0))
    );
    assert_clean(&place, "again");

    // One call more than there are outcomes, and another order.
    place.write("job.toml", &REPLAYED.replace("= 6", "= 7").replace("\"again\"", "\"more\""));
    place.run();
    assert_eq!(
        outcomes(&place, "more", "judge"),
        recorded,
        "the end of a recording is not an outcome"
    );
    let drawn = REPLAYED.replace("draws = \"in-order\"\n", "").replace("\"again\"", "\"drawn\"");
    place.write("job.toml", &drawn);
    place.run();
    assert_ne!(outcomes(&place, "drawn", "judge"), recorded, "drawn with replacement");
}

#[test]
fn a_pilot_is_gone_on_with_under_its_own_terms_only() {
    let place = pilot();
    let refused = |from: &str, to: &str| {
        place.write("job.toml", &CALLED.replace(from, to));
        match Run::resume(place.good_job()) {
            Err(RunError::Changed { changes, .. }) => changes.join("\n"),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("resumed: {from} → {to}"),
        }
    };
    assert!(refused("= 6", "= 7").contains("calls_per_pair: 6 → 7"));
    assert!(
        refused("policy = \"fixed\"\ncalls_per_pair = 6", "policy = \"rcb\"").contains("policy")
    );
    place.write("job.toml", CALLED);
    // Answers may be added: they get as many calls.
    place.write(
        "answers.jsonl",
        &(place.read("answers.jsonl") + "{\"id\": \"q7\", \"answer\": \"wrong\"}\n"),
    );
    place.resume().expect("nothing was promised to the others");
    let recording = Recording::read(&place.path().join("pilot"), "judge").expect("a recording");
    assert_eq!(recording.of("q7").map(<[RecordedOutcome]>::len), Some(6));
    assert_eq!(outcomes(&place, "pilot", "judge").concat().len(), 42);
    assert_clean(&place, "pilot");
}

#[test]
fn what_a_fixed_design_needs_is_said() {
    let place = JobFolder::new(2);
    let said = |from: &str, to: &str| {
        place.write("job.toml", &CALLED.replace(from, to));
        place.job().err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(said("calls_per_pair = 6", "").contains("calls_per_pair"), "it is missing");
    assert!(said("calls_per_pair = 6", "calls_per_pair = 0").contains("above 0"));
    assert!(said("policy = \"fixed\"", "policy = \"rcb\"").contains("only for policy = \"fixed\""));
    let none = "guarantee = \"none\"\npolicy = \"rcb\"";
    assert!(said("policy = \"fixed\"\ncalls_per_pair = 6", none).contains("certifies nothing"));
    // What the job promises otherwise does not count.
    assert_eq!(said("policy = \"fixed\"", "policy = \"fixed\"\nguarantee = \"holm\""), "");
    place.write("other.toml", "");
    let missing = REPLAYED.replace("\"pilot\"", "\".\"");
    place.write("job.toml", &missing);
    let error = place.job().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("there is no run in this folder"), "{error}");
}

/// What each was asked about each question, and answered.
fn answered(place: &JobFolder, folder: &str, by: &str) -> Vec<(String, String)> {
    let text = place.read(&format!("{folder}/calls.jsonl"));
    let mut calls: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    calls.sort_by_key(|call| call["call"].as_u64());
    let own = calls.iter().filter(|call| call["verifier"] == by);
    let texts = own.map(|call| {
        let text = |key: &str| call[key].as_str().unwrap_or_default().to_owned();
        (text("question"), text("answer"))
    });
    let mut texts: Vec<_> = texts.collect();
    // Of each question in their order.
    texts.sort_by(|one, other| one.0.cmp(&other.0));
    texts
}

#[test]
fn answers_of_a_pilot_are_a_pool() {
    let place = pools(5);
    let job = place.read("job.toml");
    let fixed = format!("policy = \"fixed\"\ncalls_per_pair = 3\noutput = \"pilot\"\n{job}");
    place.write("job.toml", &fixed);
    let (ending, overview) = place.run();
    assert_eq!((ending, overview.certified), (Ending::Done(StopReason::AllCallsMade), 0));
    assert_clean(&place, "pilot");
    let [made, solved] = ["generator", "solver"].map(|by| answered(&place, "pilot", by));
    assert_eq!((made.len(), solved.len()), (15, 15), "three of each question");

    let again = fixed
        .replace("pool = \"pool.jsonl\"", "pool = \"pilot\"\ndraws = \"in-order\"")
        .replace("output = \"pilot\"", "output = \"again\"");
    place.write("job.toml", &again);
    place.run();
    assert_clean(&place, "again");
    assert_eq!(answered(&place, "again", "generator"), made);
    assert_eq!(answered(&place, "again", "solver"), solved);
    // Two that see the same replies are refused, as with a file.
    place.write(
        "job.toml",
        &again.replacen("pool = \"pilot\"", "pool = \"pilot\"\nof = \"solver\"", 1),
    );
    let error = place.job().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("a reply that both see is not fresh"), "{error}");
    place
        .write("job.toml", &again.replace("pool = \"pilot\"", "pool = \"pilot\"\nof = \"nobody\""));
    let error = place.job().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(
        error.contains("no outcomes of a generator or solver \"nobody\"; it has solver, generator"),
        "{error}"
    );
}
