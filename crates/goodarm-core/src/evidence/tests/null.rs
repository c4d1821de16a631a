//! At a mean of exactly ξ evidence is expected to stay at one: exact sums and quadrature.

use alloc::vec::Vec;

use goodarm_sim::random::Random;

use super::{binary_slowly, gaussian_slowly, simpson};
use crate::books::Books;
use crate::call::Target;
use crate::cost::Cost;
use crate::evidence::Process;
use crate::evidence::binary::Binary;
use crate::evidence::bounded::{Bounded, QUANTUM, Wealths};
use crate::evidence::grid::{BETS, LogWeights};
use crate::evidence::sub_gaussian::SubGaussian;
use crate::evidence::weights::{Weights, WeightsId};
use crate::num::real;
use crate::outcome::Outcome;
use crate::prior::Prior;
use crate::problem::{AttributeSpec, Guarantee, Problem, ProblemSpec, ScoreModel};
use crate::units::{ArmId, AttributeId};

const THRESHOLDS: [f64; 6] = [0.03, 0.3, 0.5, 0.8, 0.97, 0.99];

/// The default row, and what is learned from priors both likely and absurd.
fn rows(process: &Process) -> Vec<LogWeights> {
    let mut weights = Weights::new(process, Prior::START);
    let beliefs = [
        (0.15, 0.3, 1.0 / 12.0),
        (0.02, 0.1, 0.002),
        (0.4, 0.1, 0.01),
        (0.6, 0.5, 0.25),
        (3.0, 0.1, 1.0),
        (-3.0, 0.01, 1e-9),
    ];
    beliefs.map(|belief| row(&mut weights, process, belief)).to_vec()
}

fn row(
    weights: &mut Weights,
    process: &Process,
    (gap_mean, gap_sd, noise_variance): (f64, f64, f64),
) -> LogWeights {
    let prior = Prior { gap_mean, gap_sd, noise_variance, ..Prior::START };
    let id = weights.freeze(process, &prior);
    *weights.row(id)
}

/// ln P(Binomial(count, rate) = successes).
fn log_binomial(count: u64, successes: u64, rate: f64) -> f64 {
    let log_factorial = |n: u64| libm::lgamma(real(n) + 1.0);
    let (s, f) = (real(successes), real(count - successes));
    log_factorial(count) - log_factorial(successes) - log_factorial(count - successes)
        + s * rate.ln()
        + f * (-rate).ln_1p()
}

/// The weights sum to one, so what is missing is only what the continuous part gives away.
fn assert_expected_at_most_one(expected: f64, least: f64, case: &str) {
    assert!(expected <= 1.0 + 1e-9, "{case}: E[E] = {expected}");
    assert!(expected >= least - 1e-9, "{case}: E[E] = {expected} wastes evidence");
}

/// Below the threshold evidence is reported as one: there the mixture itself is summed.
#[test]
fn binary_evidence_is_expected_to_stay_at_one() {
    for threshold in THRESHOLDS {
        let binary = Binary::new(threshold);
        for row in rows(&Process::Binary(binary.clone())) {
            let weights = row.map(f64::exp);
            for count in [1, 2, 7, 40, 200] {
                let expected: f64 = (0..=count)
                    .map(|successes| {
                        let log_e = if real(successes) > threshold * real(count) {
                            binary.log_e(&row, count, real(successes))
                        } else {
                            binary_slowly(&weights, threshold, successes, count - successes).ln()
                        };
                        (log_binomial(count, successes, threshold) + log_e).exp()
                    })
                    .sum();
                assert_expected_at_most_one(expected, 0.98, &format_case(threshold, count));
            }
        }
    }
}

#[test]
fn sub_gaussian_evidence_is_expected_to_stay_at_one() {
    for (threshold, sigma) in [(0.03, 1.0), (0.5, 1.0), (0.5, 0.1), (0.97, 0.3), (0.8, 10.0)] {
        let room = 1.0 - threshold;
        let process = SubGaussian::new(threshold, sigma);
        for row in rows(&Process::SubGaussian(process.clone())) {
            let weights = row.map(f64::exp);
            for count in [1, 10, 1000] {
                let spread = sigma * real(count).sqrt();
                let integrand = |z: f64| {
                    let excess = z * spread;
                    let log_e = if excess > 0.0 {
                        process.log_e(&row, count, excess)
                    } else {
                        gaussian_slowly(&weights, (room, sigma), count, excess).ln()
                    };
                    (log_e - 0.5 * z * z).exp() / core::f64::consts::TAU.sqrt()
                };
                // Where a mean of ξ + 14 scales of the continuous part could have put the sum.
                let far = 14.0 + 7.0 * room.min(sigma).min(1.0) * real(count) / spread;
                let expected = simpson(integrand, -14.0, 0.0) + simpson(integrand, 0.0, far);
                assert_expected_at_most_one(expected, 1.0, &format_case(threshold, count));
            }
        }
    }
}

/// Scores are `high` or `low`, with the chances that make the mean ξ.
#[test]
fn bounded_evidence_is_expected_to_stay_at_one() {
    for (threshold, low, high) in
        [(0.03, 0.0, 1.0), (0.5, 0.0, 1.0), (0.5, 0.45, 0.6), (0.8, 0.1, 0.9), (0.97, 0.2, 1.0)]
    {
        let bounded = Bounded::new(threshold, (0.0, 1.0));
        let rate = (threshold - low) / (high - low);
        for row in rows(&Process::Bounded(bounded.clone())) {
            for count in [1, 7, 100] {
                // What rounding down takes from every score.
                let least = 1.0 - 2.0 * QUANTUM * real(count);
                let expected: f64 = (0..=count)
                    .map(|highs| {
                        let mut wealths = Wealths::START;
                        for order in 0..count {
                            bounded.absorb(&mut wealths, if order < highs { high } else { low });
                        }
                        let log_e = bounded.log_e(&row, &wealths);
                        (log_binomial(count, highs, rate) + log_e).exp()
                    })
                    .sum();
                assert_expected_at_most_one(expected, least, &format_case(threshold, count));
            }
        }
    }
}

fn format_case(threshold: f64, count: u64) -> alloc::string::String {
    alloc::format!("threshold {threshold}, {count} scores")
}

#[test]
fn scores_that_sum_to_no_more_than_their_thresholds_prove_nothing() {
    let uniform = [-real(12).ln(); BETS];
    let weights = uniform.map(f64::exp);
    let mut random = Random::new(4);
    for threshold in THRESHOLDS {
        let binary = Binary::new(threshold);
        for count in 1..=200 {
            for successes in (0..=count).take_while(|&s| real(s) <= threshold * real(count)) {
                assert!(binary.log_e(&uniform, count, real(successes)) <= 0.0);
                let failures = count - successes;
                assert!(binary_slowly(&weights, threshold, successes, failures) <= 1.0 + 1e-15);
            }
        }
        let sub_gaussian = SubGaussian::new(threshold, 0.5);
        let bounded = Bounded::new(threshold, (0.0, 1.0));
        let (mut wealths, mut sum, mut below_count) = (Wealths::START, 0.0, 0);
        for count in 1..=2000 {
            let excess = -random.uniform() * real(random.below(1 + count));
            assert!(sub_gaussian.log_e(&uniform, count, excess) <= 0.0);
            let mixture = gaussian_slowly(&weights, (1.0 - threshold, 0.5), count, excess);
            assert!(mixture <= 1.0 + 1e-15);
            let score = random.beta(threshold, 1.0 - threshold);
            bounded.absorb(&mut wealths, score);
            sum += score - threshold;
            if sum <= 0.0 {
                below_count += 1;
                assert!(bounded.log_e(&Bounded::log_weights(), &wealths) <= 0.0);
            }
        }
        assert!(below_count > 0, "some bounded scores were below on the whole");
    }
}

#[test]
fn learned_weights_are_not_negative_and_sum_to_at_most_one() {
    let mut random = Random::new(5);
    for threshold in THRESHOLDS.into_iter().chain([1e-9, 1.0 - 1e-9]) {
        for process in [
            Process::Binary(Binary::new(threshold)),
            Process::SubGaussian(SubGaussian::new(threshold, 1.0)),
            Process::Bounded(Bounded::new(threshold, (0.0, 1.0))),
        ] {
            let mut weights = Weights::new(&process, Prior::START);
            let default = *weights.row(weights.clone().freeze(&process, &Prior::START));
            assert!(default.map(f64::exp).iter().sum::<f64>() <= 1.0 + 4.0 * f64::EPSILON);
            for _ in 0..500 {
                let belief = (
                    2.0 * random.normal(),
                    (2.0 * random.normal()).exp(),
                    (4.0 * random.normal()).exp(),
                );
                let learned = row(&mut weights, &process, belief).map(f64::exp);
                assert!(learned.iter().sum::<f64>() <= 1.0 + 4.0 * f64::EPSILON, "{belief:?}");
                for (learned, default) in learned.iter().zip(default.map(f64::exp)) {
                    assert!(*learned > 0.19 * default, "no bet is left out: {belief:?}");
                }
            }
        }
    }
}

#[test]
fn a_row_of_weights_is_never_rewritten() {
    let process = Process::Binary(Binary::new(0.5));
    let mut weights = Weights::new(&process, Prior::START);
    let belief = |gap_mean: f64| Prior { gap_mean, ..Prior::START };
    let ids = [0.15, 0.1, 0.1001, 0.4].map(|mean| weights.freeze(&process, &belief(mean)));
    assert_eq!(ids, [0, 1, 1, 2].map(WeightsId), "a new row when the belief has changed");
    let before = ids.map(|id| *weights.row(id));
    for step in 0..50 {
        weights.freeze(&process, &belief(0.02 + 0.01 * f64::from(step % 7)));
    }
    assert_eq!(ids.map(|id| *weights.row(id)), before);
    assert!(before[1][0] > before[3][0], "smaller gaps, more weight on the smallest");
}

#[test]
fn a_pair_keeps_the_weights_of_its_first_dispatch() {
    let scores = ScoreModel::Binary;
    let attribute =
        AttributeSpec { name: "judge".into(), price: 1.0, expected: None, threshold: 0.5, scores };
    let problem = Problem::new(ProblemSpec {
        arms: 40,
        attributes: alloc::vec![attribute],
        budget: 1e6,
        delta: 0.02,
        guarantee: Guarantee::Union,
    });
    let mut books = Books::new(problem.unwrap());
    let mut call = |arm: u32, score: f64| {
        let call = books.dispatch(Target::Arm(ArmId(arm), AttributeId(0))).unwrap();
        books.settle(call.ticket, &Outcome::Score(score), Cost::ZERO).unwrap();
        books.pairs.get(ArmId(arm), AttributeId(0)).evidence.weights
    };
    assert_eq!(call(0, 1.0), WeightsId(0));
    let begun: Vec<WeightsId> = (1..40)
        .map(|arm| {
            let ids = [1.0, 1.0, 0.0, 1.0, 1.0].map(|score| call(arm, score));
            assert_eq!(ids, [ids[0]; 5]);
            ids[0]
        })
        .collect();
    assert!(begun.iter().any(|&id| id != WeightsId(0)), "later arms learn from earlier ones");
    assert_eq!(call(0, 0.0), WeightsId(0), "a pair keeps its weights once its evidence has begun");
    for (arm, &id) in (1..40).zip(&begun) {
        assert_eq!(call(arm, 0.0), id);
    }
}
