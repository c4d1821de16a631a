//! Coverage-guided fuzzing of everything that reads foreign bytes: libFuzzer on stable Rust. The compiler
//! marks the code that an input reaches. Sanitizers need a nightly compiler, and are left out.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use crate::cargo;
use crate::tools::{self, runs};

/// A short run of all targets.
pub(crate) fn test() -> bool {
    run(None, TEST_SECONDS)
}

/// `cargo xtask fuzz [--target NAME] [--seconds N]`; `None` if the arguments are wrong.
pub(crate) fn fuzz(arguments: &[String]) -> Option<bool> {
    let (mut target, mut seconds) = (None, SECONDS);
    for pair in arguments.chunks(2) {
        match pair {
            [name, value] if name == "--target" => target = Some(value.as_str()),
            [name, value] if name == "--seconds" => seconds = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(run(target, seconds))
}

/// Runs one target, or all, for some seconds each.
fn run(target: Option<&str>, seconds: u64) -> bool {
    let is_wanted = |name: &String| target.is_none_or(|target| target == name);
    let mut names: Vec<String> = target_names().into_iter().filter(is_wanted).collect();
    if names.is_empty() {
        eprintln!("xtask: there is no such target; there are {}", target_names().join(", "));
        return false;
    }
    let Some(program) = build() else {
        eprintln!("xtask: the fuzzer was not built");
        return false;
    };
    names.sort_by(|one, other| other.cmp(one));
    let names = Mutex::new(names);
    let next = || names.lock().expect("no thread panics with it").pop();
    let work = || {
        let runs = std::iter::from_fn(next).map(|name| fuzz_one(&program, &name, seconds));
        runs.fold(true, |are_good, is_good| are_good & is_good)
    };
    thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        workers.into_iter().all(|worker| worker.join().is_ok_and(|is_good| is_good))
    })
}

/// The names of all targets: each has a folder in the corpus.
fn target_names() -> Vec<String> {
    let folders = fs::read_dir(CORPUS).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        folders.filter_map(|folder| folder.file_name().into_string().ok()).collect();
    names.sort();
    names
}

/// Builds the fuzzer with coverage marks in its code and in that of its dependencies, and returns its path.
fn build() -> Option<PathBuf> {
    tools::install("c++", "g++");
    let host = tools::host()?;
    let folder = work_folder().join("build");
    let arguments = ["build", "--quiet", "--package", "goodarm-fuzz", "--bin", "goodarm-fuzz"];
    eprintln!("xtask: fuzzing: cargo {}", arguments.join(" "));
    // With `--target`, the flags do not apply to build scripts.
    let mut command = cargo(&arguments);
    command.args(["--target", &host]).env("CARGO_TARGET_DIR", &folder);
    let program = folder.join(&host).join("debug/goodarm-fuzz");
    runs(command.env("RUSTFLAGS", FLAGS.join(" "))).then_some(program)
}

/// Runs one target for some seconds; keeps its output beside its findings.
fn fuzz_one(program: &Path, name: &str, seconds: u64) -> bool {
    let [corpus, crashes, logs, disk] =
        ["corpus", "crashes", "logs", "tmp"].map(|folder| work_folder().join(folder).join(name));
    // A resumed run often waits for the disk; a folder in memory takes no time.
    let memory = Path::new("/dev/shm");
    let temporary =
        if memory.is_dir() { memory.join(format!("goodarm-fuzz-{name}")) } else { disk };
    for folder in [&corpus, &temporary, &crashes, &logs] {
        let _ = fs::create_dir_all(folder);
    }
    let log = logs.join("log");
    let Ok(file) = File::create(&log) else { return false };
    let mut command = Command::new(program);
    command.env("GOODARM_FUZZ_TARGET", name).env("TMPDIR", &temporary).args(LIMITS);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/", crashes.display()));
    // New inputs go to the first folder.
    command.arg(&corpus).arg(Path::new(CORPUS).join(name));
    let is_good = runs(command.stderr(file));
    let _ = fs::remove_dir_all(&temporary);
    let said = fs::read_to_string(&log).unwrap_or_default();
    if is_good {
        let last = said.lines().rfind(|line| line.contains(" cov: ")).unwrap_or("nothing");
        eprintln!("xtask: fuzzing {name}: {}", last.trim_start_matches('#'));
    } else {
        let lines: Vec<&str> = said.lines().collect();
        eprintln!("{}", lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n"));
        eprintln!(
            "xtask: fuzzing {name} failed: {} has what it printed, {} what it read; copy that to {CORPUS}/{name}",
            log.display(),
            crashes.display()
        );
    }
    is_good
}

fn work_folder() -> PathBuf {
    tools::target().join("fuzz")
}

const CORPUS: &str = "fuzz/corpus";
const TEST_SECONDS: u64 = 2;
const SECONDS: u64 = 600;
const LINES_SHOWN: usize = 40;
const FLAGS: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // With this flag, some libraries draw no random numbers, so that an input always has the same effect.
    "--cfg fuzzing",
];
/// Limits of the time and the memory of an input, and of its length: long files find no more than short ones.
const LIMITS: [&str; 4] =
    ["-timeout=20", "-rss_limit_mb=2048", "-max_len=4096", "-use_value_profile=1"];
