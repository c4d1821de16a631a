//! A mixture of twelve fixed bets, from small gaps to the largest there can be, and a continuous
//! part: what the sub-Gaussian and the binary certificate have in common.

use crate::evidence::half_normal::HalfNormal;
use crate::evidence::rates::RatesAbove;
use crate::num::{EPSILON, geometric, log_sum_exp};

/// The number of bets for a certificate.
pub(crate) const BETS: usize = 12;
/// The number of bets for a rejection, which only reports and policies read.
pub(crate) const BETS_AGAINST: usize = 6;

/// ln of the weights of the bets; the weights sum to at most one.
pub(crate) type LogWeights = [f64; BETS];

/// Bets whose log-wealth is linear in two statistics: a_k · first + b_k · second.
#[derive(Clone, Debug)]
pub(crate) struct Grid<const COUNT: usize> {
    /// The mean - ξ that each bet is made for.
    pub(crate) gaps: [f64; COUNT],
    per_first: [f64; COUNT],
    per_second: [f64; COUNT],
    continuous: Continuous,
    log_continuous_share: f64,
    log_grid_share: f64,
}

#[derive(Clone, Copy, Debug)]
enum Continuous {
    HalfNormal(HalfNormal),
    Rates(RatesAbove),
}

impl<const COUNT: usize> Grid<COUNT> {
    /// Gaussian likelihood ratios from (Σ(x - ξ), n): d S/σ² - d² n/(2σ²). A gap of many σ takes as few scores as a
    /// gap of four σ.
    pub(crate) fn gaussian(room: f64, sigma: f64) -> Self {
        let noise = sigma.min(1.0);
        let gaps = geometric((GAP_MIN * noise).min(0.3 * room), 0.99 * room.min(4.0 * noise));
        let variance = sigma * sigma;
        Self {
            gaps,
            per_first: gaps.map(|gap| gap / variance),
            per_second: gaps.map(|gap| -0.5 * gap * gap / variance),
            continuous: Continuous::HalfNormal(HalfNormal::new(0.5 * room.min(noise), sigma)),
            log_continuous_share: libm::log(GAUSSIAN_CONTINUOUS_SHARE),
            log_grid_share: libm::log1p(-GAUSSIAN_CONTINUOUS_SHARE),
        }
    }

    /// Binary likelihood ratios from (successes, failures), g = ξ + d:
    /// s ln(g/ξ) + f ln((1-g)/(1-ξ)), where `room` is 1 - ξ, exact also for a ξ near 1.
    pub(crate) fn binary(threshold: f64, room: f64) -> Self {
        let gaps = geometric(GAP_MIN.min(0.06 * room), 0.99 * room);
        Self {
            gaps,
            per_first: gaps.map(|gap| libm::log1p(gap / threshold)),
            per_second: gaps.map(|gap| libm::log1p(-gap / room)),
            continuous: Continuous::Rates(RatesAbove::new(threshold, room)),
            log_continuous_share: libm::log(BINARY_CONTINUOUS_SHARE),
            log_grid_share: libm::log1p(-BINARY_CONTINUOUS_SHARE),
        }
    }

    /// A number that [`Grid::log_e`] does not exceed, without a single logarithm: what the best bet of
    /// the grid has won, or the continuous part could have.
    pub(crate) fn log_e_max(&self, (first, second): (f64, f64), count: u64, excess: f64) -> f64 {
        let mut best = f64::NEG_INFINITY;
        for bet in 0..COUNT {
            best = best.max(self.per_first[bet] * first + self.per_second[bet] * second);
        }
        let continuous = self.log_continuous_share
            + match &self.continuous {
                Continuous::HalfNormal(half_normal) => half_normal.log_e_max(count, excess),
                Continuous::Rates(rates) => rates.log_e_max(count, excess),
            };
        // The sum of two is at most twice the larger.
        best.max(continuous) + core::f64::consts::LN_2
    }

    /// ln of the mixture's wealth after `count` scores with Σ(x - ξ) = `excess`.
    pub(crate) fn log_e(
        &self,
        log_weights: &[f64; COUNT],
        (first, second): (f64, f64),
        count: u64,
        excess: f64,
    ) -> f64 {
        let mut terms = [f64::NEG_INFINITY; BETS + 1];
        for bet in 0..COUNT {
            terms[bet] = log_weights[bet]
                + self.log_grid_share
                + self.per_first[bet] * first
                + self.per_second[bet] * second;
        }
        // The continuous part is of no use unless the mean of the scores is above ξ, and leaving it out makes the
        // evidence smaller.
        if excess > 0.0 {
            terms[COUNT] = self.log_continuous_share
                + match &self.continuous {
                    Continuous::HalfNormal(half_normal) => half_normal.log_e(count, excess),
                    Continuous::Rates(rates) => rates.log_e((first, second), count, excess),
                };
        }
        let log_e = log_sum_exp(&terms[..=COUNT]);
        let steepest = libm::fabs(self.per_first[COUNT - 1] * first)
            + libm::fabs(self.per_second[COUNT - 1] * second);
        let log_e = log_e - ROUNDINGS * EPSILON * (1.0 + steepest + libm::fabs(log_e));
        // Every bet is on a mean above ξ, so none gains when the mean of the scores is not above ξ.
        if excess <= 0.0 { log_e.min(0.0) } else { log_e }
    }
}

/// No gap below this, in units of the noise if that is small, gets a bet of its own.
const GAP_MIN: f64 = 0.03;
/// The weight of the continuous part. It costs the grid 0.105 nat, and keeps the loss for gaps between two bets
/// from growing with every score.
const GAUSSIAN_CONTINUOUS_SHARE: f64 = 0.1;
/// The weight of the continuous part. It costs the grid 0.02 nat, and finds gaps too small for the grid.
const BINARY_CONTINUOUS_SHARE: f64 = 0.02;
/// An upper bound on the roundings in one evaluation, each relative to the largest term.
const ROUNDINGS: f64 = 16.0;
