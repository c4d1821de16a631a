//! What is wrong with a verifier's entry in the job file.

use thiserror::Error;

/// A key that is missing, or that cannot be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {problem}")]
pub struct Wrong {
    /// The key of the verifier's entry.
    pub key: &'static str,
    /// What was expected.
    pub problem: String,
}

impl Wrong {
    /// A key and what was expected of it.
    pub fn new(key: &'static str, problem: impl Into<String>) -> Self {
        Self { key, problem: problem.into() }
    }
}

/// Puts what is wrong aside, so that a person hears of everything at once.
pub(crate) fn sort_out<T>(result: Result<T, Wrong>, wrongs: &mut Vec<Wrong>) -> Option<T> {
    result.map_err(|wrong| wrongs.push(wrong)).ok()
}
