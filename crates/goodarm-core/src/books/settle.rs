//! Outcomes and bills enter the books only through [`Books::settle`].

use thiserror::Error;

use crate::books::streams::{InFlight, StreamPosition};
use crate::books::{Books, Change};
use crate::call::{Source, Target, Ticket};
use crate::cost::Cost;
use crate::ledger::Bill;
use crate::outcome::{Failure, Outcome, REPEATS_MAX, VoidFailure};
use crate::problem::{Guarantee, Problem, ScoreError};
use crate::units::{ArmId, AttributeId};

/// The result of settling a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settlement {
    /// The new arm: an answer that was generated, or proposed by a solver's reply.
    pub born: Option<ArmId>,
}

/// Why an outcome cannot be settled. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SettleError {
    /// The ticket was never issued, or has been settled.
    #[error("ticket {} is not outstanding", .0.0)]
    NotOutstanding(Ticket),
    /// The call was asked for another kind of outcome, or for another number of scores.
    #[error("ticket {} was asked for another kind of outcome: one score, several, or an answer", .0.0)]
    OtherReply(Ticket),
    /// The attribute does not allow this score. A single score below the lowest must be settled as
    /// [`BlockingFailure::BelowLowest`](crate::BlockingFailure::BelowLowest).
    #[error("score {score} of attribute {attribute} is {reason}")]
    Score {
        /// The score.
        score: f64,
        /// Of which attribute.
        attribute: AttributeId,
        /// Why it is not allowed.
        reason: ScoreError,
    },
}

impl Books {
    /// Takes the outcome of a call, and its bill.
    pub fn settle(
        &mut self,
        ticket: Ticket,
        outcome: &Outcome,
        bill: impl Into<Bill>,
    ) -> Result<Settlement, SettleError> {
        let bill = bill.into();
        let in_flight = self.streams.in_flight.get(ticket);
        let call = *in_flight.ok_or(SettleError::NotOutstanding(ticket))?;
        match (call.position.target, outcome) {
            (_, Outcome::Failed(failure)) => Ok(self.fail(ticket, &call, *failure, bill)),
            (Target::Arm(arm, lead), outcome) => {
                // A call of `lead` scores its members: the criteria of one reply, or `lead` alone.
                let members = self.problem.members(lead);
                let scores = match outcome {
                    Outcome::Score(score) if members.len() == 1 => {
                        Outcome::Score(checked_score(&self.problem, lead, *score)?)
                    }
                    Outcome::Scores(scores) if members.len() == scores.len() => {
                        checked_scores(&self.problem, members, scores)?
                    }
                    _ => return Err(SettleError::OtherReply(ticket)),
                };
                self.take_back(ticket, &call, bill);
                self.bill(&call, bill);
                // A missing score counts as the lowest, but it is not a verdict of the verifier.
                let is_scored = |member| outcome.score(member).is_some();
                self.observe((arm, call.position.order), lead, scores, is_scored);
                Ok(Settlement::default())
            }
            (Target::Question(question, source), Outcome::Answer(label)) => {
                self.take_back(ticket, &call, bill);
                self.bill(&call, bill);
                let born = match source {
                    Source::Votes(attribute) => {
                        self.take_vote((question, attribute), call.position.order, *label)
                    }
                    Source::Generator(generator) => self.take_fresh(question, generator, *label),
                };
                self.changes.push(Change::Question(question));
                self.after_observation();
                Ok(Settlement { born })
            }
            (Target::Question(..), _) => Err(SettleError::OtherReply(ticket)),
        }
    }

    fn fail(
        &mut self,
        ticket: Ticket,
        call: &InFlight,
        failure: Failure,
        bill: Bill,
    ) -> Settlement {
        self.take_back(ticket, call, bill);
        // A call that never began is not a sample of the cost of calls.
        if bill != Bill::ZERO || !matches!(failure, Failure::Void(_)) {
            self.bill(call, bill);
        }
        let StreamPosition { target, order } = call.position;
        match target {
            Target::Arm(arm, lead) => self.fail_on_arm(call, (arm, lead), failure),
            Target::Question(question, source) => {
                // A call without a verdict may be repeated only if its score never changes; a reply to a question may.
                let void = matches!(failure, Failure::Void(it) if it != VoidFailure::NoVerdict);
                // A retry is useless if the question has a certified answer, or takes no more votes of this solver.
                if void && self.may_retry(question, source) && self.retry(call) {
                    self.forget_on_question(target, order);
                } else {
                    let blocks = matches!(failure, Failure::Blocking(_));
                    self.fail_on_question((question, source), order, blocks);
                }
                self.changes.push(Change::Question(question));
            }
        }
        self.funds.update_affordable(&mut self.changes);
        Settlement::default()
    }

    fn fail_on_arm(
        &mut self,
        call: &InFlight,
        (arm, lead): (ArmId, AttributeId),
        failure: Failure,
    ) {
        let void = match failure {
            // A call without a verdict may be repeated only if its score never changes.
            Failure::Void(VoidFailure::NoVerdict) => {
                self.problem.attribute(lead).is_exact() && call.attempt < REPEATS_MAX
            }
            Failure::Void(_) => true,
            Failure::Blocking(_) | Failure::Counted(_) => false,
        };
        // An arm that is no longer active needs no later call of its stream.
        if void && !self.is_active(arm) {
            return;
        }
        if void && self.retry(call) {
            self.forget(arm, lead, call.position.order);
            return;
        }
        let counts_as = |member| match failure {
            Failure::Blocking(_) => None,
            Failure::Void(_) | Failure::Counted(_) => self.problem.attribute(member).lowest_score(),
        };
        let members = self.problem.members(lead);
        let scores = match (members.len(), counts_as(lead)) {
            (1, Some(lowest)) => Outcome::Score(lowest),
            (1, None) => return self.block(arm, lead),
            _ => Outcome::Scores(members.iter().map(|&member| counts_as(member)).collect()),
        };
        self.observe((arm, call.position.order), lead, scores, |_| false);
    }

    #[inline]
    fn take_back(&mut self, ticket: Ticket, call: &InFlight, bill: Bill) {
        self.changes.clear();
        self.streams.in_flight.remove(ticket);
        // A slow service, such as people, has a limit of calls in flight. At that limit the policy treats it like
        // an unaffordable one; the end of this call may change that.
        if self.funds.end_call(call.service, call.ceiling, bill) {
            self.changes.push(Change::AffordableChanged);
        }
    }

    #[inline]
    fn bill(&mut self, call: &InFlight, bill: Bill) {
        let bill = bill.settled();
        match call.position.target {
            Target::Arm(arm, attribute) => {
                let tally = &mut self.pairs.get_mut(arm, attribute).tally;
                tally.spent = tally.spent.saturating_add(bill);
            }
            Target::Question(question, source) => {
                self.questions[question.index()].bill(source, bill);
            }
        }
        self.funds.count_bill(call.service, bill);
    }

    /// Raises the budget, at any time. Returns false, and changes nothing, if the new budget is smaller.
    pub fn raise_budget(&mut self, budget: Cost) -> bool {
        let is_raised = self.funds.raise_budget(budget);
        if is_raised {
            self.changes.clear();
            self.funds.update_affordable(&mut self.changes);
        }
        is_raised
    }

    /// Removes a void call from its stream: later calls move up, and its retry will be the last. At the old
    /// position the retry's score would count before scores that were drawn earlier, and it may depend on them.
    fn forget(&mut self, arm: ArmId, lead: AttributeId, order: u64) {
        for &member in self.problem.members(lead) {
            self.pairs.forget(arm, member, order);
        }
        // Mostly the void call was the last, and the calls in flight need not be searched.
        if order < self.stream_len(arm, lead) {
            self.streams.move_up_after(StreamPosition { target: Target::Arm(arm, lead), order });
        }
        self.absorb_early(arm, lead);
        for member in 0..self.problem.members(lead).len() {
            self.reconsider_after(arm, self.problem.members(lead)[member]);
        }
    }

    /// Queues a retry and reserves its ceiling. Returns false if the ceiling does not fit the budget any more.
    fn retry(&mut self, call: &InFlight) -> bool {
        let is_reserved = self.funds.reserve_retry(call.ceiling);
        if is_reserved {
            self.streams.retry(call);
        }
        is_reserved
    }

    /// Takes the scores of a call: tallies them at once, and advances the stream's evidence if possible.
    fn observe(
        &mut self,
        (arm, order): (ArmId, u64),
        lead: AttributeId,
        scores: Outcome,
        is_scored: impl Fn(usize) -> bool,
    ) {
        for (member, &attribute) in self.problem.members(lead).iter().enumerate() {
            if let Some(score) = scores.score(member) {
                self.pairs.tally(arm, attribute, score);
                self.learning.add_score(attribute, score);
            }
        }
        if order == self.evidence_count(arm, lead) {
            self.absorb_all(arm, lead, &scores);
            self.absorb_early(arm, lead);
        } else {
            let position = StreamPosition { target: Target::Arm(arm, lead), order };
            self.streams.early.insert(position, scores);
        }
        for member in 0..self.problem.members(lead).len() {
            let attribute = self.problem.members(lead)[member];
            self.changes.push(Change::Observed(arm, attribute));
            self.reconsider_after(arm, attribute);
            self.reconsider_exact(arm, attribute, is_scored(member));
        }
        self.after_observation();
    }

    #[inline]
    pub(super) fn after_observation(&mut self) {
        let is_refresh_due = self.learning.count_observation();
        self.funds.update_affordable(&mut self.changes);
        if is_refresh_due {
            self.learning.refresh(&self.problem, &self.pairs, &self.arms, &self.funds);
            self.changes.push(Change::PriorsRefreshed);
        }
    }

    /// The next scores of a stream become evidence of each of its pairs.
    fn absorb_all(&mut self, arm: ArmId, lead: AttributeId, scores: &Outcome) {
        for member in 0..self.problem.members(lead).len() {
            let attribute = self.problem.members(lead)[member];
            match scores.score(member) {
                Some(score) if !self.is_blocked(arm, attribute) => {
                    self.absorb(arm, attribute, score);
                }
                // The other pairs of the stream continue.
                score => {
                    self.pairs.skip(arm, attribute);
                    if score.is_none() {
                        self.block(arm, attribute);
                    }
                }
            }
        }
    }

    /// Absorbs scores that waited for an earlier call of their stream.
    fn absorb_early(&mut self, arm: ArmId, lead: AttributeId) {
        let target = Target::Arm(arm, lead);
        let next = |books: &Self| StreamPosition { target, order: books.evidence_count(arm, lead) };
        while let Some(scores) = self.streams.early.remove(&next(self)) {
            self.absorb_all(arm, lead, &scores);
        }
    }

    /// The pair's score from the call at `order`, if that call is back and waits for an earlier one. The inner
    /// `Option` is `None` if no number can replace the score.
    pub(super) fn early_score(
        &self,
        arm: ArmId,
        attribute: AttributeId,
        order: u64,
    ) -> Option<Option<f64>> {
        match self.problem.stream_of(Target::Arm(arm, attribute)) {
            Target::Question(question, _) => {
                let label = self.problem.questions()?.label(arm);
                self.question(question).votes(attribute).score(order, label).map(Some)
            }
            target @ Target::Arm(_, lead) => {
                let scores = self.streams.early.get(&StreamPosition { target, order })?;
                let member = self.problem.members(lead).iter().position(|it| *it == attribute)?;
                Some(scores.score(member))
            }
        }
    }

    /// Closes the pair: no number can replace this score, so no later score can count.
    fn block(&mut self, arm: ArmId, attribute: AttributeId) {
        self.pairs.get_mut(arm, attribute).evidence.closed = true;
        self.changes.push(Change::Observed(arm, attribute));
        // Other guarantees keep the maximum of the evidence, which may be enough when the level falls. This one
        // uses the current value, which cannot be known without the score.
        if self.problem.guarantee() == Guarantee::FalseDiscovery && self.is_active(arm) {
            self.arms.certifier.update(arm, f64::NEG_INFINITY);
            self.leave(arm);
        }
    }
}

#[inline]
fn checked_score(
    problem: &Problem,
    attribute: AttributeId,
    score: f64,
) -> Result<f64, SettleError> {
    let checked = problem.attribute(attribute).checked_score(score);
    checked.map_err(|reason| SettleError::Score { score, attribute, reason })
}

fn checked_scores(
    problem: &Problem,
    members: &[AttributeId],
    scores: &[Option<f64>],
) -> Result<Outcome, SettleError> {
    let checked = members.iter().zip(scores).map(|(&member, score)| {
        let attribute = problem.attribute(member);
        match *score {
            // Before all other checks: this blocks the pair, and is not an error.
            Some(score) if attribute.is_below_lowest(score) => Ok(None),
            Some(score) => checked_score(problem, member, score).map(Some),
            None => Ok(attribute.lowest_score()),
        }
    });
    checked.collect::<Result<_, _>>().map(Outcome::Scores)
}
