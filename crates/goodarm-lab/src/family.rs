//! Families of instances in experiment files.
//!
//! The paper does not print its matrices of means. Those here are ours, chosen to have the properties that
//! the paper describes. `docs/reproduction.md` gives the reasons.

mod truth;

use std::sync::Arc;

use goodarm_core::{AttributeSpec, Cost, ScoredBy};
use goodarm_files::Scores;
use serde::Deserialize;

use goodarm_sim::instance::Instance;
use goodarm_sim::noise;
use goodarm_sim::pools::{AnswerPool, Draws, PoolBills, Pools};
use goodarm_sim::questions::world::{InventedSpec, QuestionWorld, RecordedSpec};
use goodarm_sim::random::Random;
use goodarm_sim::world::{Between, BillLaw, Failures, Latency, ScoreLaw, World, attribute};
use goodarm_sim::world_error::{PAIRS_MAX, WorldError};
pub use truth::{BiasedSpec, CalibratedSpec};

/// One entry of an experiment's `worlds`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldSpec {
    /// Its name in figures.
    pub name: String,
    /// The source of its means.
    pub means: Means,
    /// The declared scores; normal with σ = 1 if not given.
    #[serde(default = "scores_of_the_paper")]
    pub scores: Scores,
    /// The standard deviation of bounded scores at a mean of a half.
    pub deviation: Option<f64>,
    /// The distribution of bills; fixed if not given.
    #[serde(default)]
    pub bills: BillSpec,
    /// The factor by which a call with a score below its threshold takes longer.
    #[serde(default = "one")]
    pub slowdown: f64,
    /// Whether one call scores all attributes, for the price of the first.
    #[serde(default)]
    pub shared: bool,
}

const fn scores_of_the_paper() -> Scores {
    Scores::OF_THE_PAPER
}

const fn one() -> f64 {
    1.0
}

/// The source of means.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Means {
    /// Every gap μ - ξ written out.
    Matrix {
        /// Price of each attribute.
        prices: Vec<f64>,
        /// Threshold of each attribute.
        thresholds: Vec<f64>,
        /// `gaps[arm][attribute]`.
        gaps: Vec<Vec<f64>>,
    },
    /// Six good arms, and six bad ones that fail only the last, expensive attribute.
    ExpensiveDecoys {
        /// Price of each of the four attributes.
        prices: [f64; 4],
        /// The factor of the gaps of good arms.
        scale: f64,
        /// Whether good arms are harder on the cheap attributes than on the expensive one.
        #[serde(default)]
        hard_cheap: bool,
    },
    /// Six good arms, and six bad ones that fail one attribute, all by the same gap.
    OneFailure {
        /// Price of each of the four attributes.
        prices: [f64; 4],
        /// Which attribute bad arms fail, counted from 0.
        fails: usize,
        /// How far the means of bad arms are below the threshold.
        gap: f64,
    },
    /// Many answers and three verifiers like GSM8K's: a format check, one solution, a majority of five;
    /// means are drawn from `seed`.
    Gsm8kLike {
        /// The number of arms.
        arms: usize,
        /// The share of arms whose solutions mostly agree.
        good: f64,
        /// Price of each of the three attributes.
        prices: [f64; 3],
        /// The seed of the means.
        seed: u64,
    },
    /// Another instance in every repetition: thresholds, prices and gaps drawn at random.
    Random {
        /// The number of arms.
        arms: usize,
        /// The range of the share of good arms.
        good: [f64; 2],
        /// Prices are between 1 and this, uniform on a log scale.
        price_max: f64,
    },
    /// Another instance in every repetition: three to five attributes with thresholds of a half, and two
    /// kinds of arms, each with its own Beta law of means.
    Bimodal {
        /// The number of arms.
        arms: usize,
        /// The probability that an arm is of the better kind.
        good: f64,
        /// Parameters of the law of the better kind's means.
        good_means: [f64; 2],
        /// Parameters of the law of the other kind's means.
        bad_means: [f64; 2],
        /// Prices are between 1 and this, uniform on a log scale.
        price_max: f64,
    },
    /// Arms at the threshold on one attribute and well above it on the others: every certificate of such an arm is
    /// wrong, and no wrong certificate is harder to avoid.
    BoundaryNull {
        /// The number of arms.
        arms: usize,
        /// The number of arms that are good instead, with a gap of 0.4 everywhere.
        good: usize,
        /// The number of attributes.
        attributes: usize,
    },
    /// Recorded answers.
    Pools {
        /// The number of questions from the file.
        questions: usize,
        /// The bills of calls.
        bills: PoolBills,
        /// How answers are drawn from the pools.
        draws: Draws,
        /// Whether to leave out the majority of five: at thresholds of a half, single solutions imply it.
        #[serde(default)]
        majority_implied: bool,
    },
    /// Another instance in every repetition: a rubric whose criteria have thresholds of a half. Good
    /// answers meet all of them; a bad one fails each with probability a half, and at least one.
    Rubric {
        /// The number of arms.
        arms: usize,
        /// The share of good arms.
        good: f64,
        /// The number of criteria.
        criteria: usize,
        /// The price of a call.
        price: f64,
        /// Whether all criteria that an answer meets have the same mean, and so do all that it fails.
        #[serde(default)]
        alike: bool,
    },
    /// Another instance in every repetition, in which approved answers may be wrong.
    Biased(BiasedSpec),
    /// One verifier that approves of all answers.
    Approved {
        /// The number of answers.
        answers: usize,
        /// The number of right answers.
        right: usize,
    },
    /// Other questions in every repetition, with answers made on demand.
    Questions(InventedSpec),
    /// Recorded questions, with answers drawn from the recorded ones.
    QuestionPools(RecordedSpec),
}

/// The distribution of bills.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum BillSpec {
    /// Always the price.
    #[default]
    Fixed,
    /// Log-normal around the price, with a ceiling above it.
    LogNormal {
        /// Standard deviation over mean.
        variation: f64,
        /// Ceiling over mean.
        ceiling: f64,
        /// The part of the variance of log bills that depends on the answer alone.
        #[serde(default)]
        between: f64,
        /// The part of this variance that depends on answer and verifier.
        #[serde(default)]
        between_pairs: f64,
    },
}

/// An instance before the distributions of scores and bills are added.
struct Skeleton {
    prices: Vec<f64>,
    thresholds: Vec<f64>,
    means: Vec<Vec<f64>>,
    types: Vec<usize>,
    type_names: Vec<String>,
    right: Option<Vec<bool>>,
}

impl WorldSpec {
    /// Whether every repetition has its own instance.
    pub const fn varies(&self) -> bool {
        matches!(
            self.means,
            Means::Random { .. }
                | Means::Bimodal { .. }
                | Means::Rubric { .. }
                | Means::Biased(_)
                | Means::Questions(_)
        )
    }

    /// The instance; `seed` matters only if the world varies, `data` only for pools.
    pub fn instance(&self, seed: u64, data: Option<&str>) -> Result<Instance, WorldError> {
        let skeleton = match &self.means {
            Means::Pools { questions, bills, draws, majority_implied } => {
                let data = data.ok_or(WorldError::PoolsMissing)?;
                let pools = Pools::parse(data, *questions, *bills, *draws)?;
                return Ok(recorded(pools, if *majority_implied { 2 } else { 3 }));
            }
            Means::Questions(spec) => {
                spec.check()?;
                return Ok(of_questions(QuestionWorld::invented(spec, seed)));
            }
            Means::QuestionPools(spec) => {
                let data = data.ok_or(WorldError::PoolsMissing)?;
                return Ok(of_questions(QuestionWorld::recorded(data, spec)?));
            }
            means => means.skeleton(seed)?,
        };
        for row in &skeleton.means {
            check_count("gaps", row.len(), skeleton.prices.len(), "prices")?;
        }
        let law = noise::law(self.scores, self.deviation)?;
        self.bills.check()?;
        Ok(self.with_laws(skeleton, law))
    }

    fn with_laws(&self, skeleton: Skeleton, law: ScoreLaw) -> Instance {
        let Skeleton { prices, thresholds, mut means, types, type_names, right } = skeleton;
        if self.scores != scores_of_the_paper() {
            for mean in means.iter_mut().flatten() {
                *mean = mean.clamp(0.001, 0.999);
            }
        }
        let ceiling = match self.bills {
            BillSpec::Fixed => 1.0,
            BillSpec::LogNormal { ceiling, .. } => ceiling,
        };
        let bill = |price: f64| {
            let ceiling = Cost::of_price(price * ceiling).unwrap_or(Cost::ZERO);
            match self.bills {
                BillSpec::Fixed => BillLaw::Fixed(ceiling),
                BillSpec::LogNormal { variation, between, between_pairs, .. } => {
                    let between = Between { answers: between, pairs: between_pairs };
                    BillLaw::LogNormal { mean: price, variation, between, ceiling }
                }
            }
        };
        let verifiers = World {
            means: means.clone(),
            scores: vec![law; prices.len()],
            bills: prices.iter().map(|&price| bill(price)).collect(),
            latency: Latency { slowdown: self.slowdown, split: 0.5 },
            failures: Failures::NONE,
        };
        let attributes =
            prices.iter().zip(&thresholds).enumerate().map(|(index, (price, threshold))| {
                let name = (index + 1).to_string();
                let declared = attribute(name, price * ceiling, noise::model(self.scores));
                AttributeSpec { threshold: *threshold, ..declared }
            });
        let attribute_count = prices.len();
        Instance {
            attributes: attributes.collect(),
            laws: verifiers.scores.clone(),
            costs: prices,
            means,
            types,
            type_names,
            right,
            verifiers: Arc::new(verifiers),
            scored_by: if self.shared { one_call(attribute_count) } else { Vec::new() },
            questions: None,
        }
    }
}

impl BillSpec {
    fn check(self) -> Result<(), WorldError> {
        match self {
            Self::LogNormal { between, between_pairs, .. }
                if !(between >= 0.0 && between_pairs >= 0.0 && between + between_pairs <= 1.0) =>
            {
                Err(WorldError::Between(between, between_pairs))
            }
            _ => Ok(()),
        }
    }
}

/// An instance with the first two or all three verifiers of recorded answers.
fn recorded(pools: Pools, attribute_count: usize) -> Instance {
    let mut means = pools.means();
    means.iter_mut().for_each(|row| row.truncate(attribute_count));
    let mut attributes = pools.attributes();
    attributes.truncate(attribute_count);
    let difficulty = |row: &[f64]| if row[1] >= 0.9 { 0 } else { 1 + usize::from(row[1] < 0.7) };
    Instance {
        costs: attributes.iter().map(|attribute| attribute.price).collect(),
        laws: vec![ScoreLaw::Binary; attributes.len()],
        attributes,
        types: means.iter().map(|row| difficulty(row)).collect(),
        type_names: ["easy", "medium", "hard"].map(String::from).to_vec(),
        right: Some(pools.pools().iter().map(AnswerPool::is_right).collect()),
        means,
        verifiers: Arc::new(pools),
        scored_by: Vec::new(),
        questions: None,
    }
}

fn of_questions(world: QuestionWorld) -> Instance {
    Instance {
        attributes: world.attributes.clone(),
        costs: world.attributes.iter().map(|attribute| attribute.price).collect(),
        laws: vec![ScoreLaw::Binary; world.attributes.len()],
        means: Vec::new(),
        types: Vec::new(),
        type_names: vec!["question".into()],
        right: None,
        verifiers: Arc::new(World::new(Vec::new(), Vec::new(), &[])),
        scored_by: Vec::new(),
        questions: Some(Arc::new(world)),
    }
}

/// All attributes are scored by the calls of the first.
fn one_call(attribute_count: usize) -> Vec<ScoredBy> {
    let by = |attribute| if attribute == 0 { ScoredBy::OwnCalls } else { ScoredBy::CallsOf(0) };
    (0..attribute_count).map(by).collect()
}

impl Means {
    fn skeleton(&self, seed: u64) -> Result<Skeleton, WorldError> {
        self.check_size()?;
        match self {
            Self::Matrix { prices, thresholds, gaps } => {
                check_count("thresholds", thresholds.len(), prices.len(), "prices")?;
                Ok(matrix(prices, thresholds, gaps, &[]))
            }
            Self::ExpensiveDecoys { prices, scale, hard_cheap } => {
                Ok(expensive_decoys(prices, *scale, *hard_cheap))
            }
            Self::OneFailure { prices, fails, gap } => one_failure(prices, *fails, *gap),
            Self::Gsm8kLike { arms, good, prices, seed } => {
                Ok(gsm8k_like(*arms, *good, prices, *seed))
            }
            Self::Random { arms, good, price_max } => Ok(random(*arms, *good, *price_max, seed)),
            Self::Bimodal { arms, good, good_means, bad_means, price_max } => {
                WorldError::check_law("good_means", *good_means)?;
                WorldError::check_law("bad_means", *bad_means)?;
                Ok(bimodal(*arms, *good, [*good_means, *bad_means], *price_max, seed))
            }
            Self::Rubric { arms, good, criteria, price, alike } => {
                let gaps = rubric(*arms, *good, *criteria, *alike, seed);
                Ok(matrix(&vec![*price; *criteria], &vec![0.5; *criteria], &gaps, &[]))
            }
            Self::BoundaryNull { arms, good, attributes } => {
                Ok(boundary_null(*arms, *good, *attributes))
            }
            Self::Biased(spec) => {
                spec.check()?;
                Ok(spec.skeleton(seed))
            }
            Self::Approved { answers, right } if right > answers => {
                Err(WorldError::Right(*right, *answers))
            }
            Self::Approved { answers, right } => Ok(truth::approved(*answers, *right)),
            Self::Pools { .. } | Self::Questions(_) | Self::QuestionPools(_) => {
                unreachable!("made without a matrix of means")
            }
        }
    }
}

impl Means {
    /// Checks the size before anything is drawn: a typing error in a file must not take all memory.
    fn check_size(&self) -> Result<(), WorldError> {
        let (arms, attributes) = match self {
            Self::Gsm8kLike { arms, .. } => (*arms, 3),
            Self::Random { arms, .. } | Self::Bimodal { arms, .. } => (*arms, 5),
            Self::BoundaryNull { arms, attributes, .. } => (*arms, *attributes),
            Self::Rubric { arms, criteria, .. } => (*arms, *criteria),
            Self::Biased(spec) => (spec.arms, spec.prices.len()),
            Self::Approved { answers, .. } => (*answers, 1),
            Self::Questions(spec) => (spec.questions, 1),
            Self::QuestionPools(_)
            | Self::Matrix { .. }
            | Self::ExpensiveDecoys { .. }
            | Self::OneFailure { .. }
            | Self::Pools { .. } => return Ok(()),
        };
        let is_held = attributes > 0 && arms.saturating_mul(attributes) <= PAIRS_MAX;
        if is_held { Ok(()) } else { Err(WorldError::Size(arms, attributes)) }
    }
}

fn check_count(
    what: &'static str,
    given: usize,
    wanted: usize,
    owners: &'static str,
) -> Result<(), WorldError> {
    match given == wanted {
        true => Ok(()),
        false => Err(WorldError::Count(format!("{given} {what} for {wanted} {owners}"))),
    }
}

fn matrix(prices: &[f64], thresholds: &[f64], gaps: &[Vec<f64>], kinds: &[String]) -> Skeleton {
    let good = |row: &Vec<f64>| row.iter().all(|&gap| gap >= 0.0);
    let kinds: Vec<String> = if kinds.is_empty() {
        gaps.iter().map(|row| if good(row) { "good" } else { "bad" }.into()).collect()
    } else {
        kinds.to_vec()
    };
    let mut type_names: Vec<String> = Vec::new();
    for kind in &kinds {
        if !type_names.contains(kind) {
            type_names.push(kind.clone());
        }
    }
    let types = kinds
        .iter()
        .map(|kind| type_names.iter().position(|name| name == kind).unwrap_or(0))
        .collect();
    let means = gaps
        .iter()
        .map(|row| row.iter().zip(thresholds).map(|(gap, threshold)| threshold + gap).collect())
        .collect();
    Skeleton {
        prices: prices.to_vec(),
        thresholds: thresholds.to_vec(),
        means,
        types,
        type_names,
        right: None,
    }
}

/// Good gaps, the easiest arm first: hard on the cheap attributes, and easier on the expensive one.
const HARD_CHEAP_GAPS: [[f64; 4]; 6] = [
    [0.25, 0.30, 0.35, 0.45],
    [0.22, 0.28, 0.33, 0.43],
    [0.20, 0.25, 0.30, 0.40],
    [0.18, 0.22, 0.28, 0.37],
    [0.16, 0.20, 0.25, 0.33],
    [0.14, 0.18, 0.22, 0.30],
];
/// Good gaps, the easiest arm first: easy on the cheap attributes.
const EASY_CHEAP_GAPS: [[f64; 4]; 6] = [
    [0.40, 0.40, 0.40, 0.45],
    [0.35, 0.40, 0.35, 0.42],
    [0.35, 0.35, 0.35, 0.38],
    [0.30, 0.30, 0.35, 0.34],
    [0.30, 0.30, 0.30, 0.30],
    [0.25, 0.25, 0.30, 0.26],
];
/// Bad arms look good on the cheap attributes and fail the last.
const DECOY_GAPS: [[f64; 4]; 6] = [
    [0.40, 0.40, 0.40, -0.30],
    [0.35, 0.40, 0.35, -0.25],
    [0.35, 0.35, 0.35, -0.20],
    [0.30, 0.30, 0.35, -0.20],
    [0.30, 0.30, 0.30, -0.15],
    [0.25, 0.25, 0.30, -0.10],
];

fn expensive_decoys(prices: &[f64; 4], scale: f64, hard_cheap: bool) -> Skeleton {
    let good = if hard_cheap { HARD_CHEAP_GAPS } else { EASY_CHEAP_GAPS };
    let decoys =
        if hard_cheap { DECOY_GAPS } else { DECOY_GAPS.map(|[.., last]| [0.40, 0.40, 0.40, last]) };
    let good = good.iter().map(|row| row.map(|gap| gap * scale).to_vec());
    let gaps: Vec<Vec<f64>> = good.chain(decoys.iter().map(|row| row.to_vec())).collect();
    let kinds: Vec<String> = (0..gaps.len())
        .map(|arm| match arm {
            0..3 => "good, cheap to certify".into(),
            3..6 => "good, expensive to certify".into(),
            _ => "bad".into(),
        })
        .collect();
    matrix(prices, &[0.5; 4], &gaps, &kinds)
}

fn one_failure(prices: &[f64; 4], fails: usize, gap: f64) -> Result<Skeleton, WorldError> {
    if fails >= prices.len() {
        return Err(WorldError::Fails(fails));
    }
    let bad = (0..6).map(|_| {
        let mut row = vec![0.35; 4];
        row[fails] = -gap;
        row
    });
    let gaps: Vec<Vec<f64>> = EASY_CHEAP_GAPS.iter().map(|row| row.to_vec()).chain(bad).collect();
    Ok(matrix(prices, &[0.5; 4], &gaps, &[]))
}

/// P(a majority of five draws agrees), if one draw agrees with probability `p`.
fn majority_of_five(p: f64) -> f64 {
    let q = 1.0 - p;
    p * p * p * (p * p + 5.0 * p * q + 10.0 * q * q)
}

fn gsm8k_like(arms: usize, good: f64, prices: &[f64; 3], seed: u64) -> Skeleton {
    let gaps: Vec<Vec<f64>> = (0..arms as u64)
        .map(|arm| {
            let mut random = Random::at(seed, &[arm]);
            let agreement = if random.uniform() < good {
                0.60 + 0.39 * random.uniform()
            } else {
                0.02 + 0.43 * random.uniform()
            };
            let parseable = 0.90 + 0.09 * random.uniform();
            vec![parseable - 0.5, agreement - 0.5, majority_of_five(agreement) - 0.5]
        })
        .collect();
    matrix(prices, &[0.5; 3], &gaps, &[])
}

fn random(arms: usize, good: [f64; 2], price_max: f64, seed: u64) -> Skeleton {
    let mut random = Random::at(seed, &[0x1057]);
    let attributes = 3 + usize::try_from(random.below(3)).unwrap_or(0);
    let thresholds: Vec<f64> = (0..attributes).map(|_| 0.40 + 0.35 * random.uniform()).collect();
    let prices: Vec<f64> =
        (0..attributes).map(|_| libm::exp(random.uniform() * libm::log(price_max))).collect();
    let share = good[0] + (good[1] - good[0]) * random.uniform();
    let mut gaps = Vec::with_capacity(arms);
    for arm in 0..arms {
        let room = |threshold: &f64| 0.95 * (1.0 - threshold);
        let mut row: Vec<f64> = thresholds
            .iter()
            .map(|threshold| (0.12 + 0.38 * random.uniform()) * room(threshold) / 0.5)
            .collect();
        // The first arm is good; otherwise there might be nothing to certify.
        if arm > 0 && random.uniform() > share {
            let failing = 1 + random.below(attributes as u64);
            for _ in 0..failing {
                let attribute = usize::try_from(random.below(attributes as u64)).unwrap_or(0);
                row[attribute] = -(0.05 + 0.25 * random.uniform());
            }
        }
        gaps.push(row);
    }
    matrix(&prices, &thresholds, &gaps, &[])
}

fn bimodal(arms: usize, good: f64, laws: [[f64; 2]; 2], price_max: f64, seed: u64) -> Skeleton {
    let mut random = Random::at(seed, &[0xB1]);
    let attributes = 3 + random.below(3);
    let prices: Vec<f64> =
        (0..attributes).map(|_| libm::exp(random.uniform() * libm::log(price_max))).collect();
    let gaps: Vec<Vec<f64>> = (0..arms)
        .map(|arm| {
            // The first arm is of the better kind; otherwise there might be nothing to certify.
            let [a, b] = laws[usize::from(arm > 0 && random.uniform() > good)];
            prices.iter().map(|_| random.beta(a, b) - 0.5).collect()
        })
        .collect();
    matrix(&prices, &vec![0.5; prices.len()], &gaps, &[])
}

fn rubric(arms: usize, good: f64, criteria: usize, alike: bool, seed: u64) -> Vec<Vec<f64>> {
    let mut random = Random::at(seed, &[0x52]);
    let mut row = |arm: usize| {
        // The first arm is good; otherwise there might be nothing to certify.
        let is_good = arm == 0 || random.uniform() < good;
        let fails_surely = random.below(criteria as u64);
        let mut gaps_of_all = [None; 2];
        let gap = |criterion: u64| {
            let fails = !is_good && (criterion == fails_surely || random.uniform() < 0.5);
            let [a, b] = if fails { [3.0, 7.0] } else { [17.0, 3.0] };
            let drawn = random.beta(a, b) - 0.5;
            let drawn = if fails { drawn.min(-RUBRIC_GAP_MIN) } else { drawn.max(RUBRIC_GAP_MIN) };
            let of_all = *gaps_of_all[usize::from(fails)].get_or_insert(drawn);
            if alike { of_all } else { drawn }
        };
        (0..criteria as u64).map(gap).collect()
    };
    (0..arms).map(&mut row).collect()
}

/// The smallest distance of a criterion's mean from its threshold.
const RUBRIC_GAP_MIN: f64 = 0.05;

fn boundary_null(arms: usize, good: usize, attributes: usize) -> Skeleton {
    let gaps: Vec<Vec<f64>> = (0..arms)
        .map(|arm| {
            let mut row = vec![0.4; attributes];
            if arm >= good {
                // Just below the threshold, so that it counts as bad; no number of scores can tell the
                // difference.
                row[attributes - 1] = -1e-9;
            }
            row
        })
        .collect();
    matrix(&vec![1.0; attributes], &vec![0.5; attributes], &gaps, &[])
}

#[cfg(test)]
mod tests {
    use goodarm_files::toml_text::parse;

    use super::*;

    fn instance(change: (&str, &str)) -> Result<Instance, WorldError> {
        let text = "name = 'x'\nscores = 'binary'\n\
            means.bimodal = { arms = 4000, good = 0.7, good_means = [18, 2], bad_means = [2, 8], price_max = 50 }\n\
            bills.log-normal = { variation = 0.8, ceiling = 8, between = 0.6, between_pairs = 0.4 }";
        assert!(text.contains(change.0));
        parse::<WorldSpec>(&text.replace(change.0, change.1)).unwrap().instance(5, None)
    }

    #[test]
    fn two_kinds_of_answers_have_the_means_of_their_laws() {
        let instance = instance(("", "")).unwrap();
        let (good, bad): (Vec<&Vec<f64>>, Vec<&Vec<f64>>) =
            instance.means.iter().partition(|row| row.iter().all(|&mean| mean >= 0.5));
        assert!((2700..2900).contains(&good.len()), "{}", good.len());
        for (rows, expected) in [(good, 0.9), (bad, 0.2)] {
            let all: Vec<f64> = rows.into_iter().flatten().copied().collect();
            let mean = all.iter().sum::<f64>() / f64::from(u32::try_from(all.len()).unwrap());
            assert!((mean - expected).abs() < 0.01, "{mean} {expected}");
        }
    }

    #[test]
    fn invalid_shares_and_laws_are_refused() {
        for wrong in ["between = 0.7", "between = -0.1", "between = nan"] {
            let error = instance(("between = 0.6", wrong)).unwrap_err();
            assert!(matches!(error, WorldError::Between(..)), "{wrong}: {error}");
        }
        let error = instance(("bad_means = [2, 8]", "bad_means = [0, 8]")).unwrap_err();
        assert_eq!(error, WorldError::MeansLaw("bad_means", 0.0, 8.0));
        let error = instance(("arms = 4000", "arms = 40000000000")).unwrap_err();
        assert_eq!(error, WorldError::Size(40_000_000_000, 5));
        let text = "name = 'x'\nmeans.boundary-null = { arms = 4, good = 0, attributes = 0 }";
        let error = parse::<WorldSpec>(text).unwrap().instance(5, None).unwrap_err();
        assert_eq!(error, WorldError::Size(4, 0));
    }
}
