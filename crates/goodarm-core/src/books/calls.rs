//! Calls dispatched, scores and bills back: the money, the order of each pair's stream, and retries.

use alloc::collections::{BTreeMap, VecDeque};

use thiserror::Error;

use crate::bills::mean_bill;
use crate::books::outstanding::Outstanding;
use crate::books::{Books, Change};
use crate::cost::Cost;
use crate::evidence::Evidence;
use crate::evidence::weights::WeightsId;
use crate::problem::{Guarantee, SCORE_ABS_MAX, ScoreError};
use crate::pull::{Failure, Pull, Ticket, VoidFailure};
use crate::units::{ArmId, AttributeId};

/// A ticket that is not in flight, or a score that its model does not allow. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TellError {
    /// The ticket was never issued, or has been answered.
    #[error("ticket {} is not outstanding", .0.0)]
    NotOutstanding(Ticket),
    /// NaN or an infinity, or beyond [`SCORE_ABS_MAX`].
    #[error("score {score} of attribute {attribute} is not a number of at most {SCORE_ABS_MAX:e}")]
    NotANumber {
        /// What was told.
        score: f64,
        /// Of which attribute.
        attribute: AttributeId,
    },
    /// A binary score is 0 or 1.
    #[error("score {score} of attribute {attribute} is neither 0 nor 1")]
    NotBinary {
        /// What was told.
        score: f64,
        /// Of which attribute.
        attribute: AttributeId,
    },
    /// Below 0, or below the lowest score that the attribute declares. Such a call is told by
    /// [`Books::fail`], as [`BlockingFailure::BelowLowest`](crate::BlockingFailure::BelowLowest).
    #[error("score {score} of attribute {attribute} is below {lowest}, the lowest there can be")]
    BelowLowest {
        /// What was told.
        score: f64,
        /// Of which attribute.
        attribute: AttributeId,
        /// The declared minimum.
        lowest: f64,
    },
}

/// Why a call may not be made. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// There is no such arm or attribute.
    #[error("there is no arm {0} with an attribute {1}")]
    NoSuchPair(ArmId, AttributeId),
    /// The arm is certified, or can never be.
    #[error("arm {0} takes no more pulls")]
    ArmLeft(ArmId),
    /// An exact attribute has been asked, or a failed call blocks the stream.
    #[error("attribute {1} of arm {0} takes no more pulls")]
    PairClosed(ArmId, AttributeId),
    /// The ceiling does not fit the budget.
    #[error("attribute {0} is not affordable")]
    NotAffordable(AttributeId),
}

/// The calls of all pairs that are not in their evidence yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    pub(super) out: Outstanding<Call>,
    /// Scores that are back but wait for an earlier call of their pair.
    pub(super) early: BTreeMap<Place, f64>,
    owed: VecDeque<Owed>,
    /// How many of them each pair has; none of 0.
    owed_counts: BTreeMap<(ArmId, AttributeId), u64>,
    ticket_next: u64,
}

/// A call in flight: its place in its pair's stream, and what is reserved for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) place: Place,
    ceiling: Cost,
    attempt: u32,
}

/// The `order`-th call of a pair, counted from 0 in dispatch order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) arm: ArmId,
    pub(super) attribute: AttributeId,
    pub(super) order: u64,
}

/// A void call that must be made again.
#[derive(Clone, Copy, Debug)]
struct Owed {
    arm: ArmId,
    attribute: AttributeId,
    ceiling: Cost,
    attempt: u32,
}

/// Where a score came from.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Told {
    Score,
    Failure,
}

impl Books {
    /// Dispatches a call: reserves its ceiling and gives it the next place in its pair's stream.
    pub fn dispatch(&mut self, arm: ArmId, attribute: AttributeId) -> Result<Pull, DispatchError> {
        self.check_dispatch(arm, attribute)?;
        self.changes.clear();
        let ceiling = self.problem.attribute(attribute).price();
        self.ledger.reserve(ceiling);
        let index = self.problem.pair_index(arm, attribute);
        let begins = self.pairs[index].evidence.begins_at != Evidence::NEVER;
        if begins && self.pairs[index].evidence.weights == WeightsId::UNSET {
            self.pairs[index].evidence.weights = self.freeze_weights(attribute);
        }
        let place = Place { arm, attribute, order: self.stream_len(arm, attribute) };
        let pair = &mut self.pairs[index];
        pair.tally.dispatched_count += 1;
        self.arms[arm.index()].touched = true;
        pair.evidence.closed |= self.problem.attribute(attribute).is_exact();
        self.reconsider_affordable();
        let call = self.issue(place, ceiling, 0);
        self.changes.push(Change::Dispatched(arm, attribute));
        if self.problem.guarantee() == Guarantee::FalseDiscovery {
            self.reconsider(arm);
        }
        Ok(call)
    }

    /// The weights for a pair whose evidence is about to begin.
    pub(super) fn freeze_weights(&mut self, attribute: AttributeId) -> WeightsId {
        self.weights[attribute.index()]
            .freeze(&self.processes[attribute.index()], self.priors[attribute.index()])
    }

    pub(crate) fn check_dispatch(
        &self,
        arm: ArmId,
        attribute: AttributeId,
    ) -> Result<(), DispatchError> {
        if arm.index() >= self.arms.len() || attribute.index() >= self.processes.len() {
            Err(DispatchError::NoSuchPair(arm, attribute))
        } else if !self.is_active(arm) {
            Err(DispatchError::ArmLeft(arm))
        } else if self.pair(arm, attribute).evidence.closed {
            Err(DispatchError::PairClosed(arm, attribute))
        } else if !self.is_affordable(attribute) {
            Err(DispatchError::NotAffordable(attribute))
        } else {
            Ok(())
        }
    }

    /// Dispatches the oldest retry that is owed, if there is one.
    pub fn dispatch_owed(&mut self) -> Option<Pull> {
        let &Owed { arm, attribute, ceiling, attempt } = self.calls.owed.front()?;
        let order = self.stream_len(arm, attribute);
        self.calls.owed.pop_front();
        if let Some(count) = self.calls.owed_counts.get_mut(&(arm, attribute)) {
            *count -= 1;
            if *count == 0 {
                self.calls.owed_counts.remove(&(arm, attribute));
            }
        }
        let pull = self.issue(Place { arm, attribute, order }, ceiling, attempt);
        if self.problem.guarantee() == Guarantee::FalseDiscovery {
            self.changes.clear();
            self.reconsider(arm);
        }
        Some(pull)
    }

    /// The pair of the oldest retry that is owed.
    pub(crate) fn owed(&self) -> Option<(ArmId, AttributeId)> {
        self.calls.owed.front().map(|owed| (owed.arm, owed.attribute))
    }

    /// Whether a retry of this pair is owed.
    pub(crate) fn owes(&self, arm: ArmId, attribute: AttributeId) -> bool {
        self.calls.owed_counts.contains_key(&(arm, attribute))
    }

    /// The number of the next call.
    pub(crate) const fn ticket_next(&self) -> Ticket {
        Ticket(self.calls.ticket_next)
    }

    /// Takes a score and its bill.
    pub fn tell(&mut self, ticket: Ticket, score: f64, bill: Cost) -> Result<(), TellError> {
        let call = *self.calls.out.get(ticket).ok_or(TellError::NotOutstanding(ticket))?;
        let score = self.checked_score(call.place.attribute, score)?;
        self.changes.clear();
        self.calls.out.remove(ticket);
        self.out_counts[call.place.attribute.index()] -= 1;
        self.ledger.settle(call.ceiling, bill);
        self.bill(call.place, bill);
        self.observe(call.place, score, Told::Score);
        Ok(())
    }

    /// Takes a failure and its bill.
    pub fn fail(&mut self, ticket: Ticket, failure: Failure, bill: Cost) -> Result<(), TellError> {
        let call = self.calls.out.remove(ticket).ok_or(TellError::NotOutstanding(ticket))?;
        self.changes.clear();
        self.out_counts[call.place.attribute.index()] -= 1;
        self.ledger.settle(call.ceiling, bill);
        // What was not made says nothing about what calls cost.
        if bill > Cost::ZERO || !matches!(failure, Failure::Void(_)) {
            self.bill(call.place, bill);
        }
        let attribute = self.problem.attribute(call.place.attribute);
        let void = match failure {
            Failure::Void(VoidFailure::LostRepeatable) => attribute.is_exact(),
            Failure::Void(_) => true,
            Failure::Blocking(_) | Failure::Counted(_) => false,
        };
        let counts_as = match failure {
            Failure::Blocking(_) => None,
            Failure::Void(_) | Failure::Counted(_) => attribute.lowest_score(),
        };
        // Nothing later in the stream of an arm that has left will ever be needed.
        let dropped = void && !self.is_active(call.place.arm);
        if void && !dropped && self.owe(call) {
            self.forget(call.place);
        } else if !dropped {
            match counts_as {
                Some(lowest) => self.observe(call.place, lowest, Told::Failure),
                None => self.block(call.place),
            }
        }
        self.reconsider_affordable();
        Ok(())
    }

    /// More money, which is valid at any time; false, and no change, if it is less.
    pub fn raise_budget(&mut self, budget: Cost) -> bool {
        if budget < self.ledger.budget() {
            return false;
        }
        self.changes.clear();
        self.ledger.raise_budget(budget);
        self.reconsider_affordable();
        true
    }

    fn issue(&mut self, place: Place, ceiling: Cost, attempt: u32) -> Pull {
        let ticket = Ticket(self.calls.ticket_next);
        self.calls.ticket_next += 1;
        self.calls.out.push(ticket, Call { place, ceiling, attempt });
        let Place { arm, attribute, .. } = place;
        self.out_counts[attribute.index()] += 1;
        Pull { ticket, arm, attribute, ceiling, attempt, loan: None, branch: "" }
    }

    /// A call that never began leaves no trace in its stream: those after it move up, and its retry
    /// will be the last. In its place the retry's score, which is drawn later, would count before
    /// scores that it may depend on.
    fn forget(&mut self, place: Place) {
        let Place { arm, attribute, order } = place;
        let index = self.problem.pair_index(arm, attribute);
        let slot = self.wealth_slots[attribute.index()];
        let wealths = slot.map(|slot| arm.index() * self.bounded_count + slot);
        let evidence = &mut self.pairs[index].evidence;
        evidence.forget(order, wealths.map(|at| &mut self.wealths[at]));
        // Mostly it was the last, and there is no need to look at all calls in flight.
        if order < self.stream_len(arm, attribute) {
            self.move_up_after(place);
        }
        self.absorb_early(arm, attribute);
        self.reconsider_after(arm, attribute);
    }

    /// Gives all later calls of a pair the place before theirs.
    fn move_up_after(&mut self, place: Place) {
        let Place { arm, attribute, order } = place;
        let is_later =
            |other: &Place| (other.arm, other.attribute) == (arm, attribute) && other.order > order;
        for call in self.calls.out.calls_mut().filter(|call| is_later(&call.place)) {
            call.place.order -= 1;
        }
        let mut later = self.calls.early.split_off(&place);
        while let Some(entry) = later.first_entry().filter(|entry| is_later(entry.key())) {
            let (moved, score) = entry.remove_entry();
            self.calls.early.insert(Place { order: moved.order - 1, ..moved }, score);
        }
        self.calls.early.append(&mut later);
    }

    /// Keeps the money for a retry; false if it is no longer there.
    fn owe(&mut self, call: Call) -> bool {
        if !self.ledger.fits(call.ceiling) {
            return false;
        }
        self.ledger.reserve(call.ceiling);
        let Call { place: Place { arm, attribute, .. }, ceiling, attempt } = call;
        let attempt = attempt.saturating_add(1);
        self.calls.owed.push_back(Owed { arm, attribute, ceiling, attempt });
        *self.calls.owed_counts.entry((arm, attribute)).or_insert(0) += 1;
        true
    }

    /// How many calls a pair's stream has: those dispatched, without void ones that are to be made again.
    pub(super) fn stream_len(&self, arm: ArmId, attribute: AttributeId) -> u64 {
        let owed = self.calls.owed_counts.get(&(arm, attribute)).copied().unwrap_or(0);
        self.pair(arm, attribute).tally.dispatched_count - owed
    }

    /// Gives back what was kept for the retries of an arm that has left.
    pub(super) fn drop_owed(&mut self, arm: ArmId) {
        for attribute in self.problem.attributes() {
            self.calls.owed_counts.remove(&(arm, attribute));
        }
        let ledger = &mut self.ledger;
        self.calls.owed.retain(|owed| {
            let kept = owed.arm != arm;
            if !kept {
                ledger.release(owed.ceiling);
            }
            kept
        });
    }

    fn bill(&mut self, place: Place, bill: Cost) {
        let index = self.problem.pair_index(place.arm, place.attribute);
        let tally = &mut self.pairs[index].tally;
        tally.spent = tally.spent.saturating_add(bill);
        let totals = &mut self.totals[place.attribute.index()];
        totals.billed_count += 1;
        totals.spent = totals.spent.saturating_add(bill);
        let ceiling = self.problem.attribute(place.attribute).price();
        self.mean_bills[place.attribute.index()] = mean_bill(ceiling, totals);
        self.bill_squares[place.attribute.index()] += bill.units() * bill.units();
    }

    fn checked_score(&self, attribute: AttributeId, score: f64) -> Result<f64, TellError> {
        self.problem.attribute(attribute).checked_score(score).map_err(|error| match error {
            ScoreError::NotANumber => TellError::NotANumber { score, attribute },
            ScoreError::NotBinary => TellError::NotBinary { score, attribute },
            ScoreError::BelowLowest(lowest) => TellError::BelowLowest { score, attribute, lowest },
        })
    }

    /// A score is back: tally it at once, and let the stream's evidence advance if it can.
    fn observe(&mut self, place: Place, score: f64, told: Told) {
        let Place { arm, attribute, order } = place;
        self.observation_count += 1;
        let index = self.problem.pair_index(arm, attribute);
        let tally = &mut self.pairs[index].tally;
        tally.returned_count += 1;
        tally.sum += score;
        let totals = &mut self.totals[attribute.index()];
        totals.returned_count += 1;
        totals.score_sum += score;
        if let Some(wealths) = self.wealths_mut(arm, attribute) {
            wealths.sum_of_squares += score * score;
        }
        if order == self.pairs[index].evidence.count {
            self.absorb(arm, attribute, score);
            self.absorb_early(arm, attribute);
        } else {
            self.calls.early.insert(place, score);
        }
        self.changes.push(Change::Observed(arm, attribute));
        self.reconsider_after(arm, attribute);
        self.reconsider_exact(arm, attribute, told);
        self.reconsider_affordable();
        if self.observation_count >= self.refresh_at {
            self.refresh_priors();
        }
    }

    /// Scores that waited for an earlier call of their stream.
    fn absorb_early(&mut self, arm: ArmId, attribute: AttributeId) {
        let index = self.problem.pair_index(arm, attribute);
        while !self.calls.early.is_empty() {
            let next = Place { arm, attribute, order: self.pairs[index].evidence.count };
            let Some(score) = self.calls.early.remove(&next) else { break };
            self.absorb(arm, attribute, score);
        }
    }

    /// Nothing after this place can ever count, since no number can stand for it.
    fn block(&mut self, place: Place) {
        let index = self.problem.pair_index(place.arm, place.attribute);
        self.pairs[index].evidence.closed = true;
        self.changes.push(Change::Observed(place.arm, place.attribute));
        // A running maximum may be enough when the level falls; a present value that lacks a score
        // never is.
        if self.problem.guarantee() == Guarantee::FalseDiscovery && self.is_active(place.arm) {
            self.certifier.update(place.arm, f64::NEG_INFINITY);
            self.leave(place.arm);
        }
    }

    pub(super) fn reconsider_affordable(&mut self) {
        if self.ledger.left() >= self.price_max && self.all_affordable {
            return;
        }
        let mut changed = false;
        for attribute in self.problem.attributes() {
            let fits = self.ledger.fits(self.problem.attribute(attribute).price());
            changed |= self.affordable[attribute.index()] != fits;
            self.affordable[attribute.index()] = fits;
        }
        self.all_affordable = self.affordable.iter().all(|&fits| fits);
        if changed {
            self.changes.push(Change::AffordableChanged);
        }
    }
}
