//! The formulas against the authors' own program, against integrals and against products.

use alloc::vec::Vec;

use goodarm_sim::random::Random;

use super::{
    assert_close, binary_gaps_slowly, binary_slowly, bounded_slowly, gaussian_slowly, logs,
    rates_slowly, simpson, top_heavy, uniform,
};
use crate::evidence::UNIFORM_AGAINST;
use crate::evidence::binary::Binary;
use crate::evidence::bounded::{Bounded, QUANTUM, Wealths};
use crate::evidence::grid::{BETS, BETS_AGAINST, Grid};
use crate::evidence::half_normal::HalfNormal;
use crate::evidence::rates::RatesAbove;
use crate::evidence::sub_gaussian::SubGaussian;
use crate::num::{log_scaled_normal_cdf, log_sum_exp, real};

#[test]
fn the_half_normal_mixture_is_the_one_of_confseq() {
    let table = include_str!("../../../tests/golden/normal_mixture.csv");
    let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    let mut row_count = 0;
    for row in rows {
        let cells: Vec<f64> = row.split(',').map(|cell| cell.parse().unwrap()).collect();
        let [excess, _, rho, expected] = cells[..] else { panic!("four columns: {row}") };
        let count: u64 = row.split(',').nth(1).unwrap().parse().unwrap();
        let found = HalfNormal::new(1.0 / rho.sqrt(), 1.0).log_e(count, excess);
        assert_close(found, expected, 1e-12);
        row_count += 1;
    }
    assert_eq!(row_count, 455);
}

/// Up to a billion scores: never above the exact value, and next to nothing below it.
#[test]
fn grids_claim_what_they_should_and_no_more() {
    let uniform = [-12.0_f64.ln(); BETS];
    let table = include_str!("../../../tests/golden/mixtures.csv");
    let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    let mut row_count = 0;
    for row in rows {
        let cells: Vec<f64> = row.split(',').map(|cell| cell.parse().unwrap()).collect();
        let [threshold, sigma, count, sum, exact] = cells[..] else {
            panic!("five columns: {row}")
        };
        let scores: u64 = row.split(',').nth(2).unwrap().parse().unwrap();
        let (found, largest_term) = if sigma > 0.0 {
            let found = SubGaussian::new(threshold, sigma).log_e(&uniform, scores, sum);
            let room = 1.0 - threshold;
            (found, room * (sum + 0.5 * room * count) / (sigma * sigma))
        } else {
            let found = Binary::new(threshold).log_e(&uniform, scores, sum);
            (found, -sum * threshold.ln() - (count - sum) * 0.01_f64.ln())
        };
        let rounding = 20.0 * f64::EPSILON * (1.0 + largest_term + exact.abs());
        assert!(found <= exact, "{row}: {found} claims too much");
        // The loss by the bound on the rates below ξ; evidence below 1 is never used.
        let bound = match (sigma > 0.0, exact > 0.0) {
            (true, _) => 0.0,
            (false, true) => 1e-3 * (-exact).exp(),
            (false, false) => f64::INFINITY,
        };
        assert!(exact - found <= rounding + bound, "{row}: {found} misses {}", exact - found);
        row_count += 1;
    }
    assert_eq!(row_count, 375);
}

/// Where a Φ that underflows would give -∞, and a Φ that is clipped would give evidence.
#[test]
fn far_below_the_threshold_the_scaled_normal_cdf_is_between_the_bounds_of_mills_ratio() {
    for y in [35.0_f64, 38.0, 40.0, 1e3, 1e6, 1e9, 1e15] {
        let leading = -0.5 * core::f64::consts::TAU.ln() - y.ln();
        let square = 1.0 / (y * y);
        let (low, high) = ((-square).ln_1p(), (-square + 3.0 * square * square).ln_1p());
        let found = log_scaled_normal_cdf(-y) - leading;
        assert!(found > low - 1e-13 && found < high + 1e-13, "{y}: {low} {found} {high}");
    }
}

#[test]
fn the_half_normal_mixture_is_the_integral_over_all_gaps() {
    for (sigma, scale) in [(1.0, 0.25), (1.0, 2.0), (0.5, 0.1), (3.0, 0.05)] {
        let closed = HalfNormal::new(scale, sigma);
        for count in [1_u64, 7, 100, 10_000] {
            for deviations in [-30.0, -6.0, -1.0, 0.0, 0.5, 3.0, 20.0] {
                let excess = deviations * sigma * real(count).sqrt();
                let expected = half_normal_by_integration(scale, sigma, count, excess);
                let ratio = (closed.log_e(count, excess) - expected).exp();
                assert!((ratio - 1.0).abs() < 1e-10, "{sigma} {scale} {count} {excess}: {ratio}");
            }
        }
    }
}

/// ln ∫ 2φ(d/s)/s exp((dS - d²n/2)/σ²) dd over d ≥ 0, scaled by the integrand's maximum.
fn half_normal_by_integration(scale: f64, sigma: f64, count: u64, excess: f64) -> f64 {
    let variance = sigma * sigma;
    let exponent = |gap: f64| {
        let likelihood = (gap * excess - 0.5 * gap * gap * real(count)) / variance;
        likelihood - 0.5 * (gap / scale) * (gap / scale)
    };
    let precision = real(count) / variance + 1.0 / (scale * scale);
    let (centre, width) = (excess / variance / precision, 1.0 / precision.sqrt());
    let peak = centre.max(0.0);
    // Below the centre's reach the integrand falls like exp(-d|S|/σ²).
    let reach = f64::min(12.0 * width, 45.0 * variance / (-excess).max(f64::MIN_POSITIVE));
    let area = simpson(
        |gap| (exponent(gap) - exponent(peak)).exp(),
        (peak - 12.0 * width).max(0.0),
        peak + reach,
    );
    let density = 2.0 / (scale * core::f64::consts::TAU.sqrt());
    exponent(peak) + area.ln() + density.ln()
}

/// By Simpson's rule: never more, and less by the one inequality only.
#[test]
fn the_mixture_over_rates_is_the_integral_above_the_threshold_or_a_little_less() {
    for threshold in [0.03, 0.3, 0.5, 0.8, 0.97] {
        let rates = RatesAbove::new(threshold, 1.0 - threshold);
        for (successes, failures) in [(1, 0), (7, 0), (7, 1), (40, 3), (60, 40), (990, 10)] {
            let count = successes + failures;
            let (s, f) = (real(successes), real(failures));
            let excess = s - threshold * real(count);
            if excess <= 0.0 {
                continue;
            }
            let ratio = |rate: f64| {
                let f_part =
                    if failures > 0 { f * ((1.0 - rate) / (1.0 - threshold)).ln() } else { 0.0 };
                (s * (rate / threshold).ln() + f_part).exp()
            };
            let exact = simpson(ratio, threshold, 1.0) / (1.0 - threshold);
            let found = rates.log_e((s, f), count, excess).exp();
            assert!(found <= exact * (1.0 + 1e-9), "{threshold} {successes} {failures}");
            let lost_max = if exact > 20.0 { 1e-3 } else { 0.4 };
            assert!(found >= exact * (1.0 - lost_max), "{threshold} {s} {f}: {found} of {exact}");
        }
    }
}

#[test]
fn grids_are_sums_of_likelihood_ratios() {
    let mut random = Random::new(1);
    for threshold in [0.03, 0.3, 0.5, 0.8, 0.97, 0.995] {
        let binary = Binary::new(threshold);
        let sub_gaussian = SubGaussian::new(threshold, 0.7);
        for count in [1_u64, 2, 5, 20, 60] {
            for _ in 0..20 {
                let successes = random.below(count + 1);
                let failures = count - successes;
                if real(successes) > threshold * real(count) {
                    let found = binary.log_e(&logs(&uniform(BETS)), count, real(successes));
                    let expected = binary_slowly(&uniform(BETS), threshold, successes, failures);
                    assert_close(found, expected.ln(), 1e-11);
                }
                let excess = random.uniform() * 3.0 * real(count).sqrt();
                let found = sub_gaussian.log_e(&logs(&uniform(BETS)), count, excess);
                let noise = (1.0 - threshold, 0.7);
                let expected = gaussian_slowly(&uniform(BETS), noise, count, excess);
                assert_close(found, expected.ln(), 1e-11);
            }
        }
    }
}

/// All weight on one bet shows that bet alone, but for the share of the continuous part.
#[test]
fn every_binary_bet_is_a_product_of_fair_stakes() {
    let mut random = Random::new(2);
    for threshold in [0.03, 0.3, 0.5, 0.8, 0.97] {
        let room = 1.0 - threshold;
        let scores: Vec<f64> = (0..80)
            .map(|_| if random.uniform() < 0.2 + 0.8 * threshold { 1.0 } else { 0.0 })
            .collect();
        let (count, successes) = (80, scores.iter().sum::<f64>());
        assert!(successes > threshold * real(count), "a sequence that all bets are read on");
        let ones: u64 = scores.iter().map(|&score| u64::from(score > 0.0)).sum();
        let continuous = rates_slowly(threshold, ones, count - ones);
        for (bet, gap) in binary_gaps_slowly(room, BETS).into_iter().enumerate() {
            let stake = gap / (threshold * room);
            let wealth: f64 =
                scores.iter().map(|score| 1.0 + stake * (score - threshold)).product();
            let mut alone = [f64::NEG_INFINITY; BETS];
            alone[bet] = 0.0;
            let found = Binary::new(threshold).log_e(&alone, count, successes);
            assert_close(found, (0.98 * wealth + 0.02 * continuous).ln(), 1e-11);
        }
    }
}

fn assert_rounded_down(found: f64, exact: f64, lost_max: f64) {
    let lost = exact - found;
    assert!(lost > -1e-12 && lost < lost_max + 1e-12, "{found} for {exact}: {lost:e} lost");
}

#[test]
fn bounded_evidence_is_the_pooled_wealth_of_the_gamblers() {
    let mut random = Random::new(3);
    for threshold in [0.03, 0.3, 0.5, 0.8, 0.97] {
        let bounded = Bounded::new(threshold, (0.0, 1.0));
        let scores: Vec<f64> = (0..100).map(|_| random.beta(2.0, 1.0)).collect();
        let mirrored: Vec<f64> = scores.iter().map(|score| 1.0 - score).collect();
        let mut wealths = Wealths::START;
        for (before, &score) in scores.iter().enumerate() {
            bounded.absorb(&mut wealths, score);
            // Every score is rounded down by at most two quanta, and nothing is rounded up.
            let lost_max = f64::from(u32::try_from(before).unwrap() + 1) * 2.0 * QUANTUM;
            let found = bounded.log_e(&Bounded::log_weights(), &wealths);
            let expected = bounded_slowly(&top_heavy(), threshold, &scores[..=before]);
            assert_rounded_down(found, expected.ln(), lost_max);
            let found = bounded.log_e_against(&wealths);
            let uniform = uniform(BETS_AGAINST);
            let expected = bounded_slowly(&uniform, 1.0 - threshold, &mirrored[..=before]);
            assert_rounded_down(found, expected.ln(), lost_max);
        }
    }
}

#[test]
fn evidence_against_is_evidence_for_the_mirror_image() {
    let uniform = uniform(BETS_AGAINST);
    assert_close(log_sum_exp(&UNIFORM_AGAINST), 0.0, 1e-15);
    for threshold in [0.03, 0.3, 0.5, 0.8, 0.97] {
        let binary = Binary::new(threshold);
        let sub_gaussian = SubGaussian::new(threshold, 0.7);
        let six = Grid::<BETS_AGAINST>::binary(1.0 - threshold, threshold);
        for count in [1_u64, 10, 60] {
            for successes in (0..=count).filter(|&s| real(s) < threshold * real(count)) {
                let failures = count - successes;
                let found = binary.log_e_against(count, real(successes));
                let expected = binary_slowly(&uniform, 1.0 - threshold, failures, successes);
                assert_close(found, expected.ln(), 1e-11);
                let excess = real(failures) - (1.0 - threshold) * real(count);
                let statistics = (real(failures), real(successes));
                let mirror = six.log_e(&UNIFORM_AGAINST, statistics, count, excess);
                assert_close(found, mirror, 1e-13);
                let found = sub_gaussian.log_e_against(count, -excess);
                let expected = gaussian_slowly(&uniform, (threshold, 0.7), count, excess);
                assert_close(found, expected.ln(), 1e-11);
            }
        }
    }
}

/// The quick look never passes over evidence that is there, and often saves a long one.
#[test]
fn the_quick_bound_is_never_below_the_evidence() {
    let mut random = Random::new(3);
    let (mut looks, mut spared) = (0, 0);
    for _ in 0..20_000 {
        let threshold = 0.02 + 0.96 * random.uniform();
        let count = 1 + random.below(400);
        let room = 1.0 - threshold;
        let rate = threshold + room * random.uniform();
        let successes = (0..count).filter(|_| random.uniform() < rate).count();
        let successes = real(successes as u64);
        let binary = Binary::new(threshold);
        let weights = [-libm::log(12.0); BETS];
        let sigma = 0.01 + random.uniform();
        let sub_gaussian = SubGaussian::new(threshold, sigma);
        let excess = successes - threshold * real(count);
        let found = [
            (binary.log_e(&weights, count, successes), binary.log_e_max(count, successes)),
            (binary.log_e_against(count, successes), binary.log_e_against_max(count, successes)),
            (sub_gaussian.log_e(&weights, count, excess), sub_gaussian.log_e_max(count, excess)),
            (
                sub_gaussian.log_e_against(count, excess),
                sub_gaussian.log_e_against_max(count, excess),
            ),
        ];
        for (log_e, log_e_max) in found {
            assert!(log_e <= log_e_max, "ξ {threshold} σ {sigma} n {count} s {successes}: {log_e}");
            looks += 1;
            spared += u32::from(log_e_max < 6.0);
        }
        let more = binary.log_e(&weights, count + 1, successes + 1.0) - found[0].0;
        assert!(more <= binary.gain_max() + 1e-9, "one success adds {more}");
    }
    assert!(spared > looks / 4, "{spared} of {looks}");
}
