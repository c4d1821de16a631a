//! `goodarm-lab simulate` and `reproduce`, as a person would use them.

use std::fs;
use std::path::PathBuf;

use goodarm_testing::TestFolder;

use crate::tool::{lab, message, text};

mod expected;

/// A folder of its own for each test, empty at the start.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn path(path: &std::path::Path) -> &str {
    path.to_str().expect("a path in Unicode")
}

const EXPERIMENT: &str = include_str!("laboratory/experiment.toml");

#[test]
fn the_same_experiment_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = folder("threads");
    let file = folder.join("experiment.toml");
    fs::write(&file, EXPERIMENT).unwrap();
    for threads in ["1", "2", "5"] {
        let out = folder.join(threads);
        let output = lab(&["simulate", path(&file), "-q", "--threads", threads, "-o", path(&out)]);
        assert!(output.status.success(), "{}", message(&output));
        assert!(output.stderr.is_empty() && output.stdout.is_empty());
    }
    for name in ["trials.csv", "summary.json", "coverage.svg", "coverage.png"] {
        let bytes = |threads: &str| fs::read(folder.join(threads).join(name)).unwrap();
        assert!(bytes("1") == bytes("2") && bytes("1") == bytes("5"), "{name} differs");
    }
    let trials = fs::read_to_string(folder.join("1/trials.csv")).unwrap();
    assert_eq!(trials.lines().count(), 1 + 2 * 2 * 2 * 4);
    assert!(trials.contains("goodarm") && trials.contains("least-money="));
}

/// `UPDATE_LABORATORY=1` writes the kept files again.
#[test]
fn an_experiment_gives_the_kept_bytes() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/laboratory");
    let kept = std::path::Path::new(kept);
    let out = folder("kept");
    let output = lab(&["simulate", path(&kept.join("experiment.toml")), "-q", "-o", path(&out)]);
    assert!(output.status.success(), "{}", message(&output));
    for name in ["trials.csv", "summary.json"] {
        let bytes = fs::read(out.join(name)).unwrap();
        if std::env::var_os("UPDATE_LABORATORY").is_some() {
            fs::write(kept.join(name), &bytes).unwrap();
        }
        assert!(fs::read(kept.join(name)).unwrap() == bytes, "{name} differs");
    }
}

#[test]
fn plain_lines_tell_the_progress_where_there_is_no_terminal() {
    let folder = folder("progress");
    let file = folder.join("experiment.toml");
    fs::write(&file, EXPERIMENT).unwrap();
    let output = lab(&["simulate", path(&file), "-o", path(&folder.join("out"))]);
    assert!(message(&output).contains("small: 32/32"), "{}", message(&output));
}

#[test]
fn a_wrong_experiment_is_refused_with_what_is_wrong() {
    let folder = folder("wrong");
    for (from, to, named) in [
        ("seed = 3", "sead = 3", "did you mean `seed`?"),
        ("policy = \"rcb\"", "policy = \"rbc\"", "policy \"rbc\""),
        ("deltas = [0.1]", "deltas = [1.5]", "delta"),
        ("repetitions = 4", "repetitions = 0", "repetitions"),
        ("normalized = [0.5, 2]", "normalized = [-1]", "budget"),
        ("expensive-decoys = {", "expensive-decoy = {", "did you mean `expensive-decoys`?"),
        (
            "means = { random = { arms = 5, good = [0.2, 0.8], price_max = 10.0 } }",
            "means = { boundary-null = { arms = 4, good = 0, attributes = 1 } }",
            "this world has no good arm; give absolute budgets",
        ),
        ("means = { random = {", "means = { pools = { questions = 1 }, x = {", "pools"),
        ("title = \"small\"", "", "title"),
        ("seed = 3", "seed = \"three\"", "expected a whole number"),
        ("repetitions = 4", "repetitions = 0", "repetitions"),
        ("repetitions = 4", "repetitions = 9223372036854775807", "trials are more than"),
        ("seed = 3", "seed = 3\nconcurrency = [0]", "concurrency"),
        ("budgets = { normalized = [0.5, 2] }", "budgets = { absolute = [-1] }", "-1"),
        (
            "means = { random = { arms = 5, good = [0.2, 0.8], price_max = 10.0 } }",
            "means = { pools = { questions = 1, bills = \"mean\", draws = \"in-order\" } }",
            "recorded answers",
        ),
        ("arms = 5,", "arms = 1000000000000000,", "pairs"),
        (
            "means = { random = { arms = 5, good = [0.2, 0.8], price_max = 10.0 } }",
            "means = { boundary-null = { arms = 2, good = 1, attributes = 0 } }",
            "attribute",
        ),
    ] {
        let file = folder.join("experiment.toml");
        assert!(EXPERIMENT.contains(from), "{from}");
        fs::write(&file, EXPERIMENT.replace(from, to)).unwrap();
        let output = lab(&["simulate", path(&file), "-q", "-o", path(&folder.join("out"))]);
        let message = message(&output);
        assert_eq!(output.status.code(), Some(2), "{to}: {message}");
        assert!(message.contains(named), "{to}: {message} should name {named}");
    }
    let output = lab(&["simulate", "no-such-file.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("no-such-file.toml"));
}

#[test]
fn a_figure_is_made_with_its_page_and_its_trials() {
    let folder = folder("reproduce");
    let output = lab(&["reproduce", "allocation", "gsm8k", "--quick", "-o", path(&folder)]);
    assert!(output.status.success(), "{}", message(&output));
    let said = text(&output);
    assert!(said.contains("spent the same on every arm and certified the same arms"), "{said}");
    assert!(said.contains("--data"), "the missing data are named: {said}");
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("Where the budget goes"));
    assert!(!page.contains("src=") && !page.contains("href=\"http"), "self-contained");
    for name in ["allocation.svg", "allocation.png", "allocation.csv"] {
        assert!(folder.join(name).exists(), "{name}");
    }
}

#[test]
fn recorded_answers_are_replayed() {
    let folder = folder("pools");
    let pools = folder.join("pools.jsonl");
    let solution = |answer: &str| format!(r#"{{"answer": "{answer}", "tokens": 100}}"#);
    let line = |id: usize, agrees: usize| {
        let solutions: Vec<String> =
            (0..20).map(|k| solution(if k < agrees { "7" } else { "8" })).collect();
        format!(
            r#"{{"id": "q{id}", "gold": "7", "candidate": {{"answer": "7", "tokens": 5}}, "solutions": [{}]}}"#,
            solutions.join(", ")
        )
    };
    let lines: Vec<String> = (0..8).map(|id| line(id, if id < 6 { 19 } else { 3 })).collect();
    fs::write(&pools, lines.join("\n")).unwrap();
    let out = folder.join("out");
    let output =
        lab(&["reproduce", "gsm8k", "--quick", "--data", path(&pools), "-q", "-o", path(&out)]);
    assert!(output.status.success(), "{}", message(&output));
    let summary = fs::read_to_string(out.join("gsm8k.json")).unwrap();
    let cells: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let right = cells
        .as_array()
        .unwrap()
        .iter()
        .filter(|cell| cell["method"] == "goodarm")
        .map(|cell| cell["certified_right"]["mean"].as_f64().unwrap())
        .fold(0.0, f64::max);
    assert!((right - 6.0).abs() < 0.5, "six answers are right and agreed upon: {right}");

    fs::write(&pools, "{\"id\": 1}\n").unwrap();
    let output = lab(&["reproduce", "gsm8k", "--data", path(&pools), "-q", "-o", path(&out)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("line 1"), "{}", message(&output));
}

#[test]
fn an_unknown_figure_is_refused_with_the_nearest() {
    let output = lab(&["reproduce", "alocation"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("did you mean \"allocation\"?"));
}

/// Sends the signal of Ctrl-C once the first trials are done.
#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_is_done() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let folder = folder("interrupted");
    let file = folder.join("experiment.toml");
    let long = EXPERIMENT.replace("repetitions = 4", "repetitions = 20000");
    fs::write(&file, long).unwrap();
    let out = folder.join("out");
    let mut child = Command::new(env!("CARGO_BIN_EXE_goodarm-lab"))
        .args(["simulate", path(&file), "-o", path(&out)])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("small: "), "{first}");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("interrupted after")), "{rest:?}");
    let trials = fs::read_to_string(out.join("trials.csv")).unwrap().lines().count() - 1;
    assert!(trials > 10_000 && trials < 160_000, "{trials}");
    assert!(out.join("summary.json").exists() && out.join("coverage.svg").exists());
}

#[test]
fn a_figure_without_its_data_says_which_file_it_wants() {
    let place = TestFolder::new(&[]);
    let output = lab(&["reproduce", "gsm8k", "-o", &place.argument("out")]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(message(&output).contains("--data POOLS.jsonl"), "{}", message(&output));
}
