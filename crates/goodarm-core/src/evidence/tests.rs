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

fn gaps_slowly(room: f64, count: usize) -> Vec<f64> {
    geometric_slowly(f64::min(0.03, 0.3 * room), 0.99 * room, count)
}

fn stakes_slowly(threshold: f64, count: usize) -> Vec<f64> {
    geometric_slowly(0.06, 0.98 / threshold, count)
}

/// E of σ-sub-Gaussian scores, from their number and Σ(x - ξ).
fn gaussian_slowly(weights: &[f64], (room, sigma): (f64, f64), count: u64, excess: f64) -> f64 {
    let variance = sigma * sigma;
    let ratio = |gap: f64| ((gap * excess - 0.5 * gap * gap * real(count)) / variance).exp();
    let gaps = gaps_slowly(room, weights.len());
    let grid: f64 = weights.iter().zip(gaps).map(|(weight, gap)| weight * ratio(gap)).sum();
    0.9 * grid + 0.1 * HalfNormal::new(0.5 * room, sigma).log_e(count, excess).exp()
}

/// E of binary scores, from successes and failures: bets of λ = d/(ξ(1 - ξ)) on each.
fn binary_slowly(weights: &[f64], threshold: f64, successes: u64, failures: u64) -> f64 {
    let room = 1.0 - threshold;
    let wealth = |gap: f64| {
        let stake = gap / (threshold * room);
        (1.0 + stake * room).powf(real(successes)) * (1.0 - stake * threshold).powf(real(failures))
    };
    let gaps = gaps_slowly(room, weights.len());
    let grid: f64 = weights.iter().zip(gaps).map(|(weight, gap)| weight * wealth(gap)).sum();
    let count = successes + failures;
    let excess = real(successes) - threshold * real(count);
    0.98 * grid + 0.02 * HalfNormal::new(0.5 * room, 0.5).log_e(count, excess).exp()
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
