//! What a run writes is what `docs/outputs.md` says: every key, and what a mean score is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use goodarm_testing::TestFolder;
use serde_json::Value;

use crate::tool::{goodarm, message, root, text};

/// Runs the example's recording, each outcome once, so that some verifiers run out of them; what
/// `--json` prints.
fn run(folder: &Path) -> Vec<Value> {
    let capitals = root().join("examples/capitals");
    for name in ["answers.jsonl", "recording.jsonl"] {
        fs::copy(capitals.join(name), folder.join(name)).expect("a copy");
    }
    let job = fs::read_to_string(capitals.join("job.toml")).expect("the example's job");
    let once = "recording = \"recording.jsonl\"\ndraws = \"in-order\"";
    let job = job.replace("recording = \"recording.jsonl\"", once);
    run_job(folder, &job)
}

/// The same with questions.
fn run_questions(folder: &Path) -> Vec<Value> {
    let capitals = root().join("examples/capitals");
    for name in ["questions.jsonl", "pools.jsonl"] {
        fs::copy(capitals.join(name), folder.join(name)).expect("a copy");
    }
    let job = fs::read_to_string(capitals.join("questions.toml")).expect("the example's job");
    run_job(
        folder,
        &job.lines().filter(|line| !line.starts_with("output")).collect::<Vec<_>>().join("\n"),
    )
}

fn run_job(folder: &Path, job: &str) -> Vec<Value> {
    let path = folder.join("job.toml");
    fs::write(&path, job).expect("a job");
    let output = goodarm(&["run", path.to_str().expect("UTF-8"), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    text(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the run wrote it");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("the run wrote it")).expect("JSON")
}

fn collect(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            keys.extend(object.keys().cloned());
            object.values().for_each(|value| collect(value, keys));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, keys)),
        _ => {}
    }
}

/// What stands in backticks in the tables and the prose between two headings of the page.
fn defined(page: &str, from: &str, to: &str) -> BTreeSet<String> {
    let start = page.find(from).unwrap_or_else(|| panic!("{from} is a heading"));
    let end = page[start..].find(to).map_or(page.len(), |end| start + end);
    let mut is_code = false;
    let prose = page[start..end].lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code
    });
    prose.flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

fn check(what: &str, keys: &BTreeSet<String>, defined: &BTreeSet<String>) {
    let missing: Vec<&String> = keys.difference(defined).collect();
    assert!(missing.is_empty(), "docs/outputs.md does not define {missing:?} of {what}");
}

#[test]
fn every_key_of_every_file_is_on_its_page() {
    let page = fs::read_to_string(root().join("docs/outputs.md")).expect("the page");
    let place = TestFolder::new(&[]);
    let events = run(place.path());
    check_files(&page, &place.join("run"), &events);
    let calls = place.json_lines("run/calls.jsonl");
    assert!(calls.iter().any(|call| call.get("failure").is_some()), "some have failed");
    let asking = TestFolder::new(&[]);
    let events = run_questions(asking.path());
    let folder = asking.join("run");
    check_files(&page, &folder, &events);
    let mut of_answers = BTreeSet::new();
    lines(&folder.join("answers.jsonl"))
        .iter()
        .for_each(|it| collect(&it["goodarm"], &mut of_answers));
    check("answers.jsonl", &of_answers, &defined(&page, "## answers.jsonl", "\n## "));
}

fn check_files(page: &str, folder: &Path, events: &[Value]) {
    let of_candidates = defined(page, "# What a run writes", "## The mean score");
    for name in ["certified", "undecided", "rejected"] {
        let mut keys = BTreeSet::new();
        let found = lines(&folder.join(format!("{name}.jsonl")));
        found.iter().for_each(|line| collect(&line["goodarm"], &mut keys));
        check(name, &keys, &of_candidates);
    }
    let (mut of_calls, mut of_summary) = (BTreeSet::new(), BTreeSet::new());
    lines(&folder.join("calls.jsonl")).iter().for_each(|line| collect(line, &mut of_calls));
    check("calls.jsonl", &of_calls, &defined(page, "## calls.jsonl", "## summary.json"));
    assert!(of_calls.contains("lent"), "{of_calls:?}");

    let failures = defined(page, "## calls.jsonl", "## summary.json");
    collect(&read(&folder.join("summary.json")), &mut of_summary);
    let of_summary: BTreeSet<String> = of_summary.difference(&failures).cloned().collect();
    check("summary.json", &of_summary, &defined(page, "## summary.json", "## The events"));

    let of_events = defined(page, "## The events", "## The audit");
    for event in events.iter().filter(|event| event["event"] != "summary") {
        let mut keys = BTreeSet::new();
        collect(event, &mut keys);
        let known = keys.difference(&failures).cloned().collect();
        check("--json", &known, &of_events.union(&of_summary).cloned().collect());
    }
}

/// A summary without a key that an older version did not know is right; without it now, it is not.
#[test]
fn a_summary_that_leaves_something_out_is_noticed_whatever_version_it_names() {
    let place = TestFolder::new(&[]);
    run(place.path());
    let path = place.join("run/summary.json");
    let mut summary = read(&path);
    summary.as_object_mut().expect("an object").remove("uniform");
    for version in [summary["goodarm"].clone(), Value::from("0.0.1")] {
        summary["goodarm"] = version;
        fs::write(&path, summary.to_string()).expect("written");
        let folder = place.join("run");
        let output = goodarm(&["audit", folder.to_str().expect("UTF-8")]);
        assert_eq!(output.status.code(), Some(4), "{}", text(&output));
    }
}

/// Sum and count of the calls that count, by verifier, and by verifier and answer.
fn means(calls: &[Value]) -> BTreeMap<(String, Option<String>), (f64, f64)> {
    let mut sums = BTreeMap::<_, (f64, f64)>::new();
    for call in calls {
        let score = match (call["score"].as_f64(), call["failure"].as_str()) {
            (Some(score), _) => score,
            (None, Some("exhausted" | "below-lowest" | "rate-limited" | "not-connected")) => {
                continue;
            }
            (None, _) => 0.0,
        };
        let name = |key: &str| call[key].as_str().expect("a name").to_owned();
        for id in [None, Some(name("id"))] {
            let sum = sums.entry((name("verifier"), id)).or_default();
            *sum = (sum.0 + score, sum.1 + 1.0);
        }
    }
    sums
}

#[test]
fn a_mean_score_is_the_same_everywhere() {
    let place = TestFolder::new(&[]);
    run(place.path());
    let folder = place.join("run");
    let means = means(&lines(&folder.join("calls.jsonl")));
    let check = |verifier: &Value, id: Option<&Value>, mean: &Value| {
        let name = |value: &Value| value.as_str().expect("a name").to_owned();
        let expected = means.get(&(name(verifier), id.map(name))).map(|(sum, count)| sum / count);
        let is_same = match (expected, mean.as_f64()) {
            (Some(expected), Some(mean)) => (expected - mean).abs() < 1e-9,
            (expected, mean) => expected == mean,
        };
        assert!(is_same, "{verifier} on {id:?}: {mean}, but the calls give {expected:?}");
    };
    let report = goodarm(&["report", "--json", folder.to_str().expect("UTF-8")]);
    let report: Value = serde_json::from_str(&text(&report)).expect("JSON");
    for overview in [&report, &read(&folder.join("summary.json"))] {
        for verifier in overview["verifiers"].as_array().expect("a list") {
            check(&verifier["name"], None, &verifier["mean_score"]);
        }
    }
    for answer in report["answers"].as_array().expect("a list") {
        let pairs = answer["evidence"].as_array().expect("a list");
        for (pair, verifier) in pairs.iter().zip(report["verifiers"].as_array().expect("a list")) {
            check(&verifier["name"], Some(&answer["id"]), &pair["mean"]);
        }
    }
    for name in ["certified", "undecided", "rejected"] {
        for line in lines(&folder.join(format!("{name}.jsonl"))) {
            for pair in line["goodarm"]["evidence"].as_array().expect("a list") {
                check(&pair["verifier"], Some(&line["id"]), &pair["mean"]);
            }
        }
    }
}
