//! Licences, versions, sources and known holes of dependencies, as `deny.toml` allows them.

use std::process::Command;

use crate::tools::{self, runs};

/// Whether all checks that could run have passed. Prints those that could not run.
pub(crate) fn test() -> bool {
    let Some(program) = tools::install_deny() else {
        eprintln!(
            "xtask: SKIPPED: licences, versions, sources and known holes of dependencies: no cargo-deny"
        );
        return true;
    };
    let succeeds = |arguments: &[&str]| {
        eprintln!("xtask: dependencies: cargo deny {}", arguments.join(" "));
        runs(Command::new(&program).args(arguments))
    };
    if !succeeds(&["check", "--hide-inclusion-graph", "bans", "licenses", "sources"]) {
        return false;
    }
    // If GitHub cannot be reached, the list of known holes is missing. That is not a failure of this check.
    if !succeeds(&["fetch", "db"]) {
        eprintln!("xtask: SKIPPED: known holes of dependencies: their list could not be fetched");
        return true;
    }
    succeeds(&["check", "--hide-inclusion-graph", "--disable-fetch", "advisories"])
}
