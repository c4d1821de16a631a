//! The result of a calibration, as data for the text and the JSON.

use goodarm_core::calibration::{Calibration, Goal, StepLabels, ThresholdPath};
use goodarm_record::job_file::Unit;
use goodarm_sim::num::{real, size};
use serde::Serialize;

use super::pilot::Pilot;
pub use super::pilot::VerifierReport;

/// The result of a calibration.
#[derive(Clone, Debug, Serialize)]
pub struct CalibrationReport {
    /// The goal and the data.
    pub settings: CalibrationSettings,
    /// Three of the answers that were compared with their references, a line for each; none with a file of labels.
    #[serde(skip)]
    pub compared: String,
    /// The ln of the evidence that a step needs: ln(1/δ), or ln(2/δ) if the search has two starts.
    pub log_evidence_needed: f64,
    /// The verifiers in the job's order; each criterion counts as one.
    pub verifiers: Vec<VerifierReport>,
    /// The steps of the path, from strict to lax thresholds.
    pub steps: Vec<StepReport>,
    /// The chosen step, counted from 0.
    pub chosen: Option<usize>,
    /// What is missing, if no step was chosen.
    pub shortfall: Option<Shortfall>,
}

/// The goal and the data of a calibration.
#[derive(Clone, Debug, Serialize)]
pub struct CalibrationSettings {
    /// The wanted share of right answers.
    pub precision: f64,
    /// The error probability of the claim.
    pub delta: f64,
    /// Answers with outcomes of every verifier.
    pub answers: usize,
    /// Candidates without such outcomes.
    pub left_out: usize,
    /// Labelled answers.
    pub labels: usize,
    /// Labelled answers that are right.
    pub right: usize,
    /// The number of labels that the path was planned for.
    pub planned_labels: u64,
    /// Fewest and most recorded calls of a noisy verifier on an answer.
    pub calls: (usize, usize),
    /// The unit of prices.
    pub unit: Unit,
}

/// One step of the path.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    /// The threshold of each verifier.
    pub thresholds: Vec<f64>,
    /// Answers that pass all thresholds.
    pub passing: usize,
    /// The share of all answers that pass.
    pub share_kept: f64,
    /// Passing answers that are labelled and right.
    pub right: u64,
    /// Passing answers that are labelled and wrong.
    pub wrong: u64,
    /// ln of the evidence, which must reach `log_evidence_needed`.
    pub log_evidence: f64,
    /// The result of the step.
    #[serde(rename = "standing")]
    pub status: StepStatus,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepStatus {
    /// Too few labels were expected among the answers that pass.
    TooFewLabels,
    /// The labels show that enough of the answers that pass are right.
    Shown,
    /// The labels do not show it: the search from a start ended here.
    NotShown,
    /// No search reached the step.
    NotReached,
}

/// What is missing if no step was chosen.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Shortfall {
    /// Whether the labels are too few for any step, even if all are right.
    pub is_untestable: bool,
    /// The total number of labels that is needed if all passing answers are right from now on.
    pub labels_if_right: Option<u64>,
    /// The total number of labels that is needed at the present share of right ones; `None` if no number is enough.
    pub labels_at_rate: Option<u64>,
    /// A lower precision that these labels show.
    pub reached: Option<f64>,
}

/// The data that a calibration computes with.
pub(super) struct CalibrationData<'a> {
    pub(super) pilot: &'a Pilot,
    pub(super) labels: &'a [(usize, bool)],
    pub(super) planned: u64,
    pub(super) goal: Goal,
}

impl CalibrationData<'_> {
    /// The report.
    pub(super) fn report(&self, path: &ThresholdPath, walked: &Calibration) -> CalibrationReport {
        let step = walked.chosen.map(|chosen| &path.steps()[chosen]);
        let verifiers = (0..self.pilot.verifiers.len()).map(|place| {
            let threshold = step.map(|step| step.thresholds[place]);
            self.verifier(place, threshold)
        });
        let settings = CalibrationSettings {
            precision: self.goal.precision(),
            delta: self.goal.delta(),
            answers: self.pilot.arms.len(),
            left_out: self.pilot.left_out,
            labels: self.labels.len(),
            right: self.labels.iter().filter(|(_, is_right)| *is_right).count(),
            planned_labels: self.planned,
            calls: self.pilot.calls,
            unit: self.pilot.unit,
        };
        CalibrationReport {
            settings,
            log_evidence_needed: -libm::log(path.tested().delta()),
            verifiers: verifiers.collect(),
            steps: self.steps(path, walked),
            chosen: walked.chosen,
            compared: String::new(),
            shortfall: walked.chosen.is_none().then(|| self.shortfall(path, walked)),
        }
    }

    fn verifier(&self, place: usize, threshold: Option<f64>) -> VerifierReport {
        let (verifier, column) = (&self.pilot.verifiers[place], &self.pilot.columns[place]);
        let means = |wanted: bool| {
            let labels = self.labels.iter().filter(|(_, is_right)| *is_right == wanted);
            let mut means: Vec<f64> =
                labels.filter_map(|(place, _)| column.means[*place]).collect();
            means.sort_by(f64::total_cmp);
            means
        };
        VerifierReport {
            new_threshold: threshold.filter(|_| verifier.stays.is_none()),
            auc: auc(&means(true), &means(false)),
            ..verifier.clone()
        }
    }

    fn steps(&self, path: &ThresholdPath, walked: &Calibration) -> Vec<StepReport> {
        let first = path.starts().first().copied().unwrap_or(usize::MAX);
        let status = |place: usize, row: &StepLabels| match (row.is_tested, row.is_shown) {
            (true, true) => StepStatus::Shown,
            (true, false) => StepStatus::NotShown,
            (false, _) if place < first => StepStatus::TooFewLabels,
            (false, _) => StepStatus::NotReached,
        };
        let steps = path.steps().iter().zip(&walked.rows).enumerate();
        let step = steps.map(|(place, (step, row))| StepReport {
            thresholds: step.thresholds.clone(),
            passing: step.passers.len(),
            share_kept: path.share_kept(place),
            right: row.right_count,
            wrong: row.wrong_count,
            log_evidence: row.log_evidence,
            status: status(place, row),
        });
        step.collect()
    }

    /// What the nearest step would take.
    fn shortfall(&self, path: &ThresholdPath, walked: &Calibration) -> Shortfall {
        let rows = || walked.rows.iter().enumerate();
        let labelled = self.labels.len() as u64;
        let if_right = rows().map(|(place, row)| {
            let more = path.tested().labels_to_go(row.right_count, row.wrong_count);
            labelled.saturating_add(shared(more, path.share_kept(place)))
        });
        let at_rate = rows().filter(|(_, row)| row.label_count() > 0).filter_map(|(place, row)| {
            let rate = real(row.right_count) / real(row.label_count());
            Some(shared(path.tested().labels_at_rate(rate)?, path.share_kept(place)))
        });
        let lower = REACHES.iter().copied().filter(|reach| *reach < self.goal.precision());
        let reached = lower.rev().find(|precision| self.is_shown(*precision));
        Shortfall {
            is_untestable: path.starts().is_empty(),
            labels_if_right: if_right.min(),
            labels_at_rate: at_rate.min(),
            reached,
        }
    }

    /// Whether the labels show another precision.
    fn is_shown(&self, precision: f64) -> bool {
        Goal::new(precision, self.goal.delta()).is_ok_and(|goal| {
            let path = ThresholdPath::new(&self.pilot.columns, goal, self.planned);
            path.walk(self.labels).chosen.is_some()
        })
    }
}

/// The number of labels at which `count` of them are about answers that pass, if this share of the answers passes.
fn shared(count: u64, share: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let labels = (real(count) / share).ceil() as u64;
    labels
}

/// The probability that a right answer has the higher mean, from sorted means.
fn auc(right: &[f64], wrong: &[f64]) -> Option<f64> {
    if right.is_empty() || wrong.is_empty() {
        return None;
    }
    let wins = right.iter().map(|mean| {
        let below = wrong.partition_point(|other| other < mean);
        let not_above = wrong.partition_point(|other| other <= mean);
        0.5 * (size(below) + size(not_above))
    });
    Some(wins.sum::<f64>() / (size(right.len()) * size(wrong.len())))
}

/// A little more than the price of a check in a job.
pub(super) const PRICE_MIN: f64 = 1.5e-9;
/// Precisions that are tried if a higher one is not reached.
const REACHES: [f64; 11] = [0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_under_the_curve_counts_pairs() {
        assert_eq!(auc(&[], &[0.5]), None);
        assert_eq!(auc(&[0.5, 0.5], &[0.5]), Some(0.5));
        assert_eq!(auc(&[0.6, 0.9], &[0.1, 0.2]), Some(1.0));
        assert_eq!(auc(&[0.2, 0.9], &[0.2, 0.5]), Some(0.625));
    }
}
