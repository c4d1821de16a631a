//! E(share of certificates that are wrong) ≤ δ, by closed e-BH on present e-values.
//!
//! A set of k arms fits if for every i ≤ k its i smallest e-values add up to at least i(i + Q - k)/(kδ). The
//! certified arms are the largest set that fits and holds those certified before; they are frozen (no more calls),
//! so they always fit. The values must be those of one moment with every call in flight counted as its lowest
//! score: a running maximum, or "the calls that happen to be back", would break the guarantee. No arm is certified
//! below 1/δ, the value that it would need if there were no other arm.
//!
//! Values are rounded down to rungs, of which there are few, so that no step looks at every arm; the
//! rest is done in whole numbers. Why it is enough to look at the ends of a rung: among equal values
//! v the i smallest grow by v with each i, and what they must reach is convex in i.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::guarantee::Certificate;
use crate::num::real;
use crate::problem::Problem;
use crate::units::ArmId;

#[derive(Clone, Debug)]
pub(crate) struct FalseDiscovery {
    arm_count: u64,
    log_inverse_delta: f64,
    /// The rung of each arm; `None` below 1/δ.
    standing: Vec<Option<Rung>>,
    /// The arms on rungs that are not certified, the highest first.
    waiting: BTreeSet<(Reverse<Rung>, ArmId)>,
    /// The number of arms on each rung, up to the rung where an arm can be certified alone.
    rungs: Vec<Occupants>,
    certified_count: u64,
    level: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Occupants {
    certified: u64,
    waiting: u64,
}

/// A value of δE, at least 1. The value of each rung is at most 1/128 above that of the rung below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rung(u32);

impl FalseDiscovery {
    pub(crate) fn new(problem: &Problem) -> Self {
        let arm_count = problem.arm_count();
        let top = Rung::at_least(arm_count as u64 * Rung::UNIT);
        let mut certifier = Self {
            arm_count: arm_count as u64,
            log_inverse_delta: problem.delta().ln_inverse(),
            standing: vec![None; arm_count],
            waiting: BTreeSet::new(),
            rungs: vec![Occupants::default(); top.index() + 1],
            certified_count: 0,
            level: 0.0,
        };
        certifier.level = certifier.log_level(certifier.next());
        certifier
    }

    /// The evidence that one more arm needs beside the certified ones. An arm that reaches this level is certified
    /// at once: it need not wait for other arms, which may never get there.
    pub(crate) const fn level(&self) -> f64 {
        self.level
    }

    // (Q - r)/(r + 1), in units of 1/δ and at least 1. Why that is enough, with k = r + 1: the i - 1
    // smallest certified values add up to (i - 1)(i + Q - k)/(k - 1), so that for i the new value
    // need make up for (i + Q - k)(k - i)/(k(k - 1)) at most. For k ≤ (Q + 1)/2 that falls with i, and
    // at i = 1 it is (Q - r)/(r + 1); for larger k it is at most Q²/(4k(k - 1)) ≤ 1.
    fn next(&self) -> Rung {
        let needed = Rung::UNIT * (self.arm_count - self.certified_count);
        Rung::at_least(needed.div_ceil(self.certified_count + 1).max(Rung::UNIT))
    }

    pub(crate) fn update(&mut self, arm: ArmId, evidence: f64) -> Vec<Certificate> {
        let rung = self.rung(evidence);
        let before = core::mem::replace(&mut self.standing[arm.index()], rung);
        if rung == before {
            return Vec::new();
        }
        if let Some(before) = before {
            self.waiting.remove(&(Reverse(before), arm));
            self.rungs[before.index()].waiting -= 1;
        }
        let Some(rung) = rung else { return Vec::new() };
        self.waiting.insert((Reverse(rung), arm));
        self.rungs[rung.index()].waiting += 1;
        // A lower value makes nothing fit that did not fit before.
        if before > Some(rung) {
            return Vec::new();
        }
        self.lowest_that_fits(rung).map(|lowest| self.freeze(lowest)).unwrap_or_default()
    }

    fn rung(&self, evidence: f64) -> Option<Rung> {
        let value = libm::exp(evidence - self.log_inverse_delta) * ROUND_DOWN;
        let top = real(Rung::at(self.rungs.len() - 1).value());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most top")]
        let rung = |value: f64| Rung::at_most((value * real(Rung::UNIT)).min(top) as u64);
        (value >= 1.0).then(|| rung(value))
    }

    fn log_level(&self, rung: Rung) -> f64 {
        let value = real(rung.value()) / real(Rung::UNIT);
        libm::log(value) + self.log_inverse_delta + ROUND_UP_LOG
    }

    /// The lowest rung such that all arms waiting there or above can be certified together, after an arm has risen
    /// to `risen`; `None` if there is no such rung. If an arm fits, other arms on its rung fit as well: beside it
    /// they need no more than it did.
    fn lowest_that_fits(&self, risen: Rung) -> Option<Rung> {
        let mut size = self.certified_count + self.waiting.len() as u64;
        for lowest in (0..=risen.index()).map(Rung::at) {
            let waiting = self.rungs[lowest.index()].waiting;
            // The smallest value by itself rules out most sets.
            let may_fit = || lowest.value() * size >= Rung::UNIT * (self.arm_count - size + 1);
            if waiting > 0 && may_fit() && self.fits(lowest, size) {
                return Some(lowest);
            }
            size -= waiting;
        }
        None
    }

    // For every i ≤ k: k Σ(the i smallest) ≥ i(i + Q - k), in units of 1/δ
    fn fits(&self, lowest: Rung, size: u64) -> bool {
        self.smallest(lowest).all(|(count, sum)| {
            let needed = Rung::UNIT * count * (count + self.arm_count - size);
            u128::from(sum) * u128::from(size) >= u128::from(needed)
        })
    }

    /// For the certified arms and those that wait on rung `lowest` or above: how many are on a rung
    /// or below it, and the sum of their values; for every rung that is not empty.
    fn smallest(&self, lowest: Rung) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (mut count, mut sum) = (0, 0);
        let rungs = self.rungs.iter().enumerate();
        rungs.filter_map(move |(index, here)| {
            let rung = Rung::at(index);
            let arms = here.certified + if rung >= lowest { here.waiting } else { 0 };
            count += arms;
            sum += arms * rung.value();
            (arms > 0).then_some((count, sum))
        })
    }

    fn freeze(&mut self, lowest: Rung) -> Vec<Certificate> {
        let level = self.log_level(lowest.min(self.next()));
        let mut certified = Vec::new();
        while let Some(&(Reverse(rung), arm)) = self.waiting.first() {
            if rung < lowest {
                break;
            }
            self.waiting.pop_first();
            self.rungs[rung.index()].waiting -= 1;
            self.rungs[rung.index()].certified += 1;
            self.certified_count += 1;
            certified.push(Certificate { arm, level });
        }
        self.level = self.log_level(self.next());
        certified
    }
}

impl Rung {
    /// The number of rungs from a value to its double.
    const STEPS: u32 = 128;
    /// The lowest value, which stands for δE = 1.
    const UNIT: u64 = Self::STEPS as u64;

    fn at(index: usize) -> Self {
        Self(u32::try_from(index).expect("there are a few thousand rungs"))
    }

    const fn index(self) -> usize {
        self.0 as usize
    }

    const fn value(self) -> u64 {
        ((Self::STEPS + self.0 % Self::STEPS) as u64) << (self.0 / Self::STEPS)
    }

    /// The highest rung whose value is at most this.
    fn at_most(value: u64) -> Self {
        let doublings = (value / Self::UNIT).ilog2();
        let steps = u32::try_from((value >> doublings) - Self::UNIT).expect("fewer than STEPS");
        Self(doublings * Self::STEPS + steps)
    }

    fn at_least(value: u64) -> Self {
        let below = Self::at_most(value);
        if below.value() < value { Self(below.0 + 1) } else { below }
    }
}

const ROUND_DOWN: f64 = 1.0 - 1e-12;
/// More than is lost when a level is turned back into a value.
const ROUND_UP_LOG: f64 = 3e-12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{AttributeSpec, Guarantee, ProblemSpec, ScoreModel};

    const DELTA: f64 = 0.1;

    fn certifier(arms: usize) -> FalseDiscovery {
        let attribute = AttributeSpec {
            name: "a".into(),
            price: 1.0,
            expected: None,
            threshold: 0.5,
            scores: ScoreModel::Binary,
        };
        let spec = ProblemSpec {
            arms,
            attributes: vec![attribute],
            budget: 1.0,
            delta: DELTA,
            guarantee: Guarantee::FalseDiscovery,
        };
        FalseDiscovery::new(&Problem::new(spec).unwrap())
    }

    /// Closed testing as it is defined: for every set S of arms, the mean of their e-values, those
    /// outside R being 0, is at least |S ∩ R|/(δ|R|). Values are δE in units of 1/128.
    fn closed_testing_allows(values: &[u64], chosen: u32) -> bool {
        (1..1_u32 << values.len()).all(|set| {
            let sum: u64 = members(set & chosen).map(|arm| values[arm]).sum();
            let (both, all) = ((set & chosen).count_ones(), set.count_ones());
            sum * u64::from(chosen.count_ones()) >= Rung::UNIT * u64::from(both * all)
        })
    }

    fn members(set: u32) -> impl Iterator<Item = usize> {
        (0..32).filter(move |arm| set >> arm & 1 == 1)
    }

    fn evidence(rung: Rung) -> f64 {
        libm::log(real(rung.value()) / real(Rung::UNIT) / DELTA) + ROUND_UP_LOG
    }

    #[test]
    fn what_is_certified_is_the_largest_set_that_closed_testing_allows() {
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(11);
            usize::try_from((state >> 33) % below as u64).unwrap()
        };
        for arms in [1_usize, 2, 3, 5, 7] {
            for _ in 0..60 {
                let mut certifier = certifier(arms);
                let mut values = vec![0_u64; arms];
                let mut certified = 0_u32;
                for _ in 0..6 * arms {
                    let arm = random(arms);
                    if certified >> arm & 1 == 1 {
                        continue;
                    }
                    // Most arms should wait for company, and some fall below 1/δ.
                    let rung = Rung::at(random(certifier.rungs.len()) / (1 + random(3)));
                    let falls = random(5) == 0;
                    let next = certifier.next();
                    values[arm] = if falls { 0 } else { rung.value() };
                    let evidence = if falls { 0.0 } else { evidence(rung) };
                    let found = certifier.update(ArmId::at(arm), evidence);
                    let grown = (0..1_u32 << arms)
                        .filter(|chosen| chosen & certified == certified)
                        .filter(|chosen| members(*chosen).all(|arm| values[arm] > 0))
                        .filter(|chosen| closed_testing_allows(&values, *chosen))
                        .max_by_key(|chosen| chosen.count_ones())
                        .expect("a set that fits continues to fit");
                    certified = found.iter().fold(certified, |set, new| set | 1 << new.arm.0);
                    assert_eq!(certified.count_ones(), grown.count_ones(), "{values:?}");
                    assert!(closed_testing_allows(&values, certified), "{values:?}");
                    let reached = !falls && rung >= next;
                    assert!(!reached || certified >> arm & 1 == 1, "the level is enough");
                    assert!(certifier.next() <= next, "levels only fall");
                    for Certificate { arm, level } in found {
                        assert!(level <= self::evidence(Rung::at_most(values[arm.index()])));
                    }
                }
            }
        }
    }

    #[test]
    fn one_more_arm_needs_just_the_level() {
        let mut certifier = certifier(40);
        for arm in 0..39 {
            let next = certifier.next();
            let short = certifier.update(ArmId(arm), evidence(Rung(next.0.saturating_sub(1))));
            assert_eq!(short.is_empty(), next.0 > 0, "arm {arm}");
            if next.0 > 0 {
                assert_eq!(certifier.update(ArmId(arm), certifier.level()).len(), 1, "arm {arm}");
            }
        }
    }

    #[test]
    fn rungs_round_down_to_their_values() {
        for value in 128..100_000 {
            let (below, above) = (Rung::at_most(value), Rung::at_least(value));
            assert!(below.value() <= value && value < Rung(below.0 + 1).value());
            assert!(above.value() >= value && above.value() * 128 <= value * 129 + 128);
        }
    }
}
