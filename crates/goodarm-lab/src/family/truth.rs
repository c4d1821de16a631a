//! Worlds in which answers are right or wrong. Verifiers do not see this: an approved answer may be wrong.
//! The truth is only used after the run.

use goodarm_core::calibration::{Goal, PilotScores, Threshold, ThresholdPath};
use serde::Deserialize;

use super::{Skeleton, matrix};
use goodarm_sim::random::Random;
use goodarm_sim::world_error::WorldError;

/// Another instance in every repetition: right answers, wrong ones that verifiers detect, and wrong ones
/// that mislead all verifiers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BiasedSpec {
    /// The number of answers.
    pub arms: usize,
    /// The probability that an answer is right.
    pub right: f64,
    /// The probability that a wrong answer is misleading.
    pub misleading: f64,
    /// Parameters of the Beta law of the means of right answers.
    pub right_means: [f64; 2],
    /// Parameters of the Beta law of the means of wrong answers.
    pub wrong_means: [f64; 2],
    /// Parameters of the Beta law of the means of misleading answers.
    pub misleading_means: [f64; 2],
    /// Price of each verifier.
    pub prices: Vec<f64>,
    /// The threshold of all verifiers, unless they are calibrated.
    pub threshold: f64,
    /// How thresholds are calibrated, if they are.
    pub calibrated: Option<CalibratedSpec>,
}

/// Thresholds calibrated by labels on other answers of the same kind, and a pilot of binary scores.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibratedSpec {
    /// The number of answers in the pilot.
    pub answers: usize,
    /// The number of calls of each verifier on each answer.
    pub calls: u32,
    /// The number of answers with a label.
    pub labels: usize,
    /// The share of passing answers that should be right.
    pub precision: f64,
    /// The error probability.
    pub delta: f64,
}

impl BiasedSpec {
    /// Checks everything that needs no draw.
    pub(super) fn check(&self) -> Result<(), WorldError> {
        WorldError::check_law("right_means", self.right_means)?;
        WorldError::check_law("wrong_means", self.wrong_means)?;
        WorldError::check_law("misleading_means", self.misleading_means)?;
        if let Some(spec) = self.calibrated {
            let fits = spec.answers <= PILOT_MAX
                && (1..=CALLS_MAX).contains(&spec.calls)
                && (1..=spec.answers).contains(&spec.labels);
            if !fits {
                return Err(WorldError::Pilot);
            }
            Goal::new(spec.precision, spec.delta).map_err(|_| WorldError::Pilot)?;
        }
        Ok(())
    }

    pub(super) fn skeleton(&self, seed: u64) -> Skeleton {
        let mut random = Random::at(seed, &[0x7247]);
        let answers: Vec<Answer> = (0..self.arms).map(|_| self.answer(&mut random)).collect();
        let thresholds = match self.calibrated {
            None => vec![self.threshold; self.prices.len()],
            Some(spec) => self.calibrated_thresholds(spec, &mut Random::at(seed, &[0xCA11])),
        };
        let gap = |(mean, threshold): (&f64, &f64)| mean - threshold;
        let row = |answer: &Answer| answer.means.iter().zip(&thresholds).map(gap).collect();
        let gaps: Vec<Vec<f64>> = answers.iter().map(row).collect();
        let skeleton = matrix(&self.prices, &thresholds, &gaps, &[]);
        Skeleton {
            types: answers.iter().map(|answer| answer.kind).collect(),
            type_names: ["right", "wrong", "misleading"].map(String::from).to_vec(),
            right: Some(answers.iter().map(|answer| answer.kind == 0).collect()),
            ..skeleton
        }
    }

    fn answer(&self, random: &mut Random) -> Answer {
        let is_right = random.uniform() < self.right;
        let kind = if is_right { 0 } else { 1 + usize::from(random.uniform() < self.misleading) };
        let [a, b] = [self.right_means, self.wrong_means, self.misleading_means][kind];
        Answer { kind, means: self.prices.iter().map(|_| random.beta(a, b)).collect() }
    }

    /// Calibrated thresholds; if the labels show none, thresholds that hardly any answer reaches.
    fn calibrated_thresholds(&self, spec: CalibratedSpec, random: &mut Random) -> Vec<f64> {
        let answers: Vec<Answer> = (0..spec.answers).map(|_| self.answer(random)).collect();
        let mut column = |verifier: usize| {
            let mut mean = |answer: &Answer| {
                let passed = |_: &u32| random.uniform() < answer.means[verifier];
                let count = (0..spec.calls).filter(passed).count();
                Some(f64::from(u32::try_from(count).unwrap_or(0)) / f64::from(spec.calls))
            };
            let means = answers.iter().map(&mut mean).collect();
            PilotScores { means, threshold: Threshold::Free { lowest: 0.0 } }
        };
        let columns: Vec<PilotScores> = (0..self.prices.len()).map(&mut column).collect();
        let goal = Goal::new(spec.precision, spec.delta).expect("checked with the world");
        let path = ThresholdPath::new(&columns, goal, spec.labels as u64);
        let labels: Vec<(usize, bool)> =
            answers.iter().map(|answer| answer.kind == 0).enumerate().take(spec.labels).collect();
        match path.walk(&labels).chosen {
            // No number of calls can show that a mean reaches a threshold of 1.
            Some(step) => path.steps()[step].thresholds.iter().map(|xi| xi.min(0.999)).collect(),
            None => vec![0.999; self.prices.len()],
        }
    }
}

struct Answer {
    /// 0 for right, 1 for wrong, 2 for misleading.
    kind: usize,
    means: Vec<f64>,
}

/// One verifier that approves of all answers, some of which are right.
pub(super) fn approved(answers: usize, right: usize) -> Skeleton {
    let skeleton = matrix(&[1.0], &[0.5], &vec![vec![0.5]; answers], &[]);
    Skeleton { right: Some((0..answers).map(|answer| answer < right).collect()), ..skeleton }
}

/// A larger pilot is a mistake in the file.
const PILOT_MAX: usize = 1_000_000;
const CALLS_MAX: u32 = 10_000;

#[cfg(test)]
mod tests {
    use goodarm_core::ArmId;
    use goodarm_files::toml_text::parse;

    use super::*;
    use crate::family::WorldSpec;
    use goodarm_sim::instance::Instance;

    fn world(more: &str) -> Result<Instance, WorldError> {
        let text = format!(
            "name = 'x'\nscores = 'binary'\nmeans.biased = {{ arms = 4000, right = 0.7, misleading = 0.26, \
             right_means = [37, 3], wrong_means = [2, 8], misleading_means = [30, 10], prices = [1, 3, 10], \
             threshold = 0.5{more} }}"
        );
        parse::<WorldSpec>(&text).unwrap().instance(5, None)
    }

    /// The number of good answers, and the share of them that is right.
    fn precision(instance: &Instance) -> (usize, f64) {
        let arms = (0..instance.means.len()).map(|arm| ArmId(u32::try_from(arm).unwrap()));
        let good: Vec<ArmId> = arms.filter(|&arm| instance.is_good(arm)).collect();
        let right = instance.right.as_ref().unwrap();
        let count = good.iter().filter(|arm| right[arm.index()]).count();
        let share = |count: usize| f64::from(u32::try_from(count).unwrap());
        (good.len(), share(count) / share(good.len()))
    }

    #[test]
    fn misleading_answers_reach_guessed_thresholds_but_not_calibrated_ones() {
        let (count, share) = precision(&world("").unwrap());
        assert!(count > 2900 && (0.88..0.92).contains(&share), "{count} {share}");
        let pilot = ", calibrated = { answers = 600, calls = 20, labels = 600, precision = 0.95, delta = 0.05 }";
        let (count, share) = precision(&world(pilot).unwrap());
        assert!(count > 1000 && share > 0.95, "{count} {share}");
    }

    #[test]
    fn invalid_pilots_are_refused() {
        for wrong in
            ["answers = 10, calls = 0", "answers = 9, calls = 1", "answers = 90000000, calls = 1"]
        {
            let pilot = format!(
                ", calibrated = {{ {wrong}, labels = 10, precision = 0.95, delta = 0.05 }}"
            );
            assert_eq!(world(&pilot).unwrap_err(), WorldError::Pilot, "{wrong}");
        }
        let text = "name = 'x'\nmeans.approved = { answers = 3, right = 4 }";
        let error = parse::<WorldSpec>(text).unwrap().instance(5, None).unwrap_err();
        assert_eq!(error, WorldError::Right(4, 3));
    }
}
