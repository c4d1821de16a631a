//! Tallies and evidence of all pairs, arm by arm.

use alloc::vec;
use alloc::vec::Vec;

use crate::books::AttributeState;
use crate::evidence::bounded::Wealths;
use crate::evidence::{Evidence, Pair, Process};
use crate::prior::Sample;
use crate::problem::{Guarantee, Problem};
use crate::tally::Tally;
use crate::units::{ArmId, AttributeId};

#[derive(Clone, Debug)]
pub(super) struct Pairs {
    list: Vec<Pair>,
    /// For the pairs of bounded attributes only, `bounded_count` for each arm.
    wealths: Vec<Wealths>,
    /// Which of an arm's gamblers belong to the attribute.
    wealth_slots: Vec<Option<usize>>,
    bounded_count: usize,
}

impl Pairs {
    pub(super) fn new(problem: &Problem, attributes: &[AttributeState]) -> Self {
        let mut bounded_count = 0;
        let mut wealth_slots = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            let bounded = matches!(attribute.process, Process::Bounded(_));
            wealth_slots.push(bounded.then_some(bounded_count));
            bounded_count += usize::from(bounded);
        }
        let mut pairs = Self {
            // Millions of pairs: take just the room they need.
            list: Vec::with_capacity(problem.pair_count()),
            wealths: vec![Wealths::START; problem.arm_count() * bounded_count],
            wealth_slots,
            bounded_count,
        };
        for _ in problem.arms() {
            pairs.push_pairs(attributes, problem.guarantee());
        }
        pairs
    }

    /// More arms.
    pub(super) fn add_arms(
        &mut self,
        count: usize,
        attributes: &[AttributeState],
        guarantee: Guarantee,
    ) {
        for _ in 0..count {
            self.push_pairs(attributes, guarantee);
        }
        let arm_count = self.list.len() / attributes.len();
        self.wealths.resize(arm_count * self.bounded_count, Wealths::START);
    }

    fn push_pairs(&mut self, attributes: &[AttributeState], guarantee: Guarantee) {
        self.list.extend(attributes.iter().map(|attribute| Pair {
            tally: Tally::START,
            evidence: Evidence::start(&attribute.process, guarantee),
        }));
    }

    /// All pairs, arm by arm.
    pub(super) fn all(&self) -> &[Pair] {
        &self.list
    }

    /// The pairs of an arm.
    pub(super) fn of(&self, arm: ArmId) -> &[Pair] {
        let count = self.wealth_slots.len();
        &self.list[arm.index() * count..(arm.index() + 1) * count]
    }

    #[inline]
    pub(super) fn get(&self, arm: ArmId, attribute: AttributeId) -> &Pair {
        &self.list[self.index(arm, attribute)]
    }

    pub(super) fn get_mut(&mut self, arm: ArmId, attribute: AttributeId) -> &mut Pair {
        let index = self.index(arm, attribute);
        &mut self.list[index]
    }

    /// Like an index out of range, an arm or attribute that is not there panics.
    #[inline]
    fn index(&self, arm: ArmId, attribute: AttributeId) -> usize {
        let count = self.wealth_slots.len();
        assert!(attribute.index() < count, "there is no attribute {attribute}");
        arm.index() * count + attribute.index()
    }

    /// The gamblers of a pair, if its scores are bounded.
    pub(super) fn wealths(&self, arm: ArmId, attribute: AttributeId) -> Option<&Wealths> {
        let slot = self.wealth_slots[attribute.index()]?;
        Some(&self.wealths[arm.index() * self.bounded_count + slot])
    }

    /// A pair, and its gamblers.
    pub(super) fn with_wealths(
        &mut self,
        arm: ArmId,
        attribute: AttributeId,
    ) -> (&mut Pair, Option<&mut Wealths>) {
        let index = self.index(arm, attribute);
        let slot = self.wealth_slots[attribute.index()];
        let wealths = slot.map(|slot| &mut self.wealths[arm.index() * self.bounded_count + slot]);
        (&mut self.list[index], wealths)
    }

    /// What a pair has shown, by this tally.
    pub(super) fn sample<'a>(
        &self,
        arm: ArmId,
        attribute: AttributeId,
        tally: &'a Tally,
    ) -> Sample<'a> {
        let wealths = self.wealths(arm, attribute);
        let squared_deviations = wealths.map_or(0.0, |it| it.squared_deviations(tally));
        Sample { tally, squared_deviations }
    }
}
