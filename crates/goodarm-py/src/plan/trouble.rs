//! What went wrong in a thread that does not speak Python: it becomes an exception where Python asks.

use std::any::Any;
use std::fmt::{Debug, Display};
use std::io;
use std::path::Path;

use goodarm_plan::forecast::ForecastError;
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
    pub(super) fn of_keys(reason: String) -> Self {
        Self::Ours("PlanError", "Text".into(), reason)
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
            Self::Ours(class, variant, message) => exception(class, &variant, message),
            Self::System(error) => error.into(),
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
