//! True means, and the laws of scores, bills and latencies.

use goodarm_core::{
    ArmId, AttributeId, AttributeSpec, BlockingFailure, Cost, CountedFailure, Failure, Outcome,
    ScoreModel, VoidFailure,
};

use crate::random::Random;

/// Verifiers that reply to calls.
pub trait Verifiers {
    /// The reply to the `call`-th call of a pair, counted from 0, including retries. The same arguments
    /// give the same reply, so two policies with one seed get the same draws.
    fn reply(&self, seed: u64, arm: ArmId, attribute: AttributeId, call: u64) -> SimulatedReply;
}

/// The same verifiers with the arms in another order: `order[arm]` is the arm in the inner verifiers.
#[derive(Clone, Debug)]
pub struct Reordered<'a, V: ?Sized> {
    /// The inner verifiers.
    pub verifiers: &'a V,
    /// The inner arm of each arm.
    pub order: &'a [ArmId],
}

impl<V: Verifiers + ?Sized> Verifiers for Reordered<'_, V> {
    fn reply(&self, seed: u64, arm: ArmId, attribute: AttributeId, call: u64) -> SimulatedReply {
        self.verifiers.reply(seed, self.order[arm.index()], attribute, call)
    }
}

/// The truth, which a session does not see.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// `means[arm][attribute]`.
    pub means: Vec<Vec<f64>>,
    /// One law of scores for each attribute.
    pub scores: Vec<ScoreLaw>,
    /// One law of bills for each attribute.
    pub bills: Vec<BillLaw>,
    /// The law of latencies.
    pub latency: Latency,
    /// The law of failures.
    pub failures: Failures,
}

/// The law of an attribute's scores, given their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScoreLaw {
    /// Normal with this standard deviation.
    Gaussian(f64),
    /// 0 or 1.
    Binary,
    /// Beta between a lowest and a highest score. In units of the range, the parameters are k·mean and k·(1 - mean)
    /// with this concentration k.
    Beta(f64, [f64; 2]),
    /// Always the mean.
    Exact,
}

/// The law of bills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BillLaw {
    /// Always the ceiling.
    Fixed(Cost),
    /// Log-normal with this mean and coefficient of variation, cut at the ceiling.
    LogNormal {
        /// The mean bill, in the unit of the budget.
        mean: f64,
        /// Standard deviation over mean.
        variation: f64,
        /// The parts of the variance of the logarithm between answers and between pairs.
        between: Between,
        /// The reserved price.
        ceiling: Cost,
    },
}

/// Parts of the variance of the logarithm of bills that are the same in all calls of an answer or a pair.
/// The rest is drawn for every call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Between {
    /// The part of the answer, the same for all of its verifiers: long questions are expensive everywhere.
    pub answers: f64,
    /// The part of the pair.
    pub pairs: f64,
}

/// Exponential latencies, whose mean may depend on the score: the hard case for concurrency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The factor by which calls with a score below `split` take longer.
    pub slowdown: f64,
    /// Scores below this are slow.
    pub split: f64,
}

impl Latency {
    /// The same law for all calls.
    pub const INDEPENDENT: Self = Self { slowdown: 1.0, split: 0.0 };
}

/// Failures, whose probability may depend on the score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failures {
    /// P(a call breaks | its score is at least `split`).
    pub high: f64,
    /// P(a call breaks | its score is below `split`).
    pub low: f64,
    /// The lowest score that counts as high.
    pub split: f64,
    /// P(a call is void), for any score.
    pub void: f64,
}

impl Failures {
    /// No failures.
    pub const NONE: Self = Self { high: 0.0, low: 0.0, split: 0.5, void: 0.0 };
}

/// The reply to one call.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedReply {
    /// The outcome.
    pub outcome: Outcome,
    /// The bill.
    pub bill: Cost,
    /// The mean latency of calls with this score.
    pub latency_mean: f64,
    /// The stream from which the latency is drawn, if it is needed.
    pub clock: Random,
}

impl SimulatedReply {
    /// The amount that is paid: zero if the failure is void or blocking.
    pub const fn paid(&self) -> Cost {
        match self.outcome {
            Outcome::Failed(Failure::Void(_) | Failure::Blocking(_)) => Cost::ZERO,
            _ => self.bill,
        }
    }

    /// An exponential latency, the same each time. It is drawn on demand, since sessions with one call at a
    /// time do not need it.
    pub fn latency(&self) -> f64 {
        self.latency_mean * self.clock.clone().exponential()
    }
}

/// The verifier crashed, and its score is lost.
pub const BROKEN: Outcome = Outcome::Failed(Failure::Counted(CountedFailure::Crashed));
/// The verifier was not reached.
pub const VOID: Outcome = Outcome::Failed(Failure::Void(VoidFailure::NotConnected));
/// All recorded draws are used.
pub const EXHAUSTED: Outcome = Outcome::Failed(Failure::Blocking(BlockingFailure::Exhausted));

impl World {
    /// A world where every call costs its fixed price and nothing fails.
    pub fn new(means: Vec<Vec<f64>>, scores: Vec<ScoreLaw>, prices: &[f64]) -> Self {
        let bills = prices
            .iter()
            .map(|&price| BillLaw::Fixed(Cost::of_price(price).expect("a price")))
            .collect();
        Self { means, scores, bills, latency: Latency::INDEPENDENT, failures: Failures::NONE }
    }
}

/// An attribute of a world, whose threshold is a half.
pub fn attribute(name: impl Into<String>, price: f64, scores: ScoreModel) -> AttributeSpec {
    AttributeSpec { name: name.into(), price, expected: None, threshold: 0.5, scores }
}

impl Verifiers for World {
    fn reply(&self, seed: u64, arm: ArmId, attribute: AttributeId, call: u64) -> SimulatedReply {
        let path = [u64::from(arm.0), u64::from(attribute.0), call];
        let mut random = Random::at(seed, &path);
        let mean = self.means[arm.index()][attribute.index()];
        let score = self.scores[attribute.index()].draw(mean, &mut random);
        let bill = self.bills[attribute.index()].draw(seed, path, &mut random);
        let slow = score < self.latency.split;
        let latency_mean = if slow { self.latency.slowdown } else { 1.0 };
        let outcome = self.failures.outcome(score, &mut random);
        SimulatedReply { outcome, bill, latency_mean, clock: random }
    }
}

impl ScoreLaw {
    pub(crate) fn draw(self, mean: f64, random: &mut Random) -> f64 {
        match self {
            Self::Gaussian(sigma) => mean + sigma * random.normal(),
            Self::Binary => f64::from(u8::from(random.uniform() < mean)),
            Self::Beta(concentration, [lowest, highest]) => {
                let width = highest - lowest;
                let mean = (mean - lowest) / width;
                let share = if mean <= 0.0 || mean >= 1.0 {
                    mean
                } else {
                    random.beta(concentration * mean, concentration * (1.0 - mean))
                };
                (lowest + width * share).clamp(lowest, highest)
            }
            Self::Exact => mean,
        }
    }
}

impl BillLaw {
    pub(crate) fn draw(
        self,
        seed: u64,
        [arm, attribute, _]: [u64; 3],
        random: &mut Random,
    ) -> Cost {
        match self {
            Self::Fixed(price) => price,
            Self::LogNormal { mean, variation, between, ceiling } => {
                let variance = libm::log1p(variation * variation);
                let own = |share: f64, path: &[u64]| {
                    let luck = if share > 0.0 { Random::at(seed, path).normal() } else { 0.0 };
                    libm::sqrt(variance * share) * luck
                };
                let log = libm::log(mean) - 0.5 * variance
                    + own(between.answers, &[arm])
                    + own(between.pairs, &[arm, attribute])
                    + libm::sqrt(variance * (1.0 - between.answers - between.pairs))
                        * random.normal();
                Cost::of_price(libm::exp(log)).map_or(ceiling, |bill| bill.min(ceiling))
            }
        }
    }
}

impl Failures {
    fn outcome(self, score: f64, random: &mut Random) -> Outcome {
        if self == Self::NONE {
            return Outcome::Score(score);
        }
        let breaks = if score < self.split { self.low } else { self.high };
        if random.uniform() < self.void {
            VOID
        } else if random.uniform() < breaks {
            BROKEN
        } else {
            Outcome::Score(score)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(between: Between) -> World {
        let ceiling = Cost::of_price(1e6).unwrap();
        let law = BillLaw::LogNormal { mean: PRICE, variation: 0.8, between, ceiling };
        let scores = vec![ScoreLaw::Binary; 2];
        World { bills: vec![law; 2], ..World::new(vec![vec![0.5; 2]; ARMS], scores, &[1.0; 2]) }
    }

    fn bill(world: &World, arm: u32, attribute: u32, call: u64) -> f64 {
        world.reply(7, ArmId(arm), AttributeId(attribute), call).bill.units()
    }

    /// The correlation of the logarithms of two bills of the same answer.
    fn correlation(world: &World, one: (u32, u64), other: (u32, u64)) -> f64 {
        let variance = libm::log1p(0.64);
        let middle = libm::log(PRICE) - 0.5 * variance;
        let log = |arm, (attribute, call)| libm::log(bill(world, arm, attribute, call)) - middle;
        let products = (0..).take(ARMS).map(|arm| log(arm, one) * log(arm, other));
        products.sum::<f64>() / 20_000.0 / variance
    }

    #[test]
    fn bills_have_their_mean_and_their_correlations() {
        for (answers, pairs) in [(0.0, 0.0), (0.6, 0.0), (0.0, 0.5), (0.4, 0.3), (1.0, 0.0)] {
            let world = world(Between { answers, pairs });
            // A standard error is about 0.01.
            let same_pair = correlation(&world, (0, 0), (0, 1));
            let other_verifier = correlation(&world, (0, 0), (1, 0));
            assert!((same_pair - answers - pairs).abs() < 0.04, "{answers} {pairs}: {same_pair}");
            assert!((other_verifier - answers).abs() < 0.04, "{answers} {pairs}: {other_verifier}");
            let mean = (0..).take(ARMS).map(|arm| bill(&world, arm, 0, 0)).sum::<f64>() / 20_000.0;
            assert!((mean - PRICE).abs() < 0.3, "{answers} {pairs}: {mean}");
        }
    }

    #[test]
    fn independent_bills_have_not_changed() {
        let world = world(Between::default());
        let mut random = Random::at(7, &[3, 1, 5]);
        random.uniform();
        let variance = libm::log1p(0.64);
        let log = libm::log(PRICE) - 0.5 * variance + libm::sqrt(variance) * random.normal();
        let before = Cost::of_price(libm::exp(log)).unwrap();
        assert_eq!(world.reply(7, ArmId(3), AttributeId(1), 5).bill, before);
    }

    const ARMS: usize = 20_000;
    const PRICE: f64 = 10.0;
}
