//! One cell of the table: how many scores one pair needs, over many runs through the books.

use goodarm_core::{
    ArmId, AttributeId, AttributeSpec, Books, Cost, Guarantee, Outcome, Problem, ProblemSpec,
    ScoreModel, Target,
};
use goodarm_sim::random::Random;

/// The law of a pair's scores; its mean is the threshold plus the gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Law {
    /// Normal with this standard deviation.
    Normal(f64),
    /// 0 or 1.
    Binary,
    /// Beta with this sum of parameters: the larger, the less scores vary.
    Beta(f64),
    /// The same between a floor and 1.
    Floored {
        size: f64,
        floor: f64,
        /// Scores are declared to lie between this and 1.
        declared: f64,
    },
}

/// What has to be reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Certificate {
    /// The paper's lower certificate, corrected for all Q·M pairs.
    Paper,
    /// The default e-process for the law, at ln(Q/δ).
    Mixture,
}

/// A pair among Q·M, with everything that decides how long it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) law: Law,
    pub(crate) certificate: Certificate,
    pub(crate) arms: usize,
    pub(crate) attributes: usize,
    pub(crate) threshold: f64,
    pub(crate) gap: f64,
}

/// A mean over runs, with its standard error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) mean: f64,
    pub(crate) error: f64,
}

impl Cell {
    /// The mean number of scores until the pair is resolved.
    pub(crate) fn samples(&self, runs: u32, seed: u64) -> Estimate {
        let problem = self.problem();
        // Pairs of different arms do not touch, so that one set of books serves several runs.
        let runs_per_books = u32::try_from(problem.arm_count()).unwrap_or(u32::MAX);
        let mut books = Books::new(problem.clone());
        let (mut sum, mut squares) = (0.0, 0.0);
        for run in 0..runs {
            let arm = ArmId(run % runs_per_books);
            if arm.0 == 0 {
                books = Books::new(problem.clone());
            }
            // Both certificates see the same luck; other cells have their own.
            let path = [self.gap.to_bits(), self.arms as u64, u64::from(run)];
            let random = Random::at(seed, &path);
            let samples = f64::from(self.samples_of_one(&mut books, arm, random));
            sum += samples;
            squares += samples * samples;
        }
        let count = f64::from(runs);
        let mean = sum / count;
        let variance = (squares / count - mean * mean).max(0.0);
        Estimate { mean, error: libm::sqrt(variance / (count - 1.0)) }
    }

    // ln(Q/δ)/K, K the fastest growth of ln E that any bet against ξ could have
    pub(crate) fn limit(&self) -> f64 {
        let (low, mean) = (self.threshold, self.threshold + self.gap);
        let entropy = |p: f64, q: f64| if p > 0.0 { p * libm::log(p / q) } else { 0.0 };
        let growth = match self.law {
            Law::Normal(sigma) => 0.5 * self.gap * self.gap / (sigma * sigma),
            Law::Binary => entropy(mean, low) + entropy(1.0 - mean, 1.0 - low),
            Law::Beta(size) => beta_growth((low, mean), size, (0.0, 0.0)),
            Law::Floored { size, floor, declared } => {
                beta_growth((low, mean), size, (floor, declared))
            }
        };
        libm::log(self.arms_as_real() / DELTA) / growth
    }

    fn arms_as_real(&self) -> f64 {
        f64::from(u32::try_from(self.arms).expect("a table has fewer arms"))
    }

    fn problem(&self) -> Problem {
        let paper = self.certificate == Certificate::Paper;
        let scores = match self.law {
            Law::Normal(sigma) => ScoreModel::SubGaussian { sigma, lowest: None },
            Law::Binary => ScoreModel::Binary,
            Law::Beta(_) => ScoreModel::UNIT,
            Law::Floored { declared, .. } => ScoreModel::Bounded { lowest: declared, highest: 1.0 },
        };
        let attribute = |index: usize| AttributeSpec {
            name: index.to_string(),
            price: 1.0,
            expected: None,
            threshold: self.threshold,
            scores,
        };
        // An arm at δ/Q has to reach what one of Q arms has to, and no other arm takes memory.
        Problem::new(ProblemSpec {
            arms: if paper { self.arms } else { 1 },
            attributes: (0..if paper { self.attributes } else { 1 }).map(attribute).collect(),
            budget: 1e15,
            delta: if paper { DELTA } else { DELTA / self.arms_as_real() },
            guarantee: if paper { Guarantee::Paper } else { Guarantee::Union },
        })
        .expect("the table's problems are well stated")
    }

    fn samples_of_one(&self, books: &mut Books, arm: ArmId, mut random: Random) -> u32 {
        let attribute = AttributeId(0);
        for sample in 1..=SAMPLES_MAX {
            let call = books
                .dispatch(Target::Arm(arm, attribute))
                .expect("an open pair, and money enough");
            let score = self.score(&mut random);
            books
                .settle(call.ticket, &Outcome::Score(score), Cost::ZERO)
                .expect("a score that its model allows");
            if books.is_resolved(arm, attribute) {
                return sample;
            }
        }
        panic!("no certificate after {SAMPLES_MAX} scores of {self:?}");
    }

    fn score(&self, random: &mut Random) -> f64 {
        let mean = self.threshold + self.gap;
        match self.law {
            Law::Normal(sigma) => mean + sigma * random.normal(),
            Law::Binary => f64::from(u8::from(random.uniform() < mean)),
            Law::Beta(size) => random.beta(mean * size, (1.0 - mean) * size),
            Law::Floored { size, floor, .. } => {
                let share = (mean - floor) / (1.0 - floor);
                floor + (1.0 - floor) * random.beta(share * size, (1.0 - share) * size)
            }
        }
    }
}

/// max over λ in [0, 1/(ξ - declared)] of E ln(1 + λ(x - ξ)), which is concave in λ, for x of a Beta
/// law between `floor` and 1.
fn beta_growth((threshold, mean): (f64, f64), size: f64, (floor, declared): (f64, f64)) -> f64 {
    let share = (mean - floor) / (1.0 - floor);
    let growth = |stake: f64| {
        beta_mean(share * size, (1.0 - share) * size, |x| {
            libm::log1p(stake * (floor + (1.0 - floor) * x - threshold))
        })
    };
    let (mut low, mut high) = (0.0, 1.0 / (threshold - declared));
    for _ in 0..60 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if growth(left) < growth(right) { low = left } else { high = right }
    }
    growth(low)
}

/// E f(x) for x of Beta(a, b): the trapezoidal rule in t, where ln(x/(1 - x)) = sinh t.
fn beta_mean(a: f64, b: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut total, mut mass) = (0.0, 0.0);
    for step in -300..=300 {
        let t = f64::from(step) * 0.02;
        let odds = libm::sinh(t);
        let (x, rest) = (1.0 / (1.0 + libm::exp(-odds)), 1.0 / (1.0 + libm::exp(odds)));
        let weight = libm::pow(x, a) * libm::pow(rest, b) * libm::cosh(t);
        total += weight * f(x);
        mass += weight;
    }
    total / mass
}

/// The probability of any wrong certificate in the whole table.
const DELTA: f64 = 0.02;
const SAMPLES_MAX: u32 = 10_000_000;
