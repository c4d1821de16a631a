//! `goodarm init`, `run`, `report`, `audit`, `schema`: as a new user types them.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use goodarm_testing::TestFolder;
use serde_json::Value;

use crate::tool::{goodarm, message, ok, root, text};

/// A folder with candidates and a noisy verifier of one's own.
fn place() -> TestFolder {
    let place = TestFolder::new(&[]);
    let answers: String = (0..12)
        .map(|index| {
            let word = if index % 4 == 3 { "wrong" } else { "right" };
            format!("{{\"id\": \"q{index}\", \"question\": \"{index}?\", \"answer\": \"#### {index} {word}\"}}\n")
        })
        .collect();
    place.write("answers.jsonl", &answers);
    place
}

/// Right answers always pass, wrong ones two times of ten; each call is noted.
const SHELL: &str = r#"
[[verifiers]]
name = "shell"
kind = "command"
shell = 'read line; echo x >> made; case "$line" in *right*) echo 1;; *) [ $(od -An -N1 -tu1 /dev/urandom) -lt 51 ] && echo 1 || echo 0;; esac'
threshold = 0.5
scores = "binary"
"#;

fn shell_job(place: &TestFolder) -> String {
    shell_job_with(place, "budget = 300")
}

fn shell_job_with(place: &TestFolder, keys: &str) -> String {
    let job =
        format!("candidates = \"answers.jsonl\"\ndelta = 0.05\nconcurrency = 6\n{keys}\n{SHELL}");
    place.write("job.toml", &job);
    place.argument("job.toml")
}

#[test]
fn from_a_file_of_answers_to_a_report() {
    let place = place();
    let job = place.argument("job.toml");
    let said = ok(&["init", &place.argument("answers.jsonl"), "--out", &job]);
    assert!(said.contains("goodarm run"), "{said}");
    let again = goodarm(&["init", &place.argument("answers.jsonl"), "--out", &job]);
    assert_eq!(again.status.code(), Some(2), "a job is not overwritten");
    let starter = fs::read_to_string(&job).expect("a job");
    assert!(starter.contains("extract = \"gsm8k\""), "{starter}");
    ok(&["run", &job, "--dry-run"]);
    assert!(!place.join("run").exists(), "a dry run writes nothing");
    let said = ok(&["run", &job, "--quiet"]);
    assert!(said.contains("12 of 12 answers certified"), "{said}");
    let folder = place.argument("run");
    ok(&["report", &folder]);
    assert!(ok(&["audit", &folder]).contains("ok"));
}

#[test]
fn the_commented_verifiers_of_a_starter_job_are_taken_too() {
    let place = place();
    let job = place.argument("job.toml");
    ok(&["init", &place.argument("answers.jsonl"), "--out", &job]);
    let starter = fs::read_to_string(&job).expect("a job");
    let uncomment = |line: &str| match line.strip_prefix("# ") {
        Some(rest) if rest.starts_with("[[") || rest.contains(" = ") || rest.contains("{{") => {
            rest.to_owned()
        }
        Some(rest) if rest.starts_with("Is the answer") => rest.to_owned(),
        _ => line.to_owned(),
    };
    let whole: Vec<String> = starter.lines().map(uncomment).collect();
    fs::write(&job, whole.join("\n")).expect("a file");
    let output = goodarm(&["run", &job, "--dry-run"]);
    assert!(message(&output).contains("no program \"./my-test\""), "{}", message(&output));
    place.write("my-test", "echo 1");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(place.join("my-test"), mode).expect("our own file");
    let said = ok(&["run", &job, "--dry-run"]);
    assert!(said.contains("my test") && said.contains("judge"), "{said}");
}

#[test]
fn killed_again_and_again_nothing_is_lost_and_nothing_is_spent_twice() {
    let place = place();
    // The wrong answers are checked until the money is gone, and that is far away.
    let job = shell_job_with(&place, "budget = 900\nstop_when_hopeless = false");
    let folder = place.argument("run");
    let made_count = || place.line_count("made");
    for round in 0..KILLS {
        let mut arguments = vec!["run", &job, "--quiet"];
        if place.join("run/journal").exists() {
            arguments.push("--resume");
        }
        let made_before = made_count();
        let mut child = Command::new(env!("CARGO_BIN_EXE_goodarm"))
            .args(&arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the tool starts");
        // Some die before their first call, the others once they have made a few, however fast the
        // machine is.
        let wanted_count = made_before + round % 8;
        std::thread::sleep(Duration::from_millis((round as u64 * 37) % 23));
        while round % 8 != 0 && made_count() < wanted_count {
            assert_eq!(child.try_wait().expect("a child"), None, "it ended in round {round}");
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().expect("a child");
        child.wait().expect("a child");
    }
    assert!(made_count() >= KILLS, "calls were made");
    let audited = goodarm(&["audit", &folder]);
    let told = String::from_utf8(audited.stdout).expect("UTF-8");
    assert_eq!(audited.status.code(), Some(2), "{told}");
    assert!(told.contains("ok     the journal is complete: ") && !told.contains("WRONG"), "{told}");
    assert!(told.contains("not yet  the run has not ended"), "{told}");
    ok(&["run", &job, "--resume", "--quiet"]);
    ok(&["audit", &folder]);
    let summary: Value = serde_json::from_str(
        &fs::read_to_string(format!("{folder}/summary.json")).expect("a file"),
    )
    .expect("JSON");
    let calls = summary["calls"].as_u64().expect("a count");
    let made = place.read("made");
    assert!(made.lines().count() as u64 <= calls, "a call was made that is not in the books");
    let spent: u64 = summary["money"]["spent"].as_str().expect("text").parse().expect("a number");
    assert_eq!(spent, calls, "each call is paid once");
    assert!(spent <= 900);
    let certified = fs::read_to_string(format!("{folder}/certified.jsonl")).expect("a file");
    assert!(!certified.contains("wrong"), "{certified}");
}

/// Recorded calls can be made again, so the end must be the same to the last byte.
#[test]
fn killed_hundreds_of_times_a_replay_ends_as_if_nothing_had_happened() {
    let place = TestFolder::new(&[]);
    let mut answers = String::new();
    let mut recording = String::from("{\"goodarm_recording\":1,\"unit\":\"calls\"}\n");
    for index in 0..400 {
        answers += &format!("{{\"id\":\"q{index}\"}}\n");
        let scores: Vec<&str> =
            (0..50).map(|draw| if (index * 7 + draw * 3) % 50 < 31 { "1" } else { "0" }).collect();
        let costs = vec!["1"; 50].join(",");
        recording += &format!(
            "{{\"id\":\"q{index}\",\"verifier\":\"r\",\"scores\":[{}],\"costs\":[{costs}]}}\n",
            scores.join(",")
        );
    }
    place.write("answers.jsonl", &answers);
    place.write("recording.jsonl", &recording);
    let job = "candidates = \"answers.jsonl\"\nbudget = 400000\ndelta = 0.05\nstop_when_hopeless = false\n\
        [[verifiers]]\nname = \"r\"\nkind = \"replay\"\nrecording = \"recording.jsonl\"\nthreshold = 0.6\n";
    place.write("job.toml", job);
    let job = place.argument("job.toml");
    let (calm, killed) = (place.argument("calm"), place.argument("killed"));
    ok(&["run", &job, "--quiet", "--output", &calm]);
    let mut kill_count = 0;
    for round in 0..200_u64 {
        let mut arguments = vec!["run", &job, "--quiet", "--output", &killed];
        if place.join("killed/journal").exists() {
            arguments.push("--resume");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
        command.args(&arguments).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the tool starts");
        std::thread::sleep(Duration::from_micros(1_000 + (round * 7_919) % 60_000));
        kill_count += u32::from(child.try_wait().expect("a child").is_none());
        let _ = child.kill();
        let _ = child.wait();
    }
    assert!(kill_count > 100, "{kill_count}");
    ok(&["run", &job, "--resume", "--quiet", "--output", &killed]);
    ok(&["audit", &killed]);
    for file in ["certified.jsonl", "rejected.jsonl", "undecided.jsonl"] {
        let read = |folder: &str| fs::read(format!("{folder}/{file}")).expect("a file");
        assert!(read(&calm) == read(&killed), "{file} differs after {kill_count} kills");
    }
}

#[test]
fn ctrl_c_drains_saves_and_says_how_to_go_on() {
    let place = place();
    let job = shell_job(&place);
    let mut child = Command::new(env!("CARGO_BIN_EXE_goodarm"))
        .args(["run", &job])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    while place.line_count("made") == 0 {
        assert_eq!(child.try_wait().expect("a child"), None, "it ended before its first call");
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    if output.status.code() == Some(130) {
        assert!(message(&output).contains("--resume"), "{}", message(&output));
        ok(&["run", &job, "--resume", "--quiet"]);
    }
    let summary = place.read("run/summary.json");
    assert!(!summary.contains("\"lost\""), "a run that waits for its calls loses none: {summary}");
    ok(&["audit", &place.argument("run")]);
}

#[test]
fn a_full_disk_stops_the_run_and_loses_nothing_that_was_written() {
    let place = place();
    let job = shell_job(&place);
    // Files may not grow beyond 4 KiB, and the write fails instead of killing the process.
    let line = format!(
        "trap '' XFSZ; ulimit -f 4; exec '{}' run '{job}' --quiet",
        env!("CARGO_BIN_EXE_goodarm")
    );
    let output = Command::new("sh").arg("-c").arg(line).output().expect("a shell");
    assert_eq!(output.status.code(), Some(2), "{}", message(&output));
    assert!(message(&output).contains("--resume"), "{}", message(&output));
    ok(&["run", &job, "--resume", "--quiet"]);
    ok(&["audit", &place.argument("run")]);
}

#[test]
fn a_recording_of_the_same_verifiers_can_be_replayed() {
    let place = place();
    let job = shell_job(&place);
    // Four lucky calls would make a wrong answer a good one in the recording: here it never passes.
    let strict = fs::read_to_string(&job).expect("a job").replace("-lt 51", "-lt 0");
    place.write("job.toml", &strict);
    let pilot = place.argument("pilot");
    let fixed = |k: &str, rest: &[&str]| {
        let own = ["run", &job, "--policy", "fixed", "-k", k, "--output", &pilot];
        goodarm(&[&own, rest].concat())
    };
    let said = text(&fixed("100", &["--dry-run"]));
    assert!(
        said.contains("certifies nothing: at most 1,200 calls, for at most 1,200 calls"),
        "{said}"
    );
    assert!(said.contains("may be more than the budget"), "{said}");
    let said = text(&fixed("4", &["--quiet"]));
    assert!(said.contains("Nothing is certified") && said.contains("; 48 calls made"), "{said}");
    let said = text(&fixed("4", &["--quiet", "--resume"]));
    assert!(said.contains("; 48 calls made"), "what is recorded is not made again: {said}");
    let said = message(&fixed("5", &["--quiet", "--resume"]));
    assert!(said.contains("calls_per_pair: 4 → 5"), "{said}");
    ok(&["audit", &pilot]);
    let replay = "candidates = \"answers.jsonl\"\nbudget = 300\ndelta = 0.05\n\
        [[verifiers]]\nname = \"shell\"\nkind = \"replay\"\nrecording = \"pilot\"\nthreshold = 0.5\n";
    place.write("replay.toml", replay);
    let said = ok(&["run", &place.argument("replay.toml"), "--quiet"]);
    assert!(said.contains("9 of 12 answers certified"), "{said}");
}

#[test]
fn the_schema_takes_every_job_of_the_documentation() {
    let schema: Value = serde_json::from_str(&ok(&["schema"])).expect("JSON");
    let page = fs::read_to_string(root().join("docs/job-file.md")).expect("a page");
    let jobs: Vec<&str> =
        page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(jobs.len() >= 5, "{}", jobs.len());
    for job in jobs {
        let value: Value = toml::from_str(job).unwrap_or_else(|error| panic!("{job}\n{error}"));
        let known = schema["properties"].as_object().expect("properties");
        for key in value.as_object().expect("a table").keys() {
            assert!(known.contains_key(key), "{key} is not in the schema");
        }
        for entry in value["verifiers"].as_array().expect("verifiers") {
            let kind = entry["kind"].as_str().expect("a kind");
            let verifier = &schema["$defs"][format!("{kind} verifier")]["properties"];
            for key in entry.as_object().expect("a table").keys() {
                assert!(verifier.get(key).is_some(), "{key} is not in the schema");
            }
        }
        let place = place();
        place.write("job.toml", job);
        let output = goodarm(&["run", &place.argument("job.toml"), "--dry-run"]);
        let said = message(&output);
        // What the page cannot have here: a recording, questions, programs, and keys in the environment.
        let is_taken = output.status.code() == Some(0)
            || said.contains("pilot: No such file")
            || said.contains("questions.jsonl")
            || said.contains("there is no program")
            || said.contains("environment");
        assert!(is_taken, "{job}\n{said}");
    }
}

#[test]
fn completions_are_there() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(ok(&["completions", shell]).contains("goodarm"), "{shell}");
    }
}

#[test]
fn the_example_certifies_and_compares() {
    let place = TestFolder::new(&[]);
    let folder = place.argument("example");
    let said = ok(&["example", &folder]);
    for part in ["answers certified", "BMA-GAI as printed", "uniform", "report.html"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(said, ok(&["example", &folder]), "the same recording gives the same run");
    let summary = fs::read_to_string(place.argument("example/run/summary.json"));
    let summary: Value = serde_json::from_str(&summary.expect("a file")).expect("a summary");
    assert!(summary["claim"].is_object(), "the labels are in the results: {summary}");
    ok(&["audit", &place.argument("example/run")]);
}

const KILLS: usize = 24;
