//! All automation: `cargo xtask test` is the one test command. It installs what the tests need.

#![expect(clippy::print_stderr, reason = "a build tool talks to the person who runs it")]

mod deny;
mod dist;
mod fuzz;
mod python;
mod simulate;
mod tools;

use std::process::{Command, ExitCode};

/// What `cargo xtask test` does, in order.
const STEPS: [(&str, &[&str]); 4] = [
    ("formatting", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ("tests and doc tests", &["test", "--workspace"]),
    ("documentation", &["doc", "--workspace", "--no-deps"]),
];

/// And then what is no command of cargo's own.
const OTHERS: [(&str, Test); 3] = [
    ("the check of dependencies", deny::test),
    ("fuzzing", fuzz::test),
    ("the tests of the Python package", python::test),
];

/// Whether all is well.
type Test = fn() -> bool;

/// Parts of the toolchain that a minimal installation lacks.
const COMPONENTS: [&str; 2] = ["rustfmt", "clippy"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("test") => test(),
        Some("dist") => dist::dist(),
        Some("wheel") => python::wheel(),
        Some("simulate") => simulate::simulate(arguments[1..].iter().cloned()),
        Some("fuzz") => fuzz::fuzz(&arguments[1..]),
        other => {
            if let Some(other) = other {
                eprintln!("xtask: there is no task {other:?}");
            }
            eprintln!(
                "usage: cargo xtask test   formatting, lints, dependencies, all tests, documentation"
            );
            eprintln!(
                "       cargo xtask dist   a static binary for Linux, its size and start-up time"
            );
            eprintln!("       cargo xtask wheel  the Python package, its size and import time");
            eprintln!(
                "       cargo xtask simulate  whole runs with everything failing around them"
            );
            eprintln!(
                "       cargo xtask fuzz [--target NAME] [--seconds N]  readers, with bytes that change"
            );
            ExitCode::from(2)
        }
    }
}

fn test() -> ExitCode {
    install_components();
    tools::install_browser();
    let Some(python) = tools::install_model_server() else {
        eprintln!(
            "xtask: no model server: python3 with venv and pip, and the package index, are needed"
        );
        return ExitCode::FAILURE;
    };
    for (name, arguments) in STEPS {
        eprintln!("xtask: {name}: cargo {}", arguments.join(" "));
        let status = cargo(arguments)
            .env("RUSTDOCFLAGS", "-D warnings")
            .env("GOODARM_MODEL_PYTHON", &python)
            .status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("xtask: {name} failed");
            return ExitCode::FAILURE;
        }
    }
    for (name, test) in OTHERS {
        if !test() {
            eprintln!("xtask: {name} failed");
            return ExitCode::FAILURE;
        }
    }
    eprintln!("xtask: all passed");
    ExitCode::SUCCESS
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Without rustup there is nothing to install with; the step that needs the part then says so.
fn install_components() {
    for component in COMPONENTS {
        let subcommand = if component == "rustfmt" { "fmt" } else { component };
        let present = cargo(&[subcommand, "--version"]).output();
        if !present.is_ok_and(|output| output.status.success()) {
            let _ = Command::new("rustup").args(["component", "add", component]).status();
        }
    }
}
