//! The Python package: built as a wheel, tested in a fresh environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::timing::Timing;
use crate::tools::{self, runs, succeeds};

/// Builds the wheel with the profile `dev`, installs it into a fresh environment, and runs the Python tests there.
pub(crate) fn test(timing: &mut Timing) -> bool {
    let Some(tools) = environment("python-tools", &TEST_PACKAGES) else { return false };
    let Some(wheel) = build(&tools, &["--profile", "dev"]) else { return false };
    let Some(python) = fresh(&tools, &wheel) else { return false };
    let tests = ["-m", "pytest", "-q", "--durations=20", "-p", "no:cacheprovider", "."];
    eprintln!("xtask: Python tests: {} {}", python.display(), tests.join(" "));
    timing.run_tests(Command::new(&python).args(tests).current_dir("crates/goodarm-py/tests"))
}

/// Builds the wheel for a release, and checks its size, the time of an import, and that of the example.
pub(crate) fn wheel() -> bool {
    let Some(tools) = environment("python-tools", &TEST_PACKAGES) else { return false };
    // zig links the wheel against an old C library, so that it runs on every Linux of the last ten years.
    let _ = Command::new(&tools).args(["-m", "pip", "install", "--quiet", "ziglang"]).status();
    let arguments = ["--profile", "dist", "--zig", "--compatibility", "manylinux2014"];
    let Some(wheel) = build(&tools, &arguments) else { return false };
    let Some(python) = fresh(&tools, &wheel) else { return false };
    let bytes = std::fs::metadata(&wheel).map_or(0, |metadata| metadata.len());
    eprintln!("xtask: {}: {}.{} MB", wheel.display(), bytes / 1_000_000, bytes / 100_000 % 10);
    bytes <= WHEEL_BYTES_MAX
        && import_time(&python).is_some_and(|seconds| seconds < IMPORT_SECONDS_MAX)
        && first_report(&python).is_some_and(|time| time <= FIRST_REPORT_MAX)
}

/// The median of many imports in seconds, which is printed.
fn import_time(python: &Path) -> Option<f64> {
    let mut times = Vec::new();
    for _ in 0..IMPORTS {
        let output = Command::new(python).args(["-c", TIMED_IMPORT]).output().ok()?;
        times.push(String::from_utf8(output.stdout).ok()?.trim().parse::<f64>().ok()?);
    }
    times.sort_by(f64::total_cmp);
    let median = times.get(IMPORTS / 2).copied()?;
    eprintln!("xtask: import goodarm: {:.0} ms", 1000.0 * median);
    Some(median)
}

/// The time from the command of a fresh installation to the report of the example, which is printed.
fn first_report(python: &Path) -> Option<Duration> {
    let folder = tools::target().join("wheel-example");
    let _ = std::fs::remove_dir_all(&folder);
    let begin = Instant::now();
    let mut example = Command::new(python.with_file_name("goodarm"));
    let is_good = runs(example.arg("example").arg(&folder).stdout(Stdio::null()));
    let time = begin.elapsed();
    eprintln!("xtask: goodarm example: {:.1} s", time.as_secs_f64());
    (is_good && folder.join("run/report.html").is_file()).then_some(time)
}

/// An environment below `target` with these packages; made once.
fn environment(name: &str, packages: &[&str]) -> Option<PathBuf> {
    let folder = tools::target().join(name);
    let python = folder.join("bin/python");
    let is_ready = || succeeds(Command::new(&python).args(["-c", TOOLS_THERE]));
    if !is_ready() {
        eprintln!("xtask: installing what the Python package needs into {}", folder.display());
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        runs(Command::new(&python).args(install).args(packages));
        // Not every platform has a wheel of Ray: its tests report that.
        runs(Command::new(&python).args(install).arg("ray"));
    }
    if is_ready() {
        return Some(python);
    }
    eprintln!(
        "xtask: no Python tools: python3 with venv and pip, and the package index, are needed"
    );
    None
}

/// Builds a wheel, and returns its path.
fn build(python: &Path, arguments: &[&str]) -> Option<PathBuf> {
    let out = tools::target().join("wheels");
    let _ = std::fs::remove_dir_all(&out);
    eprintln!("xtask: maturin build {}", arguments.join(" "));
    // Maturin looks for zig beside the Python that it finds first.
    let folder = python.parent().map(Path::as_os_str).unwrap_or_default().to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        std::iter::once(PathBuf::from(folder)).chain(std::env::split_paths(&path)),
    );
    let mut maturin = Command::new(python);
    maturin.env("PATH", path.unwrap_or_default());
    maturin.args(["-m", "maturin", "build", "--quiet", "--manifest-path", MANIFEST, "--out"]);
    let is_built = runs(maturin.arg(&out).args(arguments));
    let built = std::fs::read_dir(&out).ok()?.flatten().next().map(|entry| entry.path());
    built.filter(|_| is_built).or_else(|| {
        eprintln!("xtask: the wheel was not built");
        None
    })
}

/// A new environment with the wheel and the packages of the tools.
fn fresh(tools: &Path, wheel: &Path) -> Option<PathBuf> {
    let folder = tools::target().join("python-fresh");
    let _ = std::fs::remove_dir_all(&folder);
    let python = folder.join("bin/python");
    let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"];
    let is_made = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        && runs(Command::new(&python).args(install).arg(wheel));
    let site = |python: &Path| {
        let output = Command::new(python).args(["-c", SITE_PACKAGES]).output().ok()?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    let path = PathBuf::from(site(&python)?).join("tools.pth");
    let is_linked = std::fs::write(path, site(tools)?).is_ok();
    (is_made && is_linked).then_some(python)
}

const WHEEL_BYTES_MAX: u64 = 16_000_000;
const FIRST_REPORT_MAX: Duration = Duration::from_secs(10);
const IMPORT_SECONDS_MAX: f64 = 0.05;
const IMPORTS: usize = 21;
const TIMED_IMPORT: &str =
    "import time; begin = time.perf_counter(); import goodarm; print(time.perf_counter() - begin)";
const MANIFEST: &str = "crates/goodarm-py/Cargo.toml";
const TEST_PACKAGES: [&str; 12] = [
    "maturin>=1.16,<2",
    "pytest",
    "pytest-timeout",
    "mypy",
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "tqdm",
    "nbclient",
    "nbformat",
    "ipykernel",
];
const TOOLS_THERE: &str = "import maturin, pytest, pytest_timeout, mypy, numpy, pandas, polars, pyarrow, tqdm, nbclient, ipykernel";
const SITE_PACKAGES: &str = "import sysconfig; print(sysconfig.get_path('purelib'))";
