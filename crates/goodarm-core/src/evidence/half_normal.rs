//! The mixture over all gaps at once: a continuous prior, so that every gap above 0 is found in the end. A fixed
//! grid of gaps gives more evidence at its points, and none for gaps far below the smallest one.

use crate::num::{log_scaled_normal_cdf, real};

/// A half-normal prior on the gap, with a scale in units of the noise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HalfNormal {
    sigma: f64,
    rho: f64,
}

impl HalfNormal {
    pub(crate) fn new(gap_scale: f64, sigma: f64) -> Self {
        Self { sigma, rho: (sigma / gap_scale) * (sigma / gap_scale) }
    }

    /// A number that [`HalfNormal::log_e`] does not exceed, for the price of a division.
    pub(crate) fn log_e_max(&self, count: u64, excess: f64) -> f64 {
        let standardised = excess / self.sigma;
        core::f64::consts::LN_2 + 0.5 * standardised * standardised / (real(count) + self.rho)
    }

    // [HRMS21 Prop. 5, one-sided]  with z = Σ(x - ξ)/σ
    // ln E = ln 2 + ½ ln(ρ/(n + ρ)) + z²/(2(n + ρ)) + ln Φ(z/√(n + ρ))
    pub(crate) fn log_e(&self, count: u64, excess: f64) -> f64 {
        let spread = real(count) + self.rho;
        let standardised = excess / self.sigma / libm::sqrt(spread);
        core::f64::consts::LN_2
            + 0.5 * libm::log(self.rho / spread)
            + log_scaled_normal_cdf(standardised)
    }
}
