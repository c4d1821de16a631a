//! Runs the laboratory.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) use goodarm_testing::{message, text};
use serde_json::{Value, json};

/// The folder that holds `docs` and `examples`.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn lab(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the laboratory starts")
}

/// `goodarm-lab trace -` with this on standard input.
pub(crate) fn trace_bytes(input: &[u8]) -> Output {
    let mut command = command(&["trace", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the laboratory starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("the laboratory reads all of it");
    child.wait_with_output().expect("the laboratory ends")
}

/// The lines of a trace that must succeed.
pub(crate) fn trace(problem: &Value) -> Vec<Value> {
    lines(&trace_bytes(problem.to_string().as_bytes()))
}

/// Verifiers of these prices and thresholds, with names of their own.
pub(crate) fn verifiers(prices: &[f64], thresholds: &[f64]) -> Value {
    let named = (0..).zip(prices.iter().zip(thresholds));
    named
        .map(|(index, (price, threshold))| {
            json!({"name": format!("v{index}"), "price": price, "threshold": threshold})
        })
        .collect()
}

pub(crate) fn lines(output: &Output) -> Vec<Value> {
    assert_eq!(output.status.code(), Some(0), "{}", message(output));
    assert_eq!(message(output), "");
    let text = text(output);
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm-lab"));
    command.args(arguments).current_dir(root());
    command
}
