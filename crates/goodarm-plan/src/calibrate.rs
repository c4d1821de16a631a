//! Which thresholds a job's verifiers should have: from a pilot recording and labelled answers to a page, a
//! table and the job's new text. What is claimed of them is in [`goodarm_core::calibration`].

mod answers;
mod budget;
mod draw;
mod job_text;
mod page;
mod pilot;
mod report;
mod text;

use std::path::{Path, PathBuf};

use goodarm_core::calibration::{Goal, PilotScores, ThresholdPath};
use goodarm_core::units::OutsideUnitInterval;
use goodarm_live::job::{Job, JobError};
use goodarm_record::outputs::OutputError;
use thiserror::Error;

pub use self::answers::LabelSource;
pub use self::report::{
    CalibrationReport, CalibrationSettings, PrecisionOption, RedundantVerifier, Shortfall,
    StepReport, StepStatus, VerifierReport,
};
pub use self::text::text;

use self::pilot::Pilot;
use goodarm_report::plot_file::{self, PlotFileError};
use goodarm_report::words::printable;

/// Why thresholds cannot be looked for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CalibrateError {
    /// The wanted precision.
    #[error("precision: {0}")]
    Precision(OutsideUnitInterval),
    /// The error probability.
    #[error("delta: {0}")]
    Delta(OutsideUnitInterval),
    /// A job about questions makes its answers during a run.
    #[error(
        "{}: the job is about questions: its answers are made during a run, and a recording has none of them; calibrate a job of answers to such questions, with the same verifiers", .0.display()
    )]
    Questions(PathBuf),
    /// There is no recording yet: how many calls make one, and what they may cost.
    #[error("{}: there is no recording; one with {calls} calls a pair costs {cost} at most", path.display())]
    NoRecording {
        /// Of which job.
        job: PathBuf,
        /// Where it was looked for.
        path: PathBuf,
        /// The calls of each verifier on each answer that suffice.
        calls: u64,
        /// What that may cost.
        cost: String,
    },
    /// The recording cannot be used: a line for each problem.
    #[error("{}", .0.join("\n"))]
    Recording(Vec<String>),
    /// The file of labels, labels that are about nothing in the pilot, or fields that are not there: a line for each.
    #[error("{}", .0.join("\n"))]
    Labels(Vec<String>),
    /// More labels were planned than there are answers, or fewer than there are labels.
    #[error(
        "planned-labels: {planned} is not between {labels}, the labels at hand, and {answers}, all recorded answers"
    )]
    Planned {
        /// As many as were planned.
        planned: u64,
        /// As many as there are.
        labels: u64,
        /// Recorded answers.
        answers: u64,
    },
    /// Nothing of the job may be moved.
    #[error("{}: no threshold to choose: {reason}", path.display())]
    NothingFree {
        /// The job.
        path: PathBuf,
        /// What its verifiers are.
        reason: &'static str,
    },
    /// The job's text cannot take the thresholds.
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
    /// A file or a folder cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A plot cannot be written.
    #[error(transparent)]
    Plot(#[from] PlotFileError),
}

/// What is wanted.
pub struct CalibrationRequest<'a> {
    /// Whose thresholds.
    pub job: &'a Job,
    /// The pilot.
    pub recording: &'a Path,
    /// Which answers are right.
    pub labels: LabelSource<'a>,
    /// The share of right answers among those that pass.
    pub precision: f64,
    /// The probability with which that may be wrong.
    pub delta: f64,
    /// For how many labels the path is laid out; as many as there are if none.
    pub planned_labels: Option<u64>,
}

/// Looks for thresholds. Nothing is written.
pub fn calibrate(request: &CalibrationRequest<'_>) -> Result<CalibrationReport, CalibrateError> {
    let goal = goal(request)?;
    let pilot = Pilot::read(request.job, request.recording)?;
    let labels = answers::labels(request, &pilot)?;
    let count = labels.len() as u64;
    let planned = request.planned_labels.unwrap_or(count);
    let answers = pilot.arms.len() as u64;
    if !(count..=answers).contains(&planned) {
        return Err(CalibrateError::Planned { planned, labels: count, answers });
    }
    let columns: Vec<PilotScores> = pilot.verifiers.iter().map(|it| it.column.clone()).collect();
    let path = ThresholdPath::new(&columns, goal, planned);
    let walked = path.walk(&labels);
    let setting = report::CalibrationData { pilot: &pilot, labels: &labels, planned, goal };
    let mut finding = setting.finding(&path, &walked);
    finding.omissions = setting.omissions(&columns, &finding);
    finding.offers = budget::offers(request.job, &setting, &columns);
    Ok(finding)
}

/// The goal, checked.
fn goal(request: &CalibrationRequest<'_>) -> Result<Goal, CalibrateError> {
    Goal::new(request.precision, 0.5).map_err(CalibrateError::Precision)?;
    Goal::new(request.precision, request.delta).map_err(CalibrateError::Delta)
}

/// The job's text with the thresholds that were found; none if none were.
pub fn new_job_text(
    job: &Job,
    finding: &CalibrationReport,
) -> Result<Option<String>, CalibrateError> {
    if finding.chosen.is_none() {
        return Ok(None);
    }
    job_text::with_thresholds(job, finding).map(Some)
}

/// Writes the page, the table and the plots into a folder.
pub fn write(finding: &CalibrationReport, folder: &Path) -> Result<(), CalibrateError> {
    std::fs::create_dir_all(folder)
        .map_err(|error| OutputError::File { path: folder.to_owned(), error })?;
    let figures = draw::figures(finding);
    for (name, figure) in &figures {
        plot_file::write(figure, &folder.join(format!("{name}.svg")))?;
    }
    let put = |name: &str, text: &str| {
        goodarm_record::outputs::replace(&folder.join(name), |file| {
            std::io::Write::write_all(file, text.as_bytes())
        })
    };
    put("calibration.json", &(json(finding) + "\n"))?;
    put("index.html", &page::page(finding, &figures))?;
    Ok(())
}

/// The finding as JSON.
pub fn json(finding: &CalibrationReport) -> String {
    serde_json::to_string_pretty(finding).expect("plain data")
}

/// A number of answers or labels as a real number.
#[expect(clippy::cast_precision_loss, reason = "counts of answers")]
pub(crate) const fn real(count: u64) -> f64 {
    count as f64
}

/// A name of others in quotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", printable(name))
}
