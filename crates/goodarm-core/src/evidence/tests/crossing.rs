//! At a mean of exactly ξ evidence reaches 1/α, ever, with probability at most α, for and against:
//! summed over all paths of binary scores, simulated for the others.

use alloc::vec;

use goodarm_sim::random::Random;

use crate::evidence::binary::Binary;
use crate::evidence::bounded::{Bounded, Wealths};
use crate::evidence::grid::BETS;
use crate::evidence::sub_gaussian::SubGaussian;
use crate::evidence::weights::{Weights, WeightsId};
use crate::evidence::{Evidence, EvidenceMethod, Process};
use crate::num::real;
use crate::prior::Prior;
use crate::problem::Guarantee;

const ALPHA: f64 = 0.02;

/// P(the number of ones crosses at some n ≤ horizon) when a score is 1 with probability `rate`, by
/// a sum over all paths. What crosses at (n, s) must also cross at (n, s + 1) and at (n - 1, s).
fn crossing_probability(rate: f64, horizon: u64, crosses: impl Fn(u64, u64) -> bool) -> f64 {
    let index = |count: u64| usize::try_from(count).expect("a horizon fits");
    let mut alive = vec![0.0; index(horizon) + 2];
    alive[0] = 1.0;
    let (mut boundary, mut crossed) = (1, 0.0);
    for count in 1..=horizon {
        for ones in (1..=index(boundary)).rev() {
            alive[ones] = alive[ones] * (1.0 - rate) + alive[ones - 1] * rate;
        }
        alive[0] *= 1.0 - rate;
        while boundary <= count && !crosses(count, boundary) {
            boundary += 1;
        }
        // The boundary never recedes, so that nothing is alive above it.
        crossed += core::mem::take(&mut alive[index(boundary)]);
    }
    crossed
}

#[test]
fn the_crossing_probability_of_a_walk_is_known() {
    // The first three scores are ones, or the fourth is the third one.
    let p: f64 = 0.3;
    let found = crossing_probability(p, 4, |_, ones| ones >= 3);
    assert!((found - (p.powi(3) + 3.0 * p.powi(3) * (1.0 - p))).abs() < 1e-15, "{found}");
}

/// [`crossing_probability`] of the evidence for a mean above ξ and of that for a mean below it.
fn binary_crossings(threshold: f64, level: f64) -> (f64, f64) {
    let uniform = [-real(12).ln(); BETS];
    let binary = Binary::new(threshold);
    let above = crossing_probability(threshold, 8000, |count, ones| {
        binary.log_e(&uniform, count, real(ones)) >= level
    });
    let below = crossing_probability(1.0 - threshold, 8000, |count, zeros| {
        binary.log_e_against(count, real(count - zeros)) >= level
    });
    (above, below)
}

#[test]
fn binary_evidence_reaches_its_level_with_at_most_its_probability() {
    let level = (1.0 / ALPHA).ln();
    for threshold in [0.03, 0.3, 0.5, 0.8, 0.9, 0.95, 0.97, 0.99] {
        let (above, below) = binary_crossings(threshold, level);
        assert!(above <= ALPHA && below <= ALPHA, "{threshold}: {above} {below}");
        if (0.3..=0.8).contains(&threshold) {
            // Less would be given away; a single score that wins too much gives more away outside.
            assert!((0.83..0.95).contains(&(above / ALPHA)), "{threshold}: {above}");
            let (above, _) = binary_crossings(threshold, level - core::f64::consts::LN_2);
            assert!(above > 1.5 * ALPHA, "half the level shows: {above}");
        }
    }
}

/// P[Binomial(2000, 0.02) > 83] < 1e-9: valid evidence fails on one seed in a billion.
const RUNS: u64 = 2000;
const CROSSINGS_MAX: u32 = 83;
const SCORES_PER_RUN: u32 = 400;

/// How many of [`RUNS`] streams ever reach 1/α, for a mean above ξ and for one below.
fn crossings(process: &Process, draw: impl Fn(&mut Random) -> f64) -> (u32, u32) {
    let weights = Weights::new(process, Prior::START);
    let level = (1.0 / ALPHA).ln();
    let method = EvidenceMethod {
        process,
        weights: &weights,
        threshold: 0.5,
        keeps_maximum: true,
        floor: level,
        floor_against: level,
    };
    let (mut above, mut below) = (0, 0);
    for run in 0..RUNS {
        let mut random = Random::at(6, &[run]);
        let mut evidence =
            Evidence { weights: WeightsId(0), ..Evidence::start(process, Guarantee::Union) };
        let mut wealths = Wealths::START;
        for _ in 0..SCORES_PER_RUN {
            evidence.absorb(method, Some(&mut wealths), draw(&mut random));
        }
        above += u32::from(evidence.value >= level);
        below += u32::from(evidence.against >= level);
    }
    (above, below)
}

#[test]
fn streams_at_the_threshold_are_rarely_certified_and_rarely_rejected() {
    let sub_gaussian = Process::SubGaussian(SubGaussian::new(0.5, 1.0));
    let bounded = Process::Bounded(Bounded::new(0.5, (0.0, 1.0)));
    let normal = |random: &mut Random| 0.5 + random.normal();
    let (above, below) = crossings(&sub_gaussian, normal);
    assert!(above <= CROSSINGS_MAX && below <= CROSSINGS_MAX, "{above} {below}");
    let (above, below) = crossings(&bounded, |random| random.beta(2.0, 2.0));
    assert!(above <= CROSSINGS_MAX && below <= CROSSINGS_MAX, "{above} {below}");

    let understated = Process::SubGaussian(SubGaussian::new(0.5, 0.7));
    let (above, below) = crossings(&understated, normal);
    assert!(above > CROSSINGS_MAX && below > CROSSINGS_MAX, "a σ too small: {above} {below}");
    let (above, _) = crossings(&bounded, |random| random.beta(2.2, 1.8));
    let (_, below) = crossings(&bounded, |random| random.beta(1.8, 2.2));
    assert!(above > CROSSINGS_MAX && below > CROSSINGS_MAX, "not at ξ: {above} {below}");
}
