//! Runs the tool.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Once;

pub(crate) use goodarm_testing::{message, text};

/// The folder that holds `docs` and `examples`.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn goodarm(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the tool starts")
}

/// The output of the tool, which succeeds.
#[track_caller]
pub(crate) fn ok(arguments: &[&str]) -> String {
    let output = goodarm(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", message(&output));
    text(&output)
}

/// The laboratory. Cargo builds it beside the tool for `--workspace`; it is built here if that was not done.
pub(crate) fn laboratory() -> PathBuf {
    static BUILT: Once = Once::new();
    let path = Path::new(env!("CARGO_BIN_EXE_goodarm")).with_file_name("goodarm-lab");
    BUILT.call_once(|| {
        if !path.exists() {
            let mut cargo = Command::new(env!("CARGO"));
            let built = cargo.args(["build", "-p", "goodarm-lab"]).current_dir(root()).status();
            assert!(built.is_ok_and(|status| status.success()), "cargo build -p goodarm-lab");
        }
    });
    assert!(path.exists(), "{} is not there: cargo build -p goodarm-lab", path.display());
    path
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
    command.args(arguments).current_dir(root());
    command
}
