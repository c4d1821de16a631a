//! Where a verifier breaks its word, a recording ends, or a file changes between two processes: nothing
//! is certified that was not proved, and all certificates are announced.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use goodarm_core::{ArmId, ArmStatus, AttributeId, Cost};
use goodarm_data::candidates::{Candidate, Candidates};
use goodarm_live::job::{Job, JobSettings, JobSpec, ServiceSpec};
use goodarm_live::run::Run;
use goodarm_live::service::{CallFuture, Remote, Reply};
use goodarm_live::throttle::Throttle;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::job_file::Scores;
use goodarm_record::notice::Notice;
use goodarm_record::run_error::RunError;
use goodarm_record::view::Overview;

use crate::job_folder::JobFolder;
use crate::observer::on_notice;

/// Says the same numbers about every answer, one after the other and from the start again; what is no
/// number is a failure.
struct Script {
    scores: Vec<f64>,
    calls: Mutex<BTreeMap<String, usize>>,
}

impl Remote for Script {
    fn preview(&self, _: &Candidate) -> String {
        String::new()
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, _: &'a Throttle) -> CallFuture<'a> {
        let mut calls = self.calls.lock().expect("no test panics here");
        let call = calls.entry(candidate.id.clone()).or_default();
        let score = self.scores[*call % self.scores.len()];
        *call += 1;
        Box::pin(std::future::ready(Reply::score(score)))
    }
}

/// A whole run of such a verifier on three answers, with what it warned of.
fn run_script(place: &JobFolder, scores: &[f64], model: Scores) -> (Run, Overview, Vec<String>) {
    let text = place.read("answers.jsonl");
    let candidates = Candidates::from_lines(text.lines(), "id").expect("candidates");
    let script = Script { scores: scores.to_vec(), calls: Mutex::default() };
    let verifier = ServiceSpec {
        threshold: Some(0.5),
        scores: Some(model),
        ..ServiceSpec::new("swing", script)
    };
    let settings = JobSettings {
        output: place.path().join("run"),
        ..JobSettings::new(Cost::from_units(3000), 0.1)
    };
    let job =
        Job::new(JobSpec { settings, candidates, verifiers: vec![verifier], questions: None })
            .expect("a job");
    let mut run = Run::begin(Arc::new(job)).expect("a new run");
    let mut warnings = Vec::new();
    let mut note_warnings = on_notice(|notice| {
        if let Notice::Warning(text) = notice {
            warnings.push(text.to_owned());
        }
    });
    let ending = run.drive(&Control::default(), &mut note_warnings).expect("the run ends");
    drop(note_warnings);
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    let overview = run.write_outputs(&ending).expect("outputs");
    place.assert_clean();
    (run, overview, warnings)
}

/// The mean of these scores is 1/3. Counted as 0, a score of -1 would make it 2/3, and a certificate.
#[test]
fn a_score_below_the_declared_minimum_ends_its_stream() {
    let floored = Scores::SubGaussian { sigma: 1.0, lowest: Some(0.0) };
    for model in [Scores::Binary, Scores::UNIT, floored] {
        let place = JobFolder::new(3);
        let (run, overview, warnings) = run_script(&place, &[1.0, 1.0, -1.0], model);
        let books = run.session().books();
        assert_eq!((overview.certified, overview.rejected, overview.undecided), (0, 0, 3));
        for arm in (0..3).map(ArmId) {
            assert!(!books.is_open(arm, AttributeId(0)) && books.is_active(arm), "{model:?}");
            assert_eq!(books.evidence_count(arm, AttributeId(0)), 2, "what came before counts");
            assert_eq!(books.status(arm), ArmStatus::Undecided);
        }
        let verifier = &overview.verifiers[0];
        assert!(verifier.failures["below-lowest"] >= 3, "{:?}", verifier.failures);
        assert_eq!(verifier.blocked, BTreeMap::from([("below-lowest", 3)]));
        assert_eq!(verifier.mean_score, None, "no number stands for what was below the lowest");
        assert_eq!(place.read("run/undecided.jsonl").matches(r#""blocked":true"#).count(), 3);
        assert_eq!(overview.money.spent, Cost::from_units(overview.calls), "each is paid");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        for part in ["swing: its score -1 is below 0, the lowest", "on q"] {
            assert!(warnings[0].contains(part), "{}", warnings[0]);
        }
        let note = "swing scored 3 answers below the lowest score that it declares";
        assert!(overview.notes[0].starts_with(note), "{:?}", overview.notes);
        let calls = place.read("run/calls.jsonl");
        assert!(calls.contains(r#""failure":"below-lowest","reason":"score -1 is below 0"#));
    }
}

#[test]
fn a_mean_counts_failed_calls_as_the_lowest_score() {
    let place = JobFolder::new(3);
    let (run, overview, _) = run_script(&place, &[1.0, 1.0, f64::NAN, 1.0], Scores::Binary);
    let totals = run.session().books().totals(AttributeId(0));
    let failed = overview.verifiers[0].failures["unreadable"];
    assert!(failed > 0);
    #[expect(clippy::cast_precision_loss, reason = "a few calls")]
    let mean = (overview.calls - failed) as f64 / overview.calls as f64;
    let shown = overview.verifiers[0].mean_score.expect("there were calls");
    assert!((shown - mean).abs() < 1e-12, "{shown} for {mean}");
    assert_eq!(totals.returned_count, overview.calls);
}

fn replay_job(rest: &str) -> String {
    format!(
        r#"candidates = "answers.jsonl"
budget = 20000
unit = "tokens"
delta = 0.1
[[verifiers]]
name = "solution"
kind = "replay"
recording = "recording.jsonl"
threshold = 0.6
{rest}
"#
    )
}

#[test]
fn a_recording_that_ends_rejects_no_one_and_costs_nothing() {
    for price in ["", "price = 16"] {
        let place = JobFolder::new(9);
        place.write_recording("solution", 9, 5);
        place.write("job.toml", &replay_job(&format!("draws = \"in-order\"\n{price}")));
        let (_, overview) = place.run();
        place.assert_clean();
        assert_eq!((overview.certified, overview.rejected, overview.undecided), (0, 0, 9));
        let verifier = &overview.verifiers[0];
        assert_eq!(verifier.failures, BTreeMap::from([("exhausted".into(), 9)]));
        assert_eq!(verifier.blocked, BTreeMap::from([("exhausted", 9)]));
        let recorded = if price.is_empty() { 10 + 11 + 12 + 13 + 14 } else { 5 * 16 };
        assert_eq!(overview.money.spent, Cost::from_units(9 * recorded));
        assert_eq!(
            overview.notes,
            [
                "solution ran out of recorded outcomes for 9 answers, and is not asked about them any more."
            ]
        );
    }
}

/// Nine calls of ten pass, and there are enough of them.
#[test]
fn a_recording_in_order_certifies_before_it_ends() {
    let place = JobFolder::new(2);
    place.write_recording("solution", 2, 400);
    place.write("job.toml", &replay_job("draws = \"in-order\""));
    let (_, overview) = place.run();
    place.assert_clean();
    assert_eq!(overview.certified, 2);
    assert!(overview.verifiers[0].blocked.is_empty() && overview.notes.is_empty());
}

const SCHEMA: &str = r#"{"enum": ["right", "wrong"]}"#;
const FILES: &str = r#"
[[verifiers]]
name = "schema"
kind = "check"
check = "json-schema"
schema = "schema.json"
[[verifiers]]
name = "script"
kind = "command"
command = ["sh", "judge.sh", "rubric.txt", "--more=more.txt", "job.toml", "answers.jsonl"]
threshold = 0.5
price = 1
[[verifiers]]
name = "line"
kind = "command"
shell = "cat job.toml > ./seen.json; echo 1 | tee -a seen.json; sh bare.sh; . ./line.sh"
threshold = 0.5
price = 1
"#;

/// A raised budget does not allow other changes.
#[test]
fn a_run_whose_files_have_changed_is_not_resumed() {
    let place = JobFolder::new(2);
    place.write_recording("solution", 2, 40);
    let texts = ["judge.sh", "rubric.txt", "more.txt", "line.sh", "bare.sh"];
    let sources = texts.map(|name| (name, "echo 1\n")).into_iter().chain([("schema.json", SCHEMA)]);
    sources.for_each(|(name, text)| place.write(name, text));
    place.write("seen.json", "");
    place.write("job.toml", &replay_job(FILES));
    drop(Run::begin(place.good_job()).expect("a new run"));
    place.write("job.toml", &replay_job(FILES).replace("budget = 20000", "budget = 30000"));
    place.write("seen.json", "written to, and no part of the verifier");
    for name in ["recording.jsonl", "schema.json"].into_iter().chain(texts) {
        let before = place.read(name);
        place.write(name, &format!("{before}\n"));
        let Err(error) = Run::resume(place.good_job()) else { panic!("{name} has changed") };
        let text = error.to_string();
        let RunError::Changed { changes, .. } = error else { panic!("{text}") };
        let [change] = changes.as_slice() else { panic!("{text}") };
        assert!(change.contains("the content of ") && change.contains(name), "{text}");
        assert!(text.contains("begin a new run"), "{text}");
        place.write(name, &before);
    }
    let run = Run::resume(place.good_job()).expect("all is as it was");
    let files = run.job().terms.files.clone();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "./line.sh",
            "bare.sh",
            "judge.sh",
            "more.txt",
            "recording.jsonl",
            "rubric.txt",
            "schema.json"
        ]
    );
    let hash = blake3::hash(&fs::read(place.path().join("recording.jsonl")).expect("a file"));
    assert_eq!(files["recording.jsonl"], hash.to_string());
}

#[test]
fn an_audit_says_which_files_the_verifiers_were_made_of() {
    let place = JobFolder::new(2);
    place.write_recording("solution", 2, 40);
    place.write("job.toml", &replay_job(""));
    place.run();
    let hash = blake3::hash(&fs::read(place.path().join("recording.jsonl")).expect("a file"));
    let report = place.audit();
    let line = format!("the verifiers were made of recording.jsonl (BLAKE3 {hash})");
    assert!(report.is_clean() && report.checked.contains(&line), "{:#?}", report.checked);
}

#[test]
fn costs_in_another_unit_are_refused() {
    let place = JobFolder::new(2);
    place.write_recording("solution", 2, 4);
    place.write("job.toml", &replay_job("").replace("\"tokens\"", "\"dollars\""));
    let text = place.job().err().expect("tokens are no dollars").to_string();
    let expected = r#"recording.jsonl: its costs are in "tokens", and the job's in "dollars""#;
    assert!(text.contains(expected) && text.contains("line 8"), "{text}");
}

#[test]
fn what_is_certified_is_the_mean_over_what_was_drawn_from() {
    let place = JobFolder::new(2);
    place.write_recording("solution", 2, 4);
    let promise = |rest: &str| {
        place.write("job.toml", &replay_job(rest));
        goodarm_record::view::promise(&place.good_job().terms)
    };
    let with_replacement = promise("");
    let pool = "mean score, over the recorded outcomes that its calls were drawn from, reaches";
    assert!(with_replacement.contains(pool), "{with_replacement}");
    assert!(with_replacement.ends_with("and nothing about fresh calls of a replayed verifier."));
    let in_order = promise("draws = \"in-order\"");
    assert!(in_order.contains("mean score, over fresh calls, reaches"), "{in_order}");
    assert!(in_order.ends_with("only that these verifiers approve of it."), "{in_order}");
    let check =
        "[[verifiers]]\nname = \"c\"\nkind = \"check\"\ncheck = \"regex\"\npattern = \"r\"\n";
    assert_eq!(promise(check), with_replacement, "an exact check draws nothing");
    let command = "[[verifiers]]\nname = \"c\"\nkind = \"command\"\ncommand = [\"true\"]\nthreshold = 0.5\nprice = 1\n";
    let mixed = promise(command);
    assert!(mixed.contains("over fresh calls (of a verifier that is replayed"), "{mixed}");
}
