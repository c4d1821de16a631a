//! `goodarm report`: the page, the text, the JSON and the plots of real runs.

pub(crate) mod browser;
mod claim;
pub(crate) mod hostile;
mod page;
mod questions;
pub(crate) mod run;

use std::fs;

use serde_json::Value;

use crate::tool::{goodarm, message, root, text};
use run::Run;

fn json(run: &Run) -> Value {
    let output = run.report(&["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    serde_json::from_slice(&output.stdout).expect("the output is JSON")
}

#[test]
fn the_report_and_the_summary_agree() {
    let run = Run::ordinary("agree");
    let report = json(&run);
    let summary: Value = serde_json::from_str(&run.read("summary.json")).unwrap();
    for key in
        ["certified", "rejected", "undecided", "candidates", "calls", "ending", "promise", "delta"]
    {
        assert_eq!(report[key], summary[key], "{key}");
    }
    for key in ["budget", "spent", "reserved", "left", "overruns", "overrun"] {
        assert_eq!(report["money"][key], summary["money"][key], "{key}");
    }
    for (verifier, expected) in
        report["verifiers"].as_array().unwrap().iter().zip(summary["verifiers"].as_array().unwrap())
    {
        for key in ["name", "calls", "spent", "mean_score", "failures", "threshold"] {
            assert_eq!(verifier[key], expected[key], "{key}");
        }
    }
    let certified: Vec<&Value> = report["answers"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|answer| answer["status"] == "certified")
        .collect();
    assert_eq!(certified.len() as u64, report["certified"].as_u64().unwrap());
    assert!(certified.iter().all(|answer| {
        answer["evidence"].as_array().unwrap().iter().all(|pair| pair["met"] == true)
    }));
}

#[test]
fn coverage_has_a_step_for_each_certificate_and_never_goes_back() {
    let report = json(&Run::ordinary("coverage"));
    let steps = report["coverage"].as_array().unwrap();
    assert_eq!(steps.len() as u64, report["certified"].as_u64().unwrap());
    let spent: Vec<f64> = steps.iter().map(|step| step["spent"].as_f64().unwrap()).collect();
    assert!(spent.is_sorted());
    for (step, count) in steps.iter().zip(1..) {
        assert_eq!(step["certified"], count);
    }
}

/// Money by status adds up to the money of the verifier, to the last digit of what is shown here.
#[test]
fn money_adds_up() {
    let report = json(&Run::ordinary("money"));
    let amount = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
    let mut all = 0.0;
    for verifier in report["verifiers"].as_array().unwrap() {
        let parts: f64 = verifier["spent_by_status"].as_array().unwrap().iter().map(amount).sum();
        assert!((parts - amount(&verifier["spent"])).abs() < 1e-9);
        all += parts;
    }
    assert!((all - amount(&report["money"]["spent"])).abs() < 1e-9);
}

/// Every answer gets as many calls as the certified one that needed the most.
#[test]
fn the_uniform_estimate_follows_its_rule() {
    let report = json(&Run::ordinary("uniform"));
    let answers = report["answers"].as_array().unwrap();
    let mut expected = 0.0;
    for (index, verifier) in report["verifiers"].as_array().unwrap().iter().enumerate() {
        let certified = answers.iter().filter(|answer| answer["status"] == "certified");
        let most = certified
            .map(|answer| answer["evidence"][index]["calls"].as_u64().unwrap())
            .max()
            .unwrap();
        assert_eq!(report["uniform"]["calls_per_answer"][index], most);
        let price = verifier["mean_price"].as_f64().unwrap();
        expected += f64::from(u32::try_from(most).unwrap())
            * f64::from(u32::try_from(answers.len()).unwrap())
            * price;
    }
    let told = report["uniform"]["cost"].as_f64().unwrap();
    assert!((told / expected - 1.0).abs() < 1e-12, "{told} {expected}");
}

#[test]
fn the_text_says_the_main_things() {
    let run = Run::ordinary("text");
    // The run has left a page.
    fs::remove_file(run.path("report.html")).unwrap();
    let output = run.report(&["--text"]);
    let told = text(&output);
    let report = json(&run);
    let headline = format!("{} of {} answers certified", report["certified"], report["candidates"]);
    assert!(told.starts_with(&headline), "{told}");
    for part in [
        "Where the money went",
        "judge",
        "disagreement",
        "failed calls",
        "does not say that the answer is true",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!run.path("report.html").exists(), "text only was asked for");
}

#[test]
fn plots_are_written_as_svg() {
    let run = Run::ordinary("plots");
    let folder = run.root().join("plots");
    let output = run.report(&["--plots", folder.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    for name in ["coverage", "spending", "noise"] {
        assert!(
            fs::read_to_string(folder.join(format!("{name}.svg"))).unwrap().starts_with("<svg")
        );
        assert!(!folder.join(format!("{name}.png")).exists());
    }
}

#[test]
fn a_report_made_twice_is_the_same() {
    let run = Run::ordinary("twice");
    let first = run.page();
    assert_eq!(run.page(), first);
}

/// Killed before it wrote anything but its journal, in the middle of a frame.
#[test]
fn a_killed_run_has_a_report() {
    let run = Run::ordinary("killed");
    let whole = json(&run);
    let journal = fs::read(run.path("journal")).unwrap();
    fs::write(run.path("journal"), &journal[..journal.len() * 2 / 3]).unwrap();
    for file in
        ["certified.jsonl", "rejected.jsonl", "undecided.jsonl", "calls.jsonl", "summary.json"]
    {
        fs::remove_file(run.path(file)).unwrap();
    }
    let report = json(&run);
    assert_eq!(report["ending"], Value::Null);
    assert!(report["calls"].as_u64() < whole["calls"].as_u64());
    assert_eq!(report["answers"][0]["id"], whole["answers"][0]["id"]);
    assert_eq!(report["notes"].as_array().unwrap().len(), 0);
    fs::remove_file(run.root().join("answers.jsonl")).unwrap();
    assert!(run.page().contains("What is the sum of"), "the run keeps its candidates");
    // Without its copy there are no texts, and the report says so.
    fs::remove_file(run.path("candidates.jsonl")).unwrap();
    let output = run.report(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    assert!(text(&output).contains("texts are not shown"), "{}", text(&output));
    assert!(!run.read("report.html").contains("What is the sum of"));
}

/// An older summary does not say how this journal ends.
#[test]
fn a_stale_summary_is_not_believed() {
    let run = Run::ordinary("stale");
    let text = run.read("summary.json").replace("\"calls\":", "\"calls\": 1");
    fs::write(run.path("summary.json"), text).unwrap();
    assert_eq!(json(&run)["ending"], Value::Null);
}

#[test]
fn what_is_no_run_is_refused() {
    let output = goodarm(&["report", "/nowhere"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("/nowhere/journal"), "{}", message(&output));
}

#[test]
fn a_damaged_journal_is_refused_with_its_place() {
    let run = Run::ordinary("damaged");
    let mut journal = fs::read(run.path("journal")).unwrap();
    let middle = journal.len() / 2;
    journal[middle] ^= 1;
    fs::write(run.path("journal"), journal).unwrap();
    let output = run.report(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("damaged at byte"), "{}", message(&output));
}

#[test]
fn a_run_of_an_earlier_format_is_refused_by_report_and_audit_alike() {
    let fixture = root().join("crates/goodarm-live/tests/fixtures/run-0.1.0");
    let folder = fixture.to_str().expect("UTF-8");
    for (arguments, exit) in [
        (["report", folder, "--text"], 2),
        (["report", folder, "--json"], 2),
        (["audit", folder, "--json"], 4),
    ] {
        let output = goodarm(&arguments);
        assert_eq!(output.status.code(), Some(exit), "{}", message(&output));
        let told = text(&output) + &message(&output);
        assert!(told.contains("format 1") && told.contains("use goodarm 0.1.0 for it"), "{told}");
    }
}

#[test]
fn answers_that_were_added_are_in_the_report() {
    let run = Run::ordinary("added");
    let answers = run.root().join("answers.jsonl");
    let all = fs::read_to_string(&answers).unwrap();
    let job = run.root().join("job.toml");
    let begin: Vec<&str> = all.lines().take(40).collect();
    fs::write(&answers, begin.join("\n")).unwrap();
    fs::remove_dir_all(run.root().join("run")).unwrap();
    let go = |more: &[&str]| {
        let output = goodarm(&[&["run", job.to_str().unwrap()], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", message(&output));
        message(&output)
    };
    go(&["--budget", "10000"]);
    fs::write(&answers, &all).unwrap();
    let told = go(&["--resume", "--budget", "42000"]);
    assert!(told.contains("20 candidates were added"), "{told}");
    let report = json(&run);
    assert_eq!((&report["candidates"], &report["added"]), (&60.into(), &20.into()));
    let answers = report["answers"].as_array().unwrap();
    assert_eq!(answers[59]["id"], "sum-59");
    assert!(answers[40..].iter().any(|answer| answer["status"] == "certified"), "{report}");
    assert!(answers.iter().all(|answer| answer["looks"].is_u64()));
    let told = text(&run.report(&["--text"]));
    assert!(told.contains("20 of them were added after the run began"), "{told}");
    assert!(run.page().contains("sum-59"));
    let changed = run.read("candidates.jsonl").replace("\"sum-59\"", "\"sum-60\"");
    fs::write(run.path("candidates.jsonl"), changed).unwrap();
    let notes = json(&run)["notes"].to_string();
    assert!(notes.contains("does not hold the answers that the run is about"), "{notes}");
}

#[test]
fn an_audit_says_whether_the_page_belongs_to_the_run() {
    let (run, other) = (Run::ordinary("sealed"), Run::sums("sealed-other", 20));
    let job = run.root().join("job.toml");
    let audited = |exit: i32, said: &str| {
        let output = goodarm(&["audit", run.path("").to_str().expect("UTF-8")]);
        let told = text(&output) + &message(&output);
        assert_eq!(output.status.code(), Some(exit), "{told}");
        assert!(told.contains(said), "{told}");
    };
    audited(0, "ok     report.html belongs to this run, and is up to date");
    let page = run.read("report.html");
    assert_eq!(page, run.page(), "the same page of the same journal");
    for changed in [
        page.replacen("certified", "certifiad", 1),
        page.replacen("hidden value=\"", "hidden value=\"1", 1),
        page.trim_end().to_owned(),
        String::new(),
    ] {
        fs::write(run.path("report.html"), &changed).expect("written");
        audited(4, "WRONG  report.html was changed since it was written");
    }
    fs::write(run.path("report.html"), other.read("report.html")).expect("written");
    audited(4, "WRONG  report.html is not of this run");
    let budget = ["--resume", "--quiet", "--budget", "90000"];
    let output = goodarm(&[&["run", job.to_str().expect("UTF-8")], &budget[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    audited(0, "ok     report.html belongs to this run, and is up to date");
    fs::write(run.path("report.html"), &page).expect("written");
    audited(0, "note   report.html is outdated");
    fs::remove_file(run.path("report.html")).expect("removed");
    audited(0, "ok");
}

/// With a journal from before, a report says what it is, and a dry run that it would be refused.
#[test]
fn an_older_journal_is_no_secret() {
    let run = Run::ordinary("older");
    let job = run.root().join("job.toml");
    let older = fs::read(run.path("journal")).expect("the journal");
    let go = |more: &[&str]| {
        let output = goodarm(&[&["run", job.to_str().expect("UTF-8")], more].concat());
        (output.status.code(), text(&output) + &message(&output))
    };
    let (code, told) = go(&["--resume", "--quiet", "--budget", "90000"]);
    assert_eq!(code, Some(0), "{told}");
    fs::write(run.path("journal"), older).expect("an old backup");
    let what_to_do =
        "put the newer journal back, or begin a new run with --again or another output";
    let (code, told) = go(&["--resume", "--budget", "90000"]);
    assert!(code == Some(2) && told.contains(what_to_do), "{told}");
    let (code, told) = go(&["--resume", "--budget", "90000", "--dry-run"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("it would be refused") && told.contains(what_to_do), "{told}");
    assert!(text(&run.report(&["--text"])).contains("does not begin with"));
}
