//! A billion scores, thresholds next to 0 and 1, noise of any size: finite, ordered, no panic.

use alloc::string::String;
use alloc::vec::Vec;

use super::assert_close;
use crate::evidence::binary::Binary;
use crate::evidence::bounded::{Bounded, Wealths};
use crate::evidence::grid::BETS;
use crate::evidence::half_normal::HalfNormal;
use crate::evidence::weights::{Weights, WeightsId};
use crate::evidence::{Evidence, EvidenceMethod, Process};
use crate::num::{Sum, real};
use crate::prior::Prior;
use crate::problem::{
    AttributeSpec, Guarantee, Problem, ProblemSpec, SCORE_ABS_MAX, SIGMA_MIN, ScoreModel,
};
use crate::units::AttributeId;

const BILLION: u64 = 1_000_000_000;

/// A process as a user would get it.
fn process(scores: ScoreModel, threshold: f64) -> Process {
    let attribute =
        AttributeSpec { name: String::new(), price: 1.0, expected: None, threshold, scores };
    let problem = Problem::new(ProblemSpec {
        arms: 1,
        attributes: alloc::vec![attribute],
        budget: 1.0,
        delta: 0.02,
        guarantee: Guarantee::Holm,
    });
    Process::new(&problem.unwrap(), AttributeId(0))
}

/// A pair on its way.
struct Stream {
    process: Process,
    weights: Weights,
    threshold: f64,
    evidence: Evidence,
    wealths: Wealths,
}

impl Stream {
    fn start(scores: ScoreModel, threshold: f64) -> Self {
        let process = process(scores, threshold);
        Self {
            weights: Weights::new(&process, Prior::START),
            evidence: Evidence {
                weights: WeightsId(0),
                ..Evidence::start(&process, Guarantee::Union)
            },
            wealths: Wealths::START,
            process,
            threshold,
        }
    }

    /// As if `count` scores with this mean had gone in, ones and zeros if they are bounded.
    fn after(scores: ScoreModel, threshold: f64, count: u64, mean: f64) -> Self {
        let mut stream = Self::start(scores, threshold);
        stream.evidence.count = count;
        let ones = (real(count) * mean).round();
        match &stream.process {
            Process::SubGaussian(_) => stream.evidence.sum = sum(real(count) * (mean - threshold)),
            Process::Bounded(bounded) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a count"
                )]
                let ones_count = ones as u64;
                stream.wealths = bounded.wealths_after(ones_count, count - ones_count);
                stream.evidence.sum = sum(ones);
            }
            _ => stream.evidence.sum = sum(ones),
        }
        stream
    }

    /// Takes one more score; gives (evidence at present, strongest evidence against).
    fn absorb(&mut self, score: f64) -> (f64, f64) {
        let method = EvidenceMethod {
            process: &self.process,
            weights: &self.weights,
            threshold: self.threshold,
            floor: f64::NEG_INFINITY,
            floor_against: f64::NEG_INFINITY,
            keeps_maximum: false,
        };
        self.evidence.absorb(method, Some(&mut self.wealths), score);
        assert!(!self.against_at_present().is_nan(), "ξ = {}", self.threshold);
        let found = (self.evidence.value, self.evidence.against);
        assert!(found.0.is_finite() && found.1.is_finite(), "ξ = {}: {found:?}", self.threshold);
        found
    }
}

impl Stream {
    fn against_at_present(&self) -> f64 {
        let (count, sum) = (self.evidence.count, self.evidence.sum.get());
        match &self.process {
            Process::SubGaussian(process) => process.log_e_against(count, sum),
            Process::Binary(process) => process.log_e_against(count, sum),
            Process::Bounded(process) => process.log_e_against(&self.wealths),
            Process::Paper(_) | Process::Exact => 0.0,
        }
    }
}

fn sum(total: f64) -> Sum {
    let mut sum = Sum::ZERO;
    sum.add(total);
    sum
}

fn sub_gaussian(sigma: f64) -> ScoreModel {
    ScoreModel::SubGaussian { sigma, lowest: None }
}

#[test]
fn a_billion_scores_prove_what_they_should() {
    let growth = |mean: f64| mean * (2.0 * mean).ln() + (1.0 - mean) * (2.0 - 2.0 * mean).ln();
    let half_normal = HalfNormal::new(0.25, 1.0).log_e(BILLION, 1e5 + 0.5);
    let rates = 0.5 * (0.5 * core::f64::consts::PI * 1e-9).ln() + core::f64::consts::LN_2;
    for (scores, growth, continuous) in [
        // ln of the integral over rates around s/n: n KL(s/n, ½) + ½ ln(2π s f/n³) + ln 2
        (ScoreModel::Binary, growth(0.9), Some(f64::ln(0.02) + 20.0 + rates)),
        (ScoreModel::UNIT, growth(0.9), None),
        (sub_gaussian(1.0), 0.08, Some(f64::ln(0.1) + half_normal)),
    ] {
        let state =
            |mean: f64, last: f64| Stream::after(scores, 0.5, BILLION - 1, mean).absorb(last);
        let (above, against) = state(0.9, 1.0);
        // Between two of twelve bets 3 % may be lost, between two of six a quarter.
        assert!((0.97..=1.0).contains(&(above / (growth * 1e9))), "{scores:?}: {above}");
        assert_close(against, 0.0, 0.0);
        let (above, against) = state(0.1, 0.0);
        assert!(above <= 0.0, "{scores:?}: {above}");
        assert!((0.75..=1.0).contains(&(against / (growth * 1e9))), "{scores:?}: {against}");
        assert!(state(0.5, 0.5_f64.round()).0 <= 0.0 + 1e-6, "{scores:?}");
        // Far below the smallest bet only the continuous part sees the gap.
        let (above, _) = state(0.5 + 1e-4, 1.0);
        match continuous {
            Some(expected) => assert_close(above, expected, 1e-4),
            None => assert!(above < 0.0, "{scores:?}: {above}"),
        }
    }
}

#[test]
fn at_a_billion_scores_more_successes_never_prove_less() {
    for (scores, threshold) in [ScoreModel::Binary, ScoreModel::UNIT, sub_gaussian(0.4)]
        .into_iter()
        .flat_map(|scores| [1e-9, 0.03, 0.5, 0.97, 1.0 - 1e-9].map(|threshold| (scores, threshold)))
    {
        let found: Vec<(f64, f64)> = (0..=1000)
            .map(|step| {
                let mean = f64::from(step) / 1000.0;
                Stream::after(scores, threshold, BILLION - 1, mean).absorb(1.0)
            })
            .collect();
        for pair in found.windows(2) {
            // Below one all is reported as one, or may be less.
            assert!(pair[0].0.max(0.0) <= pair[1].0.max(0.0), "{scores:?} {threshold}: {pair:?}");
            assert!(pair[0].1 >= pair[1].1, "{scores:?} {threshold}: {pair:?}");
        }
        assert!(found[1000].0 > 0.0 || threshold > 0.9, "{scores:?} {threshold}: {found:?}");
    }
}

#[test]
fn noise_and_scores_of_any_allowed_size_give_numbers() {
    for sigma in [SIGMA_MIN, 1.0, SCORE_ABS_MAX] {
        for threshold in [f64::MIN_POSITIVE, 1e-9, 0.5, 1.0 - 1e-9, 1.0 - f64::EPSILON] {
            for mean in [-SCORE_ABS_MAX, -1.0, 0.0, threshold, 1.0, SCORE_ABS_MAX] {
                let mut fresh = Stream::start(sub_gaussian(sigma), threshold);
                let mut old = Stream::after(sub_gaussian(sigma), threshold, BILLION, mean);
                for score in [mean, 0.0, SCORE_ABS_MAX, -SCORE_ABS_MAX] {
                    fresh.absorb(score);
                    old.absorb(score);
                }
            }
        }
    }
}

/// Without failures the integral over rates is plain: (ξ^-(n+1) - 1) ξ/((n+1)(1-ξ)).
#[test]
fn next_to_one_no_digit_of_the_excess_is_lost() {
    let nothing = [f64::NEG_INFINITY; BETS];
    for threshold in [1.0 - 1e-9, 1.0 - 1.7e-8_f64] {
        let room = 1.0 - threshold;
        let power = (-(real(BILLION) + 1.0) * (-room).ln_1p()).exp_m1();
        let expected = (0.02 * power * threshold / ((real(BILLION) + 1.0) * room)).ln();
        let found = Binary::new(threshold).log_e(&nothing, BILLION, real(BILLION));
        assert!(found <= expected + 1e-12 && found > expected - 1e-11, "{found} {expected}");
    }
}

#[test]
fn thresholds_next_to_zero_and_one_give_numbers() {
    let tiny = f64::from_bits(1);
    for threshold in [tiny, 1e-300, 1e-17, 1e-9, 1.0 - 1e-9, 1.0 - f64::EPSILON / 2.0] {
        for scores in [ScoreModel::Binary, ScoreModel::UNIT] {
            for bits in 0..64_u32 {
                let mut stream = Stream::start(scores, threshold);
                for order in 0..6 {
                    stream.absorb(f64::from(bits >> order & 1));
                }
            }
            for mean in [0.0, 0.5, 1.0] {
                let mut stream = Stream::after(scores, threshold, BILLION, mean);
                stream.absorb(1.0);
                stream.absorb(0.0);
            }
        }
    }
}

/// A million zeros and then nine million ones: a sum of rounded steps would by now claim too much.
#[test]
fn bounded_evidence_claims_no_more_after_a_deep_dip() {
    let bounded = Bounded::new(0.9, (0.0, 1.0));
    let (ones, zeros) = (9_300_000, 1_000_000);
    let mut wealths = Wealths::START;
    for order in 0..zeros + ones {
        bounded.absorb(&mut wealths, if order < zeros { 0.0 } else { 1.0 });
    }
    assert_eq!(wealths, bounded.wealths_after(ones, zeros), "sums of quanta are exact");
}
