//! Calls dispatched, outcomes and bills back: [`Books::settle`] is the only door for outcomes.

use core::fmt;

use thiserror::Error;

use crate::books::streams::{InFlight, Owed, Place};
use crate::books::{Books, Change};
use crate::call::{Call, Source, Target, Ticket};
use crate::cost::Cost;
use crate::evidence::Evidence;
use crate::evidence::weights::WeightsId;
use crate::outcome::{Failure, Outcome, VoidFailure};
use crate::problem::{Guarantee, ScoreError};
use crate::units::{ArmId, AttributeId, GeneratorId, QuestionId};

/// What became of a call that was settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settled {
    /// The arm that was born by it: an answer that was made, or proposed by a vote.
    pub born: Option<ArmId>,
}

/// What a call brings back, unless it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// One score by [`Outcome::Score`], or this many by [`Outcome::Scores`].
    Scores(usize),
    /// The final answer to a question, by [`Outcome::Answer`].
    Answer,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scores(1) => f.write_str("one score"),
            Self::Scores(count) => write!(f, "{count} scores"),
            Self::Answer => f.write_str("the answer to a question"),
        }
    }
}

/// A ticket that is not in flight, or a score that its model does not allow. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SettleError {
    /// The ticket was never issued, or has been settled.
    #[error("ticket {} is not outstanding", .0.0)]
    NotOutstanding(Ticket),
    /// The call was asked for something else: one score, several, or an answer.
    #[error("ticket {} was asked for {expected}", ticket.0)]
    OtherReply {
        /// Which call.
        ticket: Ticket,
        /// What it was asked for.
        expected: Expected,
    },
    /// The attribute allows no such score. Below its lowest, the call has failed by
    /// [`BlockingFailure::BelowLowest`](crate::BlockingFailure::BelowLowest).
    #[error("score {score} of attribute {attribute} is {reason}")]
    Score {
        /// What was told.
        score: f64,
        /// Of which attribute.
        attribute: AttributeId,
        /// What is wrong with it.
        reason: ScoreError,
    },
}

/// Why a call may not be made. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// There is no such arm or attribute.
    #[error("there is no arm {0} with an attribute {1}")]
    NoSuchPair(ArmId, AttributeId),
    /// There is no such question, or nobody of whom this could be asked.
    #[error("there is no question {0} that could be asked so")]
    NoSuchQuestion(QuestionId),
    /// Its calls are votes on a question, not calls on an arm.
    #[error("attribute {0} is asked of questions, not of arms")]
    AskedOfQuestions(AttributeId),
    /// The arm is certified, or can never be.
    #[error("arm {0} takes no more pulls")]
    ArmLeft(ArmId),
    /// An exact attribute has been asked, or a failed call blocks the stream.
    #[error("attribute {1} of arm {0} takes no more pulls")]
    PairClosed(ArmId, AttributeId),
    /// It is certified, has no answer to vote on, or no more answers are made for it.
    #[error("question {0} takes no more such calls")]
    QuestionClosed(QuestionId),
    /// The ceiling does not fit the budget.
    #[error("attribute {0} is not affordable")]
    NotAffordable(AttributeId),
    /// The same of a fresh answer.
    #[error("generator {0} is not affordable")]
    NoFreshAnswer(GeneratorId),
}

impl Books {
    /// Dispatches a call: reserves its ceiling and gives it the next place in its stream.
    pub fn dispatch(&mut self, target: Target) -> Result<Call, DispatchError> {
        self.check_asked_of(target)?;
        self.dispatch_stream(target)
    }

    /// A call on an arm by an attribute whose calls are votes would be a call about its question.
    pub(crate) fn check_asked_of(&self, target: Target) -> Result<(), DispatchError> {
        match target {
            Target::Arm(_, attribute) if self.is_asked_of_questions(attribute) => {
                Err(DispatchError::AskedOfQuestions(attribute))
            }
            _ => Ok(()),
        }
    }

    /// The same for a target that stands for its stream.
    pub(crate) fn dispatch_stream(&mut self, target: Target) -> Result<Call, DispatchError> {
        self.check_dispatch(target)?;
        self.changes.clear();
        let target = self.stream_of(target);
        let ceiling = self.lane(self.problem.service(target)).price();
        self.ledger.reserve(ceiling);
        let order = match target {
            Target::Arm(arm, lead) => {
                let order = self.stream_len(arm, lead);
                for member in 0..self.problem.members(lead).len() {
                    self.enter(arm, self.problem.members(lead)[member]);
                }
                self.arms[arm.index()].touched = true;
                order
            }
            Target::Question(question, Source::Votes(attribute)) => {
                self.enter_vote(question, attribute)
            }
            Target::Question(question, Source::Generator(generator)) => {
                self.question_mut(question).ask_fresh(generator);
                0
            }
        };
        self.reconsider_affordable();
        let call = self.issue(Place { target, order }, ceiling, 0);
        self.announce_dispatch(target);
        Ok(call)
    }

    /// A pair takes part in a call that is dispatched.
    fn enter(&mut self, arm: ArmId, attribute: AttributeId) {
        let evidence = &self.pairs.get(arm, attribute).evidence;
        if evidence.begins_at != Evidence::NEVER && evidence.weights == WeightsId::UNSET {
            self.pairs.get_mut(arm, attribute).evidence.weights = self.freeze_weights(attribute);
        }
        let pair = self.pairs.get_mut(arm, attribute);
        pair.tally.dispatched_count += 1;
        pair.evidence.closed |= self.problem.attribute(attribute).is_exact();
    }

    fn announce_dispatch(&mut self, target: Target) {
        match target {
            Target::Arm(arm, lead) => {
                for &member in self.problem.members(lead) {
                    self.changes.push(Change::Dispatched(arm, member));
                }
                if self.problem.guarantee() == Guarantee::FalseDiscovery {
                    self.reconsider(arm);
                }
            }
            Target::Question(question, source) => {
                if let Source::Votes(attribute) = source {
                    for arm in self.active_answers(question) {
                        self.changes.push(Change::Dispatched(arm, attribute));
                    }
                }
                self.changes.push(Change::Question(question));
            }
        }
    }

    pub(crate) fn is_asked_of_questions(&self, attribute: AttributeId) -> bool {
        attribute.index() < self.attributes.len() && self.problem.are_votes(attribute)
    }

    /// The weights for a pair whose evidence is about to begin.
    pub(super) fn freeze_weights(&mut self, attribute: AttributeId) -> WeightsId {
        let state = &mut self.attributes[attribute.index()];
        state.weights.freeze(&state.process, state.prior)
    }

    /// The stream that a call belongs to: what scores several pairs has one name.
    pub(crate) fn stream_of(&self, target: Target) -> Target {
        match target {
            Target::Arm(arm, attribute) if self.problem.are_votes(attribute) => {
                let questions = self.problem.questions().expect("votes are about questions");
                Target::Question(questions.of(arm), Source::Votes(attribute))
            }
            Target::Arm(arm, attribute) => Target::Arm(arm, self.problem.lead(attribute)),
            Target::Question(..) => target,
        }
    }

    /// The same for what others wrote, who may name an arm or an attribute that is not there.
    pub(crate) fn known_stream_of(&self, target: Target) -> Result<Target, DispatchError> {
        match target {
            Target::Arm(arm, attribute)
                if arm.index() >= self.arms.len() || attribute.index() >= self.attributes.len() =>
            {
                Err(DispatchError::NoSuchPair(arm, attribute))
            }
            _ => Ok(self.stream_of(target)),
        }
    }

    pub(crate) fn check_dispatch(&self, target: Target) -> Result<(), DispatchError> {
        let (arm, attribute) = match target {
            Target::Arm(arm, attribute) => (arm, attribute),
            Target::Question(question, source) => {
                return self.check_question_dispatch(question, source);
            }
        };
        if arm.index() >= self.arms.len() || attribute.index() >= self.attributes.len() {
            Err(DispatchError::NoSuchPair(arm, attribute))
        } else if !self.is_active(arm) {
            Err(DispatchError::ArmLeft(arm))
        } else if !self.takes_calls(arm, attribute) {
            Err(DispatchError::PairClosed(arm, attribute))
        } else if !self.is_affordable(attribute) {
            Err(DispatchError::NotAffordable(attribute))
        } else {
            Ok(())
        }
    }

    /// Dispatches the oldest retry that is owed, if there is one.
    pub fn dispatch_owed(&mut self) -> Option<Call> {
        let Owed { target, ceiling, attempt } = self.streams.next_owed()?;
        let order = match target {
            Target::Arm(arm, lead) => self.stream_len(arm, lead),
            Target::Question(question, Source::Votes(attribute)) => {
                self.enter_vote(question, attribute)
            }
            Target::Question(_, Source::Generator(_)) => 0,
        };
        self.streams.repay(target);
        let call = self.issue(Place { target, order }, ceiling, attempt);
        if self.problem.guarantee() == Guarantee::FalseDiscovery
            && let Target::Arm(arm, _) = target
        {
            self.changes.clear();
            self.reconsider(arm);
        }
        Some(call)
    }

    /// Takes what came of a call, and its bill: the only door for outcomes.
    pub fn settle(
        &mut self,
        ticket: Ticket,
        outcome: &Outcome,
        bill: Cost,
    ) -> Result<Settled, SettleError> {
        let call = *self.streams.out.get(ticket).ok_or(SettleError::NotOutstanding(ticket))?;
        let other = |expected| Err(SettleError::OtherReply { ticket, expected });
        match (call.place.target, outcome) {
            (_, Outcome::Failed(failure)) => Ok(self.fail(ticket, &call, *failure, bill)),
            (Target::Arm(arm, lead), outcome) => {
                let members = self.problem.members(lead);
                let scores = match outcome {
                    Outcome::Score(score) if members.len() == 1 => {
                        Outcome::Score(self.checked_score(lead, *score)?)
                    }
                    Outcome::Scores(scores) if members.len() == scores.len() => {
                        self.checked_scores(members, scores)?
                    }
                    _ => return other(Expected::Scores(members.len())),
                };
                self.take_back(ticket, &call, bill);
                self.bill(&call, bill);
                // A score that is merely missing is not the verifier's word.
                let is_said = |member| outcome.score(member).is_some();
                self.observe((arm, call.place.order), lead, scores, is_said);
                Ok(Settled::default())
            }
            (Target::Question(question, source), Outcome::Answer(label)) => {
                self.take_back(ticket, &call, bill);
                self.bill(&call, bill);
                let born = match source {
                    Source::Votes(attribute) => {
                        self.take_vote((question, attribute), call.place.order, *label)
                    }
                    Source::Generator(generator) => self.take_fresh(question, generator, *label),
                };
                self.changes.push(Change::Question(question));
                self.after_observation();
                Ok(Settled { born })
            }
            (Target::Question(..), _) => other(Expected::Answer),
        }
    }

    fn fail(&mut self, ticket: Ticket, call: &InFlight, failure: Failure, bill: Cost) -> Settled {
        self.take_back(ticket, call, bill);
        // What was not made says nothing about what calls cost.
        if bill > Cost::ZERO || !matches!(failure, Failure::Void(_)) {
            self.bill(call, bill);
        }
        match call.place.target {
            Target::Arm(arm, lead) => self.fail_on_arm(call, (arm, lead), failure),
            Target::Question(question, source) => {
                let void =
                    matches!(failure, Failure::Void(it) if it != VoidFailure::LostRepeatable);
                // Nothing more will be asked about a question that is answered, or closed to votes.
                if void && self.may_retry(question, source) && self.owe(call) {
                    self.forget_on_question(question, source, call.place.order);
                } else {
                    let blocks = matches!(failure, Failure::Blocking(_));
                    self.fail_on_question((question, source), call.place.order, blocks);
                }
                self.changes.push(Change::Question(question));
            }
        }
        self.reconsider_affordable();
        Settled::default()
    }

    fn fail_on_arm(
        &mut self,
        call: &InFlight,
        (arm, lead): (ArmId, AttributeId),
        failure: Failure,
    ) {
        let void = match failure {
            Failure::Void(VoidFailure::LostRepeatable) => self.problem.attribute(lead).is_exact(),
            Failure::Void(_) => true,
            Failure::Blocking(_) | Failure::Counted(_) => false,
        };
        // Nothing later in the stream of an arm that has left will ever be needed.
        if void && !self.is_active(arm) {
            return;
        }
        if void && self.owe(call) {
            self.forget(arm, lead, call.place.order);
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
        self.observe((arm, call.place.order), lead, scores, |_| false);
    }

    #[inline]
    fn take_back(&mut self, ticket: Ticket, call: &InFlight, bill: Cost) {
        self.changes.clear();
        self.streams.out.remove(ticket);
        // A slow service at its limit looks unaffordable to the policy.
        if self.lanes.leave(call.service) {
            self.changes.push(Change::AffordableChanged);
        }
        self.ledger.settle(call.ceiling, bill);
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

    fn issue(&mut self, place: Place, ceiling: Cost, attempt: u32) -> Call {
        let service = self.problem.service(place.target);
        let ticket = self.streams.issue(InFlight { place, service, ceiling, attempt });
        if self.lanes.enter(service) {
            self.changes.push(Change::AffordableChanged);
        }
        Call { ticket, target: place.target, ceiling, attempt, loan: None, branch: "" }
    }

    /// A call that never began leaves no trace in its stream: those after it move up, and its retry
    /// will be the last. In its place the retry's score, which is drawn later, would count before
    /// scores that it may depend on.
    fn forget(&mut self, arm: ArmId, lead: AttributeId, order: u64) {
        for member in 0..self.problem.members(lead).len() {
            self.forget_in_evidence(arm, self.problem.members(lead)[member], order);
        }
        // Mostly it was the last, and there is no need to look at all calls in flight.
        if order < self.stream_len(arm, lead) {
            self.streams.move_up_after(Place { target: Target::Arm(arm, lead), order });
        }
        self.absorb_early(arm, lead);
        for member in 0..self.problem.members(lead).len() {
            self.reconsider_after(arm, self.problem.members(lead)[member]);
        }
    }

    pub(super) fn forget_in_evidence(&mut self, arm: ArmId, attribute: AttributeId, order: u64) {
        let (pair, wealths) = self.pairs.with_wealths(arm, attribute);
        pair.evidence.forget(order, wealths);
    }

    /// Keeps the money for a retry; false if it is no longer there.
    fn owe(&mut self, call: &InFlight) -> bool {
        let fits = self.ledger.fits(call.ceiling);
        if fits {
            self.ledger.reserve(call.ceiling);
            self.streams.owe(call);
        }
        fits
    }

    /// How many calls a pair's stream has: those dispatched, without void ones that are to be made again.
    pub(super) fn stream_len(&self, arm: ArmId, attribute: AttributeId) -> u64 {
        let target = self.stream_of(Target::Arm(arm, attribute));
        if let Target::Question(question, Source::Votes(attribute)) = target {
            return self.question(question).vote_count(attribute);
        }
        self.pair(arm, attribute).tally.dispatched_count - self.streams.owed_count(target)
    }

    /// Gives back what was kept for retries that are not made any more.
    pub(super) fn drop_owed(&mut self, is_dropped: impl Fn(Target) -> bool) {
        let reserved = self.streams.drop_owed(is_dropped);
        self.ledger.release(reserved);
    }

    #[inline]
    fn bill(&mut self, call: &InFlight, bill: Cost) {
        match call.place.target {
            Target::Arm(arm, attribute) => {
                let tally = &mut self.pairs.get_mut(arm, attribute).tally;
                tally.spent = tally.spent.saturating_add(bill);
            }
            Target::Question(question, source) => self.question_mut(question).bill(source, bill),
        }
        self.lanes.get_mut(call.service).take_bill(bill);
    }

    #[inline]
    fn checked_score(&self, attribute: AttributeId, score: f64) -> Result<f64, SettleError> {
        let checked = self.problem.attribute(attribute).checked_score(score);
        checked.map_err(|reason| SettleError::Score { score, attribute, reason })
    }

    fn checked_scores(
        &self,
        members: &[AttributeId],
        scores: &[Option<f64>],
    ) -> Result<Outcome, SettleError> {
        let checked = members.iter().zip(scores).map(|(&member, score)| {
            let attribute = self.problem.attribute(member);
            match *score {
                // Whatever else is wrong with it.
                Some(score) if attribute.is_below_lowest(score) => Ok(None),
                Some(score) => self.checked_score(member, score).map(Some),
                None => Ok(attribute.lowest_score()),
            }
        });
        checked.collect::<Result<_, _>>().map(Outcome::Scores)
    }

    /// Scores are back: tally them at once, and let the stream's evidence advance if it can.
    fn observe(
        &mut self,
        (arm, order): (ArmId, u64),
        lead: AttributeId,
        scores: Outcome,
        is_said: impl Fn(usize) -> bool,
    ) {
        let count = self.problem.members(lead).len();
        for member in 0..count {
            if let Some(score) = scores.score(member) {
                self.tally_score(arm, self.problem.members(lead)[member], score);
            }
        }
        let next = self.pair(arm, lead).evidence.count;
        if order == next {
            self.absorb_all(arm, lead, &scores);
            self.absorb_early(arm, lead);
        } else {
            let place = Place { target: Target::Arm(arm, lead), order };
            self.streams.early.insert(place, scores);
        }
        for member in 0..count {
            let attribute = self.problem.members(lead)[member];
            self.changes.push(Change::Observed(arm, attribute));
            self.reconsider_after(arm, attribute);
            self.reconsider_exact(arm, attribute, is_said(member));
        }
        self.after_observation();
    }

    #[inline]
    pub(super) fn tally_score(&mut self, arm: ArmId, attribute: AttributeId, score: f64) {
        let (pair, wealths) = self.pairs.with_wealths(arm, attribute);
        pair.tally.returned_count += 1;
        pair.tally.sum += score;
        if let Some(wealths) = wealths {
            wealths.sum_of_squares += score * score;
        }
        self.attributes[attribute.index()].totals.take(score);
    }

    #[inline]
    pub(super) fn after_observation(&mut self) {
        self.observation_count += 1;
        self.reconsider_affordable();
        if self.observation_count >= self.refresh_at {
            self.refresh_priors();
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
                blocked => {
                    let (pair, wealths) = self.pairs.with_wealths(arm, attribute);
                    pair.evidence.skip(wealths);
                    if blocked.is_none() {
                        self.block(arm, attribute);
                    }
                }
            }
        }
    }

    /// Scores that waited for an earlier call of their stream.
    fn absorb_early(&mut self, arm: ArmId, lead: AttributeId) {
        let target = Target::Arm(arm, lead);
        while !self.streams.early.is_empty() {
            let order = self.pair(arm, lead).evidence.count;
            let Some(scores) = self.streams.early.remove(&Place { target, order }) else { break };
            self.absorb_all(arm, lead, &scores);
        }
    }

    /// What a call of a pair's stream has brought, if it is back and waits for an earlier one: a score,
    /// or one that no number can stand for.
    pub(super) fn early_score(
        &self,
        arm: ArmId,
        attribute: AttributeId,
        order: u64,
    ) -> Option<Option<f64>> {
        match self.stream_of(Target::Arm(arm, attribute)) {
            Target::Question(question, _) => {
                let label = self.problem.questions()?.label(arm);
                self.question(question).vote(attribute, order, label).map(Some)
            }
            target @ Target::Arm(_, lead) => {
                let scores = self.streams.early.get(&Place { target, order })?;
                let member = self.problem.members(lead).iter().position(|it| *it == attribute)?;
                Some(scores.score(member))
            }
        }
    }

    /// Nothing after this place can ever count, since no number can stand for it.
    fn block(&mut self, arm: ArmId, attribute: AttributeId) {
        self.pairs.get_mut(arm, attribute).evidence.closed = true;
        self.changes.push(Change::Observed(arm, attribute));
        // A running maximum may be enough when the level falls; a present value that lacks a score
        // never is.
        if self.problem.guarantee() == Guarantee::FalseDiscovery && self.is_active(arm) {
            self.certifier.update(arm, f64::NEG_INFINITY);
            self.leave(arm);
        }
    }

    pub(super) fn reconsider_affordable(&mut self) {
        if self.lanes.reconsider_affordable(&self.ledger) {
            self.changes.push(Change::AffordableChanged);
        }
    }
}
