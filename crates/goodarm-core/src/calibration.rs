//! Thresholds of verifiers, from a pilot and labels of some of its arms: the laxest ones on a path from strict
//! to lax for which the labels show that more than a wanted share of the passing arms is right.
//!
//! **The promise.** The labelled arms are drawn at random from those of the pilot: the draw depends neither on
//! whether an arm is right nor on its scores. Then with probability 1 - δ more than the wanted share c of all arms
//! that pass the chosen thresholds is right; passing means that the *pilot's* means reach them.
//!
//! **Why.** The path is a function of the pilot's means, of c, δ and of how many labels are planned, and of
//! nothing else. For step i let H(i) be "at most c of the arms that pass step i are right". Steps are tested
//! in order, from where a test can succeed, and the first one that is not rejected ends it. Let i* be the
//! first true H(i) from there on: it does not depend on the labels, since the path does not. A wrong choice is
//! step i* or a later one, so that H(i*) was rejected: one test at level δ, and no correction for the search
//! (fixed-sequence testing).
//!
//! There are two starts if there are enough labels. At the strict one all labels have to be right: a single
//! wrong label ends the search. At the second, one label may be wrong. Each has half of δ, and the laxer of the
//! two outcomes is chosen (a union bound).
//!
//! H(i) is rejected when [`log_evidence_of_precision`] reaches ln(1/δ) on the labelled arms that pass step i. The
//! evidence is a convex function of how many of them are right. Among arms that were drawn without replacement that
//! number is less spread than under independent draws with the same mean (Hoeffding 1963, Theorem 4), so that the
//! mean of the evidence is at most 1 here as well, and by Markov's inequality the evidence reaches 1/δ with
//! probability at most δ. The counts are those at the end, so the order of a file of labels, which may be sorted,
//! does not matter.
//!
//! **Which arms are labelled** may be used as well: how many labelled arms pass step i depends on the draw and
//! the means, not on what is right. Given that number n, the labelled passers of step i are n random ones of
//! its passers, and the above holds for each n. It decides whether a step has enough labels, and a step that
//! has not is simply not rejected. The *starts* do not depend on it: they are the steps where enough labelled
//! passers are to be expected. If they were the steps where the labels at hand happen to be enough, the draw
//! would choose among several true H(i), and the passers of a step would not be a plain sample of it any more.
//!
//! **Looking again.** A path that stays as it is (same pilot, c, δ and *planned* number of labels) may be
//! walked after every label: if arms are independent draws from a population, the evidence is a
//! supermartingale under H(i) about that population, and it ever reaches 1/δ with probability δ at most. A new
//! path for more labels is a new test with a δ of its own.

use alloc::vec::Vec;

use crate::claim::log_evidence_of_precision;
use crate::num::{real, real_size};
use crate::units::{ErrorRate, OutsideUnitInterval};

/// The mean scores by one verifier in the pilot, and what may be decided about its threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct PilotScores {
    /// The mean score of each arm; an arm without one passes no threshold.
    pub means: Vec<Option<f64>>,
    /// Whether its threshold is to be chosen.
    pub threshold: Threshold,
}

/// Whether a threshold is to be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// It stays as it is: an exact verifier has to pass.
    Fixed(f64),
    /// It is chosen above the lowest possible score (which may be -∞).
    Free {
        /// The lowest score.
        lowest: f64,
    },
}

/// The hypothesis to be shown: more than this share of the arms that pass is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    precision: f64,
    error_rate: ErrorRate,
}

impl Goal {
    /// Checks that both are strictly between 0 and 1.
    pub fn new(precision: f64, delta: f64) -> Result<Self, OutsideUnitInterval> {
        ErrorRate::new(precision)?;
        Ok(Self { precision, error_rate: ErrorRate::new(delta)? })
    }

    /// The wanted share.
    pub const fn precision(self) -> f64 {
        self.precision
    }

    /// The probability of a wrong choice.
    pub const fn delta(self) -> f64 {
        self.error_rate.get()
    }

    /// The same goal with one of `count` equal parts of δ, rounded down.
    fn part(self, count: usize) -> Self {
        let delta = self.error_rate.get() / real_size(count.max(1));
        // A δ whose half rounds to 0 is not divided; it is practically 0 itself.
        Self { error_rate: ErrorRate::new(delta).unwrap_or(self.error_rate), ..self }
    }

    /// Whether these labels are enough to show the hypothesis.
    pub fn is_shown(self, right_count: u64, wrong_count: u64) -> bool {
        self.log_evidence(right_count, wrong_count) >= self.error_rate.ln_inverse()
    }

    /// ln of the evidence for the hypothesis, which must reach ln(1/δ).
    pub fn log_evidence(self, right_count: u64, wrong_count: u64) -> f64 {
        log_evidence_of_precision(right_count, wrong_count, self.precision)
    }

    /// The number of labels that are enough if `wrong_count` of them are "wrong".
    pub fn labels_needed(self, wrong_count: u64) -> u64 {
        self.labels_to_go(0, wrong_count).saturating_add(wrong_count)
    }

    /// The number of further labels that are enough if all of these are "right".
    pub fn labels_to_go(self, right_count: u64, wrong_count: u64) -> u64 {
        first_count(|more| self.is_shown(right_count.saturating_add(more), wrong_count))
            .unwrap_or(LABELS_MAX)
    }

    /// The number of labels that are enough if this share of them is "right"; `None` if no realistic number is.
    pub fn labels_at_rate(self, rate: f64) -> Option<u64> {
        if rate <= self.precision {
            return None;
        }
        first_count(|count| {
            // Whole labels, rounded so that more are wrong.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let right = libm::floor(rate * real(count) + WHOLE_LABEL_SLACK) as u64;
            let right = right.min(count);
            self.is_shown(right, count - right)
        })
    }
}

/// The first count for which `holds` is true, if it is then true for all larger counts, or nearly all; `None` if
/// there is no realistic one.
fn first_count(holds: impl Fn(u64) -> bool) -> Option<u64> {
    if holds(0) {
        return Some(0);
    }
    let (mut too_few, mut enough) = (0, 1);
    while !holds(enough) {
        if enough >= LABELS_MAX {
            return None;
        }
        (too_few, enough) = (enough, enough * 2);
    }
    while too_few + 1 < enough {
        let middle = u64::midpoint(too_few, enough);
        if holds(middle) { enough = middle } else { too_few = middle }
    }
    Some(enough)
}

/// Threshold vectors from strict to lax, which do not depend on any label.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdPath {
    goal: Goal,
    arm_count: usize,
    steps: Vec<ThresholdStep>,
    /// The steps where testing begins; each has an equal part of δ.
    starts: Vec<usize>,
}

/// One threshold for each verifier.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdStep {
    /// In the order of the columns.
    pub thresholds: Vec<f64>,
    /// The arms that pass all of them.
    pub passers: Vec<usize>,
}

impl ThresholdPath {
    /// Lays out the path for a pilot and a planned number of labels. All columns are about the same arms.
    ///
    /// With each step a larger share of all arms passes each verifier by itself, up to 100 %: the thresholds go
    /// down together, by their ranks. Steps that let hardly more arms pass than the one before are left out:
    /// each could end the search for a small gain.
    pub fn new(columns: &[PilotScores], goal: Goal, planned_labels: u64) -> Self {
        let arm_count = columns.iter().map(|column| column.means.len()).min().unwrap_or(0);
        let cuts: Vec<Cuts> = columns.iter().map(Cuts::of).collect();
        let gain_min = arm_count.div_ceil(STEPS_MAX).max(1);
        let mut steps: Vec<ThresholdStep> = Vec::new();
        for level in 1..=LEVELS {
            let thresholds: Option<Vec<f64>> = cuts.iter().map(|cuts| cuts.at(level)).collect();
            let Some(thresholds) = thresholds else { break };
            let passers: Vec<usize> =
                (0..arm_count).filter(|arm| passes(columns, &thresholds, *arm)).collect();
            let before = steps.last().map_or(0, |step| step.passers.len());
            let gain = passers.len() - before;
            if gain >= gain_min || (level == LEVELS && gain > 0) {
                steps.push(ThresholdStep { thresholds, passers });
            }
        }
        let starts = starts(&steps, goal, arm_count, planned_labels);
        Self { goal, arm_count, steps, starts }
    }

    /// All steps, from strict to lax.
    pub fn steps(&self) -> &[ThresholdStep] {
        &self.steps
    }

    /// The steps where testing begins, the strictest first; empty if too few labels are planned.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The goal that each step has to show, with the part of δ of one start.
    pub fn tested(&self) -> Goal {
        self.goal.part(self.starts.len())
    }

    /// The share of all arms that passes a step.
    pub fn share_kept(&self, step: usize) -> f64 {
        real_size(self.steps[step].passers.len()) / real_size(self.arm_count.max(1))
    }

    /// Tests the steps with labels: arms and whether they are right. Each arm has one label at most; an arm
    /// that a person could not judge counts as wrong.
    pub fn walk(&self, labels: &[(usize, bool)]) -> Calibration {
        let mut labelled = alloc::vec![None; self.arm_count];
        for &(arm, is_right) in labels {
            if let Some(label) = labelled.get_mut(arm) {
                *label = Some(is_right);
            }
        }
        let mut rows: Vec<StepLabels> =
            self.steps.iter().map(|step| self.row(step, &labelled)).collect();
        let mut chosen = None;
        for &start in &self.starts {
            for (place, row) in rows.iter_mut().enumerate().skip(start) {
                row.is_tested = true;
                if !row.is_shown {
                    break;
                }
                chosen = chosen.max(Some(place));
            }
        }
        Calibration { rows, chosen }
    }

    fn row(&self, step: &ThresholdStep, labels: &[Option<bool>]) -> StepLabels {
        let of = |is_right: bool| {
            step.passers.iter().filter(|&&arm| labels[arm] == Some(is_right)).count() as u64
        };
        let (right_count, wrong_count) = (of(true), of(false));
        let goal = self.tested();
        StepLabels {
            right_count,
            wrong_count,
            log_evidence: goal.log_evidence(right_count, wrong_count),
            is_shown: goal.is_shown(right_count, wrong_count),
            is_tested: false,
        }
    }
}

/// The tests of all steps of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// One for each step.
    pub rows: Vec<StepLabels>,
    /// The laxest step that the search reached from one of the starts with every step on the way shown; `None` if
    /// there is no such step.
    pub chosen: Option<usize>,
}

/// The labels of the arms that pass one step, and their evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepLabels {
    /// Labelled arms that pass and are right.
    pub right_count: u64,
    /// Labelled arms that pass and are wrong.
    pub wrong_count: u64,
    /// ln of the evidence that more than the wanted share of the passing arms is right.
    pub log_evidence: f64,
    /// Whether that is enough for this step alone.
    pub is_shown: bool,
    /// Whether the search reached this step.
    pub is_tested: bool,
}

impl StepLabels {
    /// Labelled arms that pass.
    pub const fn label_count(&self) -> u64 {
        self.right_count + self.wrong_count
    }
}

/// Whether the means of an arm reach all thresholds.
fn passes(columns: &[PilotScores], thresholds: &[f64], arm: usize) -> bool {
    let mut pairs = columns.iter().zip(thresholds);
    pairs.all(|(column, threshold)| column.means[arm].is_some_and(|mean| mean >= *threshold))
}

/// The first step with enough labelled passers if none of them is wrong, and the first with enough if one is.
/// Depends on the planned number of labels, not on the labels.
fn starts(
    steps: &[ThresholdStep],
    goal: Goal,
    arm_count: usize,
    planned_labels: u64,
) -> Vec<usize> {
    let all = real_size(arm_count.max(1));
    let share = libm::fmin(1.0, real(planned_labels) / all);
    let surely = |step: &ThresholdStep| {
        let passing = real_size(step.passers.len());
        let expected = passing * share;
        // Draws without replacement: the laxer the step, the smaller the variance.
        let variance = expected * (1.0 - passing / all) * (1.0 - share);
        expected - 2.0 * libm::sqrt(variance)
    };
    let first = |needed: u64| steps.iter().position(|step| surely(step) >= real(needed));
    let half = goal.part(2);
    match [0, 1].map(|wrong_count| first(half.labels_needed(wrong_count))) {
        [Some(strict), Some(lax)] if strict < lax => [strict, lax].into(),
        _ => first(goal.labels_needed(0)).into_iter().collect(),
    }
}

/// The possible thresholds of a verifier: one between any two neighbouring means.
enum Cuts {
    Fixed(f64),
    /// Strict to lax: a threshold, and how many arms reach it.
    Free {
        arm_count: usize,
        kept: Vec<(f64, usize)>,
    },
}

impl Cuts {
    fn of(column: &PilotScores) -> Self {
        let lowest = match column.threshold {
            Threshold::Fixed(threshold) => return Self::Fixed(threshold),
            Threshold::Free { lowest } => lowest,
        };
        let mut means: Vec<f64> =
            column.means.iter().flatten().copied().filter(|mean| mean.is_finite()).collect();
        means.sort_by(|a, b| b.total_cmp(a));
        let neighbours = means.iter().skip(1).chain(core::iter::once(&lowest));
        let kept = means.iter().zip(neighbours).zip(1..);
        let kept = kept.filter(|((mean, below), _)| mean > below);
        let kept = kept.map(|((mean, below), count)| (between(*below, *mean), count)).collect();
        Self::Free { arm_count: means.len(), kept }
    }

    /// The laxest threshold that at most `level` percent of the arms reach, or else the strictest; `None` if no
    /// arm is above the lowest score.
    fn at(&self, level: usize) -> Option<f64> {
        match self {
            Self::Fixed(threshold) => Some(*threshold),
            Self::Free { arm_count, kept } => {
                let allowed = arm_count * level / LEVELS;
                let within = kept.iter().rev().find(|(_, count)| *count <= allowed);
                within.or_else(|| kept.first()).map(|(threshold, _)| *threshold)
            }
        }
    }
}

/// A short number above `below` and under `mean`: their middle, rounded up, with two decimals if possible.
fn between(below: f64, mean: f64) -> f64 {
    if below == f64::NEG_INFINITY {
        return libm::floor(mean * 100.0) / 100.0;
    }
    let middle = f64::midpoint(below, mean);
    let mut scale = 1.0;
    for _ in 0..DECIMALS_MAX {
        scale *= 10.0;
        let rounded = libm::ceil(middle * scale) / scale;
        if scale > 10.0 && rounded > below && rounded < mean {
            return rounded;
        }
    }
    if middle > below { middle } else { mean }
}

/// The number of shares of passing arms that a path tries for each verifier.
const LEVELS: usize = 100;
/// About the largest number of steps, evenly spaced in the arms that pass.
const STEPS_MAX: usize = 40;
const DECIMALS_MAX: u32 = 9;
/// More labels are not realistic.
const LABELS_MAX: u64 = 1 << 40;
/// 0.29 · 100 is 28.999999999999996.
const WHOLE_LABEL_SLACK: f64 = 1e-9;

#[cfg(test)]
mod tests;
