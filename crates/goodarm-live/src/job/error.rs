//! All problems of a job, reported at once.

use std::fmt;
use std::path::PathBuf;

use goodarm_data::problem::{KeyProblem, ProblemKind};

/// All problems of a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct JobError {
    /// At least one problem; those of a file by line, and those without a line last.
    pub problems: Vec<JobProblem>,
}

/// One problem of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobProblem {
    /// The job file, if there is one.
    pub file: Option<PathBuf>,
    /// The line of the problem in the job file, counted from 1.
    pub line: Option<usize>,
    /// The verifier or generator with the problem: its index, counted from 0, and its name. Generators come after all
    /// verifiers.
    pub verifier: Option<(usize, String)>,
    /// Whether `verifier` is a generator.
    pub is_generator: bool,
    /// The key with the problem; `None` if the problem is not about one key.
    pub key: Option<String>,
    /// The kind of the problem.
    pub kind: ProblemKind,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let gap = if index == 0 { "" } else { "\n" };
            write!(f, "{gap}{problem}")?;
        }
        Ok(())
    }
}

impl JobError {
    pub(super) fn one(kind: ProblemKind, message: String) -> Self {
        Self { problems: vec![JobProblem::new(kind, message)] }
    }

    /// An error if there are problems.
    pub(super) fn check(problems: Vec<JobProblem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }
}

impl fmt::Display for JobProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some((_, name)) = &self.verifier {
            let is_sentence = matches!(self.kind, ProblemKind::UnknownField(_));
            let what = if self.is_generator { "generator" } else { "verifier" };
            write!(f, "{what} {name:?}{} ", if is_sentence { "" } else { ":" })?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl JobProblem {
    pub(super) const fn new(kind: ProblemKind, message: String) -> Self {
        let (file, line, verifier, key) = (None, None, None, None);
        Self { file, line, verifier, is_generator: false, key, kind, message }
    }

    /// The problem of a service that uses a field which no candidate has. The mistake is in the job.
    pub(super) fn unknown_field(
        place: usize,
        verifier: &str,
        field: String,
        nearest: Option<String>,
    ) -> Self {
        let hint = goodarm_files::hint(nearest.as_deref());
        let message = format!("uses the field {field:?}, which no candidate has{hint}");
        let verifier = Some((place, verifier.to_owned()));
        Self { verifier, ..Self::new(ProblemKind::UnknownField(field), message) }
    }
}

/// Adds problems of the job or of one of its services. Only the first problem of a key is kept, so that a value
/// which cannot be read is not also reported as missing.
pub(super) fn extend(
    problems: &mut Vec<JobProblem>,
    verifier: Option<(usize, &str)>,
    more: Vec<KeyProblem>,
) {
    let verifier = verifier.map(|(place, name)| (place, name.to_owned()));
    let is_known = |known: &JobProblem, problem: &KeyProblem| {
        known.verifier == verifier && known.key.as_ref() == Some(&problem.key)
    };
    let new: Vec<JobProblem> = more
        .into_iter()
        .filter(|problem| !problems.iter().any(|known| is_known(known, problem)))
        .map(|KeyProblem { key, kind, message }| JobProblem {
            verifier: verifier.clone(),
            key: Some(key).filter(|key| !key.is_empty()),
            ..JobProblem::new(kind, message)
        })
        .collect();
    problems.extend(new);
}
