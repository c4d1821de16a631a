//! What is wrong with a verifier's keys.

use thiserror::Error;

/// A key that is missing, unknown, or that cannot be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {message}")]
pub struct KeyProblem {
    /// The key, as the job file has it.
    pub key: String,
    /// What sort of problem it is.
    pub kind: ProblemKind,
    /// What was expected.
    pub message: String,
}

/// The sorts of problems that a job can have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The job file cannot be read.
    Unreadable,
    /// A file of candidates was given in place of a job file.
    CandidatesFile,
    /// It is not TOML.
    Syntax,
    /// A key that there is not.
    UnknownKey,
    /// A key that is needed.
    MissingKey,
    /// A value that cannot be right.
    Value,
    /// The candidates cannot be read, or some of them lack a field.
    Candidates,
    /// A verifier uses a field that no candidate has, or that one lacks inside another field.
    UnknownField(String),
    /// Taken together, the values state no problem that can be solved.
    Terms,
}

impl KeyProblem {
    /// A value that cannot be right, and what was expected of it.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), kind: ProblemKind::Value, message: message.into() }
    }

    /// A key that is needed, and what for.
    pub fn missing(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind: ProblemKind::MissingKey, ..Self::new(key, message) }
    }
}

/// Puts a problem aside, so that a person hears of all of them at once.
pub fn collect<T>(result: Result<T, KeyProblem>, problems: &mut Vec<KeyProblem>) -> Option<T> {
    result.map_err(|problem| problems.push(problem)).ok()
}
