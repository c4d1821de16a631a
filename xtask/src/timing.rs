//! How long the steps and the tests took: printed at the end of `cargo xtask test`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The times of one `cargo xtask test`.
#[derive(Default)]
pub(crate) struct Timing {
    steps: Vec<(&'static str, Duration)>,
    tests: Vec<(Duration, String)>,
}

impl Timing {
    /// Runs a step and keeps its time.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> bool,
    ) -> bool {
        let begin = Instant::now();
        let is_good = work(self);
        self.steps.push((name, begin.elapsed()));
        is_good
    }

    /// Runs a command that runs tests, shows what it prints, and keeps the times of its tests.
    pub(crate) fn run_tests(&mut self, command: &mut Command) -> bool {
        let Ok(mut child) = command.stdout(Stdio::piped()).spawn() else { return false };
        let stdout = child.stdout.take().expect("it is piped");
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            println!("{line}");
            self.tests.extend(libtest_time(&line).or_else(|| pytest_time(&line)));
        }
        child.wait().is_ok_and(|status| status.success())
    }

    /// Prints the steps, and the slowest tests.
    pub(crate) fn print(mut self) {
        self.tests.sort_by(|one, other| other.cmp(one));
        if !self.tests.is_empty() {
            eprintln!("xtask: the slowest tests");
        }
        for (time, name) in self.tests.iter().take(TESTS_SHOWN) {
            eprintln!("{:>9.1} s  {name}", time.as_secs_f64());
        }
        eprintln!("xtask: the steps");
        for (name, time) in &self.steps {
            eprintln!("{:>9.0} s  {name}", time.as_secs_f64());
        }
        let sum: Duration = self.steps.iter().map(|step| step.1).sum();
        eprintln!("{:>9.0} s  all", sum.as_secs_f64());
    }
}

/// Time and name from a line such as `test validity::coverage ... ok <1.234s>`, which test programs print when asked
/// for times.
fn libtest_time(line: &str) -> Option<(Duration, String)> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, time) = rest.split_once('<')?;
    Some((seconds(time.strip_suffix("s>")?)?, name.to_owned()))
}

/// Time and name from a line such as `12.34s call     test_run.py::test_resume`, which pytest prints for its slowest
/// tests.
fn pytest_time(line: &str) -> Option<(Duration, String)> {
    let (time, rest) = line.split_once("s call ")?;
    Some((seconds(time.trim())?, rest.trim().to_owned()))
}

fn seconds(text: &str) -> Option<Duration> {
    text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

const TESTS_SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_lines_of_tests_alone() {
        let of = |line| libtest_time(line).or_else(|| pytest_time(line));
        let time = |millis, name: &str| Some((Duration::from_millis(millis), name.to_owned()));
        assert_eq!(of("test a::b ... ok <1.250s>"), time(1250, "a::b"));
        assert_eq!(of("12.50s call     test_run.py::test_a"), time(12_500, "test_run.py::test_a"));
        assert_eq!(of("test a::b ... ok"), None);
        assert_eq!(of("0.50s setup    test_run.py::test_a"), None);
    }
}
