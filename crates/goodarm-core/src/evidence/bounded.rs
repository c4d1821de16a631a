//! Evidence from scores in [0, 1]: twelve gamblers, each staking a fixed share λ of its wealth on
//! every score, wealth × (1 + λ(x - ξ)); their pooled wealth is the evidence.
//!
//! A gambler's wealth is a supermartingale when E[x] ≤ ξ, whatever else the scores do; scores that
//! vary little let the bold ones grow fast, which no bound from (n, Σx) alone can use.

use crate::evidence::grid::{BETS, BETS_AGAINST, LogWeights};
use crate::num::{EPSILON, geometric, log_sum_exp, real};
use crate::tally::Tally;

#[derive(Clone, Debug)]
pub(crate) struct Bounded {
    threshold: f64,
    stakes: [f64; BETS],
    stakes_against: [f64; BETS_AGAINST],
}

/// The log-wealths of the gamblers of one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wealths {
    above: [f64; BETS],
    below: [f64; BETS_AGAINST],
    /// Of all scores that are back, in any order: for beliefs, not for evidence.
    pub(crate) sum_of_squares: f64,
}

impl Wealths {
    pub(crate) const START: Self =
        Self { above: [0.0; BETS], below: [0.0; BETS_AGAINST], sum_of_squares: 0.0 };

    /// Σ(x - x̄)² of the scores that are back.
    pub(crate) fn squared_deviations(&self, tally: &Tally) -> f64 {
        if tally.returned_count == 0 {
            return 0.0;
        }
        (self.sum_of_squares - tally.sum * tally.sum / real(tally.returned_count)).max(0.0)
    }
}

impl Bounded {
    pub(crate) fn new(threshold: f64) -> Self {
        Self {
            threshold,
            stakes: geometric(STAKE_MIN, BOLDEST / threshold),
            stakes_against: geometric(STAKE_MIN, BOLDEST / (1.0 - threshold)),
        }
    }

    /// A quarter on the boldest gambler, who wins most when scores vary little.
    pub(crate) fn log_weights() -> LogWeights {
        let mut weights = [libm::log(0.75 / 11.0); BETS];
        weights[BETS - 1] = libm::log(0.25);
        weights
    }

    pub(crate) fn absorb(&self, wealths: &mut Wealths, score: f64) {
        let excess = score - self.threshold;
        for (wealth, stake) in wealths.above.iter_mut().zip(&self.stakes) {
            *wealth += libm::log1p(stake * excess);
        }
        for (wealth, stake) in wealths.below.iter_mut().zip(&self.stakes_against) {
            *wealth += libm::log1p(-stake * excess);
        }
    }

    /// ln of the evidence for a mean above ξ.
    pub(crate) fn log_e(&self, log_weights: &LogWeights, wealths: &Wealths, count: u64) -> f64 {
        pooled(log_weights, &wealths.above, count)
    }

    /// ln of the evidence for a mean below ξ.
    pub(crate) fn log_e_against(&self, wealths: &Wealths, count: u64) -> f64 {
        pooled(&super::UNIFORM_AGAINST, &wealths.below, count)
    }

    /// The wealths after so many ones and zeros: states that would take hours to reach.
    #[cfg(test)]
    pub(crate) fn wealths_after(&self, ones: f64, zeros: f64) -> Wealths {
        let (mut one, mut zero) = (Wealths::START, Wealths::START);
        self.absorb(&mut one, 1.0);
        self.absorb(&mut zero, 0.0);
        Wealths {
            above: core::array::from_fn(|bet| ones * one.above[bet] + zeros * zero.above[bet]),
            below: core::array::from_fn(|bet| ones * one.below[bet] + zeros * zero.below[bet]),
            ..Wealths::START
        }
    }

    /// The log-wealth of the gambler whose stake is nearest to `stake`.
    pub(crate) fn wealth_near(&self, wealths: &Wealths, stake: f64) -> f64 {
        wealths.above[self.nearest(stake)]
    }

    pub(crate) fn nearest(&self, stake: f64) -> usize {
        let upper = self.stakes.partition_point(|&candidate| candidate < stake);
        if upper == 0 {
            return 0;
        }
        if upper == BETS {
            return BETS - 1;
        }
        // Nearest in ratio, since the stakes are a geometric sequence.
        if stake * stake > self.stakes[upper - 1] * self.stakes[upper] { upper } else { upper - 1 }
    }
}

fn pooled<const COUNT: usize>(weights: &[f64; COUNT], wealths: &[f64; COUNT], count: u64) -> f64 {
    let mut terms = [0.0; COUNT];
    for bet in 0..COUNT {
        terms[bet] = weights[bet] + wealths[bet];
    }
    let log_e = log_sum_exp(&terms);
    // One rounding for every score that went in, relative to the wealth, and a few for the pool.
    log_e - EPSILON * (real(count) + 16.0) * (1.0 + libm::fabs(log_e))
}

const STAKE_MIN: f64 = 0.06;
/// Of the largest stake that cannot go bankrupt.
const BOLDEST: f64 = 0.98;
