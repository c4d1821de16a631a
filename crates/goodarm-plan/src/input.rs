//! What is to be planned: a plan file, a job or a recording, and what was said on top of it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use goodarm_files::toml_text;
use goodarm_live::job::{Job, Overrides};
use goodarm_sim::plan::PlanSpec;
use serde_json::Value;

use crate::forecast::{self, ForecastError};

/// What takes the place of what a file says.
#[derive(Clone, Debug, Default)]
pub struct PlanOverrides {
    /// What might be spent.
    pub budget: Option<f64>,
    /// The error probability.
    pub delta: Option<f64>,
    /// The threshold of every verifier.
    pub threshold: Option<f64>,
    /// A recording that has the answers.
    pub recording: Option<PathBuf>,
}

/// Answers and verifiers as a file describes them.
#[derive(Debug)]
pub struct PlanInput {
    spec: PlanSpec,
    is_recorded: bool,
    /// What a person should know about how a job's candidates were read.
    pub candidate_notes: Vec<String>,
    /// That a part stands for the whole, if it does.
    pub share_note: Option<String>,
}

impl PlanInput {
    /// Reads a plan file, a job or a recording; which of them a file is, it says itself.
    pub fn read(path: &Path, wishes: &PlanOverrides) -> Result<Self, ForecastError> {
        if is_recording(path) {
            let spec = forecast::of_recording(path, REPETITIONS)?;
            return Ok(Self { is_recorded: true, ..Self::new(spec, wishes) });
        }
        let text = fs::read_to_string(path)
            .map_err(|error| ForecastError::File { path: path.to_owned(), error })?;
        let file = toml_text::parse::<Value>(&text);
        // A job names files; a plan has only numbers of answers and questions.
        let is_job = |file: Value| !file["candidates"].is_null() || file["questions"].is_string();
        if file.is_ok_and(is_job) {
            return Self::read_job(path, wishes);
        }
        let spec = toml_text::parse(&text)
            .map_err(|error| ForecastError::Text { path: path.to_owned(), error })?;
        Ok(Self::new(spec, wishes))
    }

    /// What a plan file would say.
    pub fn new(mut spec: PlanSpec, wishes: &PlanOverrides) -> Self {
        spec.budget = wishes.budget.or(spec.budget);
        Self { spec, is_recorded: false, candidate_notes: Vec::new(), share_note: None }
    }

    fn read_job(path: &Path, wishes: &PlanOverrides) -> Result<Self, ForecastError> {
        let overrides = Overrides { budget: wishes.budget, ..Overrides::default() };
        let job = Job::read(path, &overrides)?;
        let forecast = forecast::of_job(&job, REPETITIONS);
        let mut share_note = forecast.share_note(&job);
        let mut spec = forecast.spec;
        // A recording has all answers.
        if wishes.recording.is_some() {
            if job.questions.is_some() {
                return Err(ForecastError::RecordingOfQuestions);
            }
            spec.budget = Some(job.settings.budget.units());
            share_note = None;
        }
        let candidate_notes = job.candidates.notes().to_vec();
        Ok(Self { spec, is_recorded: false, candidate_notes, share_note })
    }

    /// What is to be planned once all wishes are met; a recording is read here.
    pub fn with_overrides(self, wishes: &PlanOverrides) -> Result<PlanSpec, ForecastError> {
        let Self { mut spec, is_recorded, .. } = self;
        if let Some(recording) = &wishes.recording {
            spec.answers = forecast::recorded_answers(recording, &spec)?;
        }
        if let Some(delta) = wishes.delta {
            spec.delta = delta;
        }
        if let Some(threshold) = wishes.threshold {
            spec.verifiers.iter_mut().for_each(|verifier| verifier.threshold = threshold);
        }
        if wishes.recording.is_some() || is_recorded {
            forecast::keep_apart(&mut spec);
        }
        Ok(spec)
    }
}

/// Whether it is a run's folder, its first line says that it is one, or it is packed as only recordings are.
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
