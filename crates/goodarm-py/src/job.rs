//! A job: from its file, from keywords, or from both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use goodarm_data::candidates::Candidates;
use goodarm_files::toml_text;
use goodarm_live::job::{JobError, JobInputs, Overrides};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::errors::{exception, raised, variant_of};
use crate::mailbox::Mailbox;
use crate::table::json_lines;

/// A job, checked and ready to run.
#[pyclass(frozen, name = "Job", module = "goodarm._native")]
pub(crate) struct PyJob(pub(crate) Arc<goodarm_live::job::Job>);

#[pymethods]
impl PyJob {
    /// A job from `keys`, which are those of a job file, as JSON. `path` is the job file, or a path that
    /// stands for it. `candidates` are lines of JSON or an object with Arrow's C stream; without them, the key
    /// `candidates` names a file. `mailboxes` has, by name, the verifiers that are Python functions.
    #[new]
    #[pyo3(signature = (keys, path, *, candidates = None, mailboxes = None, output = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        keys: &str,
        path: PathBuf,
        candidates: Option<&Bound<'_, PyAny>>,
        mailboxes: Option<&Bound<'_, PyDict>>,
        output: Option<PathBuf>,
    ) -> PyResult<Self> {
        let keys: Value =
            serde_json::from_str(keys).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let text = toml::to_string(&keys)
            .map_err(|error| PyValueError::new_err(format!("the job's keys: {error}")))?;
        let id_field = keys["id_field"].as_str().unwrap_or("id").to_owned();
        let lines = candidates.map(|candidates| match candidates.extract::<String>() {
            Ok(lines) => Ok(lines),
            Err(_) => json_lines(candidates),
        });
        let lines = lines.transpose()?;
        let overrides = Overrides { output, ..Overrides::default() };
        let mut given = JobInputs { overrides, ..JobInputs::default() };
        for (name, mailbox) in mailboxes.into_iter().flatten() {
            let name: String = name.extract()?;
            let service = mailbox.cast::<Mailbox>()?.get().service(name.clone());
            given.verifiers.insert(name, service);
        }
        py.detach(|| {
            if let Some(lines) = lines {
                let read = Candidates::from_text(&lines, "the candidates", &id_field);
                given.candidates = Some(read.map_err(|error| {
                    exception("CandidatesError", &variant_of(&error.kind), error.to_string())
                })?);
            }
            goodarm_live::job::Job::parse(&path, text, given)
                .map(|job| Self(Arc::new(job)))
                .map_err(|error| job_error(&error))
        })
    }

    #[getter]
    fn output(&self) -> PathBuf {
        self.0.settings.output.clone()
    }

    /// Remarks about how the candidates were read.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes()
    }
}

/// The keys of a job file, as JSON; paths among the values are left as they are.
#[pyfunction]
pub(crate) fn job_keys(path: PathBuf) -> PyResult<String> {
    let job_file = |error: JobError| job_error(&error);
    let text = std::fs::read_to_string(&path)?;
    // Reports all problems of the file with their lines, before keywords override its keys.
    goodarm_live::job::read_file(&path, &text).map_err(job_file)?;
    let keys: Value =
        toml_text::parse(&text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(keys.to_string())
}

/// All problems of a job; without lines if the job is not a file.
fn job_error(error: &JobError) -> PyErr {
    let is_file = |path: &Option<PathBuf>| path.as_deref().is_some_and(Path::is_file);
    let mut error = error.clone();
    for problem in error.problems.iter_mut().filter(|problem| !is_file(&problem.file)) {
        problem.file = None;
        problem.line = None;
    }
    raised("JobError", &error)
}
