//! Runs the target `GOODARM_FUZZ_TARGET` under libFuzzer. `cargo xtask fuzz` builds and runs it with the
//! required flags.

#![no_main]

use std::sync::LazyLock;

use goodarm_fuzz::{FuzzTarget, TARGETS};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<&FuzzTarget> = LazyLock::new(|| {
    let name = std::env::var("GOODARM_FUZZ_TARGET").unwrap_or_default();
    TARGETS.iter().find(|target| target.name == name).expect("GOODARM_FUZZ_TARGET names a target")
});

// A panic that is caught and reported as an error is not a finding.
fuzz_target!(init: goodarm_data::panics::silence_caught(), |bytes: &[u8]| (TARGET.run)(bytes));
