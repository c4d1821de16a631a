//! A binary that needs nothing installed, with its size and the time it takes to start.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cargo;
use crate::tools::{self, runs};

/// Linux with a C library inside the program: it runs on every distribution.
const TARGET: &str = "x86_64-unknown-linux-musl";

pub(crate) fn dist() -> bool {
    // Without rustup the target may still be there; if it is not, the build fails with a message.
    let _ = Command::new("rustup").args(["target", "add", TARGET]).status();
    tools::install("musl-gcc", "musl-tools");
    let arguments = ["build", "--profile", "dist", "-p", "goodarm", "--target", TARGET];
    eprintln!("xtask: cargo {}", arguments.join(" "));
    if !runs(&mut cargo(&arguments)) {
        eprintln!("xtask: the static binary was not built");
        return false;
    }
    let binary = tools::target().join(TARGET).join("dist/goodarm");
    let Some(start) = start_time(&binary) else {
        eprintln!("xtask: {} does not start", binary.display());
        return false;
    };
    let bytes = std::fs::metadata(&binary).map_or(0, |metadata| metadata.len());
    let megabytes = bytes / 100_000;
    eprintln!(
        "xtask: {}: {}.{} MB, {}, starts and ends in {:.1} ms",
        binary.display(),
        megabytes / 10,
        megabytes % 10,
        if is_static(&binary) { "static" } else { "NOT static" },
        start.as_secs_f64() * 1000.0
    );
    is_static(&binary)
}

/// The median of many starts.
fn start_time(binary: &Path) -> Option<Duration> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let begin = Instant::now();
        let status = Command::new(binary).arg("--version").stdout(Stdio::null()).status().ok()?;
        times.push(begin.elapsed());
        if !status.success() {
            return None;
        }
    }
    times.sort();
    times.get(STARTS / 2).copied()
}

/// Whether the binary names no dynamic loader.
fn is_static(binary: &Path) -> bool {
    let bytes = std::fs::read(binary).unwrap_or_default();
    !bytes.windows(LOADER.len()).any(|window| window == LOADER)
}

const LOADER: &[u8] = b"/lib64/ld-linux-x86-64.so.2";
const STARTS: usize = 51;
