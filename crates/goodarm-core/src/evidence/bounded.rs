//! Evidence from scores in a declared range: twelve gamblers, each staking a fixed share λ of its wealth on every
//! score, wealth × (1 + λ(x - ξ)); their pooled wealth is the evidence. Stakes are for scores in units of the
//! range.
//!
//! A gambler's wealth is a supermartingale when E[x] ≤ ξ, for any other behaviour of the scores. If scores vary
//! little, the wealth of bold gamblers grows fast; no bound from (n, Σx) alone can use that.

use crate::evidence::grid::{BETS, BETS_AGAINST, LogWeights};
use crate::num::{EPSILON, geometric, log_sum_exp, real};
use crate::tally::Tally;

#[derive(Clone, Debug)]
pub(crate) struct Bounded {
    threshold: f64,
    width: f64,
    /// ξ as a share of the range.
    level: f64,
    stakes: [f64; BETS],
    stakes_against: [f64; BETS_AGAINST],
}

/// The log-wealths of the gamblers of one pair, in whole quanta of 2⁻³² nats. Every step is rounded down, and sums
/// of steps are exact, even if a wealth falls very low before it recovers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wealths {
    above: [i64; BETS],
    below: [i64; BETS_AGAINST],
    /// Σx² of all scores that are back, in any order: for beliefs, not for evidence.
    pub(crate) sum_of_squares: f64,
}

impl Wealths {
    pub(crate) const START: Self =
        Self { above: [0; BETS], below: [0; BETS_AGAINST], sum_of_squares: 0.0 };

    /// Resets the evidence for the arm, since earlier scores prove nothing. The evidence against it stays.
    pub(crate) const fn begin(&mut self) {
        self.above = [0; BETS];
    }

    /// Σ(x - x̄)² of the scores that are back.
    pub(crate) fn squared_deviations(&self, tally: &Tally) -> f64 {
        if tally.returned_count == 0 {
            return 0.0;
        }
        (self.sum_of_squares - tally.sum * tally.sum / real(tally.returned_count)).max(0.0)
    }
}

impl Bounded {
    pub(crate) fn new(threshold: f64, (lowest, highest): (f64, f64)) -> Self {
        let width = highest - lowest;
        let level = ((threshold - lowest) / width).max(LEVEL_MIN);
        Self {
            threshold,
            width,
            level,
            stakes: geometric(STAKE_MIN, BOLDEST / level),
            stakes_against: geometric(STAKE_MIN, BOLDEST / ((highest - threshold) / width)),
        }
    }

    /// The gaps that weights are learned for.
    pub(crate) fn gaps(&self) -> [f64; BETS] {
        let room = (1.0 - self.level) * self.width;
        geometric(f64::min(0.03 * self.width, 0.3 * room), 0.99 * room)
    }

    /// The stake λ that makes wealth grow fastest when scores have this gap and variance, by a second-order
    /// expansion around the mean: with w = λ/(1 + λ gap), maximise -ln(1 - w gap) - w² variance/2.
    pub(crate) fn best_stake(&self, gap: f64, variance: f64) -> f64 {
        let (gap, variance) = self.in_units(gap, variance);
        let boldest = BOLDEST / self.level;
        let share_max = boldest / (1.0 + boldest * gap);
        let discriminant = 1.0 - 4.0 * gap * gap / variance;
        let share = if discriminant > 0.0 {
            ((1.0 - libm::sqrt(discriminant)) / (2.0 * gap)).min(share_max)
        } else {
            share_max
        };
        share / (1.0 - share * gap)
    }

    /// How fast the log-wealth of a stake grows when scores have this gap and variance, by the same expansion as in
    /// [`Self::best_stake`].
    pub(crate) fn growth(&self, stake: f64, gap: f64, variance: f64) -> f64 {
        let (gap, variance) = self.in_units(gap, variance);
        let share = stake / (1.0 + stake * gap);
        -libm::log1p(-share * gap) - 0.5 * share * share * variance
    }

    const fn in_units(&self, gap: f64, variance: f64) -> (f64, f64) {
        (gap / self.width, variance / (self.width * self.width))
    }

    /// The default weights: a quarter for the boldest gambler, who wins most when scores vary little.
    pub(crate) fn log_weights() -> LogWeights {
        let mut weights = [libm::log(0.75 / 11.0); BETS];
        weights[BETS - 1] = libm::log(0.25);
        weights
    }

    pub(crate) fn absorb(&self, wealths: &mut Wealths, score: f64) {
        let excess = (score - self.threshold) / self.width;
        for (wealth, stake) in wealths.above.iter_mut().zip(&self.stakes) {
            *wealth = grown(*wealth, libm::log1p(stake * excess));
        }
        for (wealth, stake) in wealths.below.iter_mut().zip(&self.stakes_against) {
            *wealth = grown(*wealth, libm::log1p(-stake * excess));
        }
    }

    /// ln of the evidence for a mean above ξ.
    pub(crate) fn log_e(&self, log_weights: &LogWeights, wealths: &Wealths) -> f64 {
        pooled(log_weights, &wealths.above)
    }

    /// Whether the evidence can be at least `floor`: it is at most the wealth of the richest gambler.
    pub(crate) fn may_reach(floor: f64, wealths: &Wealths) -> bool {
        richest(&wealths.above) >= floor
    }

    pub(crate) fn may_reach_against(floor: f64, wealths: &Wealths) -> bool {
        richest(&wealths.below) >= floor
    }

    /// ln of the evidence for a mean below ξ.
    pub(crate) fn log_e_against(&self, wealths: &Wealths) -> f64 {
        pooled(&super::UNIFORM_AGAINST, &wealths.below)
    }

    /// The wealths after this many scores of 1 and of 0: states that would take hours to reach.
    #[cfg(test)]
    pub(crate) fn wealths_after(&self, ones: u64, zeros: u64) -> Wealths {
        let (mut one, mut zero) = (Wealths::START, Wealths::START);
        self.absorb(&mut one, 1.0);
        self.absorb(&mut zero, 0.0);
        let sum = |one: i64, zero: i64| {
            let sum = i128::from(ones) * i128::from(one) + i128::from(zeros) * i128::from(zero);
            i64::try_from(sum).unwrap_or(if sum < 0 { BANKRUPT } else { i64::MAX })
        };
        Wealths {
            above: core::array::from_fn(|bet| sum(one.above[bet], zero.above[bet])),
            below: core::array::from_fn(|bet| sum(one.below[bet], zero.below[bet])),
            ..Wealths::START
        }
    }

    /// The log-wealth of the gambler whose stake is nearest to `stake`.
    pub(crate) fn wealth_near(&self, wealths: &Wealths, stake: f64) -> f64 {
        nats(wealths.above[self.nearest(stake)])
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

/// A log-wealth after one step, rounded down by more than the error of `step`.
fn grown(wealth: i64, step: f64) -> i64 {
    if wealth == BANKRUPT {
        return BANKRUPT;
    }
    #[expect(clippy::cast_possible_truncation, reason = "a step is below 2^10 nats")]
    let quanta = libm::floor(step * QUANTA_PER_NAT) as i64 - 1;
    wealth.saturating_add(quanta)
}

#[expect(clippy::cast_precision_loss, reason = "rounding is allowed for in `pooled`")]
fn nats(wealth: i64) -> f64 {
    wealth as f64 / QUANTA_PER_NAT
}

fn richest(wealths: &[i64]) -> f64 {
    nats(wealths.iter().copied().fold(BANKRUPT, i64::max))
}

fn pooled<const COUNT: usize>(weights: &[f64; COUNT], wealths: &[i64; COUNT]) -> f64 {
    let mut terms = [0.0; COUNT];
    for bet in 0..COUNT {
        terms[bet] = weights[bet] + nats(wealths[bet]);
    }
    let log_e = log_sum_exp(&terms);
    log_e - ROUNDINGS * EPSILON * (1.0 + libm::fabs(log_e))
}

/// 2³²: a billion scores lose at most half a nat to rounding, and a log-wealth of 10⁹ nats fits an `i64`.
const QUANTA_PER_NAT: f64 = 4_294_967_296.0;
#[cfg(test)]
pub(crate) const QUANTUM: f64 = 1.0 / QUANTA_PER_NAT;
/// A gambler with this wealth does not recover.
const BANKRUPT: i64 = i64::MIN;
const ROUNDINGS: f64 = 16.0;
const STAKE_MIN: f64 = 0.06;
/// Below this 1/ξ² overflows. With a higher level the stakes are smaller than they could be, which is valid.
const LEVEL_MIN: f64 = 1e-140;
/// The boldest stake, as a share of the largest stake that cannot go bankrupt.
const BOLDEST: f64 = 0.98;
