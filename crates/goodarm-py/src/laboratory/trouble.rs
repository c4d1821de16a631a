//! What went wrong in a thread that does not speak Python: it becomes an exception where Python asks.

use std::any::Any;
use std::fmt::{Debug, Display};
use std::io;
use std::path::Path;

use goodarm_report::experiment_file::ExperimentFileError;
use goodarm_report::figures::{FigureError, ReproduceError};
use goodarm_report::forecast::ForecastError;
use pyo3::prelude::*;

use crate::errors::{exception, variant_of};

/// Why there is no result.
pub(super) enum Trouble {
    /// A class of `goodarm.errors`, a variant of it, and what is said.
    Ours(&'static str, String, String),
    /// A file cannot be read or written: Python has its own classes for that.
    System(io::Error),
}

impl Trouble {
    /// An error of which Python's class is `class`.
    pub(super) fn of(class: &'static str, error: &(impl Debug + Display)) -> Self {
        Self::Ours(class, variant_of(error), error.to_string())
    }

    /// What is written in the place of a file cannot be understood.
    pub(super) fn of_keys(class: &'static str, reason: String) -> Self {
        Self::Ours(class, "Text".into(), reason)
    }

    pub(super) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
        Self::Ours("Error", String::new(), format!("goodarm broke its own rules: {text}"))
    }

    /// The system's error has not the path in it.
    pub(super) fn of_file(path: &Path, error: &io::Error) -> Self {
        Self::System(io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    pub(super) fn raised(self) -> PyErr {
        match self {
            Self::Ours(class, variant, message) => exception(class, &variant, in_python(&message)),
            Self::System(error) => error.into(),
        }
    }
}

/// Messages name what is written on a command line: here it is an argument.
pub(super) fn in_python(message: &str) -> String {
    message
        .replace("--data POOLS.jsonl", "data=\"POOLS.jsonl\"")
        .replace("`goodarm reproduce capitals`", "`goodarm.reproduce(\"capitals\")`")
}

impl From<ExperimentFileError> for Trouble {
    fn from(error: ExperimentFileError) -> Self {
        const CLASS: &str = "ExperimentError";
        match &error {
            ExperimentFileError::File { path, error } => Self::of_file(path, error),
            ExperimentFileError::Experiment { error: inner, .. } => {
                Self::Ours(CLASS, variant_of(inner), error.to_string())
            }
            other => Self::of(CLASS, other),
        }
    }
}

impl From<ForecastError> for Trouble {
    fn from(error: ForecastError) -> Self {
        match &error {
            ForecastError::File { path, error } => Self::of_file(path, error),
            ForecastError::Job(error) => Self::of("JobError", error),
            other => Self::of("PlanError", other),
        }
    }
}

impl From<ReproduceError> for Trouble {
    fn from(error: ReproduceError) -> Self {
        match error {
            ReproduceError::Figure(error) => error.into(),
            other => Self::of("ReproduceError", &other),
        }
    }
}

impl From<FigureError> for Trouble {
    fn from(error: FigureError) -> Self {
        match &error {
            FigureError::File { path, error } => Self::of_file(path, error),
            other => Self::of("ReproduceError", other),
        }
    }
}
