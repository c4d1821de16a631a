//! Chooses thresholds for a job's verifiers from a pilot recording and labelled answers, and makes the job's new
//! text. [`goodarm_core::calibration`] states what is proved about them.

mod answers;
mod job_text;
mod pilot;
mod report;
mod text;

use std::path::{Path, PathBuf};

use goodarm_core::calibration::{Goal, ThresholdPath};
use goodarm_core::units::OutsideUnitInterval;
use goodarm_live::job::{Job, JobError};
use thiserror::Error;

pub use self::answers::LabelSource;
pub use self::report::{
    CalibrationReport, CalibrationSettings, Shortfall, StepReport, StepStatus, VerifierReport,
};
pub use self::text::text;

use self::answers::PilotLabels;
use self::pilot::Pilot;
use goodarm_report::words::printable;

/// Why thresholds cannot be chosen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// The wanted precision is not between 0 and 1.
    #[error("precision: {0}")]
    Precision(OutsideUnitInterval),
    /// The error probability is not between 0 and 1.
    #[error("delta: {0}")]
    Delta(OutsideUnitInterval),
    /// A job about questions makes its answers during a run.
    #[error(
        "{}: the job is about questions: its answers are made during a run, and a recording has none of them; calibrate a job of answers to such questions, with the same verifiers", .0.display()
    )]
    Questions(PathBuf),
    /// There is no recording yet. The error has the calls that one needs, and their cost.
    #[error("{}: there is no recording; one with {calls} calls a pair costs {cost} at most", path.display())]
    NoRecording {
        /// The job.
        job: PathBuf,
        /// The missing recording.
        path: PathBuf,
        /// A number of calls of each verifier on each answer that is enough.
        calls: u64,
        /// The most that they cost.
        cost: String,
    },
    /// The recording cannot be used: a line for each problem.
    #[error("{0}")]
    Recording(String),
    /// Problems with the file of labels, with labels of unknown answers, or with missing fields: a line for each.
    #[error("{}", .0.join("\n"))]
    Labels(Vec<String>),
    /// No answer is the same as its reference, with examples.
    #[error("{0}")]
    NothingAgrees(String),
    /// More labels were planned than there are answers, or fewer than there are labels.
    #[error(
        "planned-labels: {planned} is not between {labels}, the labels at hand, and {answers}, all recorded answers"
    )]
    Planned {
        /// The planned number.
        planned: u64,
        /// Labels at hand.
        labels: u64,
        /// Recorded answers.
        answers: u64,
    },
    /// The job has no threshold to choose.
    #[error("{}: no threshold to choose: {reason}", path.display())]
    NothingFree {
        /// The job.
        path: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// The thresholds cannot be put into the job's text.
    #[error("{}: {reason}", path.display())]
    JobText {
        /// The job.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The job would not be valid with the new thresholds.
    #[error("the job is not valid with the new thresholds, and was left as it is: {0}")]
    Job(#[from] JobError),
}

/// What to calibrate, and the goal.
pub struct CalibrationRequest<'a> {
    /// The job.
    pub job: &'a Job,
    /// The pilot recording.
    pub recording: &'a Path,
    /// The labels.
    pub labels: LabelSource<'a>,
    /// The wanted share of right answers among those that pass.
    pub precision: f64,
    /// The error probability.
    pub delta: f64,
    /// The number of labels that the path of thresholds is planned for; by default the number of labels at hand.
    pub planned_labels: Option<u64>,
}

/// Chooses thresholds. Writes nothing.
pub fn calibrate(request: &CalibrationRequest<'_>) -> Result<CalibrationReport, CalibrateError> {
    let goal = goal(request)?;
    let pilot = Pilot::read(request.job, request.recording)?;
    let PilotLabels { right: labels, compared } = answers::labels(request, &pilot)?;
    let count = labels.len() as u64;
    let planned = request.planned_labels.unwrap_or(count);
    let answers = pilot.arms.len() as u64;
    if !(count..=answers).contains(&planned) {
        return Err(CalibrateError::Planned { planned, labels: count, answers });
    }
    let path = ThresholdPath::new(&pilot.columns, goal, planned);
    let walked = path.walk(&labels);
    let data = report::CalibrationData { pilot: &pilot, labels: &labels, planned, goal };
    Ok(CalibrationReport { compared, ..data.report(&path, &walked) })
}

/// The goal; the error names the precision or δ that is not valid.
fn goal(request: &CalibrationRequest<'_>) -> Result<Goal, CalibrateError> {
    Goal::new(request.precision, 0.5).map_err(CalibrateError::Precision)?;
    Goal::new(request.precision, request.delta).map_err(CalibrateError::Delta)
}

/// The job's text with the new thresholds; `None` if none were found.
pub fn new_job_text(
    job: &Job,
    report: &CalibrationReport,
) -> Result<Option<String>, CalibrateError> {
    if report.chosen.is_none() {
        return Ok(None);
    }
    job_text::with_thresholds(job, report).map(Some)
}

/// The report as JSON.
pub fn json(report: &CalibrationReport) -> String {
    serde_json::to_string_pretty(report).expect("plain data")
}

/// A name in quotes, printable.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", printable(name))
}
