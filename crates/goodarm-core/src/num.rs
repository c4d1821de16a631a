//! Numerical functions, most of them in log space.

/// One unit in the last place, relative.
pub(crate) const EPSILON: f64 = f64::EPSILON;

/// A count as a real number; exact below 2⁵³, about 9 · 10¹⁵.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(crate) const fn real(count: u64) -> f64 {
    count as f64
}

/// A size as a real number.
#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
pub(crate) const fn real_size(size: usize) -> f64 {
    size as f64
}

/// ln Σ exp(terms), exact up to rounding: no term can overflow.
pub(crate) fn log_sum_exp(terms: &[f64]) -> f64 {
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    let mut sum = 0.0;
    for &term in terms {
        // Smaller terms are below rounding, and leaving them out makes evidence smaller.
        if term - largest > NEGLIGIBLE_LOG {
            sum += libm::exp(term - largest);
        }
    }
    largest + libm::log(sum)
}

/// Φ(x), the standard normal distribution function.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
}

/// x²/2 + ln Φ(x), without the cancellation that the two terms would suffer for negative x.
pub(crate) fn log_scaled_normal_cdf(x: f64) -> f64 {
    if x > MILLS_BELOW {
        return 0.5 * x * x + libm::log(normal_cdf(x));
    }
    // Φ(x) = φ(x) R(-x) with Mills' ratio R(y) = 1/(y + 1/(y + 2/(y + 3/(y + ...)))).
    let y = -x;
    let mut tail = y;
    for level in (1..=MILLS_LEVELS).rev() {
        tail = y + f64::from(level) / tail;
    }
    -LN_SQRT_TWO_PI - libm::log(tail)
}

/// The remainder of Stirling's formula for ln k!, with a whole number k:
/// ln k! - (k ln k - k + ½ ln(2π max(k, 1))) = 1/(12k) - 1/(360k³) + …
pub(crate) fn stirling_rest(k: f64) -> f64 {
    if k < real_size(STIRLING_RESTS.len()) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        return STIRLING_RESTS[k as usize];
    }
    let square = 1.0 / (k * k);
    let late = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0);
    (1.0 / 12.0 - square * (1.0 / 360.0 - square * late)) / k
}

/// `COUNT` numbers from `first` to `last`, each the previous one times the same factor.
pub(crate) fn geometric<const COUNT: usize>(first: f64, last: f64) -> [f64; COUNT] {
    let ratio = libm::pow(last / first, 1.0 / (real_size(COUNT) - 1.0));
    let mut values = [first; COUNT];
    for index in 1..COUNT {
        values[index] = values[index - 1] * ratio;
    }
    values
}

/// A sum that loses no digits: Neumaier's compensated summation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    pub(crate) const ZERO: Self = Self { total: 0.0, lost: 0.0 };

    pub(crate) fn add(&mut self, term: f64) {
        let next = self.total + term;
        self.lost += if libm::fabs(self.total) >= libm::fabs(term) {
            (self.total - next) + term
        } else {
            (term - next) + self.total
        };
        self.total = next;
    }

    pub(crate) const fn get(self) -> f64 {
        self.total + self.lost
    }

    /// The sum of the terms that were added since this sum was `before`.
    pub(crate) const fn since(self, before: Self) -> f64 {
        (self.total - before.total) + (self.lost - before.lost)
    }
}

const NEGLIGIBLE_LOG: f64 = -37.0;
const LN_SQRT_TWO_PI: f64 = 0.918_938_533_204_672_7;
/// Below this the continued fraction has converged to rounding after [`MILLS_LEVELS`] levels.
const MILLS_BELOW: f64 = -5.0;
const MILLS_LEVELS: u32 = 60;

const STIRLING_RESTS: [f64; 16] = [
    -0.918_938_533_204_672_8,
    0.081_061_466_795_327_26,
    0.041_340_695_955_409_3,
    0.027_677_925_684_998_34,
    0.020_790_672_103_765_093,
    0.016_644_691_189_821_193,
    0.013_876_128_823_070_748,
    0.011_896_709_945_891_77,
    0.010_411_265_261_972_096,
    0.009_255_462_182_712_733,
    0.008_330_563_433_362_87,
    0.007_573_675_487_951_841,
    0.006_942_840_107_209_53,
    0.006_408_994_188_004_207,
    0.005_951_370_112_758_847_5,
    0.005_554_733_551_962_801,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scaled_normal_cdf_has_no_seam_and_no_cancellation() {
        let below = log_scaled_normal_cdf(MILLS_BELOW);
        let above = log_scaled_normal_cdf(MILLS_BELOW + 1e-12);
        assert!((below - above).abs() < 1e-11, "{below} {above}");
        // x = -100: ln Φ = -5005.524..., so x²/2 + ln Φ = -5.5242086794 (Mills ratio by series).
        let y = 100.0_f64;
        let series = -LN_SQRT_TWO_PI - y.ln()
            + (1.0 - y.powi(-2) + 3.0 * y.powi(-4) - 15.0 * y.powi(-6)).ln();
        assert!((log_scaled_normal_cdf(-y) - series).abs() < 1e-11);
        assert!(log_scaled_normal_cdf(-1e12).is_finite());
    }

    #[test]
    fn log_sum_exp_neither_overflows_nor_invents() {
        assert!((log_sum_exp(&[1e6, 1e6]) - (1e6 + core::f64::consts::LN_2)).abs() < 1e-9);
        assert!(log_sum_exp(&[f64::NEG_INFINITY; 3]) < f64::MIN);
    }

    #[test]
    fn a_compensated_sum_keeps_small_terms() {
        let mut sum = Sum::default();
        sum.add(1e16);
        for _ in 0..1000 {
            sum.add(0.1);
        }
        sum.add(-1e16);
        assert!((sum.get() - 100.0).abs() < 1e-9, "{}", sum.get());
    }
}
