//! The expected cost of the next call on an answer: a guess from bills so far, never a bound.
//!
//! A long question makes all calls about it expensive. So in the model a bill, divided by the mean of its
//! attribute, is the sum of 1, a part of the arm that is common to its attributes, a part of the pair, and noise.
//! The parts of arms and pairs are estimated from bills and shrunk towards 0: an analysis of variance, with a
//! normal model of random effects.

use alloc::vec;
use alloc::vec::Vec;

use crate::cost::Cost;
use crate::evidence::Pair;
use crate::num::real;
use crate::units::AttributeId;

/// How bills differ, learned over all arms.
#[derive(Clone, Debug)]
pub(crate) struct BillModel {
    attributes: Vec<Spread>,
    /// The variance of the arms' common part, divided by the squared mean.
    common: f64,
    /// Whether some arms are known to be more expensive than others.
    differ: bool,
}

/// The distribution of one attribute's bills.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    /// The mean over arms.
    mean: f64,
    /// The variances of the pairs' own parts and of single bills, divided by the squared mean.
    own: f64,
    noise: f64,
}

/// The bills of one service over all arms and questions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BillTotals {
    /// The number of bills.
    pub count: u64,
    /// Their sum.
    pub spent: Cost,
    /// The sum of their squares.
    squares: f64,
    /// The number of bills above 0.
    paid_count: u64,
}

impl BillTotals {
    pub(crate) const NONE: Self = Self { count: 0, spent: Cost::ZERO, squares: 0.0, paid_count: 0 };

    pub(crate) fn take(&mut self, bill: Cost) {
        self.count += 1;
        self.spent = self.spent.saturating_add(bill);
        self.squares += bill.units() * bill.units();
        self.paid_count += u64::from(bill > Cost::ZERO);
    }

    /// The mean of the bills above 0, rounded up to three digits; `None` if there are none.
    pub(crate) fn mean_paid(&self) -> Option<Cost> {
        let count = u128::from(self.paid_count);
        (count > 0).then(|| {
            let mean = self.spent.picos().div_ceil(count);
            let step = 10_u128.pow(mean.max(1).ilog10().saturating_sub(2));
            Cost::from_picos(mean.div_ceil(step).saturating_mul(step))
        })
    }

    /// The mean cost of a call, where the expected one counts as one more bill.
    pub(crate) fn mean(&self, expected: Cost) -> f64 {
        expected.saturating_add(self.spent).units() / (real(self.count) + 1.0)
    }

    /// Whether all bills were the same, up to rounding.
    fn are_equal(&self) -> bool {
        let sum = self.spent.units();
        self.squares * real(self.count) - sum * sum <= 1e-9 * sum * sum
    }
}

/// The bills of one pair, relative to the attribute's mean.
struct Billed {
    excess: f64,
    count: f64,
}

impl BillModel {
    pub(crate) fn new(attribute_count: usize) -> Self {
        let attributes = vec![Spread::default(); attribute_count];
        Self { attributes, common: 0.0, differ: false }
    }

    /// Learns again from all pairs, arm by arm, and from each attribute's totals.
    pub(crate) fn refreshed(pairs: &[Pair], totals: &[&BillTotals]) -> Self {
        let mut bills = Self::new(totals.len());
        // Fixed prices are common, and reading every pair takes time.
        if totals.iter().all(|totals| totals.are_equal()) {
            return bills;
        }
        for (index, spread) in bills.attributes.iter_mut().enumerate() {
            let pairs = pairs.iter().skip(index).step_by(totals.len());
            *spread = Spread::learned(pairs, totals[index].squares);
        }
        bills.common = bills.learned_common(pairs);
        for spread in &mut bills.attributes {
            spread.own = (spread.own - bills.common).max(0.0);
        }
        bills.differ = bills.common > 0.0 || bills.attributes.iter().any(|spread| spread.own > 0.0);
        bills
    }

    /// The covariance of bills of different attributes of an arm: the mean of their products.
    fn learned_common(&self, pairs: &[Pair]) -> f64 {
        let (mut products, mut count) = (0.0, 0.0);
        for arm in pairs.chunks_exact(self.attributes.len()) {
            let (mut sum, mut squares, mut width) = (0.0, 0.0, 0.0);
            for billed in
                arm.iter().zip(&self.attributes).filter_map(|(pair, spread)| spread.billed(pair))
            {
                sum += billed.excess;
                squares += billed.excess * billed.excess;
                width += 1.0;
            }
            // Σ over pairs of attributes, each once.
            products += 0.5 * (sum * sum - squares);
            count += 0.5 * width * (width - 1.0);
        }
        let most = self.attributes.iter().map(|spread| spread.own).fold(0.0, f64::max);
        (products / (count + COMMON_DOUBT)).clamp(0.0, most)
    }

    /// An estimate of the arm's common part; `None` if no arm is known to be more expensive than another.
    pub(crate) fn common_part(&self, arm: &[Pair]) -> Option<f64> {
        if !self.differ {
            return None;
        }
        if self.common <= 0.0 {
            return Some(0.0);
        }
        let (mut weighted, mut weight) = (0.0, 1.0 / self.common);
        for (pair, spread) in arm.iter().zip(&self.attributes) {
            if let Some(billed) = spread.billed(pair) {
                let variance = (spread.own + spread.noise / billed.count).max(VARIANCE_MIN);
                weighted += billed.excess / variance;
                weight += 1.0 / variance;
            }
        }
        Some(weighted / weight)
    }

    /// The expected cost of a pair's next call, given the common part of its arm; `None` if nothing is known
    /// about the attribute's bills.
    pub(crate) fn expected(
        &self,
        attribute: AttributeId,
        pair: &Pair,
        common_part: f64,
    ) -> Option<f64> {
        let spread = &self.attributes[attribute.index()];
        if spread.mean <= 0.0 {
            return None;
        }
        let own_part = match spread.billed(pair) {
            Some(billed) if spread.own > 0.0 => {
                let trust = spread.own / (spread.own + spread.noise / billed.count);
                trust * (billed.excess - common_part)
            }
            _ => 0.0,
        };
        Some(spread.mean * (1.0 + common_part + own_part).max(BILL_SHARE_MIN))
    }
}

impl Spread {
    fn learned<'a>(pairs: impl Iterator<Item = &'a Pair> + Clone, squares: f64) -> Self {
        let bills = || {
            pairs.clone().filter(|pair| pair.tally.returned_count > 0).map(|pair| {
                let count = real(pair.tally.returned_count);
                (count, pair.tally.spent.units() / count)
            })
        };
        let (mut arms, mut calls, mut sum) = (0.0, 0.0, 0.0);
        let (mut squared_counts, mut between) = (0.0, 0.0);
        for (count, mean) in bills() {
            arms += 1.0;
            calls += count;
            sum += count * mean;
            squared_counts += count * count;
            between += count * mean * mean;
        }
        if arms < ARMS_MIN || calls <= arms {
            return Self::default();
        }
        let noise = ((squares - between) / (calls - arms)).max(0.0);
        between -= sum * sum / calls;
        let width = (calls - squared_counts / calls) / (arms - 1.0);
        let own = ((between / (arms - 1.0) - noise) / width).max(0.0);
        // The mean is over arms, not over calls: cheap arms are called more often.
        let (mut weighted, mut weight) = (0.0, 0.0);
        for (count, mean) in bills() {
            let precision = 1.0 / (own + noise / count).max(f64::MIN_POSITIVE);
            weighted += precision * mean;
            weight += precision;
        }
        let mean = weighted / weight;
        let square = mean * mean;
        if square > 0.0 && square.is_finite() {
            Self { mean, own: own / square, noise: noise / square }
        } else {
            Self::default()
        }
    }

    fn billed(&self, pair: &Pair) -> Option<Billed> {
        let count = real(pair.tally.returned_count);
        let is_known = self.mean > 0.0 && pair.tally.returned_count > 0;
        is_known
            .then(|| Billed { excess: pair.tally.spent.units() / count / self.mean - 1.0, count })
    }
}

/// With fewer arms their differences cannot be estimated.
const ARMS_MIN: f64 = 4.0;
/// The prior of the covariance: this many products that are 0.
const COMMON_DOUBT: f64 = 4.0;
const VARIANCE_MIN: f64 = 1e-9;
/// The lowest estimate: a few low bills do not make calls nearly free.
const BILL_SHARE_MIN: f64 = 0.05;
