//! How much work an answer may make: an answer is other people's text, and must not hold up a run.
//!
//! Work is counted in steps and not in time, so that the same answer comes to the same end on every
//! machine and when a run is taken up again.

use std::cell::Cell;
use std::fmt;

/// The steps that are left.
#[derive(Debug)]
pub struct Steps {
    left: Cell<u64>,
}

/// Which limit an answer went beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Of steps.
    Steps,
    /// Of values inside of values.
    Depth,
    /// Of the bytes of JSON.
    JsonBytes,
}

impl Steps {
    /// A number of steps that may be taken.
    pub const fn new(count: u64) -> Self {
        Self { left: Cell::new(count) }
    }

    /// Takes so many steps. Once there are too few, there are none.
    pub fn take(&self, count: u64) -> Result<(), Limit> {
        let left = self.left.get().checked_sub(count);
        self.left.set(left.unwrap_or(0));
        if left.is_some() { Ok(()) } else { Err(Limit::Steps) }
    }

    /// Takes the steps of going through so many bytes of text once.
    pub fn take_text(&self, bytes: usize) -> Result<(), Limit> {
        self.take(text_steps(bytes))
    }
}

/// The steps of going through so many bytes of text once; at least one.
pub const fn text_steps(bytes: usize) -> u64 {
    1 + bytes as u64 / BYTES_PER_STEP
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps => write!(f, "too much work: more than {STEPS_MAX} steps"),
            Self::Depth => write!(
                f,
                "too deep: more than {JSON_DEPTH_MAX} levels of JSON, or fewer under a schema of many"
            ),
            Self::JsonBytes => write!(f, "too large: more than {JSON_BYTES_MAX} bytes of JSON"),
        }
    }
}

/// Of one check: about a second.
pub const STEPS_MAX: u64 = 4_000_000;
/// A step is one look at a JSON value, or the search through so many bytes of text.
const BYTES_PER_STEP: u64 = 256;
/// JSON in memory takes up to a hundred times the bytes of its text.
pub const JSON_BYTES_MAX: usize = 1 << 20;
/// Answers of up to this size may be looked at on a run's thread, if few steps tell: about a millisecond.
pub const BYTES_AT_ONCE: usize = 16 << 10;
/// The steps that a look on a run's thread may take.
pub const STEPS_AT_ONCE: u64 = 10_000;
/// What `serde_json` reads.
pub const JSON_DEPTH_MAX: usize = 127;
