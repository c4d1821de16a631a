//! The time that a thread has worked.

use std::time::{Duration, Instant};

/// The time that this thread has worked, where the system tells it: other work on the machine does not count.
#[derive(Debug)]
pub struct Stopwatch(Instant, Option<Duration>);

impl Stopwatch {
    /// Begins to measure.
    pub fn start() -> Self {
        Self(Instant::now(), worked())
    }

    /// The time since the start.
    pub fn used(&self) -> Duration {
        match (self.1, worked()) {
            (Some(before), Some(now)) => now - before,
            _ => self.0.elapsed(),
        }
    }
}

/// Linux has the nanoseconds of a thread on a processor as the first number of this file.
fn worked() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
