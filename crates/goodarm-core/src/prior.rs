//! The distribution of an attribute's scores over all arms: an empirical-Bayes prior on gaps.
//!
//! It guides allocation and the weights of bets that have not been made yet; it never enters
//! evidence that has begun.

use crate::num::real;
use crate::problem::{Attribute, ScoreModel};
use crate::tally::Tally;

/// The scores of a pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample<'a> {
    pub(crate) tally: &'a Tally,
    /// Σ(x - x̄)² of bounded scores; 0 for others.
    pub(crate) squared_deviations: f64,
}

impl<'a> Sample<'a> {
    /// A sample of scores that are not bounded.
    pub(crate) const fn of(tally: &'a Tally) -> Self {
        Self { tally, squared_deviations: 0.0 }
    }
}

/// The belief about an arm without scores of the attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// The mean over arms of mean score - ξ.
    pub gap_mean: f64,
    /// The standard deviation over arms of mean score - ξ.
    pub gap_sd: f64,
    /// The variance of one score around its arm's mean, pooled over arms.
    pub noise_variance: f64,
    /// The share of arms that pass, for an exact attribute.
    pub pass_rate: f64,
}

/// A normal belief about the gap of one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Belief {
    pub(crate) gap: f64,
    pub(crate) sd: f64,
    /// The variance of one score.
    pub(crate) variance: f64,
    /// The weight of the belief, as a number of scores; the prior is included.
    pub(crate) knowledge: f64,
}

impl Prior {
    /// The prior before any score, if scores are from 0 to 1 and ξ = ½: most answers are somewhat good.
    pub(crate) const START: Self = Self {
        gap_mean: GAP_MEAN_START,
        gap_sd: 0.3,
        noise_variance: 1.0 / 12.0,
        pass_rate: 2.0 / 3.0,
    };

    /// The prior of an attribute before any of its scores.
    pub(crate) fn start(attribute: &Attribute) -> Self {
        let (scale, width) = (gap_scale(attribute), attribute.width());
        Self {
            gap_mean: scale * Self::START.gap_mean,
            gap_sd: scale * Self::START.gap_sd,
            noise_variance: width * width * Self::START.noise_variance,
            ..Self::START
        }
    }

    pub(crate) fn differs_from(&self, other: &Self) -> bool {
        libm::fabs(self.gap_mean - other.gap_mean) > MEAN_CHANGE_MIN
            || libm::fabs(self.gap_sd / other.gap_sd - 1.0) > SPREAD_CHANGE_MIN
            || libm::fabs(self.noise_variance / other.noise_variance - 1.0) > SPREAD_CHANGE_MIN
    }

    /// Learns again from every arm's tally of the attribute.
    pub(crate) fn refreshed<'a>(
        &self,
        attribute: &Attribute,
        pairs: impl Iterator<Item = Sample<'a>> + Clone,
    ) -> Self {
        let tried = pairs.filter(|sample| sample.tally.returned_count > 0);
        if attribute.is_exact() {
            let (passes, count) = tried.fold((0.0, 0.0), |(passes, count), sample| {
                let passed = sample.tally.mean() >= attribute.threshold;
                (passes + f64::from(u8::from(passed)), count + 1.0)
            });
            return Self { pass_rate: (passes + 2.0) / (count + 3.0), ..*self };
        }
        let noise_variance = self.pooled_noise(attribute, tried.clone());
        let learned = Self { noise_variance, ..*self };
        let spread = learned.gap_sd * learned.gap_sd;
        let gap_and_error = |sample: Sample<'_>| {
            let gap = sample.tally.mean() - attribute.threshold;
            (gap, learned.variance_of(attribute, sample) / real(sample.tally.returned_count))
        };
        let scale = gap_scale(attribute);
        let variance_start = scale * scale * GAP_VARIANCE_START;
        let (mut weighted, mut weight) =
            (2.0 * scale * GAP_MEAN_START / variance_start, 2.0 / variance_start);
        for sample in tried.clone() {
            let (gap, error) = gap_and_error(sample);
            weighted += gap / (spread + error);
            weight += 1.0 / (spread + error);
        }
        let gap_mean = (weighted / weight).max(scale * GAP_MEAN_MIN);
        let (mut squares, mut weight) = (4.0 * variance_start, 4.0);
        for sample in tried {
            let (gap, error) = gap_and_error(sample);
            let reliability = spread / (spread + error);
            let share = reliability * reliability;
            squares += share * ((gap - gap_mean) * (gap - gap_mean) - error);
            weight += share;
        }
        let gap_sd = libm::sqrt((squares / weight).max(0.0));
        Self { gap_mean, gap_sd: gap_sd.clamp(scale * GAP_SD_MIN, scale * GAP_SD_MAX), ..learned }
    }

    /// The belief about a pair without scores, if the variance of its scores is the pooled one.
    pub(crate) fn belief(&self) -> Belief {
        let knowledge = self.noise_variance / (self.gap_sd * self.gap_sd);
        Belief { gap: self.gap_mean, sd: self.gap_sd, variance: self.noise_variance, knowledge }
    }

    /// The belief about a pair, given its scores.
    pub(crate) fn given(&self, attribute: &Attribute, sample: Sample<'_>) -> Belief {
        let count = real(sample.tally.returned_count);
        let variance = self.variance_of(attribute, sample);
        let prior_count = variance / (self.gap_sd * self.gap_sd);
        let excess = sample.tally.sum - attribute.threshold * count;
        let knowledge = prior_count + count;
        let gap = (self.gap_mean * prior_count + excess) / knowledge;
        Belief { gap, sd: libm::sqrt(variance / knowledge), variance, knowledge }
    }

    /// The variance of one score of a pair, given its scores.
    pub(crate) fn variance_of(&self, attribute: &Attribute, sample: Sample<'_>) -> f64 {
        let Sample { tally, squared_deviations } = sample;
        let count = real(tally.returned_count);
        match attribute.scores {
            ScoreModel::SubGaussian { sigma, .. } => sigma * sigma,
            ScoreModel::Binary => {
                let rate = (tally.sum + 1.0) / (count + 2.0);
                (rate * (1.0 - rate)).max(BINARY_VARIANCE_MIN)
            }
            ScoreModel::Bounded { .. } => {
                let degrees = real(tally.returned_count.max(1) - 1);
                ((4.0 * self.noise_variance + squared_deviations) / (4.0 + degrees))
                    .max(noise_min(attribute))
            }
            ScoreModel::Exact => NOISE_MIN,
        }
    }

    fn pooled_noise<'a>(
        &self,
        attribute: &Attribute,
        tried: impl Iterator<Item = Sample<'a>>,
    ) -> f64 {
        if !matches!(attribute.scores, ScoreModel::Bounded { .. }) {
            return self.noise_variance;
        }
        let (mut squares, mut degrees) = (4.0 * Self::start(attribute).noise_variance, 4.0);
        for sample in tried {
            squares += sample.squared_deviations;
            degrees += real(sample.tally.returned_count - 1);
        }
        (squares / degrees).max(noise_min(attribute))
    }
}

/// The factor for gaps in the constants below, which are for scores from 0 to 1 and ξ = ½. Gaps cannot exceed the
/// room above ξ.
fn gap_scale(attribute: &Attribute) -> f64 {
    attribute.width().min(2.0 * attribute.room())
}

fn noise_min(attribute: &Attribute) -> f64 {
    attribute.width() * attribute.width() * NOISE_MIN
}

const GAP_MEAN_START: f64 = 0.15;
const GAP_MEAN_MIN: f64 = 0.02;
const GAP_VARIANCE_START: f64 = 0.09;
const GAP_SD_MIN: f64 = 0.1;
const GAP_SD_MAX: f64 = 0.5;
const BINARY_VARIANCE_MIN: f64 = 0.02;
const NOISE_MIN: f64 = 0.002;
/// Smaller changes are not worth another row of weights.
const MEAN_CHANGE_MIN: f64 = 0.01;
const SPREAD_CHANGE_MIN: f64 = 0.05;
