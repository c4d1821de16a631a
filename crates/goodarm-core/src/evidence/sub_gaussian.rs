//! Evidence from σ-sub-Gaussian scores: E = Σ w exp(d S/σ² - d² n/(2σ²)), S = Σ(x - ξ).
//!
//! Each term is a supermartingale when E[x] ≤ ξ: E exp(d(x - ξ)/σ² - d²/(2σ²)) ≤ 1.

use crate::evidence::grid::{BETS, BETS_AGAINST, Grid, LogWeights};
use crate::num::real;

#[derive(Clone, Debug)]
pub(crate) struct SubGaussian {
    above: Grid<BETS>,
    below: Grid<BETS_AGAINST>,
}

impl SubGaussian {
    pub(crate) fn new(threshold: f64, sigma: f64) -> Self {
        Self {
            above: Grid::gaussian(1.0 - threshold, sigma),
            below: Grid::gaussian(threshold, sigma),
        }
    }

    pub(crate) const fn gaps(&self) -> [f64; BETS] {
        self.above.gaps
    }

    /// ln of the evidence for a mean above ξ.
    pub(crate) fn log_e(&self, log_weights: &LogWeights, count: u64, excess: f64) -> f64 {
        self.above.log_e(log_weights, (excess, real(count)), count, excess)
    }

    /// A number that [`SubGaussian::log_e`] does not exceed, found quickly.
    pub(crate) fn log_e_max(&self, count: u64, excess: f64) -> f64 {
        self.above.log_e_max((excess, real(count)), count, excess)
    }

    /// A number that [`SubGaussian::log_e_against`] does not exceed, found quickly.
    pub(crate) fn log_e_against_max(&self, count: u64, excess: f64) -> f64 {
        self.below.log_e_max((-excess, real(count)), count, -excess)
    }

    /// ln of the evidence for a mean below ξ.
    pub(crate) fn log_e_against(&self, count: u64, excess: f64) -> f64 {
        self.below.log_e(&super::UNIFORM_AGAINST, (-excess, real(count)), count, -excess)
    }
}
