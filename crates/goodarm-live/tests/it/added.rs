//! Candidates that are added to a run when it is resumed.

use std::fs;

use goodarm_core::Event;
use goodarm_live::run::Run;
use goodarm_record::audit::Area;
use goodarm_record::control::Control;
use goodarm_record::ending::Ending;
use goodarm_record::history::History;
use goodarm_record::journal::{FileStorage, Journal, Note, OpenedJournal, Record, open};
use goodarm_record::outputs::calls::CallLine;
use goodarm_record::run_error::RunError;

use crate::crash::REPLAY_JOB;
use crate::job_folder::JobFolder;
use crate::observer;

/// A recording of twelve candidates, and a job that begins with the first six.
fn six_of_twelve() -> (JobFolder, Vec<String>) {
    let place = JobFolder::new(12);
    place.write_recording("solution", 12, 40);
    place.write("job.toml", REPLAY_JOB);
    let all: Vec<String> = place.read("answers.jsonl").lines().map(str::to_owned).collect();
    have(&place, &all[..6]);
    (place, all)
}

fn have(place: &JobFolder, candidates: &[String]) {
    place.write("answers.jsonl", &(candidates.join("\n") + "\n"));
}

#[track_caller]
fn refused(place: &JobFolder) -> String {
    let journal = fs::read(place.journal()).expect("the journal");
    let kept = place.read("run/candidates.jsonl");
    let changes = match place.resume() {
        Err(RunError::Changed { changes, .. }) => changes,
        other => panic!("{:?}", other.map(|(ending, _)| ending)),
    };
    assert_eq!(fs::read(place.journal()).expect("the journal"), journal);
    assert_eq!(place.read("run/candidates.jsonl"), kept, "nothing is left behind");
    changes.join("\n")
}

#[test]
fn candidates_join_at_each_resume_and_are_certified_like_the_others() {
    let (place, all) = six_of_twelve();
    let (_, first) = place.run();
    assert_eq!((first.candidates, first.added), (6, 0));
    have(&place, &all[..9]);
    let (_, second) = place.resume().expect("three more");
    assert_eq!((second.candidates, second.added), (9, 3));
    have(&place, &all);
    let mut run = Run::resume(place.good_job()).expect("three more");
    assert_eq!(run.recovery().added, 3);
    let ending = run.drive(&Control::default(), &mut ()).expect("the run ends");
    let third = run.write_outputs(&ending).expect("the outputs");
    drop(run);
    assert_eq!((third.candidates, third.added), (12, 6));
    let certified = place.read("run/certified.jsonl");
    for id in ["q0", "q6", "q9"] {
        assert!(certified.contains(&format!("\"id\": \"{id}\"")), "{id}: {certified}");
    }
    place.assert_clean();
    let checked = place.audit().checked.join("\n");
    assert!(checked.contains("the 6 that") && checked.contains("and 6 that"), "{checked}");
    assert!(checked.contains("shares of delta: "), "{checked}");
    // As it was, and with nothing new.
    let (ending, again) = place.resume().expect("the same candidates");
    assert!(matches!(ending, Ending::Done(_)));
    assert_eq!(again.added, 6);
}

#[test]
fn a_run_to_which_candidates_were_added_can_be_cut_at_any_byte() {
    let (place, all) = six_of_twelve();
    let mut run = Run::begin(place.good_job()).expect("a new run");
    for count in [8, 9, 12] {
        stop_after(&mut run, 15);
        drop(run);
        have(&place, &all[..count]);
        run = Run::resume(place.good_job()).expect("a run to resume");
        assert_eq!(run.session().books().problem().arm_count(), count);
    }
    drop(run);
    let (_, expected) = place.resume().expect("the rest");
    let certified = place.certified();
    let whole = fs::read(place.journal()).expect("the journal");
    let at_first = {
        let (place, _) = six_of_twelve();
        drop(Run::begin(place.good_job()).expect("a new run"));
        fs::read(place.journal()).expect("the journal").len()
    };
    for cut in (at_first..whole.len()).filter(|cut| cut % 23 == 0) {
        fs::write(place.journal(), &whole[..cut]).expect("the journal");
        // A summary is written behind a journal that is durable: no crash leaves one that has seen more.
        fs::remove_file(place.output().summary()).expect("a summary");
        // The folder has all of them, even if the journal does not: readers accept that.
        let report = place.audit();
        let is_about_calls = |area| matches!(area, Area::Calls | Area::Findings | Area::Summary);
        assert!(
            report.problems.iter().all(|problem| is_about_calls(problem.area)),
            "cut at {cut}: {:?}",
            report.problems
        );
        let (_, overview) = place.resume().unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        assert_eq!((overview.candidates, overview.added), (12, 6), "cut at {cut}");
        place.assert_clean();
    }
    fs::write(place.journal(), &whole).expect("the journal");
    fs::remove_file(place.output().summary()).expect("a summary");
    let (_, again) = place.resume().expect("the whole journal");
    assert_eq!((again.calls, place.certified()), (expected.calls, certified));
}

fn stop_after(run: &mut Run, calls: u32) {
    let control = Control::default();
    let mut stopper = observer::stop_after(&control, calls);
    assert_eq!(
        run.drive(&control, &mut stopper).expect("the run ends"),
        Ending::Stopped { at_once: false }
    );
}

/// Behind the first call that is missing the books stand still, and the candidates do not.
#[test]
fn an_audit_of_calls_that_end_before_candidates_were_added_says_just_that() {
    let (place, all) = six_of_twelve();
    let mut run = Run::begin(place.good_job()).expect("a new run");
    stop_after(&mut run, 15);
    drop(run);
    have(&place, &all);
    place.resume().expect("six more");
    place.assert_clean();
    let calls = place.read("run/calls.jsonl");
    place.write("run/calls.jsonl", &calls.lines().take(5).collect::<Vec<_>>().join("\n"));
    let report = place.audit();
    assert_eq!(report.problem_count, 1, "{:?}", report.problems);
    assert_eq!(report.problems[0].area, Area::Calls);
}

/// The folder is written first: a crash before the journal's turn leaves more candidates there than
/// the journal knows of.
#[test]
fn candidates_that_the_journal_does_not_know_yet_are_no_problem() {
    let (place, all) = six_of_twelve();
    place.run();
    place.write("run/candidates.jsonl", &(all.join("\n") + "\n"));
    place.assert_clean();
    let checked = place.audit().checked.join("\n");
    assert!(checked.contains("6 more, which a resumed run adds"), "{checked}");
    let (_, overview) = place.resume().expect("six candidates");
    assert_eq!(overview.candidates, 6);
    assert_eq!(place.read("run/candidates.jsonl").lines().count(), 6);
    place.assert_clean();
}

#[test]
fn candidates_can_be_added_only_behind_the_others() {
    let (place, all) = six_of_twelve();
    place.run();
    have(&place, &all[..8]);
    place.resume().expect("two more");
    let mut changed = all.clone();
    changed[2] = changed[2].replace("wrong", "right");
    let mut changed_later = all.clone();
    changed_later[7] = changed_later[7].replace("Q7?", "Q7!");
    let mut moved = all.clone();
    moved.swap(5, 8);
    for (name, candidates) in [
        ("an old one", &changed[..]),
        ("one that was added", &changed_later[..]),
        ("in between", &moved[..]),
        ("fewer than at first", &all[..5]),
        ("fewer than now", &all[..7]),
    ] {
        have(&place, candidates);
        let text = refused(&place);
        assert!(text.contains("the content of answers.jsonl: candidates may"), "{name}: {text}");
    }
    have(&place, &all[..8]);
    place.resume().expect("as they were");
    place.assert_clean();
}

#[test]
fn other_guarantees_take_no_more_candidates_and_say_which_does() {
    for guarantee in ["holm", "union", "fdr", "paper"] {
        let (place, all) = six_of_twelve();
        place.write("job.toml", &format!("guarantee = \"{guarantee}\"\n{REPLAY_JOB}"));
        place.run();
        have(&place, &all);
        let text = refused(&place);
        assert!(
            text.contains("6 candidates were added") && text.contains("guarantee = \"lent\""),
            "{text}"
        );
        assert!(text.contains(guarantee), "{text}");
    }
}

/// The most that a call may cost is set aside before it is made, and was agreed on.
#[test]
fn a_candidate_that_makes_calls_dearer_is_refused() {
    let (place, mut all) = six_of_twelve();
    let meter = "metered = { input = 1, output = 1 }\nkind = \"llm\"\nurl = \"http://127.0.0.1:9/v1\"\n\
        model = \"m\"\nmax_tokens = 5\nprompt = \"Yes or no? {{ answer }}\"\n";
    let llm = format!("[[verifiers]]\nname = \"judge\"\nthreshold = 0.5\n{meter}");
    let head = REPLAY_JOB.split("[[verifiers]]").next().expect("the keys of the job");
    place.write("job.toml", &format!("{}{llm}", head.replace("4000", "40000")));
    drop(Run::begin(place.good_job()).expect("a new run"));
    all[8] = all[8].replace("wrong", &"very wrong ".repeat(40));
    have(&place, &all[..9]);
    let text = refused(&place);
    assert!(
        text.contains("a call of judge may cost") && text.contains("prices are fixed"),
        "{text}"
    );
    have(&place, &all[..8]);
    assert_eq!(Run::resume(place.good_job()).expect("short ones").recovery().added, 2);
}

/// Rewrites the journal up to its end, and adds a record.
#[test]
fn a_journal_that_added_other_candidates_is_refused() {
    let (place, all) = six_of_twelve();
    place.run();
    have(&place, &all);
    let candidates = place.good_job().candidates.fingerprint();
    let whole = fs::read(place.journal()).expect("the journal");
    let summary = place.read("run/summary.json");
    place.write("run/candidates.jsonl", &(all.join("\n") + "\n"));
    let add = |count: u32, candidates: [u8; 32]| {
        place.write("run/summary.json", &summary);
        fs::write(place.journal(), &whole).expect("the journal");
        let Ok(OpenedJournal::Begun(reader)) = open(&place.journal()) else { panic!("a journal") };
        let tail = reader.finish().expect("a whole journal");
        let storage = FileStorage::open(&place.journal()).expect("a file");
        let mut journal = Journal::resume(storage, tail).expect("its end");
        let note = Note { candidates, ..Note::default() };
        journal.append(&Record { event: Event::ArmsAdded { count }, note });
        journal.commit().expect("one more record");
    };
    let about_candidates = || {
        let report = place.audit();
        report.problems.iter().any(|problem| problem.area == Area::Candidates)
    };
    add(6, candidates);
    assert!(!about_candidates(), "{:?}", place.audit().problems);
    place.resume().expect("those that were added");
    for (count, candidates) in
        [(6, [7; 32]), (5, candidates), (u32::MAX, candidates), (7, candidates)]
    {
        add(count, candidates);
        assert!(place.resume().is_err(), "{count}");
        assert!(!place.audit().is_clean(), "{count}");
        assert!(about_candidates() || count == u32::MAX, "{count}: {:?}", place.audit().problems);
    }
    let mut history = History::open(&place.journal()).expect("a journal");
    let mut fingerprints = Vec::new();
    while let Some(entry) = history.next_entry().expect("a whole journal") {
        fingerprints.extend(entry.candidates);
    }
    assert_eq!(fingerprints, [candidates]);
}

#[test]
fn an_audit_finds_a_share_that_was_not_lent() {
    let (place, _) = six_of_twelve();
    place.run();
    place.assert_clean();
    for (name, from, to) in [
        ("certified.jsonl", "\"share\":0.", "\"share\":0.9"),
        ("certified.jsonl", "\"looks\":1,", "\"looks\":0,"),
        ("calls.jsonl", "\"lent\":0.", "\"lent\":0.9"),
        ("summary.json", "\"left\": 0.", "\"left\": 0.9"),
    ] {
        let name = format!("run/{name}");
        let right = place.read(&name);
        let forged = right.replacen(from, to, 1);
        assert_ne!(forged, right, "{name} has {from}");
        place.write(&name, &forged);
        assert!(!place.audit().is_clean(), "{name}: {to}");
        place.write(&name, &right);
    }
    place.assert_clean();
}

/// The reported shares are those of the guarantee.
#[test]
fn a_certified_answer_has_the_level_of_its_share_and_other_guarantees_lend_nothing() {
    let (place, _) = six_of_twelve();
    let (_, overview) = place.run();
    let shares = overview.shares.expect("shares are lent");
    let text = place.read("run/calls.jsonl");
    let call = |line| serde_json::from_str::<CallLine<'_>>(line).expect("a call");
    let calls: Vec<CallLine<'_>> = text.lines().map(call).collect();
    let mut lent = shares.left;
    let mut out = 0;
    for file in ["certified", "undecided", "rejected"] {
        for line in place.read(&format!("run/{file}.jsonl")).lines() {
            let line = &serde_json::from_str::<serde_json::Value>(line).expect("JSON");
            let (id, finding) = (&line["id"], &line["goodarm"]);
            let judged = &finding["evidence"][1];
            let counts = [&finding["looks"], &finding["counted"]].map(|count| count.as_u64());
            let [Some(looks), Some(counted)] = counts else { panic!("{line}") };
            assert_eq!(Some(looks + counted), judged["calls"].as_u64(), "{line}");
            let Some(share) = finding["share"].as_f64() else {
                assert!(judged["needed"].is_null() && counted == 0, "{line}");
                continue;
            };
            let asked = |line: &&CallLine<'_>| *id == *line.id && line.verifier == "solution";
            let of_answer: Vec<&CallLine<'_>> = calls.iter().filter(asked).collect();
            let before = of_answer.iter().position(|call| call.lent == Some(share));
            assert_eq!(before, usize::try_from(looks).ok(), "{line}");
            assert_eq!(of_answer.iter().filter(|call| call.lent.is_some()).count(), 1);
            let needed = judged["needed"].as_f64().expect("a level");
            assert!((needed - (1.0 / (0.1 * share)).ln()).abs() < 1e-9, "{line}");
            if file != "certified" {
                (lent, out) = (lent + share, out + 1);
            }
        }
    }
    assert_eq!(out, shares.out);
    assert!((lent - 1.0).abs() < 1e-9, "nothing was released, so nothing is lost: {lent}");
    let (place, _) = six_of_twelve();
    place.write("job.toml", &format!("guarantee = \"holm\"\n{REPLAY_JOB}"));
    let (_, overview) = place.run();
    assert_eq!(overview.shares, None);
    assert!(!place.read("run/certified.jsonl").contains("share"));
    assert!(!place.read("run/calls.jsonl").contains("lent"));
}
