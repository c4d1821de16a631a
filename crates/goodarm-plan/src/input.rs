//! The input of a plan: a plan file or a job, and settings that override it.

use std::fs;
use std::path::{Path, PathBuf};

use goodarm_files::toml_text;
use goodarm_live::job::{Job, Overrides};
use goodarm_sim::plan::PlanSpec;
use serde_json::Value;

use crate::forecast::{self, BillBasis, ForecastError};

/// Settings that replace those of the file.
#[derive(Clone, Debug, Default)]
pub struct PlanOverrides {
    /// The budget.
    pub budget: Option<f64>,
    /// The error probability.
    pub delta: Option<f64>,
    /// A recording with the answers.
    pub recording: Option<PathBuf>,
}

/// Answers and verifiers, described by a file.
#[derive(Debug)]
pub struct PlanInput {
    /// The plan, with all overrides.
    pub spec: PlanSpec,
    /// Notes about how a job's candidates were read.
    pub candidate_notes: Vec<String>,
    /// A note that only a part of the job is simulated; `None` if all of it is.
    pub share_note: Option<String>,
    /// What expected bills rest on; `None` for a plan file, which states them.
    pub bill_basis: Option<BillBasis>,
}

impl PlanInput {
    /// Reads a plan file or a job, recognized by its content, and the recording.
    pub fn read(path: &Path, overrides: &PlanOverrides) -> Result<Self, ForecastError> {
        let text = fs::read_to_string(path)
            .map_err(|error| ForecastError::File { path: path.to_owned(), error })?;
        let file = toml_text::parse::<Value>(&text);
        // A job names files; a plan has only numbers of answers and questions.
        let is_job = |file: Value| !file["candidates"].is_null() || file["questions"].is_string();
        if file.is_ok_and(is_job) {
            return Self::read_job(path, overrides);
        }
        let spec = toml_text::parse(&text)
            .map_err(|error| ForecastError::Text { path: path.to_owned(), error })?;
        Self::new(spec, overrides)
    }

    /// A plan that is not in a file.
    pub fn new(mut spec: PlanSpec, overrides: &PlanOverrides) -> Result<Self, ForecastError> {
        spec.budget = overrides.budget.or(spec.budget);
        with_overrides(&mut spec, overrides)?;
        Ok(Self { spec, candidate_notes: Vec::new(), share_note: None, bill_basis: None })
    }

    fn read_job(path: &Path, overrides: &PlanOverrides) -> Result<Self, ForecastError> {
        let of_job = Overrides { budget: overrides.budget, ..Overrides::default() };
        let job = Job::read(path, &of_job)?;
        let forecast = forecast::of_job(&job, REPETITIONS);
        let mut share_note = forecast.share_note(&job);
        let mut spec = forecast.spec;
        // A recording has all answers, so all of the job is simulated, with the whole budget.
        if overrides.recording.is_some() {
            if job.questions.is_some() {
                return Err(ForecastError::RecordingOfQuestions);
            }
            spec.budget = Some(job.settings.budget.units());
            share_note = None;
        }
        let candidate_notes = job.candidates.notes().to_vec();
        let mut bill_basis = Some(forecast::bill_basis(&job));
        if with_overrides(&mut spec, overrides)? {
            bill_basis = Some(BillBasis::Recording);
        }
        Ok(Self { spec, candidate_notes, share_note, bill_basis })
    }
}

/// Sets another δ, and the answers and bills of a recording. Returns whether bills were recorded.
fn with_overrides(spec: &mut PlanSpec, overrides: &PlanOverrides) -> Result<bool, ForecastError> {
    spec.delta = overrides.delta.unwrap_or(spec.delta);
    let Some(recording) = &overrides.recording else { return Ok(false) };
    let has_bills = forecast::take_recording(recording, spec)?;
    forecast::keep_apart(spec);
    Ok(has_bills)
}

const REPETITIONS: u64 = 40;
