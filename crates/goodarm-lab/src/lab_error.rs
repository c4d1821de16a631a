//! The error of the laboratory.

use std::fmt;
use std::path::Path;

/// Why an experiment cannot be run, or a figure cannot be made: a message for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LabError(pub String);

impl LabError {
    /// What is wrong with a file, or with an experiment of this name.
    pub fn about(name: impl fmt::Display, fault: impl fmt::Display) -> Self {
        Self(format!("{name}: {fault}"))
    }

    /// A file cannot be read, written or used.
    pub fn file(path: &Path, fault: impl fmt::Display) -> Self {
        Self::about(path.display(), fault)
    }
}
