//! Recordings that are killed, stopped or started twice.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use goodarm_testing::{Action, Server, TestFolder};
use serde_json::{Value, json};

use crate::tool::{goodarm, message, text};

/// Twelve answers, and a verifier that notes each of its calls.
fn place(shell: &str) -> TestFolder {
    let place = TestFolder::new(&[]);
    let answers: String = (0..12).map(|index| format!("{{\"id\": \"q{index}\"}}\n")).collect();
    let job = format!(
        "candidates = \"answers.jsonl\"\nbudget = 240\ndelta = 0.05\nconcurrency = 6\n\
         [[verifiers]]\nname = \"shell\"\nkind = \"command\"\nthreshold = 0.5\nshell = '{shell}'\n"
    );
    place.write("answers.jsonl", &answers);
    place.write("job.toml", &job);
    place
}

const NOTED: &str = "read line; echo x >> made; sleep 0.02; echo 1";

/// Makes a recording, or goes on with it.
fn command(place: &TestFolder, times: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
    command.current_dir(place.path()).args(["run", "job.toml", "--policy", "fixed", "-k", times]);
    command.args(["--output", "pilot", "--quiet"]);
    if place.join("pilot/journal").exists() {
        command.arg("--resume");
    }
    command
}

fn begin(place: &TestFolder, times: &str) -> Child {
    let mut command = command(place, times);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the tool starts")
}

fn wait_for_calls(child: &mut Child, place: &TestFolder, count: usize) {
    while place.line_count("made") < count {
        assert_eq!(child.try_wait().expect("a child"), None, "it ended before {count} calls");
        sleep(Duration::from_millis(1));
    }
}

/// What was recorded of each answer: scores, and what they cost.
fn recorded(place: &TestFolder) -> Vec<(Vec<Option<f64>>, u64)> {
    let text = place.read("pilot/calls.jsonl");
    let mut rows = vec![(Vec::new(), 0); 12];
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("a whole line");
        let index: usize = row["id"].as_str().expect("an id")[1..].parse().expect("a number");
        rows[index].0.push(row["score"].as_f64());
        rows[index].1 += row["cost"].as_str().expect("text").parse::<u64>().expect("a number");
    }
    rows
}

/// The command after these words in a text, as a shell runs it in the folder.
fn pasted(place: &TestFolder, told: &str, before: &str, after: &str) -> Output {
    let (_, rest) = told.split_once(before).unwrap_or_else(|| panic!("{before}: {told}"));
    let (line, _) = rest.split_once(after).unwrap_or_else(|| panic!("{after}: {told}"));
    let folder = Path::new(env!("CARGO_BIN_EXE_goodarm")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path"));
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(place.path()).env("PATH", path);
    shell.output().expect("a shell")
}

/// Policy, number of calls, budget and folder were given on the command line, and the job file has others.
#[test]
fn the_commands_that_continue_a_recording_work_when_they_are_pasted() {
    let place = place(NOTED);
    let mut child = command(&place, "9").stderr(Stdio::piped()).spawn().expect("the tool starts");
    wait_for_calls(&mut child, &place, 5);
    let interrupt = ["-INT", &child.id().to_string()].map(str::to_owned);
    Command::new("kill").args(interrupt).status().expect("a signal");
    let told = message(&child.wait_with_output().expect("a child"));
    let output = pasted(&place, &told, "resume it with: ", "\n");
    assert_eq!(output.status.code(), Some(0), "{told}{}", message(&output));
    std::fs::remove_dir_all(place.join("pilot")).expect("a folder");
    std::fs::remove_file(place.join("made")).expect("a file");
    let mut child = begin(&place, "9");
    wait_for_calls(&mut child, &place, 5);
    child.kill().expect("a child");
    child.wait().expect("a child");
    let mut audit = Command::new(env!("CARGO_BIN_EXE_goodarm"));
    let audited = audit.current_dir(place.path()).args(["audit", "pilot"]).output();
    let told = text(&audited.expect("the tool starts"));
    let output = pasted(&place, &told, "hint   ", " continues the run");
    assert_eq!(output.status.code(), Some(0), "{told}{}", message(&output));
    assert!(recorded(&place).iter().all(|(scores, _)| scores.len() == 9), "{told}");
}

#[test]
fn the_hint_of_an_audit_has_the_budget_of_the_run() {
    let place = place(NOTED);
    let goodarm = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
        command.current_dir(place.path()).args(arguments).stdout(Stdio::piped());
        command
    };
    let job = ["run", "job.toml", "--quiet", "--budget", "60.5"];
    let mut child = goodarm(&job).spawn().expect("the tool starts");
    wait_for_calls(&mut child, &place, 5);
    child.kill().expect("a child");
    child.wait().expect("a child");
    let told = text(&goodarm(&["audit", "run"]).output().expect("the tool starts"));
    let hint = "goodarm run job.toml --budget 60.5 --output run --resume continues the run";
    assert!(told.contains(hint), "{told}");
    let output = pasted(&place, &told, "hint   ", " continues the run");
    assert_eq!(output.status.code(), Some(0), "{told}{}", message(&output));
    let budget = place.json("run/summary.json")["money"]["budget"].clone();
    assert_eq!(budget, "60.5", "{told}");
    let lower = goodarm(&["run", "job.toml", "--resume", "--budget", "50"]).output();
    let told = message(&lower.expect("the tool starts"));
    assert!(told.contains("it must be at least 60.5"), "{told}");
    assert!(told.contains("--budget 60.5"), "{told}");
}

#[test]
fn a_recording_that_is_killed_again_and_again_keeps_to_its_budget() {
    let place = place(NOTED);
    for round in 0..12 {
        let mut child = begin(&place, "20");
        // The first dies before its first call has come back.
        wait_for_calls(&mut child, &place, place.line_count("made") + (2 * round).max(1));
        child.kill().expect("a child");
        child.wait().expect("a child");
    }
    let last = command(&place, "20").output().expect("the tool starts");
    assert_eq!(last.status.code(), Some(0), "{}", message(&last));
    let made_count = place.line_count("made");
    assert!(made_count <= 240, "{made_count} calls on a budget of 240");
    let rows = recorded(&place);
    assert!(rows.iter().all(|(scores, cost)| (scores.len(), *cost) == (20, 20)), "{rows:?}");
    let scores = rows.iter().flat_map(|(scores, _)| scores);
    let failed_count = scores.filter(|score| score.is_none()).count();
    // What was in flight is paid and has no score; everything else was kept.
    assert!((1..=12 * 6).contains(&failed_count), "{failed_count}");
    assert!(240 - failed_count <= made_count, "{failed_count} of {made_count}");
    let audit = goodarm(&["audit", place.join("pilot").to_str().expect("UTF-8")]);
    assert_eq!(audit.status.code(), Some(0), "{}", text(&audit));
}

#[test]
fn two_recordings_into_one_folder_are_refused() {
    let place = place(NOTED);
    let mut first = begin(&place, "20");
    wait_for_calls(&mut first, &place, 1);
    let second = command(&place, "20").output().expect("the tool starts");
    assert_eq!(second.status.code(), Some(2), "{}", message(&second));
    assert!(message(&second).contains("in use by another process"), "{}", message(&second));
    assert!(first.wait().expect("a child").success());
    assert_eq!(place.line_count("made"), 240);
    assert!(recorded(&place).iter().all(|(scores, _)| scores.len() == 20));
}

/// A run with a ceiling of 1 for a call, of a server that bills this cost, and takes no calls from `down` on.
fn run_with_bills(cost: f64, down: usize) -> (TestFolder, Output) {
    let place = place("");
    let count = AtomicUsize::new(0);
    let server = Server::with(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        index if index < down => Action::Json(json!({"score": 0.5, "cost": cost})),
        _ => Action::Status(429, ("", String::new()), "too many".into()),
    });
    let job = format!(
        "candidates = \"answers.jsonl\"\nbudget = 11\ndelta = 0.05\nconcurrency = 1\n\
         stop_when_hopeless = false\n[[verifiers]]\nname = \"judge\"\nkind = \"http\"\nthreshold = 0.4\npatience = 0.5\n\
         url = \"{}\"\nmetered = {{ reported = true, ceiling = 1 }}\n",
        server.url("/")
    );
    place.write("job.toml", &job);
    let output = goodarm(&["run", &place.argument("job.toml"), "--quiet"]);
    (place, output)
}

#[test]
fn a_run_with_bills_above_their_ceiling_has_an_exit_code_of_its_own() {
    let (_, output) = run_with_bills(1.0, usize::MAX);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    let (place, output) = run_with_bills(2.5, usize::MAX);
    let said = message(&output);
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert!(said.contains("5 bills were above the ceiling, by 7.5 calls in all"), "{said}");
    assert!(said.contains("more than the budget"), "{said}");
    let money = &place.json("run/summary.json")["money"];
    assert_eq!(money["spent"], "12.5", "{money}");
    assert_eq!(money["overruns"], 5, "{money}");
    // Nothing is left to do, and it stays known.
    let again = goodarm(&["run", &place.argument("job.toml"), "--resume", "--quiet"]);
    assert_eq!(again.status.code(), Some(6), "{}", message(&again));
    assert_eq!(goodarm(&["audit", &place.argument("run")]).status.code(), Some(0));
    // A verifier that is down is the more urgent news.
    let (_, output) = run_with_bills(2.5, 2);
    assert_eq!(output.status.code(), Some(3), "{}", message(&output));
}

/// The time while the tool was stopped is not billed.
#[test]
fn a_tool_that_is_stopped_for_a_while_keeps_to_its_budget_of_seconds() {
    let place = place("");
    let slowly =
        Action::Later(Duration::from_millis(300), Box::new(Action::Json(json!({"score": 0.5}))));
    let server = Server::start([slowly]);
    let url = server.url("/");
    let job = format!(
        "candidates = \"answers.jsonl\"\nbudget = 10\nunit = \"seconds\"\ndelta = 0.05\n\
         stop_when_hopeless = false\n[[verifiers]]\nname = \"judge\"\nkind = \"http\"\n\
         threshold = 0.5\ntimeout = 1\nurl = \"{url}\"\n"
    );
    place.write("job.toml", &job);
    let mut run = Command::new(env!("CARGO_BIN_EXE_goodarm"));
    run.current_dir(place.path()).args(["run", "job.toml", "--quiet"]).stdout(Stdio::null());
    let mut child = run.stderr(Stdio::piped()).spawn().expect("the tool starts");
    let id = child.id().to_string();
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &id]).status().expect("kill runs").success());
    };
    while server.request_count() < 3 {
        assert_eq!(child.try_wait().expect("a child"), None, "it ended before it was stopped");
        sleep(Duration::from_millis(1));
    }
    signal("-STOP");
    sleep(Duration::from_secs(12));
    signal("-CONT");
    let output = child.wait_with_output().expect("a child");
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    let summary = place.json("run/summary.json");
    let spent = summary["money"]["spent"].as_str().expect("text").parse::<f64>().expect("a number");
    assert!(spent <= 10.0, "{spent} of 10 seconds");
}
