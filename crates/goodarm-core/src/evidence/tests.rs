//! Every certificate written down a second time, slowly and in plain arithmetic, and compared.

mod closed_forms;
mod crossing;
mod extremes;
mod null;

use alloc::vec::Vec;

use crate::evidence::half_normal::HalfNormal;
use crate::num::{real, real_size};

/// What each of `COUNT` bets weighs when all weigh the same.
fn uniform(count: usize) -> Vec<f64> {
    alloc::vec![1.0 / real_size(count); count]
}

/// A quarter on the last of twelve.
fn top_heavy() -> Vec<f64> {
    let mut weights = alloc::vec![0.75 / 11.0; 12];
    weights[11] = 0.25;
    weights
}

fn logs<const COUNT: usize>(weights: &[f64]) -> [f64; COUNT] {
    core::array::from_fn(|bet| weights[bet].ln())
}

/// `count` numbers from `first` to `last`, evenly spaced in their logs.
fn geometric_slowly(first: f64, last: f64, count: usize) -> Vec<f64> {
    let step = (last / first).ln() / real_size(count - 1);
    (0..count).map(|index| first * (step * real_size(index)).exp()).collect()
}

fn gaussian_gaps_slowly(room: f64, sigma: f64, count: usize) -> Vec<f64> {
    let first = f64::min(0.03 * sigma.min(1.0), 0.3 * room);
    geometric_slowly(first, 0.99 * room.min(4.0 * sigma.min(1.0)), count)
}

fn binary_gaps_slowly(room: f64, count: usize) -> Vec<f64> {
    geometric_slowly(f64::min(0.03, 0.06 * room), 0.99 * room, count)
}

fn stakes_slowly(threshold: f64, count: usize) -> Vec<f64> {
    geometric_slowly(0.06, 0.98 / threshold, count)
}

/// E of σ-sub-Gaussian scores, from their number and Σ(x - ξ).
fn gaussian_slowly(weights: &[f64], (room, sigma): (f64, f64), count: u64, excess: f64) -> f64 {
    let variance = sigma * sigma;
    let ratio = |gap: f64| ((gap * excess - 0.5 * gap * gap * real(count)) / variance).exp();
    let gaps = gaussian_gaps_slowly(room, sigma, weights.len());
    let grid: f64 = weights.iter().zip(gaps).map(|(weight, gap)| weight * ratio(gap)).sum();
    let scale = 0.5 * room.min(sigma).min(1.0);
    0.9 * grid + 0.1 * HalfNormal::new(scale, sigma).log_e(count, excess).exp()
}

/// E of binary scores, from successes and failures: bets of λ = d/(ξ(1 - ξ)) on each.
fn binary_slowly(weights: &[f64], threshold: f64, successes: u64, failures: u64) -> f64 {
    let room = 1.0 - threshold;
    let wealth = |gap: f64| {
        let stake = gap / (threshold * room);
        (1.0 + stake * room).powf(real(successes)) * (1.0 - stake * threshold).powf(real(failures))
    };
    let gaps = binary_gaps_slowly(room, weights.len());
    let grid: f64 = weights.iter().zip(gaps).map(|(weight, gap)| weight * wealth(gap)).sum();
    0.98 * grid + 0.02 * rates_slowly(threshold, successes, failures)
}

/// The mean of (g/ξ)^s ((1-g)/(1-ξ))^f over rates g from ξ to 1: by a series, or where the scores lie
/// above ξ by all rates without those below ξ, for which the series' first ratio stands, as is claimed.
fn rates_slowly(threshold: f64, successes: u64, failures: u64) -> f64 {
    let (s, f, room) = (real(successes), real(failures), 1.0 - threshold);
    if s <= threshold * (s + f) {
        let ratio = |k: u32| (s + f + 2.0 + f64::from(k)) * room / (f + 2.0 + f64::from(k));
        let step = |term: &mut f64, k: u32| Some(core::mem::replace(term, *term * ratio(k)));
        return threshold / (f + 1.0) * (0..10_000).scan(1.0, step).sum::<f64>();
    }
    let log_all = libm::lgamma(s + 1.0) + libm::lgamma(f + 1.0) - libm::lgamma(s + f + 2.0);
    let all = (log_all - s * threshold.ln() - f * room.ln()).exp();
    let ratio = (s + f + 2.0) * threshold / (s + 2.0);
    (all / room - threshold / (s + 1.0) / (1.0 - ratio)).max(0.0)
}

/// E of scores in [0, 1].
fn bounded_slowly(weights: &[f64], threshold: f64, scores: &[f64]) -> f64 {
    let wealth = |stake: f64| -> f64 {
        scores.iter().map(|score| 1.0 + stake * (score - threshold)).product()
    };
    let stakes = stakes_slowly(threshold, weights.len());
    weights.iter().zip(stakes).map(|(weight, stake)| weight * wealth(stake)).sum()
}

/// ∫ f over [from, to], by Simpson's rule.
fn simpson(f: impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    let step = (to - from) / f64::from(SIMPSON_STEPS);
    let inner: f64 = (1..SIMPSON_STEPS)
        .map(|index| f64::from(2 + 2 * (index % 2)) * f(from + step * f64::from(index)))
        .sum();
    (f(from) + inner + f(to)) * step / 3.0
}

fn assert_close(found: f64, expected: f64, tolerance: f64) {
    let error = (found - expected).abs() / expected.abs().max(1.0);
    assert!(error <= tolerance, "{found} is not {expected}: off by {error:e}");
}

const SIMPSON_STEPS: u32 = 20_000;
