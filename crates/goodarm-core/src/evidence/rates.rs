//! The mixture of binary bets on all rates g above ξ at once, each as likely as any other, so that
//! every gap above 0 is found in the end, also those too small for the grid.

use core::f64::consts::TAU;

use crate::num::{EPSILON, real, stirling_rest};

/// A uniform prior on the rates from ξ to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RatesAbove {
    threshold: f64,
    room: f64,
    log_room: f64,
}

impl RatesAbove {
    pub(crate) fn new(threshold: f64, room: f64) -> Self {
        Self { threshold, room, log_room: libm::log(room) }
    }

    // No rate wins more than the scores' own rate p, so ln E ≤ n kl(p, ξ), and kl(p, ξ) ≤ (p - ξ)²/(ξ(1-ξ)).
    /// A number that [`RatesAbove::log_e`] does not exceed, for the price of a division.
    pub(crate) fn log_e_max(&self, count: u64, excess: f64) -> f64 {
        excess * excess / (real(count) * self.threshold * self.room)
    }

    // E = 1/(1-ξ) ∫_ξ^1 (g/ξ)^s ((1-g)/(1-ξ))^f dg is what the integral over all rates,
    // s! f!/(n+1)! / (ξ^s (1-ξ)^f), leaves when that over the rates below ξ is taken away:
    // ξ(1-ξ)/(s+1) (1 + r_0 + r_0 r_1 + …) with r_k = (n+2+k)ξ/(s+2+k). As r falls, the series is at
    // most 1/(1 - r_0) = (s+2)/(S + 2(1-ξ)): the result is below E, by next to nothing once E is above 1.
    /// ln of a number that E does not fall below, for `excess` > 0.
    pub(crate) fn log_e(&self, (successes, failures): (f64, f64), count: u64, excess: f64) -> f64 {
        let count = real(count);
        let gain = successes * libm::log1p(excess / (count * self.threshold));
        let loss = if failures > 0.0 {
            failures * libm::log1p(-excess / (count * self.room))
        } else {
            0.0
        };
        let spread = TAU * successes.max(1.0) * failures.max(1.0) / count;
        let log_all = gain + loss + stirling_rest(successes) + stirling_rest(failures)
            - stirling_rest(count)
            + 0.5 * libm::log(spread / ((count + 1.0) * (count + 1.0)));
        let below = self.threshold * self.room * (successes + 2.0)
            / ((successes + 1.0) * (excess + 2.0 * self.room));
        // The two integrals may nearly cancel, and a rounding error must not count as evidence.
        let share_below = below * libm::exp(-log_all);
        let rounding = 16.0 * EPSILON * (1.0 + libm::fabs(log_all)) * share_below;
        let share_above = 1.0 - share_below - rounding - EPSILON;
        if share_above > 0.0 {
            log_all + libm::log(share_above) - self.log_room
        } else {
            f64::NEG_INFINITY
        }
    }
}
