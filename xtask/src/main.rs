//! All automation: `cargo xtask test` is the one test command. It installs what the tests need.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build tool talks to the person who runs it"
)]

mod deny;
mod dist;
mod fuzz;
mod python;
mod simulate;
mod timing;
mod tools;

use std::path::Path;
use std::process::{Command, ExitCode};

use self::timing::Timing;

const FORMAT: Step = ("formatting", &["fmt", "--all", "--check"]);
const LINTS: Step = ("lints", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
// The fuzzer is left out: it has no tests, and `--bins` would make it begin to fuzz.
const UNIT_TESTS: Step =
    ("unit tests", &["test", "--workspace", "--exclude", "goodarm-fuzz", "--lib", "--bins", "--"]);
const TESTS: Step = ("tests", &["test", "--workspace", "--tests", "--"]);
const DOC_TESTS: Step = ("doc tests", &["test", "--workspace", "--doc"]);
const DOCUMENTATION: Step = ("documentation", &["doc", "--workspace", "--no-deps"]);

/// A name, and the arguments of cargo. Those of tests end with `--`.
type Step = (&'static str, &'static [&'static str]);

/// Parts of the toolchain that a minimal installation lacks.
const COMPONENTS: [&str; 2] = ["rustfmt", "clippy"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_good = match words.as_slice() {
        ["test"] => Some(test(whole_test)),
        ["test", "--fast"] => Some(test(fast_test)),
        ["dist"] => Some(dist::dist()),
        ["wheel"] => Some(python::wheel()),
        ["simulate", ..] => simulate::simulate(&arguments[1..]),
        ["fuzz", ..] => fuzz::fuzz(&arguments[1..]),
        _ => None,
    };
    match is_good {
        Some(true) => ExitCode::SUCCESS,
        Some(false) => ExitCode::FAILURE,
        None => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Runs tests, and prints how long they took, also if they failed.
fn test(work: fn(&mut Timing) -> bool) -> bool {
    install_components();
    let mut timing = Timing::default();
    let is_good = work(&mut timing);
    timing.print();
    eprintln!("xtask: {}", if is_good { "all passed" } else { "FAILED" });
    is_good
}

/// For the inner loop: nothing but the toolchain is installed, and no test takes long.
fn fast_test(timing: &mut Timing) -> bool {
    [FORMAT, LINTS, UNIT_TESTS].into_iter().all(|step| run(timing, step, None))
}

fn whole_test(timing: &mut Timing) -> bool {
    let mut python = None;
    let is_installed = timing.step("installing a browser and a model", |_| {
        tools::install("chromium", "chromium");
        python = tools::install_model_server();
        python.is_some()
    });
    if !is_installed {
        eprintln!(
            "xtask: no model server: python3 with venv and pip, and the package index, are needed"
        );
        return false;
    }
    let python = python.as_deref();
    [FORMAT, LINTS, TESTS, DOC_TESTS, DOCUMENTATION]
        .into_iter()
        .all(|step| run(timing, step, python))
        && timing.step("dependencies", |_| deny::test())
        && timing.step("fuzzing", |_| fuzz::test())
        && timing.step("Python tests", python::test)
}

/// Runs a step of cargo. Test programs print the time of each test. This option is not stable, so RUSTC_BOOTSTRAP is
/// set for the test programs, but not for the compiler.
fn run(timing: &mut Timing, (name, arguments): Step, model_python: Option<&Path>) -> bool {
    eprintln!("xtask: {name}: cargo {}", arguments.join(" "));
    let mut command = cargo(arguments);
    command.env("RUSTDOCFLAGS", "-D warnings");
    if let Some(python) = model_python {
        command.env("GOODARM_MODEL_PYTHON", python);
    }
    let are_tests = arguments.last() == Some(&"--");
    if are_tests && let Some(host) = tools::host() {
        let runner = format!("CARGO_TARGET_{}_RUNNER", host.to_uppercase().replace('-', "_"));
        command.env(runner, "env RUSTC_BOOTSTRAP=1").args(["-Zunstable-options", "--report-time"]);
    }
    let is_good = timing.step(name, |timing| timing.run_tests(&mut command));
    if !is_good {
        eprintln!("xtask: {name} failed");
    }
    is_good
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Installs missing components. Without rustup this does nothing, and the step that needs one fails.
fn install_components() {
    for component in COMPONENTS {
        let subcommand = if component == "rustfmt" { "fmt" } else { component };
        let present = cargo(&[subcommand, "--version"]).output();
        if !present.is_ok_and(|output| output.status.success()) {
            let _ = Command::new("rustup").args(["component", "add", component]).status();
        }
    }
}

const USAGE: &str = "\
usage: cargo xtask test [--fast]  formatting, lints, dependencies, all tests, documentation;
                                  --fast: formatting, lints and unit tests
       cargo xtask dist           a static binary for Linux, its size and start-up time
       cargo xtask wheel          the Python package, and its size
       cargo xtask simulate [--seeds COUNT] [--seed FIRST]
                                  COUNT whole runs (1,000 if not given) with failures of all kinds, from
                                  seed FIRST (0) on; --seed alone is that one run
       cargo xtask fuzz [--target NAME] [--seconds N]
                                  readers, with bytes that change
";
