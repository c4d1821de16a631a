//! The failure of a plan in a thread without Python; Python raises it as an exception.

use std::any::Any;
use std::fmt::{Debug, Display};
use std::io;
use std::path::Path;

use goodarm_plan::forecast::ForecastError;
use pyo3::prelude::*;

use crate::errors::{exception, variant_of};

/// Why there is no plan.
pub(super) enum PlanFailure {
    /// A class of `goodarm.errors`, a variant of it, and the message.
    Ours(&'static str, String, String),
    /// A file cannot be read or written: an `OSError`.
    System(io::Error),
}

impl PlanFailure {
    /// An error that Python raises as the class `class`.
    pub(super) fn of(class: &'static str, error: &(impl Debug + Display)) -> Self {
        Self::Ours(class, variant_of(error), error.to_string())
    }

    /// The keys of a plan cannot be read.
    pub(super) fn of_keys(reason: String) -> Self {
        Self::Ours("PlanError", "Text".into(), reason)
    }

    pub(super) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Self::Ours("Error", String::new(), format!("goodarm broke its own rules: {text}"))
    }

    /// Adds the path to an error of the system.
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

impl From<ForecastError> for PlanFailure {
    fn from(error: ForecastError) -> Self {
        match &error {
            ForecastError::File { path, error } => Self::of_file(path, error),
            ForecastError::Job(error) => Self::of("JobError", error),
            other => Self::of("PlanError", other),
        }
    }
}
