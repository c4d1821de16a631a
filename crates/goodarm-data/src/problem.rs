//! Problems with the keys of a job.

use thiserror::Error;

/// A key that is missing or unknown, or whose value is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct KeyProblem {
    /// The key in the job file.
    pub key: String,
    /// The kind of problem.
    pub kind: ProblemKind,
    /// The expected value, or another explanation.
    pub message: String,
}

/// The kinds of problems that a job can have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The job file cannot be read.
    Unreadable,
    /// A file of candidates was given instead of a job file.
    CandidatesFile,
    /// The job file is not TOML.
    Syntax,
    /// An unknown key.
    UnknownKey,
    /// A required key is missing.
    MissingKey,
    /// A wrong value.
    Value,
    /// The candidates cannot be read, or some of them lack a field.
    Candidates,
    /// A verifier uses a field that no candidate has, or that a candidate lacks inside another field.
    UnknownField(String),
    /// Together, the values are not a problem that can be solved.
    Terms,
}

impl KeyProblem {
    /// A wrong value, and what was expected.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), kind: ProblemKind::Value, message: message.into() }
    }

    /// A required key that is missing, and its purpose.
    pub fn missing(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: ProblemKind::MissingKey, ..Self::new(key, message) }
    }
}

/// Returns the value, or adds the problem to `problems`, so that all problems are reported at once.
pub fn collect<T>(result: Result<T, KeyProblem>, problems: &mut Vec<KeyProblem>) -> Option<T> {
    result.map_err(|problem| problems.push(problem)).ok()
}
