//! Tallies and evidence of all pairs, arm by arm.

use alloc::vec;
use alloc::vec::Vec;

use crate::books::arms::Floors;
use crate::evidence::bounded::Wealths;
use crate::evidence::weights::{Weights, WeightsId};
use crate::evidence::{Evidence, EvidenceMethod, Pair, Process};
use crate::prior::{Belief, Prior, Sample};
use crate::problem::{Attribute, Guarantee, Problem};
use crate::tally::Tally;
use crate::units::{ArmId, AttributeId};

/// All pairs, and how scores become their evidence.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    list: Vec<Pair>,
    attributes: Vec<AttributeState>,
    /// The gamblers (see [`Wealths`]) of the pairs with bounded scores: `bounded_count` entries for each arm.
    wealths: Vec<Wealths>,
    bounded_count: usize,
    guarantee: Guarantee,
}

#[derive(Clone, Debug)]
struct AttributeState {
    declared: Attribute,
    process: Process,
    weights: Weights,
    /// The index of the attribute's entry among the `wealths` of an arm, if its scores are bounded.
    wealth_slot: Option<usize>,
}

impl Pairs {
    pub(super) fn new(problem: &Problem) -> Self {
        let mut bounded_count = 0;
        let state = |attribute| {
            let declared = problem.attribute(attribute).clone();
            let process = Process::new(problem, attribute);
            let weights = Weights::new(&process, Prior::start(&declared));
            let is_bounded = matches!(process, Process::Bounded(_));
            let wealth_slot = is_bounded.then_some(bounded_count);
            bounded_count += usize::from(is_bounded);
            AttributeState { declared, process, weights, wealth_slot }
        };
        let attributes = problem.attributes().map(state).collect();
        let mut pairs = Self {
            // Millions of pairs: reserve exactly.
            list: Vec::with_capacity(problem.pair_count()),
            attributes,
            wealths: vec![Wealths::START; problem.arm_count() * bounded_count],
            bounded_count,
            guarantee: problem.guarantee(),
        };
        pairs.add_arms(problem.arm_count());
        pairs
    }

    pub(super) fn add_arms(&mut self, count: usize) {
        for _ in 0..count {
            self.list.extend(self.attributes.iter().map(|attribute| Pair {
                tally: Tally::START,
                evidence: Evidence::start(&attribute.process, self.guarantee),
            }));
        }
        let arm_count = self.list.len() / self.attributes.len();
        self.wealths.resize(arm_count * self.bounded_count, Wealths::START);
    }

    /// All pairs, arm by arm.
    pub(super) fn all(&self) -> &[Pair] {
        &self.list
    }

    /// The pairs of an arm.
    pub(crate) fn of(&self, arm: ArmId) -> &[Pair] {
        let count = self.attributes.len();
        &self.list[arm.index() * count..(arm.index() + 1) * count]
    }

    #[inline]
    pub(crate) fn get(&self, arm: ArmId, attribute: AttributeId) -> &Pair {
        &self.list[self.index(arm, attribute)]
    }

    pub(super) fn get_mut(&mut self, arm: ArmId, attribute: AttributeId) -> &mut Pair {
        let index = self.index(arm, attribute);
        &mut self.list[index]
    }

    /// Panics on an unknown arm or attribute, as an index out of range does.
    #[inline]
    fn index(&self, arm: ArmId, attribute: AttributeId) -> usize {
        let count = self.attributes.len();
        assert!(attribute.index() < count, "there is no attribute {attribute}");
        arm.index() * count + attribute.index()
    }

    /// The gamblers of a pair, if its scores are bounded.
    pub(crate) fn wealths(&self, arm: ArmId, attribute: AttributeId) -> Option<&Wealths> {
        let slot = self.attributes[attribute.index()].wealth_slot?;
        Some(&self.wealths[arm.index() * self.bounded_count + slot])
    }

    /// The state of an attribute, a pair of it, and the pair's gamblers.
    #[inline]
    fn parts(
        &mut self,
        arm: ArmId,
        attribute: AttributeId,
    ) -> (&mut AttributeState, &mut Pair, Option<&mut Wealths>) {
        let index = self.index(arm, attribute);
        let state = &mut self.attributes[attribute.index()];
        let slot = state.wealth_slot.map(|slot| arm.index() * self.bounded_count + slot);
        (state, &mut self.list[index], slot.map(|slot| &mut self.wealths[slot]))
    }

    pub(crate) fn process(&self, attribute: AttributeId) -> &Process {
        &self.attributes[attribute.index()].process
    }

    /// The value that evidence of an attribute is measured from: ξ where it is the paper's L.
    #[inline]
    pub(crate) fn base(&self, attribute: AttributeId) -> f64 {
        match &self.attributes[attribute.index()] {
            AttributeState { process: Process::Paper(_), declared, .. } => declared.threshold,
            _ => 0.0,
        }
    }

    /// How far the evidence of a pair is above its base, as last computed.
    pub(super) fn margin(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        self.get(arm, attribute).evidence.value - self.base(attribute)
    }

    fn method(&self, attribute: AttributeId) -> EvidenceMethod<'_> {
        method(&self.attributes[attribute.index()], self.guarantee)
    }

    /// The evidence of a pair: its running maximum, or for false discovery its present value.
    pub(super) fn evidence(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        let evidence = &self.get(arm, attribute).evidence;
        let method = self.method(attribute);
        if !method.keeps_maximum {
            return evidence.value;
        }
        evidence.value.max(evidence.present(method, self.wealths(arm, attribute)))
    }

    /// Whether none of these pairs takes more calls.
    pub(super) fn are_closed(&self, arm: ArmId, members: &[AttributeId]) -> bool {
        members.iter().all(|&member| self.get(arm, member).evidence.closed)
    }

    /// Counts a call that is dispatched. Weights are frozen if the evidence begins with it.
    pub(super) fn enter(&mut self, arm: ArmId, attribute: AttributeId, prior: &Prior) {
        let (state, pair, _) = self.parts(arm, attribute);
        let evidence = &mut pair.evidence;
        if evidence.begins_at != Evidence::NEVER && evidence.weights == WeightsId::UNSET {
            evidence.weights = state.weights.freeze(&state.process, prior);
        }
        evidence.closed |= state.declared.is_exact();
        pair.tally.dispatched_count += 1;
    }

    /// The weights for a pair whose evidence is about to begin.
    pub(super) fn freeze_weights(&mut self, attribute: AttributeId, prior: &Prior) -> WeightsId {
        let AttributeState { weights, process, .. } = &mut self.attributes[attribute.index()];
        weights.freeze(process, prior)
    }

    /// Counts a score in the tally of its pair.
    #[inline]
    pub(super) fn tally(&mut self, arm: ArmId, attribute: AttributeId, score: f64) {
        let (_, pair, wealths) = self.parts(arm, attribute);
        pair.tally.returned_count += 1;
        pair.tally.sum += score;
        if let Some(wealths) = wealths {
            wealths.sum_of_squares += score * score;
        }
    }

    /// Takes the next score of a stream into a pair's evidence. Returns whether the evidence now rejects the arm;
    /// false for an exact attribute, since only the caller knows whether the verifier failed the arm or the call
    /// failed.
    pub(super) fn absorb(
        &mut self,
        (arm, attribute): (ArmId, AttributeId),
        floors: Floors,
        score: f64,
    ) -> bool {
        let guarantee = self.guarantee;
        let (state, Pair { evidence, .. }, wealths) = self.parts(arm, attribute);
        let method = EvidenceMethod {
            floor: floors.of_evidence,
            floor_against: floors.against,
            ..method(state, guarantee)
        };
        evidence.absorb(method, wealths, score);
        evidence.against > floors.against && !state.declared.is_exact()
    }

    /// Passes over the next call of the stream, which does not score this pair.
    pub(super) fn skip(&mut self, arm: ArmId, attribute: AttributeId) {
        let (_, pair, wealths) = self.parts(arm, attribute);
        pair.evidence.skip(wealths);
    }

    /// Removes a void call from the stream. The evidence has not absorbed it.
    pub(super) fn forget(&mut self, arm: ArmId, attribute: AttributeId, order: u64) {
        let (_, pair, wealths) = self.parts(arm, attribute);
        pair.evidence.forget(order, wealths);
    }

    /// The evidence of a pair if it absorbed these scores as well; -∞ if one of them is `None`, a score that no
    /// number can replace.
    pub(super) fn present_after(
        &self,
        (arm, attribute): (ArmId, AttributeId),
        scores: impl Iterator<Item = Option<f64>>,
    ) -> f64 {
        let method = EvidenceMethod { keeps_maximum: false, ..self.method(attribute) };
        let mut evidence = self.get(arm, attribute).evidence;
        let mut wealths = self.wealths(arm, attribute).copied();
        for score in scores {
            let Some(score) = score else { return f64::NEG_INFINITY };
            evidence.absorb(method, wealths.as_mut(), score);
        }
        evidence.present(method, wealths.as_ref())
    }

    /// Begins the evidence of a pair with the next call; the `stream_len` calls so far prove nothing. Returns the
    /// logs of the weights of the pair's bets.
    pub(super) fn begin_evidence(
        &mut self,
        (arm, attribute): (ArmId, AttributeId),
        belief: Belief,
        stream_len: u64,
    ) -> &[f64] {
        let (state, Pair { evidence, .. }, wealths) = self.parts(arm, attribute);
        let row = state.weights.freeze_for(&state.process, belief, evidence.weights);
        evidence.weights = row;
        evidence.begin_after(stream_len, wealths);
        state.weights.row(row)
    }

    /// Ends the evidence of a pair: no score proves anything until the evidence begins again.
    pub(super) fn end_evidence(&mut self, arm: ArmId, attribute: AttributeId) {
        let evidence = &mut self.get_mut(arm, attribute).evidence;
        evidence.begins_at = Evidence::NEVER;
        evidence.value = 0.0;
    }

    /// The scores of a pair, with this tally, which may leave out a vote.
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

fn method(state: &AttributeState, guarantee: Guarantee) -> EvidenceMethod<'_> {
    EvidenceMethod {
        process: &state.process,
        weights: &state.weights,
        threshold: state.declared.threshold,
        floor: f64::NEG_INFINITY,
        floor_against: f64::NEG_INFINITY,
        keeps_maximum: guarantee != Guarantee::FalseDiscovery,
    }
}
