//! The whole of it against a real model server: run, kill half-way, resume, audit.
//!
//! `cargo xtask test` installs the server and says where its Python is; without that this test has
//! nothing to talk to and says so.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use goodarm_testing::{TestFolder, closed_port};
use serde_json::Value;

use crate::tool::{goodarm, message, ok, root};

/// Gone when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_real_model_is_asked_killed_resumed_and_audited() {
    // `cargo xtask test` always sets it.
    let Ok(python) = std::env::var("GOODARM_MODEL_PYTHON") else { return };
    let port = closed_port();
    let _server = start(&python, port);
    let place = TestFolder::new(&[]);
    write_job(&place, port);
    let job = &place.argument("job.toml");

    let mut child = Command::new(env!("CARGO_BIN_EXE_goodarm"))
        .args(["run", job, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the tool starts");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let calls =
        output.lines().map_while(Result::ok).filter(|line| line.contains("\"event\":\"call\""));
    let seen = calls.take(KILLED_AFTER_CALLS).count();
    child.kill().expect("it can be killed");
    child.wait().expect("it is dead");
    assert_eq!(seen, KILLED_AFTER_CALLS, "the run ended before it could be killed");

    let refused = goodarm(&["run", job]);
    assert_eq!(refused.status.code(), Some(2), "{}", message(&refused));
    let resumed = goodarm(&["run", job, "--resume"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", message(&resumed));
    ok(&["audit", &place.argument("run")]);

    let summary: Value = place.json("run/summary.json");
    let amount = |key: &str| -> f64 {
        summary["money"][key].as_str().and_then(|text| text.parse().ok()).expect("an amount")
    };
    assert!(amount("spent") > 0.0 && amount("spent") <= amount("budget"), "{summary}");
    let lost: u64 = summary["verifiers"]
        .as_array()
        .expect("verifiers")
        .iter()
        .filter_map(|verifier| verifier["failures"]["lost"].as_u64())
        .sum();
    assert!(lost > 0, "calls were out when it was killed: {summary}");
    assert!(place.join("run/report.html").exists());
}

fn start(python: &str, port: u16) -> Server {
    let script = root().join("examples/capitals/serve.py");
    let child = Command::new(python)
        .arg(script)
        .arg(port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the model server starts");
    let mut server = Server(child);
    let deadline = Instant::now() + START_TIME_MAX;
    while !is_ready(port) {
        assert!(Instant::now() < deadline, "the model server is not ready in time");
        assert!(server.0.try_wait().expect("a child").is_none(), "the model server ended");
        std::thread::sleep(Duration::from_millis(100));
    }
    server
}

fn is_ready(port: u16) -> bool {
    use std::io::{Read, Write};
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let request = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    let mut reply = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut reply).is_ok()
        && reply.starts_with("HTTP/1.1 200")
}

fn write_job(place: &TestFolder, port: u16) {
    let mut answers = String::new();
    for (country, capital) in
        [("France", "Paris"), ("Italy", "Rome"), ("Japan", "Tokyo"), ("Australia", "Sydney")]
    {
        let _ = writeln!(
            answers,
            r#"{{"id": "{country}", "question": "What is the capital of {country}? Answer with one word.", "answer": "{capital}"}}"#
        );
    }
    place.write("answers.jsonl", &answers);
    let job = format!(
        r#"
candidates = "answers.jsonl"
budget = 4000
unit = "tokens"
delta = 0.2
concurrency = 4

[[verifiers]]
name = "solver"
kind = "llm"
role = "solver"
url = "http://127.0.0.1:{port}/v1"
model = "SmolLM2-135M-Instruct"
prompt = "{{{{ question }}}}"
extract = "regex"
pattern = '(?:\bis (?:indeed |called )?|^)(\p{{Lu}}\p{{L}}+)'
max_tokens = 10
threshold = 0.2

[[verifiers]]
name = "judge"
kind = "llm"
url = "http://127.0.0.1:{port}/v1"
model = "SmolLM2-135M-Instruct"
prompt = "{{{{ question }}}} {{{{ answer }}}}. Is that right? Say yes or no."
max_tokens = 4
threshold = 0.1
"#
    );
    place.write("job.toml", &job);
}

const KILLED_AFTER_CALLS: usize = 6;
const START_TIME_MAX: Duration = Duration::from_secs(180);
