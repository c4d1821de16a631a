//! A run cut off at any byte continues as if nothing had happened, or counts as lost what may have been
//! made; and nothing is ever made or paid twice.

use std::fs;

use goodarm_core::{Cost, Event};
use goodarm_live::run::Run;
use goodarm_record::audit::Area;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::folder::Folder;
use goodarm_record::history::{History, HistoryError};
use goodarm_record::journal::{FORMAT_VERSION, FileStorage, Header, Journal};
use goodarm_record::notice::Notice;
use goodarm_record::run_error::RunError;

use crate::job_folder::JobFolder;
use crate::observer::{after_calls, on_notice, stop_after};

pub(crate) const REPLAY_JOB: &str = r#"
candidates = "answers.jsonl"
budget = 4000
unit = "tokens"
delta = 0.1
seed = 7
[[verifiers]]
name = "says something"
kind = "check"
check = "regex"
pattern = "right|wrong"
[[verifiers]]
name = "solution"
kind = "replay"
recording = "recording.jsonl"
threshold = 0.5
"#;

pub(crate) fn replay_place() -> JobFolder {
    let place = JobFolder::new(9);
    place.write_recording("solution", 9, 40);
    place.write("job.toml", REPLAY_JOB);
    place
}

/// Everything about the calls but when they were written.
fn calls(folder: &Folder) -> Vec<String> {
    let mut history = History::open(&folder.journal()).expect("a journal");
    let mut calls = Vec::new();
    while let Some(entry) = history.next_entry().expect("a whole journal") {
        if let Some(call) = &entry.call {
            calls.push(format!("{} {} {call:?}", entry.asked, entry.index));
        }
    }
    calls
}

#[test]
fn a_replay_cut_at_any_byte_ends_like_one_that_was_not() {
    let place = replay_place();
    let (expected, certified) = undisturbed();
    assert!(certified.len() >= 3, "{}", certified.len());
    // Stopped again and again, so that the journal has many frames to be cut at.
    let mut run = Run::begin(place.good_job()).expect("a new run");
    let mut stop_count = 0;
    loop {
        let control = Control::default();
        match run.drive(&control, &mut stop_after(&control, 9)).expect("the run ends") {
            Ending::Stopped { at_once: false } => stop_count += 1,
            Ending::Done(_) => break,
            other => panic!("{other:?}"),
        }
        drop(run);
        run = Run::resume(place.good_job()).expect("a run to resume");
    }
    drop(run);
    assert!(stop_count > 10, "{stop_count}");
    place.resume().expect("a run that is done can be resumed");
    assert_eq!((calls(&place.output()), place.certified()), (expected.clone(), certified.clone()));
    place.assert_clean();

    let whole = fs::read(place.journal()).expect("the journal");
    // Each cut runs the rest of the job: every seventh byte, and all near the end, where frames are
    // torn. The journal's own tests cut at every byte.
    let cuts = (0..whole.len()).filter(|cut| cut % 7 == 0 || cut + 40 > whole.len());
    let beginning = {
        let place = replay_place();
        drop(Run::begin(place.good_job()).expect("a new run"));
        fs::read(place.journal()).expect("the journal").len()
    };
    for cut in cuts {
        fs::write(place.journal(), &whole[..cut]).expect("the journal");
        // A summary is written behind a journal that is durable: no crash leaves one that has seen more.
        let _ = fs::remove_file(place.output().summary());
        if cut < beginning {
            // No crash leaves results behind a journal that never began: paying again is refused.
            let refused = place.resume();
            assert!(matches!(refused, Err(RunError::InTheWay(_))), "cut at {cut}: {refused:?}");
            continue;
        }
        place.resume().unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!(calls(&place.output()), expected, "cut at {cut}");
        assert_eq!(place.certified(), certified, "cut at {cut}");
    }
    place.assert_clean();
}

/// The calls and certificates of a run without a stop.
fn undisturbed() -> (Vec<String>, Vec<String>) {
    let place = replay_place();
    place.run();
    (calls(&place.output()), place.certified())
}

#[test]
fn a_flipped_bit_anywhere_is_damage_and_says_where() {
    let place = replay_place();
    place.run();
    let whole = fs::read(place.journal()).expect("the journal");
    for position in (0..whole.len() - 1).step_by(11) {
        let mut bytes = whole.clone();
        bytes[position] ^= 0x10;
        fs::write(place.journal(), &bytes).expect("the journal");
        match place.resume() {
            Err(RunError::Journal { error, .. }) => {
                assert!(!error.to_string().is_empty(), "{error}");
            }
            Ok(_) => panic!("a flip at {position} of {} went unnoticed", whole.len()),
            Err(other) => panic!("a flip at {position}: {other}"),
        }
        let now = fs::read(place.journal()).expect("the journal");
        assert_eq!(now, bytes, "what is damaged is not touched");
    }
}

/// A command that notes each call it really makes.
const COMMAND_JOB: &str = r#"
candidates = "answers.jsonl"
budget = 120
delta = 0.1
concurrency = 5
[[verifiers]]
name = "noted"
kind = "command"
shell = "read line; echo x >> made; echo 1"
threshold = 0.4
scores = "binary"
"#;

#[test]
fn calls_that_were_out_count_as_spent_and_lost_and_none_is_made_twice() {
    let place = JobFolder::new(9);
    place.write("job.toml", COMMAND_JOB);
    let mut lost_total = 0;
    let mut run = Run::begin(place.good_job()).expect("a new run");
    for calls in [3, 8, 14, 30] {
        let control = Control::default();
        // The second stop leaves the calls in flight.
        let mut leaver = after_calls(calls, || (0..2).for_each(|_| control.stop()));
        let ending = run.drive(&control, &mut leaver).expect("the run ends");
        if ending != (Ending::Stopped { at_once: true }) {
            break;
        }
        drop(run);
        run = Run::resume(place.good_job()).expect("a run to resume");
        lost_total += run.recovery().lost;
    }
    let ending = run.drive(&Control::default(), &mut ()).expect("the run ends");
    assert!(matches!(ending, Ending::Done(_)), "{ending:?}");
    let ledger = run.session().books().ledger().clone();
    assert!(ledger.settled() <= ledger.budget());
    drop(run);
    assert!(lost_total > 0, "leaving with calls out must lose some");
    let (_, summary) = place.resume().expect("a run that is done can be resumed");
    place.assert_clean();
    let made = place.read("made").lines().count() as u64;
    assert!(made <= summary.calls, "{made} calls were made, {} are in the books", summary.calls);
    assert_eq!(summary.verifiers[0].failures.get("lost"), Some(&lost_total));
    assert_eq!(
        summary.money.spent.to_string(),
        summary.calls.to_string(),
        "each call is paid once"
    );
}

#[test]
fn two_runs_in_one_folder_are_one_too_many() {
    let place = replay_place();
    let run = Run::begin(place.good_job()).expect("a new run");
    assert!(matches!(Run::resume(place.good_job()), Err(RunError::Locked(_))));
    assert!(matches!(Run::begin(place.good_job()), Err(RunError::Locked(_))));
    drop(run);
    assert!(matches!(Run::begin(place.good_job()), Err(RunError::AlreadyBegun(_))));
    assert!(Run::resume(place.good_job()).is_ok());
}

#[test]
fn a_changed_job_is_refused_and_says_what_changed_but_the_budget_may_grow() {
    let place = replay_place();
    let (_, before) = place.run();
    for (from, to, named) in [
        ("delta = 0.1", "delta = 0.2", "delta: 0.1 → 0.2"),
        ("threshold = 0.5", "threshold = 0.4", "verifiers[solution].threshold"),
        ("seed = 7", "seed = 8", "seed: 7 → 8"),
        ("budget = 4000", "budget = 3000", "budget: 4000 → 3000"),
    ] {
        place.write("job.toml", &REPLAY_JOB.replace(from, to));
        match place.resume() {
            Err(RunError::Changed { changes, .. }) => {
                assert!(changes.join("\n").contains(named), "{changes:?}");
            }
            other => panic!("{to}: {:?}", other.map(|(ending, _)| ending)),
        }
    }
    place.write("job.toml", &format!("# a comment changes nothing\n{REPLAY_JOB}"));
    place.resume().expect("the same job");
    let changed = place.read("answers.jsonl").replace("Q1?", "Q1!");
    let answers = place.read("answers.jsonl");
    place.write("answers.jsonl", &changed);
    assert!(matches!(place.resume(), Err(RunError::Changed { .. })));
    place.write("answers.jsonl", &answers);
    place.write("job.toml", &REPLAY_JOB.replace("budget = 4000", "budget = 9000"));
    let (_, after) = place.resume().expect("a larger budget");
    assert_eq!(after.money.budgets, [4000, 9000].map(Cost::from_units));
    assert!(after.certified >= before.certified);
    place.assert_clean();
}

#[test]
fn a_lost_call_of_an_exact_verifier_is_paid_and_made_again() {
    let place = JobFolder::new(6);
    let wait = "while [ ! -e go ]; do [ -e job.toml ] || exit; sleep 0.01; done; echo 1\"";
    let job = COMMAND_JOB.replace("echo 1\"", wait);
    place.write("job.toml", &job.replace("binary", "exact"));
    let mut run = Run::begin(place.good_job()).expect("a new run");
    let control = Control::default();
    let mut leaver = on_notice(|notice| {
        if matches!(notice, Notice::Progress(progress) if progress.overview.in_flight > 0) {
            (0..2).for_each(|_| control.stop());
        }
    });
    assert_eq!(
        run.drive(&control, &mut leaver).expect("it can be left"),
        Ending::Stopped { at_once: true }
    );
    drop(run);
    place.write("go", "");
    let (_, summary) = place.resume().expect("a run to resume");
    assert_eq!(
        (summary.certified, summary.rejected),
        (6, 0),
        "no failure counts against an answer"
    );
    let lost_count = place.read("run/calls.jsonl").matches("no-verdict").count();
    assert!(lost_count > 0, "calls were in flight");
    assert_eq!(
        summary.money.spent.to_string(),
        (6 + lost_count).to_string(),
        "what was lost is paid, too"
    );
    place.assert_clean();
}

#[test]
fn a_crash_before_the_first_frame_was_whole_is_a_new_beginning() {
    let place = replay_place();
    let (expected, _) = undisturbed();
    drop(Run::begin(place.good_job()).expect("a new run"));
    let whole = fs::read(place.journal()).expect("the journal");
    for cut in (0..whole.len()).step_by(5) {
        fs::remove_dir_all(place.output().path()).expect("the run's folder");
        fs::create_dir(place.output().path()).expect("an empty folder");
        fs::write(place.journal(), &whole[..cut]).expect("the journal");
        place.resume().unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!(calls(&place.output()), expected, "cut at {cut}");
    }
}

#[test]
fn the_pace_may_change_and_the_budget_only_rise() {
    let place = replay_place();
    place.run();
    let raised = REPLAY_JOB.replace("4000", "5000");
    place.write("job.toml", &raised);
    place.resume().expect("more money");
    place.write("job.toml", &format!("concurrency = 3\n{raised}"));
    let (_, summary) = place.resume().expect("another pace");
    assert_eq!(summary.money.budget, Cost::from_units(5000));
    let copy = place.read("run/job.toml");
    for smaller in ["4000", "4500"] {
        place.write("job.toml", &REPLAY_JOB.replace("4000", smaller));
        assert!(matches!(place.resume(), Err(RunError::Changed { .. })), "{smaller} is refused");
        assert_eq!(place.read("run/job.toml"), copy, "a refused job leaves nothing behind");
    }
    place.write("job.toml", &raised.replace("threshold = 0.5", "threshold = 0.4"));
    assert!(matches!(place.resume(), Err(RunError::Changed { .. })), "so is another threshold");
}

#[test]
fn results_without_a_journal_are_not_overwritten() {
    let place = replay_place();
    place.run();
    fs::remove_file(place.journal()).expect("a journal");
    let error = Run::begin(place.good_job()).err().expect("the results are in the way");
    assert!(matches!(error, RunError::InTheWay(_)), "{error}");
}

/// Labels are the work of people, and would be read as labels of the new run.
#[test]
fn labels_and_a_page_without_a_journal_are_not_overwritten() {
    for name in ["labels.jsonl", "report.html"] {
        let place = replay_place();
        fs::create_dir(place.output().path()).expect("a new folder");
        place.write(&format!("run/{name}"), "of an earlier run");
        let error = Run::begin(place.good_job()).err().expect("it is in the way");
        assert!(matches!(&error, RunError::InTheWay(path) if path.ends_with(name)), "{error}");
        assert_eq!(place.read(&format!("run/{name}")), "of an earlier run");
    }
}

#[test]
fn an_audit_finds_another_job_beside_the_journal() {
    let place = replay_place();
    place.run();
    let job = place.read("run/job.toml");
    place.write("run/job.toml", &job.replace("threshold = 0.5", "threshold = 0.9"));
    let report = place.audit();
    assert!(
        report.problems.iter().any(|problem| problem.text.contains("threshold")),
        "{:?}",
        report.problems
    );
}

/// The files of a run that went on and was then killed.
#[test]
fn an_audit_of_files_that_are_behind_the_journal_says_so_once() {
    let place = replay_place();
    place.run();
    let calls = place.read("run/calls.jsonl");
    let half: Vec<&str> = calls.lines().take(20).collect();
    place.write("run/calls.jsonl", &half.join("\n"));
    let report = place.audit();
    assert_eq!(report.problem_count, 1, "{:?}", report.problems);
    let missing_count = calls.lines().count() - 20;
    assert!(
        report.problems[0].text.contains(&format!("{missing_count} calls")),
        "{:?}",
        report.problems
    );
    assert!(report.problems[0].text.contains("resuming"), "{:?}", report.problems);
}

#[test]
fn an_audit_finds_one_flipped_score_one_missing_call_and_one_cent() {
    let place = replay_place();
    place.run();
    place.assert_clean();
    let (calls, summary, certified) = (
        place.read("run/calls.jsonl"),
        place.read("run/summary.json"),
        place.read("run/certified.jsonl"),
    );
    let lines: Vec<&str> = calls.lines().collect();
    let flipped =
        calls.replacen("\"score\":1.0,\"cost\":\"11\"", "\"score\":0.0,\"cost\":\"11\"", 1);
    let missing = lines[..lines.len() - 1].join("\n");
    let skipped = [&lines[..12], &lines[13..]].concat().join("\n");
    let doubled = [&lines[..], &lines[3..4]].concat().join("\n");
    let cent = calls.replacen("\"cost\":\"12\"", "\"cost\":\"12.01\"", 1);
    for (name, changed) in [
        ("a flipped score", flipped),
        ("the last call gone", missing),
        ("a call gone", skipped),
        ("a call twice", doubled),
        ("a cent more", cent),
    ] {
        assert_ne!(changed, calls, "{name}");
        place.write("run/calls.jsonl", &changed);
        assert!(!place.audit().is_clean(), "{name}");
    }
    place.write("run/calls.jsonl", &calls);
    let spent = summary.find("\"spent\"").expect("the summary says what was spent");
    let mut changed = summary.clone();
    changed.replace_range(spent..spent + 10, "\"spent\": \"9");
    place.write("run/summary.json", &changed);
    assert!(!place.audit().is_clean(), "a wrong total");
    place.write("run/summary.json", &summary);
    place.write("run/certified.jsonl", &certified.replacen("right", "wrong", 1));
    assert!(!place.audit().is_clean(), "another answer in the certificate");
    let fewer: Vec<&str> = certified.lines().skip(1).collect();
    place.write("run/certified.jsonl", &fewer.join("\n"));
    assert!(!place.audit().is_clean(), "a certificate gone");
    place.write("run/certified.jsonl", &certified);
    place.assert_clean();
}

/// Replies and labels, which this run has none of, have forgeries of their own.
#[test]
fn an_audit_finds_a_forged_file_of_each_area() {
    let place = replay_place();
    place.run();
    for (area, name, from, to) in [
        (Area::Candidates, "candidates.jsonl", "right", "wrong"),
        (Area::Calls, "calls.jsonl", "\"latency\":0.", "\"latency\":1."),
        (Area::Ledger, "calls.jsonl", "\"score\":1.0", "\"failure\":\"not-connected\""),
        (Area::Findings, "certified.jsonl", "right", "wrong"),
        (Area::Job, "job.toml", "threshold", "# threshold"),
        (Area::Summary, "summary.json", "\"spent\": \"", "\"spent\": \"9"),
    ] {
        let name = format!("run/{name}");
        let right = place.read(&name);
        let forged = right.replacen(from, to, 1);
        assert_ne!(forged, right, "{name} has {from}");
        place.write(&name, &forged);
        let report = place.audit();
        let is_found = report.problems.iter().any(|problem| problem.area == area);
        assert!(is_found, "{area:?}: {:#?}", report.problems);
        place.write(&name, &right);
        place.assert_clean();
    }
    place.write("run/report.html", "<p>All is well.</p>");
    assert_eq!(place.audit().problems[0].area, Area::Page);
    let mut journal = fs::read(place.journal()).expect("a journal");
    let middle = journal.len() / 2;
    journal[middle] ^= 1;
    fs::write(place.journal(), journal).expect("it can be written");
    assert_eq!(place.audit().problems[0].area, Area::Journal);
}

/// Neither takes tokens or time: a recording costs what was recorded, a check its ceiling.
#[test]
fn what_this_process_evaluates_is_not_free_because_it_is_metered() {
    let place = replay_place();
    let meter = "metered = { second = 1, ceiling = 50 }";
    let job = REPLAY_JOB.replace("pattern", &format!("{meter}\npattern"));
    place.write("job.toml", &job.replace("threshold", &format!("{meter}\nthreshold")));
    let (_, summary) = place.run();
    let [check, solution] = &summary.verifiers[..] else { panic!("two verifiers") };
    assert_eq!(check.spent, Cost::from_units(50 * check.calls));
    assert!(solution.spent >= Cost::from_units(10 * solution.calls) && solution.calls > 0);
    place.assert_clean();
}

/// A journal that goodarm 0.1.0 wrote, cut off in the middle of a frame.
#[test]
fn a_run_of_version_0_1_0_is_refused_with_its_version_and_the_format_of_its_journal() {
    let place = replay_place();
    let journal = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/run-0.1.0/journal");
    fs::create_dir(place.output().path()).expect("the run's folder");
    fs::copy(journal, place.journal()).expect("the journal");
    let error = place.resume().expect_err("another format").to_string();
    let refused = format!("reads format {FORMAT_VERSION}: use goodarm 0.1.0 for it");
    assert!(error.contains("a journal of format 1") && error.contains(&refused), "{error}");
    let report = place.audit();
    assert_eq!((report.problem_count, report.problems[0].area), (1, Area::Journal));
    assert!(report.problems[0].text.contains(&refused), "{:?}", report.problems);
}

#[test]
fn a_run_that_other_rules_decided_is_refused_with_their_number() {
    let place = replay_place();
    let header = {
        drop(Run::begin(place.good_job()).expect("a new run"));
        History::open(&place.journal()).expect("a journal").header().clone()
    };
    fs::remove_file(place.journal()).expect("the journal");
    let storage = FileStorage::create(&place.journal()).expect("a file");
    let header = Header { decisions: header.decisions + 1, ..header };
    drop(Journal::create(storage, &header).expect("a journal"));
    let error = place.resume().expect_err("other decisions");
    let RunError::Journal { error: HistoryError::Decisions { theirs, .. }, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(theirs, header.decisions);
}

/// Readers use the numbers of arms and attributes as indices.
#[test]
fn a_journal_whose_header_and_terms_disagree_is_refused() {
    let place = replay_place();
    drop(Run::begin(place.good_job()).expect("a new run"));
    let header = History::open(&place.journal()).expect("a journal").header().clone();
    fs::remove_file(place.journal()).expect("the journal");
    let storage = FileStorage::create(&place.journal()).expect("a file");
    let header = Header { attribute_count: header.attribute_count + 1, ..header };
    drop(Journal::create(storage, &header).expect("a journal"));
    assert!(matches!(History::open(&place.journal()), Err(HistoryError::Inconsistent)));
    assert!(!place.audit().is_clean());
}

/// Allocating room for them would exhaust the memory.
#[test]
fn a_journal_that_speaks_of_more_candidates_than_there_are_is_refused() {
    let place = replay_place();
    place.run();
    let journal = place.journal();
    let header = History::open(&journal).expect("a journal").header().clone();
    let told = |header: &Header| {
        fs::remove_file(&journal).expect("it is ours");
        // It would be older than these results.
        let _ = fs::remove_file(place.output().summary());
        let storage = FileStorage::create(&journal).expect("a file");
        let mut journal = Journal::create(storage, header).expect("a journal");
        let count = 250_000_000;
        journal.append(&Event::ArmsAdded { count }.into());
        journal.commit().expect("a disk");
    };
    let words =
        "the journal has 250000009 candidates or questions, more than the run's folder can hold";
    told(&header);
    let found = place.audit().problems;
    assert!(found.iter().any(|problem| problem.text.contains(words)), "{found:?}");
    let error = place.resume().expect_err("it is refused").to_string();
    assert!(error.contains(words), "{error}");

    let terms = header.terms.replace("\"candidate_count\":9", "\"candidate_count\":250000000");
    assert_ne!(terms, header.terms);
    told(&Header { terms, arm_count: 250_000_000, ..header });
    let found = place.audit().problems;
    let words = "has 250000000 candidates";
    assert!(found.iter().any(|problem| problem.text.contains(words)), "{found:?}");
    let error = place.resume().expect_err("it is refused").to_string();
    assert!(error.contains(words), "{error}");
    // Without that file, those of the job are what there is.
    fs::remove_file(place.output().candidates()).expect("it is ours");
    assert!(matches!(place.resume(), Err(RunError::Changed { .. })));
}
