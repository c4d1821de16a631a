//! A folder in which someone has been at work: an older journal, another one, a lock that is gone,
//! files that were changed. Nothing is paid or asked twice, nothing is written over, and an audit says
//! what is not as the run left it.

use std::fs::{self, File};
use std::io::Write as _;

use goodarm_core::StopReason;
use goodarm_live::run::Run;
use goodarm_record::audit::Area;
use goodarm_record::control::Control;
use goodarm_record::ending::{Ending, EndingView};
use goodarm_record::run_error::RunError;
use serde_json::{Map, Value, json};

use crate::crash::{REPLAY_JOB, replay_place};
use crate::job_folder::JobFolder;
use crate::observer::{after_calls, stop_after};

/// A run that was stopped after some calls, and its journal.
fn stopped_early(place: &JobFolder) -> Vec<u8> {
    let mut run = Run::begin(place.good_job()).expect("a new run");
    let control = Control::default();
    let mut stopper = stop_after(&control, 30);
    assert_eq!(
        run.drive(&control, &mut stopper).expect("the run ends"),
        Ending::Stopped { at_once: false }
    );
    drop(run);
    fs::read(place.journal()).expect("the journal")
}

#[track_caller]
fn refused(place: &JobFolder) -> String {
    let journal = fs::read(place.journal()).expect("the journal");
    let error = place.resume().expect_err("the journal is not the one of the results");
    assert_eq!(fs::read(place.journal()).expect("the journal"), journal, "it is not touched");
    error.to_string()
}

/// Going on from there would ask for calls whose outcomes are known: a second chance.
#[test]
fn an_older_journal_beside_newer_results_is_refused() {
    let place = replay_place();
    let older = stopped_early(&place);
    place.resume().expect("a run to resume");
    let newer = fs::read(place.journal()).expect("the journal");
    assert!(newer.len() > older.len());
    fs::write(place.journal(), &older).expect("an old backup");
    let text = refused(&place);
    for part in
        ["summary.json", "put the newer journal back", "begin a new run", &newer.len().to_string()]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let report = place.audit();
    assert_eq!((report.problem_count, report.problems[0].area), (1, Area::Journal));
    assert!(report.problems[0].text.contains("summary.json"), "{:?}", report.problems);

    fs::write(place.journal(), &newer[..newer.len() - 1]).expect("a torn journal");
    refused(&place);
    fs::write(place.journal(), &newer).expect("the newer one");
    place.resume().expect("what the results were made from");
    place.assert_clean();

    fs::write(place.journal(), &older).expect("an old backup");
    fs::remove_file(place.output().summary()).expect("a summary");
    place.resume().expect("nothing says that more was known");
    place.assert_clean();
}

#[test]
fn results_of_an_earlier_moment_do_not_keep_a_run_from_going_on() {
    let place = replay_place();
    place.run();
    let summary = place.read("run/summary.json");
    place.write("job.toml", &REPLAY_JOB.replace("4000", "9000"));
    let mut run = Run::resume(place.good_job()).expect("more money");
    run.drive(&Control::default(), &mut ()).expect("the run ends");
    drop(run);
    assert_eq!(place.read("run/summary.json"), summary, "killed before it was written");
    assert_unfinished(&place, "its results are outdated");
    place.resume().expect("the journal begins with what the summary has seen");
    place.assert_clean();
    place.write("run/summary.json", &summary);
    assert_unfinished(&place, "its results are outdated");
}

#[test]
fn an_audit_of_a_run_that_was_killed_says_that_its_results_are_not_written_yet() {
    let place = replay_place();
    let mut run = Run::begin(place.good_job()).expect("a new run");
    assert_unfinished(&place, "its results are not written yet");
    run.drive(&Control::default(), &mut ()).expect("the run ends");
    drop(run);
    assert_unfinished(&place, "its results are not written yet");
    // The problem is still there.
    let journal = fs::read(place.journal()).expect("the journal");
    let mut damaged = journal.clone();
    damaged[journal.len() / 2] ^= 1;
    fs::write(place.journal(), damaged).expect("the journal");
    assert_eq!(place.audit().problem_count, 1);
    fs::write(place.journal(), journal).expect("the journal");
    place.resume().expect("a run");
    place.assert_clean();
    // Not so if others of its results are gone.
    let calls = place.read("run/calls.jsonl");
    fs::remove_file(place.output().calls()).expect("calls");
    let report = place.audit();
    assert!(report.unfinished.is_none() && report.problem_count == 1, "{report:#?}");
    // Nor may those that are there be changed meanwhile.
    place.write("run/calls.jsonl", &calls.replacen("\"cost\":\"12\"", "\"cost\":\"12.01\"", 1));
    fs::remove_file(place.output().summary()).expect("a summary");
    assert!(place.audit().problem_count > 0);
}

#[track_caller]
fn assert_unfinished(place: &JobFolder, text: &str) {
    let report = place.audit();
    assert_eq!(report.problems, [], "nothing is wrong");
    assert!(!report.is_clean() && report.unfinished.is_some_and(|it| it.contains(text)));
    let is_whole = |it: &String| it.starts_with("the journal is complete: ");
    assert!(report.checked.iter().any(is_whole), "{:?}", report.checked);
}

#[test]
fn the_journal_of_another_run_is_not_gone_on_with() {
    let (place, other) = (replay_place(), replay_place());
    place.run();
    let journal = fs::read(place.journal()).expect("the journal");
    loop {
        // The same calls, at another time.
        other.run();
        if fs::read(other.journal()).expect("the journal") != journal {
            break;
        }
        fs::remove_dir_all(other.output().path()).expect("the run's folder");
    }
    fs::copy(other.journal(), place.journal()).expect("the other one");
    assert!(refused(&place).contains("summary.json"));
    assert_eq!(place.audit().problems[0].area, Area::Journal);
}

#[test]
fn a_removed_lock_lets_no_one_else_write_the_journal() {
    let place = replay_place();
    let mut run = Run::begin(place.good_job()).expect("a new run");
    for _ in 0..2 {
        fs::remove_file(place.output().path().join("lock")).expect("a lock");
        assert!(matches!(Run::resume(place.good_job()), Err(RunError::Locked(_))));
        fs::remove_file(place.output().path().join("lock")).expect("a lock");
        assert!(matches!(Run::begin_again(place.good_job()), Err(RunError::Locked(_))));
    }
    assert!(place.output().path().exists(), "nothing is moved aside under its hands");
    assert!(!place.audit().problems.iter().any(|problem| problem.area == Area::Journal));
    run.drive(&Control::default(), &mut ()).expect("the run ends");
    drop(run);
    place.resume().expect("a run that is done can be resumed");
    place.assert_clean();
}

/// Each call leaves a mark.
const NOTED_JOB: &str = r#"
candidates = "answers.jsonl"
budget = 5000
delta = 0.001
concurrency = 4
[[verifiers]]
name = "noted"
kind = "command"
shell = "read line; echo x >> made; echo 1"
threshold = 0.99
scores = "binary"
"#;

#[track_caller]
fn not_durable(run: &mut Run, said: &str) {
    let error = run.drive(&Control::default(), &mut ()).expect_err("the journal is not its own");
    assert!(matches!(&error, RunError::NotDurable(_)), "{error}");
    assert!(error.to_string().contains(said), "{error}");
    assert!(run.drive(&Control::default(), &mut ()).is_err(), "it does not try again");
}

#[test]
fn what_another_has_written_is_never_written_over() {
    let place = JobFolder::new(9);
    place.write("job.toml", NOTED_JOB);
    let mut run = Run::begin(place.good_job()).expect("a new run");
    let mut file = File::options().append(true).open(place.journal()).expect("the journal");
    file.write_all(b"of another hand").expect("it takes more");
    let bytes = fs::read(place.journal()).expect("the journal");
    not_durable(&mut run, "another process has written to it");
    assert_eq!(place.line_count("made"), 0, "no call without its intent");
    assert_eq!(fs::read(place.journal()).expect("the journal"), bytes);
    drop(run);
    fs::remove_dir_all(place.output().path()).expect("the run's folder");
    let mut run = Run::begin(place.good_job()).expect("a new run");
    let length = fs::metadata(place.journal()).expect("the journal").len();
    file = File::options().write(true).open(place.journal()).expect("the journal");
    file.set_len(length - 1).expect("it can be cut");
    not_durable(&mut run, "another process has written to it");
    assert_eq!(fs::metadata(place.journal()).expect("the journal").len(), length - 1);
}

#[cfg(unix)]
#[test]
fn a_journal_that_is_gone_or_replaced_is_noticed_before_the_next_call() {
    let place = JobFolder::new(9);
    place.write("job.toml", NOTED_JOB);
    let journal = place.journal();
    let aside = place.path().join("aside");
    let takings: [fn(&std::path::Path, &std::path::Path); 3] = [
        |journal, _| fs::remove_file(journal).expect("a journal"),
        |journal, aside| fs::rename(journal, aside).expect("a journal"),
        |journal, aside| {
            fs::rename(journal, aside).expect("a journal");
            fs::copy(aside, journal).expect("a copy in its place");
        },
    ];
    for take in takings {
        let mut run = Run::begin(place.good_job()).expect("a new run");
        take(&journal, &aside);
        not_durable(&mut run, "it was moved, replaced or deleted");
        assert_eq!(place.line_count("made"), 0);
        drop(run);
        fs::remove_dir_all(place.output().path()).expect("the run's folder");
    }
}

#[cfg(unix)]
#[test]
fn a_journal_that_vanishes_stops_the_run_within_the_calls_in_flight() {
    let place = JobFolder::new(9);
    place.write("job.toml", NOTED_JOB);
    let mut run = Run::begin(place.good_job()).expect("a new run");
    let journal = place.journal();
    let mut thief = after_calls(10, || fs::remove_file(&journal).expect("a journal"));
    let error = run.drive(&Control::default(), &mut thief).expect_err("no journal");
    assert!(error.to_string().contains("it was moved, replaced or deleted"), "{error}");
    let made = place.line_count("made");
    assert!((10..=10 + 4 * 4).contains(&made), "{made} calls were made");
}

fn summary(place: &JobFolder) -> Map<String, Value> {
    serde_json::from_str(&place.read("run/summary.json")).expect("an object")
}

fn write_summary(place: &JobFolder, summary: &Map<String, Value>) {
    let text = serde_json::to_string_pretty(summary).expect("plain data");
    place.write("run/summary.json", &(text + "\n"));
}

#[test]
fn an_audit_covers_every_key_of_the_summary() {
    let place = replay_place();
    place.run();
    place.assert_clean();
    let text = place.read("run/summary.json");
    let whole = summary(&place);
    // Which version wrote it, and why it stopped, is not in the calls.
    for key in whole.keys().filter(|key| !["goodarm", "ending"].contains(&key.as_str())) {
        for other in [json!(null), json!(7.25), json!("x"), json!([]), json!({})] {
            if whole[key] == other {
                continue;
            }
            let mut changed = whole.clone();
            changed.insert(key.clone(), other);
            write_summary(&place, &changed);
            let report = place.audit();
            let named = |problem: &goodarm_record::audit::AuditProblem| problem.text.contains(key);
            assert!(report.problems.iter().any(named), "{key}: {:?}", report.problems);
        }
        let mut fewer = whole.clone();
        fewer.remove(key);
        write_summary(&place, &fewer);
        assert!(!place.audit().is_clean(), "{key} is gone");
    }
    let mut more = whole.clone();
    more.insert("more".into(), json!(1));
    write_summary(&place, &more);
    assert!(!place.audit().is_clean(), "a key more");
    // Readers differ on which of two counts.
    place.write("run/summary.json", &text.replacen('{', "{\n  \"certified\": 9,", 1));
    assert!(!place.audit().is_clean(), "a key twice");
    let wrong = [
        Ending::Done(StopReason::AllCertified),
        Ending::Done(StopReason::AllDecided),
        Ending::Done(StopReason::BudgetSpent),
    ];
    for facts in wrong {
        let mut changed = whole.clone();
        changed.insert("ending".into(), json!(EndingView::new(facts.clone(), false)));
        write_summary(&place, &changed);
        let report = place.audit();
        let named = |problem: &goodarm_record::audit::AuditProblem| {
            problem.text.contains("ending is wrong")
        };
        assert!(report.problems.iter().any(named), "{facts:?}: {:?}", report.problems);
    }
    let sentence = whole["ending"]["sentence"].as_str().expect("a sentence");
    place.write("run/summary.json", &text.replace(sentence, "every answer is certified"));
    let report = place.audit();
    assert_eq!(report.problem_count, 1, "{:?}", report.problems);
    assert!(report.problems[0].text.contains("ending.sentence"), "{:?}", report.problems);
    place.write("run/summary.json", &text.replacen("\"goodarm\": \"", "\"goodarm\": \"9.", 1));
    let report = place.audit();
    assert!(report.is_clean(), "{:?}", report.problems);
    assert!(report.notes.iter().any(|note| note.contains("written by goodarm 9.")), "{report:?}");
    place.write("run/summary.json", &text);
    place.assert_clean();
}

#[test]
fn an_audit_says_whether_the_files_of_the_verifiers_are_as_they_were() {
    let place = replay_place();
    place.run();
    let said = |words: &str| {
        let report = place.audit();
        assert!(report.is_clean(), "{:?}", report.problems);
        let lines: Vec<&String> = report.checked.iter().chain(&report.notes).collect();
        assert!(lines.iter().any(|line| line.contains(words)), "{words}: {lines:#?}");
    };
    said("as they were: recording.jsonl");
    let recording = place.read("recording.jsonl");
    place.write("recording.jsonl", &format!("{recording}\n"));
    said("recording.jsonl has changed since the run");
    fs::remove_file(place.path().join("recording.jsonl")).expect("a recording");
    said("recording.jsonl could not be looked at");
    place.write("recording.jsonl", &recording);
}
