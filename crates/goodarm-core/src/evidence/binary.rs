//! Evidence from scores that are 0 or 1: E = Σ w (g/ξ)^s ((1-g)/(1-ξ))^f over rates g > ξ.
//!
//! Each score x multiplies a term by 1 + λ(x - ξ) with λ = (g - ξ)/(ξ(1 - ξ)): a supermartingale when E[x] ≤ ξ.

use crate::evidence::grid::{BETS, BETS_AGAINST, Grid, LogWeights};
use crate::num::real;

#[derive(Clone, Debug)]
pub(crate) struct Binary {
    threshold: f64,
    gain_max: f64,
    above: Grid<BETS>,
    below: Grid<BETS_AGAINST>,
}

impl Binary {
    pub(crate) fn new(threshold: f64) -> Self {
        let room = 1.0 - threshold;
        Self {
            threshold,
            gain_max: -libm::log(threshold),
            above: Grid::binary(threshold, room),
            below: Grid::binary(room, threshold),
        }
    }

    pub(crate) const fn gaps(&self) -> [f64; BETS] {
        self.above.gaps
    }

    /// ln of the evidence for a mean above ξ, from exact counts.
    pub(crate) fn log_e(&self, log_weights: &LogWeights, count: u64, successes: f64) -> f64 {
        let failures = real(count) - successes;
        let excess = self.excess(count, successes);
        self.above.log_e(log_weights, (successes, failures), count, excess)
    }

    /// A number that [`Binary::log_e`] does not exceed, found quickly.
    pub(crate) fn log_e_max(&self, count: u64, successes: f64) -> f64 {
        let failures = real(count) - successes;
        self.above.log_e_max((successes, failures), count, self.excess(count, successes))
    }

    /// A number that [`Binary::log_e_against`] does not exceed, found quickly.
    pub(crate) fn log_e_against_max(&self, count: u64, successes: f64) -> f64 {
        let failures = real(count) - successes;
        self.below.log_e_max((failures, successes), count, -self.excess(count, successes))
    }

    /// ln(1/ξ): one success raises ln E by at most this.
    pub(crate) const fn gain_max(&self) -> f64 {
        self.gain_max
    }

    /// ln of the evidence for a mean below ξ.
    pub(crate) fn log_e_against(&self, count: u64, successes: f64) -> f64 {
        let failures = real(count) - successes;
        let excess = self.excess(count, successes);
        self.below.log_e(&super::UNIFORM_AGAINST, (failures, successes), count, -excess)
    }

    /// s - nξ, from whichever side of ξ is the smaller, so that no digits are lost.
    fn excess(&self, count: u64, successes: f64) -> f64 {
        if self.threshold < 0.5 {
            successes - self.threshold * real(count)
        } else {
            (1.0 - self.threshold) * real(count) - (real(count) - successes)
        }
    }
}
