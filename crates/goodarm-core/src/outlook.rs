//! What a pair's scores so far suggest about the calls still to pay for: a guess, never evidence.
//!
//! The belief about the gap μ - ξ is normal; it comes from the attribute's prior and the pair's tally. The number
//! of calls still to pay for follows from the growth of evidence if the gap is at the upper end of what is
//! believable.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::books::{ArmStatus, Books};
use crate::evidence::Process;
use crate::num::{normal_cdf, real};
use crate::offer::offered_level;
use crate::prior::{Belief, Sample};
use crate::problem::ScoreModel;
use crate::tally::Tally;
use crate::units::{ArmId, AttributeId, QuestionId};

/// A belief about one pair, and its consequences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outlook {
    /// The probability that the mean is above ξ.
    pub(crate) pass_probability: f64,
    /// Calls still to pay for if the mean is above ξ, counted optimistically.
    pub(crate) remaining: f64,
    /// Calls after which the belief may have changed.
    pub(crate) revision: f64,
}

/// How much evidence to ask for, and how optimistic the guess is.
#[derive(Clone, Copy, Debug)]
struct Assumptions {
    /// The evidence to ask for beyond the level, because evidence fluctuates.
    margin: f64,
    /// How many standard deviations above the believed gap to assume.
    optimism: f64,
}

/// What the belief about a pair implies for its future evidence, for any level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prospect {
    pass_probability: f64,
    revision_max: f64,
    /// An optimistic guess of the gap.
    gap: f64,
    /// The evidence that each score adds on average, if the gap is `gap`.
    growth: f64,
    /// Factors for the evidence so far, if the gap is `gap`. Binary scores: for each success and each failure.
    /// Sub-Gaussian scores: for the excess and for each score. Bounded scores: `per_first` is the stake of the
    /// gambler to look at.
    per_first: f64,
    per_second: f64,
}

impl Prospect {
    /// An empty prospect. An exact pair has this one, with its own pass probability.
    pub(crate) const NONE: Self = Self {
        pass_probability: 0.0,
        revision_max: 1.0,
        gap: 0.0,
        growth: 1.0,
        per_first: 0.0,
        per_second: 0.0,
    };

    pub(crate) fn of(books: &Books, (arm, attribute): (ArmId, AttributeId), optimism: f64) -> Self {
        Self::given(books, attribute, books.belief(arm, attribute), optimism)
    }

    fn given(books: &Books, attribute: AttributeId, belief: Belief, optimism: f64) -> Self {
        let declared = books.problem().attribute(attribute);
        if declared.is_exact() {
            return Self { pass_probability: books.prior(attribute).pass_rate, ..Self::NONE };
        }
        let Belief { gap, sd, variance, knowledge } = belief;
        let pass_probability = normal_cdf(gap / sd).max(PASS_PROBABILITY_MIN);
        let room = declared.room();
        let gap = (gap + optimism * sd)
            .min(0.98 * room)
            .max((OPTIMISTIC_GAP_MIN * declared.width()).min(0.5 * room));
        let (growth, per_first, per_second) =
            match (books.pairs.process(attribute), declared.scores) {
                (Process::SubGaussian(_), ScoreModel::SubGaussian { sigma, .. }) => {
                    let growth = gap * gap / (2.0 * sigma * sigma);
                    (growth, gap / (sigma * sigma), -growth)
                }
                (Process::Binary(_), _) => {
                    let threshold = declared.threshold;
                    let gain = libm::log1p(gap / threshold);
                    let loss = libm::log1p(-gap / (1.0 - threshold));
                    ((threshold + gap) * gain + (1.0 - threshold - gap) * loss, gain, loss)
                }
                (Process::Bounded(bounded), _) => {
                    let stake = bounded.best_stake(gap, variance);
                    (bounded.growth(stake, gap, variance).max(GROWTH_MIN), stake, 0.0)
                }
                _ => (1.0, 0.0, 0.0),
            };
        let revision_max = REVISION_FACTOR * knowledge;
        Self { pass_probability, revision_max, gap, growth, per_first, per_second }
    }

    /// The prospect of an answer that does not exist yet. There are always more of these, so an optimist would make
    /// answers for ever: a new one is expected to be little better than others that pass.
    pub(crate) fn of_fresh(books: &Books, attribute: AttributeId) -> Self {
        let declared = books.problem().attribute(attribute);
        let belief = books.prior(attribute).given(declared, Sample::of(&Tally::START));
        // E(gap | gap > 0) = m + s φ(m/s)/Φ(m/s)
        let ratio = belief.gap / belief.sd;
        let density = libm::exp(-0.5 * ratio * ratio) * FRAC_1_SQRT_2PI;
        let optimism = OPTIMISM_OF_FRESH + density / normal_cdf(ratio).max(PASS_PROBABILITY_MIN);
        Self::given(books, attribute, belief, optimism)
    }

    pub(crate) fn outlook_of_fresh(
        &self,
        books: &Books,
        attribute: AttributeId,
        need: f64,
    ) -> Outlook {
        let remaining = match books.pairs.process(attribute) {
            Process::Exact => 1.0,
            Process::Paper(paper) => paper.remaining(0, 0.0, self.gap),
            _ => need / self.growth,
        };
        self.after(remaining)
    }

    fn after(&self, remaining: f64) -> Outlook {
        let remaining = remaining.max(1.0);
        let revision = remaining.min(self.revision_max);
        Outlook { pass_probability: self.pass_probability, remaining, revision }
    }

    pub(crate) const fn pass_probability(&self) -> f64 {
        self.pass_probability
    }

    /// The outlook for a pair whose evidence must reach `need`.
    pub(crate) fn outlook(&self, books: &Books, pair: (ArmId, AttributeId), need: f64) -> Outlook {
        self.after(self.remaining(books, pair, need))
    }

    /// Calls until the evidence is `need`, if the gap is as assumed.
    fn remaining(&self, books: &Books, (arm, attribute): (ArmId, AttributeId), need: f64) -> f64 {
        let process = books.pairs.process(attribute);
        let evidence = &books.pairs.get(arm, attribute).evidence;
        let count = evidence.count_since();
        let so_far = match process {
            Process::Exact => return 1.0,
            Process::Paper(paper) => {
                let threshold = books.problem().attribute(attribute).threshold;
                let excess = evidence.excess_since(process, threshold);
                return paper.remaining(count, excess, self.gap);
            }
            _ if count == 0 => 0.0,
            Process::SubGaussian(_) => {
                let excess = evidence.sum_since();
                self.per_first * excess + self.per_second * real(count)
            }
            Process::Binary(_) => {
                let successes = evidence.sum_since();
                self.per_first * successes + self.per_second * (real(count) - successes)
            }
            Process::Bounded(bounded) => {
                let wealths = books.pairs.wealths(arm, attribute);
                bounded
                    .wealth_near(wealths.expect("a bounded attribute has gamblers"), self.per_first)
            }
        };
        (need - so_far) / self.growth
    }
}

/// The least that certifying one more arm would cost, if its means were at the upper end of what is
/// believable; infinite if no arm can be certified at all.
pub(crate) fn certification_cost_min(books: &Books) -> f64 {
    let offered_level = offered_level(books);
    certifiable_arms(books)
        .map(|arm| forecast(books, arm, offered_level, BEST_CASE).cost)
        .fold(f64::INFINITY, f64::min)
}

/// How many arms will have been certified when the money is gone, if every arm continues as its scores so
/// far suggest: a guess, in a time that grows with the number of pairs.
pub fn certified_count_forecast(books: &Books) -> f64 {
    let offered_level = offered_level(books);
    let mut forecasts: Vec<ArmForecast> = certifiable_arms(books)
        .map(|arm| forecast(books, arm, offered_level, EXPECTED_CASE))
        .filter(|forecast| forecast.cost.is_finite())
        .collect();
    let price = |forecast: &ArmForecast| forecast.cost / forecast.pass_probability;
    forecasts.sort_by(|a, b| price(a).total_cmp(&price(b)));
    let mut left = (books.ledger().left() + books.ledger().reserved()).units();
    let mut count = real(books.certified().len() as u64);
    for ArmForecast { cost, pass_probability } in forecasts {
        // An arm that will not pass is given up before it has cost the full amount.
        let spent = cost * (pass_probability + FAILURE_COST_SHARE * (1.0 - pass_probability));
        if spent > left {
            break;
        }
        left -= spent;
        count += pass_probability;
    }
    count
}

/// Whether the undecided arms that are more likely to pass than not will take all the money: then the session ends when
/// it is spent. Otherwise it ends when nothing is worth a call any more, and that moment cannot be forecast. Takes a
/// time that grows with the number of pairs.
pub fn takes_all_money(books: &Books) -> bool {
    let ledger = books.ledger();
    cost_of_good_arms(books) >= (ledger.left() + ledger.reserved()).units()
}

/// A guess at what certifying all undecided arms that are more likely to pass than not would still cost.
fn cost_of_good_arms(books: &Books) -> f64 {
    let offered_level = offered_level(books);
    // Nothing is known about an arm that no noisy verifier has scored.
    let is_known = |arm: &ArmId| {
        let mut noisy = books.problem().attributes();
        noisy.any(|it| {
            !books.problem().attribute(it).is_exact() && books.tally(*arm, it).returned_count > 0
        })
    };
    let good = certifiable_arms(books)
        .filter(is_known)
        .map(|arm| (arm, forecast(books, arm, offered_level, EXPECTED_CASE)))
        .filter(|(_, forecast)| forecast.cost.is_finite() && forecast.pass_probability > 0.5);
    let Some(questions) = books.problem().questions() else {
        return good.map(|(_, forecast)| forecast.cost).sum();
    };
    // One answer to a question is enough: the cheapest.
    let mut least: BTreeMap<QuestionId, f64> = BTreeMap::new();
    good.for_each(|(arm, forecast)| {
        let least = least.entry(questions.of(arm)).or_insert(forecast.cost);
        *least = least.min(forecast.cost);
    });
    least.into_values().sum()
}

/// The bills to expect from an arm's next calls.
pub(crate) struct ExpectedBills<'a> {
    books: &'a Books,
    arm: ArmId,
    common_part: Option<f64>,
}

impl<'a> ExpectedBills<'a> {
    #[inline]
    pub(crate) fn of(books: &'a Books, arm: ArmId) -> Self {
        Self { books, arm, common_part: books.learning.bills.common_part(books.pairs.of(arm)) }
    }

    /// The expected bill by one attribute: the service's mean, if nothing is known about the arm.
    #[inline]
    pub(crate) fn get(&self, attribute: AttributeId) -> f64 {
        let expected = self.common_part.and_then(|common_part| {
            let pair = self.books.pairs.get(self.arm, attribute);
            self.books.learning.bills.expected(attribute, pair, common_part)
        });
        expected.unwrap_or_else(|| self.books.lane_of(attribute).mean_bill)
    }
}

/// What certifying an arm would cost, and how likely it is to work.
struct ArmForecast {
    cost: f64,
    pass_probability: f64,
}

fn certifiable_arms(books: &Books) -> impl Iterator<Item = ArmId> + '_ {
    let is_certifiable =
        |arm: &ArmId| books.is_active(*arm) && books.status(*arm) != ArmStatus::Rejected;
    books.problem().arms().filter(is_certifiable)
}

fn forecast(
    books: &Books,
    arm: ArmId,
    offered_level: f64,
    assumptions: Assumptions,
) -> ArmForecast {
    let problem = books.problem();
    let bills = ExpectedBills::of(books, arm);
    let mut forecast = ArmForecast { cost: 0.0, pass_probability: 1.0 };
    for lead in problem.attributes() {
        // If a call scores several attributes, the attribute that needs the most calls decides.
        let mut calls: f64 = 0.0;
        for &attribute in problem.members(lead) {
            if books.is_resolved(arm, attribute) {
                continue;
            }
            let exact = problem.attribute(attribute).is_exact();
            let awaited = exact && books.evidence_count(arm, attribute) == 0;
            if !books.is_open(arm, attribute) && !awaited {
                return ArmForecast { cost: f64::INFINITY, pass_probability: 0.0 };
            }
            let level = books.level(arm, attribute);
            let level = if level == f64::INFINITY { offered_level } else { level };
            let pair = (arm, attribute);
            let prospect = Prospect::of(books, pair, assumptions.optimism);
            let outlook = prospect.outlook(books, pair, level + assumptions.margin);
            calls = calls.max(outlook.remaining);
            forecast.pass_probability *= outlook.pass_probability;
        }
        forecast.cost += calls * bills.get(lead);
    }
    forecast
}

/// Gaps are three standard deviations above the believed ones.
const BEST_CASE: Assumptions = Assumptions { margin: 0.0, optimism: 3.0 };
/// Gaps are as believed, and evidence must be one unit above its level, because it fluctuates.
const EXPECTED_CASE: Assumptions = Assumptions { margin: 1.0, optimism: 0.0 };
const FAILURE_COST_SHARE: f64 = 0.3;
/// Standard deviations. Measured on simulated questions, easy and hard, with cheap and expensive answers:
/// 0.2 is a few per cent worse; from 0.7 on, cheap answers are made without end.
const OPTIMISM_OF_FRESH: f64 = 0.4;
const FRAC_1_SQRT_2PI: f64 = 0.398_942_280_401_432_7;
const OPTIMISTIC_GAP_MIN: f64 = 0.02;
const PASS_PROBABILITY_MIN: f64 = 1e-6;
const REVISION_FACTOR: f64 = 4.0;
const GROWTH_MIN: f64 = 1e-5;
