//! The input of a plan: a plan file, a job or a recording, and settings that override it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use goodarm_files::toml_text;
use goodarm_live::job::{Job, Overrides};
use goodarm_sim::plan::PlanSpec;
use serde_json::Value;

use crate::forecast::{self, ForecastError};

/// Settings that replace those of the file.
#[derive(Clone, Debug, Default)]
pub struct PlanOverrides {
    /// The budget.
    pub budget: Option<f64>,
    /// The error probability.
    pub delta: Option<f64>,
    /// The threshold of every verifier.
    pub threshold: Option<f64>,
    /// A recording with the answers.
    pub recording: Option<PathBuf>,
}

/// Answers and verifiers, described by a file.
#[derive(Debug)]
pub struct PlanInput {
    spec: PlanSpec,
    is_recorded: bool,
    /// Notes about how a job's candidates were read.
    pub candidate_notes: Vec<String>,
    /// A note that only a part of the job is simulated, if so.
    pub share_note: Option<String>,
}

impl PlanInput {
    /// Reads a plan file, a job or a recording, recognized by its content.
    pub fn read(path: &Path, overrides: &PlanOverrides) -> Result<Self, ForecastError> {
        if is_recording(path) {
            let spec = forecast::of_recording(path, REPETITIONS)?;
            return Ok(Self { is_recorded: true, ..Self::new(spec, overrides) });
        }
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
        Ok(Self::new(spec, overrides))
    }

    /// A plan that is not in a file.
    pub fn new(mut spec: PlanSpec, overrides: &PlanOverrides) -> Self {
        spec.budget = overrides.budget.or(spec.budget);
        Self { spec, is_recorded: false, candidate_notes: Vec::new(), share_note: None }
    }

    fn read_job(path: &Path, overrides: &PlanOverrides) -> Result<Self, ForecastError> {
        let of_job = Overrides { budget: overrides.budget, ..Overrides::default() };
        let job = Job::read(path, &of_job)?;
        let forecast = forecast::of_job(&job, REPETITIONS);
        let mut share_note = forecast.share_note(&job);
        let mut spec = forecast.spec;
        // A recording has all answers.
        if overrides.recording.is_some() {
            if job.questions.is_some() {
                return Err(ForecastError::RecordingOfQuestions);
            }
            spec.budget = Some(job.settings.budget.units());
            share_note = None;
        }
        let candidate_notes = job.candidates.notes().to_vec();
        Ok(Self { spec, is_recorded: false, candidate_notes, share_note })
    }

    /// The plan with all overrides; reads the recording.
    pub fn with_overrides(self, overrides: &PlanOverrides) -> Result<PlanSpec, ForecastError> {
        let Self { mut spec, is_recorded, .. } = self;
        if let Some(recording) = &overrides.recording {
            spec.answers = forecast::recorded_answers(recording, &spec)?;
        }
        if let Some(delta) = overrides.delta {
            spec.delta = delta;
        }
        if let Some(threshold) = overrides.threshold {
            spec.verifiers.iter_mut().for_each(|verifier| verifier.threshold = threshold);
        }
        if overrides.recording.is_some() || is_recorded {
            forecast::keep_apart(&mut spec);
        }
        Ok(spec)
    }
}

/// Whether it is a run's folder, has the first line of a recording, or is compressed, which only recordings are.
fn is_recording(path: &Path) -> bool {
    if path.is_dir() {
        return true;
    }
    let mut line = Vec::new();
    let read = File::open(path).and_then(|file| {
        BufReader::new(file.take(FIRST_LINE_BYTES_MAX)).read_until(b'\n', &mut line)
    });
    let is_packed = line.starts_with(&[0x1f, 0x8b]);
    read.is_ok() && (is_packed || String::from_utf8_lossy(&line).contains("\"goodarm_recording\""))
}

const REPETITIONS: u64 = 40;
const FIRST_LINE_BYTES_MAX: u64 = 1 << 16;
