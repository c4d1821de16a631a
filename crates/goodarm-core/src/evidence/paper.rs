//! The paper's lower certificate, to the letter.

use crate::num::{real, real_size};

/// The radius r(n, δ) of the certificate. [P Eq. track-certificate]
#[derive(Clone, Debug)]
pub(crate) struct PaperRadius {
    threshold: f64,
    sigma: f64,
    pairs: f64,
    log_delta: f64,
    /// 2 log(4 D/δ): σ√(this/n) is at most the radius, and needs no logarithm.
    twice_log_term_min: f64,
}

impl PaperRadius {
    pub(crate) fn new(
        threshold: f64,
        sigma: f64,
        pair_count: usize,
        log_inverse_delta: f64,
    ) -> Self {
        let pairs = real_size(pair_count);
        let twice_log_term_min = 2.0 * (libm::log(4.0 * pairs) + log_inverse_delta) * ROUND_DOWN;
        Self { threshold, sigma, pairs, log_delta: -log_inverse_delta, twice_log_term_min }
    }

    /// The certificate before any score: 0 as in the paper, or -∞ if 0 reaches ξ.
    pub(crate) const fn start(&self) -> f64 {
        if self.threshold > 0.0 { 0.0 } else { f64::NEG_INFINITY }
    }

    /// Updates the running maxima of μ̂ - r(n, δ) and of ξ - (μ̂ + r(n, δ)). The second is above 0 when the mirror
    /// image of the certificate shows that the arm is not good. Most scores raise neither maximum, which a bound on
    /// the radius shows.
    pub(crate) fn raise(&self, count: u64, mean: f64, lower: &mut f64, shortfall: &mut f64) {
        let radius_min = self.sigma * libm::sqrt(self.twice_log_term_min / real(count));
        let may_raise =
            mean - radius_min > *lower || self.threshold - (mean + radius_min) > *shortfall;
        if may_raise {
            let radius = self.radius(count);
            *lower = lower.max(mean - radius);
            *shortfall = shortfall.max(self.threshold - (mean + radius));
        }
    }

    // [P Eq. track-certificate]  r(n, δ) = √((2/n) log(4 D n²/δ)), times σ, which is 1 there
    pub(crate) fn radius(&self, count: u64) -> f64 {
        self.sigma * libm::sqrt(2.0 / real(count) * self.log_term(real(count)))
    }

    // log(4 D n²/δ)
    fn log_term(&self, count: f64) -> f64 {
        libm::log(4.0 * self.pairs * count * count) - self.log_delta
    }

    /// How many more scores, each `gap` above ξ, bring the certificate to ξ: the smallest N with
    /// Σ(x - ξ) + (N - n) gap ≥ N r(N, δ), for a log term that is iterated to its fixed point.
    pub(crate) fn remaining(&self, count: u64, excess: f64, gap: f64) -> f64 {
        let head_start = excess - real(count) * gap;
        let mut total = real(count).max(1.0);
        for _ in 0..FIXED_POINT_STEPS {
            let height = 2.0 * self.sigma * self.sigma * self.log_term(total);
            let root = (libm::sqrt(height)
                + libm::sqrt((height - 4.0 * gap * head_start).max(0.0)))
                / (2.0 * gap);
            total = (root * root).max(1.0);
        }
        total - real(count)
    }
}

const FIXED_POINT_STEPS: u32 = 4;
const ROUND_DOWN: f64 = 1.0 - 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_is_where_the_certificate_reaches_the_threshold() {
        let paper = PaperRadius::new(0.5, 1.0, 48, (1.0_f64 / 0.02).ln());
        let total = paper.remaining(0, 0.0, 0.3);
        let first = (1..100_000).find(|&count| 0.8 - paper.radius(count) >= 0.5).unwrap();
        assert!((real(first) - total).abs() < 1.5, "{first} {total}");
    }
}
