//! Messages name what to write: each of these was a riddle once.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use goodarm_testing::{Action, Server, TestFolder};

use crate::tool::{goodarm, message, text};

const CHECK: &str =
    "[[verifiers]]\nname = \"c\"\nkind = \"check\"\ncheck = \"regex\"\npattern = '.'\n";

/// A folder with two answers and a job of these lines.
fn place(keys: &str) -> TestFolder {
    let place = TestFolder::new(&[]);
    let answers = "{\"id\": \"a\", \"answer\": \"1\"}\n{\"id\": \"b\", \"answer\": \"2\"}\n";
    place.write("answers.jsonl", answers);
    let job = format!("candidates = \"answers.jsonl\"\nbudget = 10\ndelta = 0.05\n{keys}");
    place.write("job.toml", &job);
    place
}

fn run(place: &TestFolder, options: &[&str]) -> Output {
    goodarm(&[&["run", &place.argument("job.toml")], options].concat())
}

/// A job of these lines is refused, and these words are in the message.
fn check(keys: &str, words: &[&str]) {
    let place = place(keys);
    place.write("a-file", "x");
    let output = run(&place, &[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    for word in words {
        assert!(message(&output).contains(word), "{word}: {}", message(&output));
    }
}

#[test]
fn a_wrong_job_is_told_what_to_write() {
    check(&format!("output = \"a-file\"\n{CHECK}"), &["a-file is a file", "output = \"run\""]);
    check(&format!("{CHECK}{CHECK}"), &["line 10", "each needs one of its own, such as \"c 2\""]);
    let command = "[[verifiers]]\nname = \"c\"\nkind = \"command\"\nthreshold = 0.5\n";
    check(
        &format!("{command}command = \"python3 x.py\"\n"),
        &["expected a list, found \"python3 x.py\""],
    );
    let http = "[[verifiers]]\nname = \"c\"\nkind = \"http\"\nthreshold = 0.5\nprice = 1\n";
    check(&format!("{http}url = \"127.0.0.1:80/score\"\n"), &["begins with http:// or https://"]);
    check("bugdet = 3\n", &["bugdet: no such key; did you mean `budget`?"]);
    check(&format!("{CHECK}zzzzzz = 3\n"), &["zzzzzz: no such key; there are", "threshold"]);
}

#[test]
fn a_trial_of_a_server_that_asks_for_an_hour_says_so_and_ends() {
    let busy = || Action::Status(429, ("Retry-After", "3600".into()), "slow down".into());
    let server = Server::with(move |_| busy());
    let http = "[[verifiers]]\nname = \"c\"\nkind = \"http\"\nthreshold = 0.5\nprice = 1\n";
    let place = place(&format!("{http}url = \"{}\"\n", server.url("/")));
    let output = goodarm(&["try", &place.argument("job.toml")]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    let words = "no score: given up before a long pause: 429: slow down (Retry-After: 3600 s)";
    assert!(text(&output).contains(words), "{}", text(&output));
    assert!(message(&output).contains("no score from c"), "{}", message(&output));
    assert_eq!(server.request_count(), 1);
}

#[test]
fn a_pasted_key_is_not_shown() {
    let http = "[[verifiers]]\nname = \"c\"\nkind = \"http\"\nthreshold = 0.5\nprice = 1\n";
    let output = run(&place(&format!("{http}url = \"sk-abcdef123456\"\n")), &[]);
    assert!(!message(&output).contains("sk-abcdef"), "{}", message(&output));
}

#[test]
fn a_resumed_run_can_be_tried_dry() {
    let place = place(CHECK);
    let output = run(&place, &["--resume", "--dry-run"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("holds no run to resume"), "{}", message(&output));
    assert_eq!(run(&place, &["--quiet"]).status.code(), Some(0));
    let journal = fs::read(place.join("run/journal")).expect("a journal");
    let output = run(&place, &["--resume", "--dry-run"]);
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    assert!(text(&output).contains("2 of 2 answers certified"), "{}", text(&output));
    assert!(text(&output).contains("in 2 calls"), "{}", text(&output));
    assert_eq!(fs::read(place.join("run/journal")).expect("a journal"), journal);
}

/// What `--resume` says, a dry run says as well, and touches nothing.
#[test]
fn a_dry_run_says_why_a_resumed_run_would_be_refused() {
    let place = place(CHECK);
    assert_eq!(run(&place, &["--quiet"]).status.code(), Some(0));
    let [job, answers, journal, lock] =
        ["job.toml", "answers.jsonl", "run/journal", "run/lock"].map(|name| place.join(name));
    let before = [&job, &answers, &journal].map(|file| fs::read(file).expect("a file"));
    let files = || {
        let entries = fs::read_dir(place.join("run")).expect("a folder").flatten();
        let read = |path: PathBuf| (fs::read(&path).expect("a file"), path);
        let mut files: Vec<_> = entries.map(|entry| read(entry.path())).collect();
        files.sort();
        files
    };
    let refused = |arguments: &[&str]| {
        let (real, kept) = (run(&place, &[&["--resume"], arguments].concat()), files());
        let dry = run(&place, &[&["--resume", "--dry-run"], arguments].concat());
        assert_eq!((real.status.code(), dry.status.code()), (Some(2), Some(2)));
        let real = message(&real).trim_start_matches("goodarm: ").trim_end().to_owned();
        assert!(message(&dry).contains(&real), "{}\n{real}", message(&dry));
        assert!(files() == kept, "nothing is changed");
        message(&dry)
    };
    refused(&["--budget", "1"]);
    fs::write(&answers, "{\"id\": \"other\", \"answer\": \"3\"}\n").expect("answers");
    let text = String::from_utf8(before[0].clone()).expect("UTF-8");
    fs::write(&job, text.replace("delta = 0.05", "delta = 0.04")).expect("a job");
    let told = run(&place, &["--resume", "--dry-run", "--budget", "1"]);
    for reason in ["delta: 0.05 → 0.04", "the content of answers.jsonl"] {
        assert!(message(&told).contains(reason), "{}", message(&told));
    }
    refused(&[]);
    fs::write(&job, &before[0]).expect("a job");
    fs::write(&answers, &before[1]).expect("answers");
    fs::write(&journal, &before[2][..before[2].len() - 40]).expect("a journal");
    assert!(refused(&[]).contains("does not begin with"));
    fs::write(&journal, &before[2]).expect("a journal");
    let held = fs::File::options().write(true).open(lock).expect("a file");
    held.lock().expect("nobody has it");
    assert!(refused(&[]).contains("is in use by another process"));
    drop(held);
    let held = fs::File::open(&journal).expect("a file");
    held.lock().expect("nobody has it");
    assert!(refused(&[]).contains("is in use by another process"));
    drop(held);
    let mut damaged = before[2].clone();
    damaged[before[2].len() / 2] ^= 1;
    fs::write(&journal, damaged).expect("a journal");
    refused(&[]);
    fs::write(&journal, &before[2]).expect("a journal");
    assert_eq!(run(&place, &["--resume", "--dry-run"]).status.code(), Some(0));
}

#[test]
fn a_hopeless_job_is_called_so_before_it_runs() {
    let judge = "[[verifiers]]\nname = \"judge\"\nkind = \"command\"\ncommand = [\"cat\"]\nthreshold = 0.9\n";
    let output = run(&place(judge), &["--dry-run"]);
    let said = text(&output);
    assert!(said.contains("This will certify hardly anything"), "{said}");
    assert!(said.contains("the budget is 10 calls") && said.contains("goodarm plan"), "{said}");
    assert!(said.contains("2 answers, 1 verifier,"), "{said}");
}

#[test]
fn the_page_and_json_are_two_things() {
    let place = place(CHECK);
    assert_eq!(run(&place, &["--quiet"]).status.code(), Some(0));
    let output = goodarm(&["report", &place.argument("run"), "--json", "--out", "x.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("cannot be used with"), "{}", message(&output));
}

const SLOW: &str = "concurrency = 2\n[[verifiers]]\nname = \"slow\"\nkind = \"command\"\n\
    shell = 'echo x >> begun; sleep 0.7; echo 1'\nthreshold = 0.5\n";

/// It was stopped once, waited for its calls and lost none.
fn check_stopped_once(place: &TestFolder, output: &Output) {
    let said = message(output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("stopped, and everything is saved"), "{said}");
    assert!(!said.contains("leaving"), "{said}");
    let summary = place.read("run/summary.json");
    assert!(!summary.contains("\"lost\""), "{summary}");
}

#[test]
fn the_interrupt_of_timeout_is_one_ctrl_c() {
    let place = place(SLOW);
    let output = Command::new("timeout")
        .args(["--preserve-status", "-s", "INT", "2", env!("CARGO_BIN_EXE_goodarm"), "run"])
        .arg(place.argument("job.toml"))
        .output()
        .expect("timeout runs");
    check_stopped_once(&place, &output);
}

/// What `timeout` does, with a moment between its signal to the process and that to the group.
#[test]
fn interrupts_close_together_are_one() {
    let place = place(SLOW);
    let child = Command::new(env!("CARGO_BIN_EXE_goodarm"))
        .args(["run", &place.argument("job.toml")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    while place.line_count("begun") == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    // One shell for both: to start a program for each could take too long.
    let kill_twice = "kill -INT $1; sleep 0.03; kill -INT $1";
    let id = child.id().to_string();
    let status = Command::new("sh").args(["-c", kill_twice, "sh", &id]).status();
    assert!(status.expect("a shell runs").success());
    check_stopped_once(&place, &child.wait_with_output().expect("it ends"));
}

#[test]
fn the_version_is_told() {
    for flag in ["-V", "--version"] {
        let told = text(&goodarm(&[flag]));
        assert_eq!(told, concat!("goodarm ", env!("CARGO_PKG_VERSION"), "\n"));
    }
}

#[test]
fn a_wrong_command_line_is_refused() {
    for arguments in [&["audit"][..], &[], &["audt"], &["audit", "a", "b"], &["audit", "--x"]] {
        let output = goodarm(arguments);
        assert_eq!((output.status.code(), text(&output)), (Some(2), String::new()));
        assert!(message(&output).contains("Usage"), "{arguments:?}");
    }
}
