//! The result of a calibration, as data for the text and the JSON.

use goodarm_core::calibration::{Calibration, Goal, PilotScores, StepLabels, ThresholdPath};
use goodarm_record::job_file::Unit;
use goodarm_sim::plan::Spread;
use serde::Serialize;

pub use super::pilot::VerifierReport;
use super::pilot::{Pilot, PilotVerifier};
use super::real;

/// The result of a calibration.
#[derive(Clone, Debug, Serialize)]
pub struct CalibrationReport {
    /// The goal and the data.
    pub settings: CalibrationSettings,
    /// The ln of the evidence that a step needs: ln(1/δ), or ln(2/δ) if the search has two starts.
    pub log_evidence_needed: f64,
    /// In the job's order; each criterion is one.
    pub verifiers: Vec<VerifierReport>,
    /// From strict to lax.
    pub steps: Vec<StepReport>,
    /// The chosen step, counted from 0.
    pub chosen: Option<usize>,
    /// If none was chosen: what it would take.
    pub shortfall: Option<Shortfall>,
    /// Verifiers that add nothing but their price.
    pub omissions: Vec<RedundantVerifier>,
    /// What other precisions would give.
    pub offers: Vec<PrecisionOption>,
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
    /// Those that are right.
    pub right: usize,
    /// The number of labels that the path was planned for.
    pub planned_labels: u64,
    /// Fewest and most recorded calls of a noisy verifier on an answer.
    pub calls: (usize, usize),
    /// The unit of prices and of the budget.
    pub unit: Unit,
    /// The job's budget.
    pub budget: f64,
}

/// One step of the path.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    /// One for each verifier.
    pub thresholds: Vec<f64>,
    /// Answers that pass all of them.
    pub passing: usize,
    /// Their share of all.
    pub share_kept: f64,
    /// Those of them that are labelled and right.
    pub right: u64,
    /// Those that are labelled and wrong.
    pub wrong: u64,
    /// ln of the evidence, which must reach `log_evidence_needed`.
    pub log_evidence: f64,
    /// The share that this step's labels alone show to be right.
    pub shown_precision: f64,
    /// Its result.
    #[serde(rename = "standing")]
    pub status: StepStatus,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepStatus {
    /// Too few labels were expected among its answers.
    TooFewLabels,
    /// The labels show that it keeps enough right answers.
    Shown,
    /// They do not: the search from a start ended here.
    NotShown,
    /// No search reached it.
    NotReached,
}

/// What it would take.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Shortfall {
    /// Whether the labels are too few for any step, even if all are right.
    pub is_untestable: bool,
    /// Labels in all, if all that pass are right from now on.
    pub labels_if_right: Option<u64>,
    /// Labels in all, at the present share of right ones; `None` if no number suffices.
    pub labels_at_rate: Option<u64>,
    /// A lower precision that these labels show.
    pub reached: Option<f64>,
}

/// A verifier without which at least as many answers pass.
#[derive(Clone, Debug, Serialize)]
pub struct RedundantVerifier {
    /// Its name.
    pub verifier: String,
    /// Its price for a call.
    pub price: f64,
    /// Answers that pass with it.
    pub kept_with: usize,
    /// Answers that pass without it.
    pub kept_without: usize,
}

/// What a precision would give.
#[derive(Clone, Debug, Serialize)]
pub struct PrecisionOption {
    /// The precision.
    pub precision: f64,
    /// The thresholds that would be chosen; `None` if the labels do not show it.
    pub thresholds: Option<Vec<f64>>,
    /// Answers that pass.
    pub kept: usize,
    /// Answers that simulated sessions certify with the job's budget.
    pub certified: Option<Spread>,
    /// What they spend on average.
    pub spent: Option<f64>,
}

/// The data that a calibration computes with.
pub(super) struct CalibrationData<'a> {
    pub(super) pilot: &'a Pilot,
    pub(super) labels: &'a [(usize, bool)],
    pub(super) planned: u64,
    pub(super) goal: Goal,
}

impl CalibrationData<'_> {
    /// The report without `omissions` and `offers`.
    pub(super) fn report(&self, path: &ThresholdPath, walked: &Calibration) -> CalibrationReport {
        let step = walked.chosen.map(|chosen| &path.steps()[chosen]);
        let verifiers = self.pilot.verifiers.iter().enumerate().map(|(place, verifier)| {
            let threshold = step.map(|step| step.thresholds[place]);
            self.verifier(verifier, threshold)
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
            budget: self.pilot.budget,
        };
        CalibrationReport {
            settings,
            log_evidence_needed: -libm::log(path.tested().delta()),
            verifiers: verifiers.collect(),
            steps: self.steps(path, walked),
            chosen: walked.chosen,
            shortfall: walked.chosen.is_none().then(|| self.shortfall(path, walked)),
            omissions: Vec::new(),
            offers: Vec::new(),
        }
    }

    fn verifier(&self, verifier: &PilotVerifier, threshold: Option<f64>) -> VerifierReport {
        let means = |wanted: bool| {
            let labels = self.labels.iter().filter(|(_, is_right)| *is_right == wanted);
            let mut means: Vec<f64> =
                labels.filter_map(|(place, _)| verifier.column.means[*place]).collect();
            means.sort_by(f64::total_cmp);
            means
        };
        VerifierReport {
            new_threshold: threshold.filter(|_| verifier.report.stays.is_none()),
            auc: auc(&means(true), &means(false)),
            ..verifier.report.clone()
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
            shown_precision: shown_precision(row, path.tested().delta()),
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
        let columns: Vec<PilotScores> =
            self.pilot.verifiers.iter().map(|verifier| verifier.column.clone()).collect();
        let lower = REACHES.iter().copied().filter(|reach| *reach < self.goal.precision());
        let reached = lower.rev().find(|precision| self.kept(&columns, *precision).is_some());
        Shortfall {
            is_untestable: path.starts().is_empty(),
            labels_if_right: if_right.min(),
            labels_at_rate: at_rate.min(),
            reached,
        }
    }

    /// The step that other columns, or another precision, lead to.
    pub(super) fn kept(
        &self,
        columns: &[PilotScores],
        precision: f64,
    ) -> Option<(Vec<f64>, usize)> {
        let goal = Goal::new(precision, self.goal.delta()).ok()?;
        let path = ThresholdPath::new(columns, goal, self.planned);
        let step = &path.steps()[path.walk(self.labels).chosen?];
        Some((step.thresholds.clone(), step.passers.len()))
    }

    /// Verifiers without which the path leads to at least as many answers.
    pub(super) fn redundant_verifiers(
        &self,
        columns: &[PilotScores],
        report: &CalibrationReport,
    ) -> Vec<RedundantVerifier> {
        let kept_with = report.chosen.map_or(0, |chosen| report.steps[chosen].passing);
        let verifiers = || self.pilot.verifiers.iter().enumerate();
        if verifiers().filter(|(_, verifier)| verifier.report.stays.is_none()).count() < 2 {
            return Vec::new();
        }
        let omission = |(place, verifier): (usize, &PilotVerifier)| {
            let mut others = columns.to_vec();
            others.remove(place);
            let (_, kept_without) = self.kept(&others, self.goal.precision())?;
            let is_paid = verifier.report.stays.is_none() && verifier.report.price > PRICE_MIN;
            (is_paid && kept_without >= kept_with).then(|| RedundantVerifier {
                verifier: verifier.report.name.clone(),
                price: verifier.report.price,
                kept_with,
                kept_without,
            })
        };
        verifiers().filter_map(omission).collect()
    }
}

/// The number of labels of which `count` are among the share of answers that pass.
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
        0.5 * (real(below as u64) + real(not_above as u64))
    });
    Some(wins.sum::<f64>() / (real(right.len() as u64) * real(wrong.len() as u64)))
}

/// The largest precision that labels show, rounded down.
fn shown_precision(row: &StepLabels, delta: f64) -> f64 {
    let is_shown = |precision: f64| {
        Goal::new(precision, delta)
            .is_ok_and(|goal| goal.is_shown(row.right_count, row.wrong_count))
    };
    let (mut shown, mut not_shown) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(shown, not_shown);
        if is_shown(middle) { shown = middle } else { not_shown = middle }
    }
    shown
}

const BISECTIONS: u32 = 30;
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

    #[test]
    fn a_step_shows_what_its_labels_show() {
        let row = StepLabels {
            right_count: 68,
            wrong_count: 0,
            log_evidence: 0.0,
            is_shown: true,
            is_tested: true,
        };
        let shown = shown_precision(&row, 0.05);
        assert!((0.95..0.951).contains(&shown), "{shown}");
        let nothing = StepLabels {
            right_count: 0,
            wrong_count: 9,
            log_evidence: 0.0,
            is_shown: false,
            is_tested: true,
        };
        assert!(shown_precision(&nothing, 0.05) < 0.01);
    }
}
