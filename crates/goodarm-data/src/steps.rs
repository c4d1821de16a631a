//! Limits on the work for one answer: an answer is foreign text, and must not block a run.
//!
//! Work is counted in steps instead of time, so that the same answer has the same result on every machine
//! and in a resumed run.

use std::cell::Cell;
use std::fmt;

/// The number of steps left.
#[derive(Debug)]
pub struct Steps {
    left: Cell<u64>,
}

/// A limit that an answer exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The number of steps.
    Steps,
    /// The depth of nested values.
    Depth,
    /// The bytes of JSON.
    JsonBytes,
}

impl Steps {
    /// A budget of steps.
    pub const fn new(count: u64) -> Self {
        Self { left: Cell::new(count) }
    }

    /// Takes `count` steps. If fewer are left, takes all of them and returns an error.
    pub fn take(&self, count: u64) -> Result<(), Limit> {
        let left = self.left.get().checked_sub(count);
        self.left.set(left.unwrap_or(0));
        if left.is_some() { Ok(()) } else { Err(Limit::Steps) }
    }

    /// Takes the steps of one pass over a text of this length.
    pub fn take_text(&self, bytes: usize) -> Result<(), Limit> {
        self.take(text_steps(bytes))
    }
}

/// The steps of one pass over a text of this length; at least one.
pub const fn text_steps(bytes: usize) -> u64 {
    1 + bytes as u64 / BYTES_PER_STEP
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps => write!(f, "too much work: more than {STEPS_MAX} steps"),
            Self::Depth => write!(f, "too deep: more than {JSON_DEPTH_MAX} levels of JSON"),
            Self::JsonBytes => write!(f, "too large: more than {JSON_BYTES_MAX} bytes of JSON"),
        }
    }
}

/// The limit for one check: about a second.
pub const STEPS_MAX: u64 = 4_000_000;
/// A step is one visit of a JSON value, or a search through this many bytes of text.
const BYTES_PER_STEP: u64 = 256;
/// The most bytes of a JSON text: parsed JSON takes up to a hundred times the memory of its text.
pub const JSON_BYTES_MAX: usize = 1 << 20;
/// Answers up to this size may be checked on a run's own thread, if few steps are enough: about a
/// millisecond.
pub const BYTES_AT_ONCE: usize = 16 << 10;
/// The most steps of a check on a run's own thread.
pub const STEPS_AT_ONCE: u64 = 10_000;
/// The deepest nesting of JSON values: the limit of `serde_json`.
pub const JSON_DEPTH_MAX: usize = 127;
