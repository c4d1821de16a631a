//! Calls dispatched, scores and bills back: the money, the order of each pair's stream, and retries.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};

use core::fmt;

use thiserror::Error;

use crate::bills::mean_bill;
use crate::books::outstanding::Outstanding;
use crate::books::{Books, Change};
use crate::cost::Cost;
use crate::evidence::Evidence;
use crate::evidence::weights::WeightsId;
use crate::problem::{Guarantee, SCORE_ABS_MAX, ScoreError};
use crate::pull::{Dispatched, Failure, Pull, QuestionPull, Source, Target, Ticket, VoidFailure};
use crate::units::{ArmId, AttributeId, GeneratorId, Label, QuestionId};

/// What a call brings back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedFor {
    /// So many scores, one of them by [`Books::tell`] and more by [`Books::tell_all`].
    Scores(usize),
    /// The final answer to a question, by [`Books::answer`].
    Answer,
}

impl fmt::Display for AskedFor {
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
pub enum TellError {
    /// The ticket was never issued, or has been answered.
    #[error("ticket {} is not outstanding", .0.0)]
    NotOutstanding(Ticket),
    /// The call was asked for something else: one score, several, or an answer.
    #[error("ticket {} was asked for {asked}", ticket.0)]
    OtherReply {
        /// Which call.
        ticket: Ticket,
        /// What is expected.
        asked: AskedFor,
    },
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

/// The calls of all pairs that are not in their evidence yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    pub(super) out: Outstanding<Call>,
    /// Scores that are back but wait for an earlier call of their stream.
    early: BTreeMap<Place, Scores>,
    owed: VecDeque<Owed>,
    /// How many of them each stream has; none of 0.
    owed_counts: BTreeMap<Target, u64>,
    ticket_next: u64,
}

/// A call in flight: its place in its stream, and what is reserved for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) place: Place,
    ceiling: Cost,
    attempt: u32,
}

/// The `order`-th call of a stream, counted from 0 in dispatch order. All calls of an arm and an
/// attribute with calls of its own are one stream, which feeds all pairs that these calls score; so
/// are all votes of one kind on a question. Fresh answers have no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) target: Target,
    pub(super) order: u64,
}

/// What a call on an arm has brought.
#[derive(Clone, Debug)]
pub(super) enum Scores {
    One(f64),
    /// In the order of the call's attributes; none where no number can stand for what is missing.
    Many(Box<[Option<f64>]>),
}

impl Scores {
    pub(super) fn get(&self, member: usize) -> Option<f64> {
        match self {
            Self::One(score) => Some(*score),
            Self::Many(scores) => scores[member],
        }
    }
}

/// A void call that must be made again.
#[derive(Clone, Copy, Debug)]
struct Owed {
    target: Target,
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
    /// Dispatches a call on an arm: reserves its ceiling and gives it the next place in its stream.
    pub fn dispatch(&mut self, arm: ArmId, attribute: AttributeId) -> Result<Pull, DispatchError> {
        if self.is_asked_of_questions(attribute) {
            return Err(DispatchError::AskedOfQuestions(attribute));
        }
        match self.dispatch_target(Target::Arm(arm, attribute))? {
            Dispatched::Arm(pull) => Ok(pull),
            Dispatched::Question(_) => unreachable!("votes are refused above"),
        }
    }

    /// Dispatches a call about a question.
    pub fn dispatch_question(
        &mut self,
        question: QuestionId,
        source: Source,
    ) -> Result<QuestionPull, DispatchError> {
        match self.dispatch_target(Target::Question(question, source))? {
            Dispatched::Question(pull) => Ok(pull),
            Dispatched::Arm(_) => unreachable!("a question is no arm"),
        }
    }

    pub(crate) fn dispatch_target(&mut self, target: Target) -> Result<Dispatched, DispatchError> {
        self.check_dispatch(target)?;
        self.changes.clear();
        let target = self.stream_of(target);
        let ceiling = self.price(target);
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
                self.ask_fresh(question, generator);
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
        let index = self.problem.pair_index(arm, attribute);
        let evidence = &self.pairs[index].evidence;
        if evidence.begins_at != Evidence::NEVER && evidence.weights == WeightsId::UNSET {
            self.pairs[index].evidence.weights = self.freeze_weights(attribute);
        }
        let pair = &mut self.pairs[index];
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
            Target::Question(question, Source::Votes(attribute)) => {
                for arm in self.active_answers(question) {
                    self.changes.push(Change::Dispatched(arm, attribute));
                }
                self.changes.push(Change::Question(question));
            }
            Target::Question(question, Source::Generator(_)) => {
                self.changes.push(Change::Question(question));
            }
        }
    }

    pub(crate) fn is_asked_of_questions(&self, attribute: AttributeId) -> bool {
        attribute.index() < self.processes.len() && self.problem.are_votes(attribute)
    }

    /// The weights for a pair whose evidence is about to begin.
    pub(super) fn freeze_weights(&mut self, attribute: AttributeId) -> WeightsId {
        self.weights[attribute.index()]
            .freeze(&self.processes[attribute.index()], self.priors[attribute.index()])
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
                if arm.index() >= self.arms.len() || attribute.index() >= self.processes.len() =>
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
        if arm.index() >= self.arms.len() || attribute.index() >= self.processes.len() {
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
    pub fn dispatch_owed(&mut self) -> Option<Dispatched> {
        let Owed { target, ceiling, attempt } = self.calls.owed.pop_front()?;
        let order = match target {
            Target::Arm(arm, lead) => self.stream_len(arm, lead),
            Target::Question(question, Source::Votes(attribute)) => {
                self.enter_vote(question, attribute)
            }
            Target::Question(_, Source::Generator(_)) => 0,
        };
        if let Some(count) = self.calls.owed_counts.get_mut(&target) {
            *count -= 1;
            if *count == 0 {
                self.calls.owed_counts.remove(&target);
            }
        }
        let call = self.issue(Place { target, order }, ceiling, attempt);
        if self.problem.guarantee() == Guarantee::FalseDiscovery
            && let Target::Arm(arm, _) = target
        {
            self.changes.clear();
            self.reconsider(arm);
        }
        Some(call)
    }

    /// The oldest retry that is owed.
    pub(crate) fn owed(&self) -> Option<Target> {
        self.calls.owed.front().map(|owed| owed.target)
    }

    /// Whether a retry of this is owed.
    pub(crate) fn owes(&self, target: Target) -> bool {
        self.calls.owed_counts.contains_key(&target)
    }

    /// The number of the next call.
    pub(crate) const fn ticket_next(&self) -> Ticket {
        Ticket(self.calls.ticket_next)
    }

    /// Takes a score and its bill.
    pub fn tell(&mut self, ticket: Ticket, score: f64, bill: Cost) -> Result<(), TellError> {
        let call = *self.calls.out.get(ticket).ok_or(TellError::NotOutstanding(ticket))?;
        let Target::Arm(arm, attribute) = call.place.target else {
            return Err(TellError::OtherReply { ticket, asked: AskedFor::Answer });
        };
        let count = self.problem.members(attribute).len();
        if count != 1 {
            return Err(TellError::OtherReply { ticket, asked: AskedFor::Scores(count) });
        }
        let score = self.checked_score(attribute, score)?;
        self.take_back(ticket, &call, bill);
        self.bill(call.place.target, bill);
        self.observe((arm, call.place.order), attribute, Scores::One(score), |_| Told::Score);
        Ok(())
    }

    /// Takes the scores of a call that scores several attributes, and its bill. A score that the
    /// reply lacks is a failed call for that attribute alone, and so is one below its lowest, which
    /// blocks it.
    pub fn tell_all(
        &mut self,
        ticket: Ticket,
        scores: &[Option<f64>],
        bill: Cost,
    ) -> Result<(), TellError> {
        let call = *self.calls.out.get(ticket).ok_or(TellError::NotOutstanding(ticket))?;
        let Target::Arm(arm, lead) = call.place.target else {
            return Err(TellError::OtherReply { ticket, asked: AskedFor::Answer });
        };
        let members = self.problem.members(lead);
        if members.len() != scores.len() {
            let asked = AskedFor::Scores(members.len());
            return Err(TellError::OtherReply { ticket, asked });
        }
        let mut checked = alloc::vec::Vec::with_capacity(scores.len());
        for (&member, score) in members.iter().zip(scores) {
            let attribute = self.problem.attribute(member);
            checked.push(match *score {
                // Whatever else is wrong with it.
                Some(score) if attribute.is_below_lowest(score) => None,
                Some(score) => Some(self.checked_score(member, score)?),
                None => attribute.lowest_score(),
            });
        }
        self.take_back(ticket, &call, bill);
        self.bill(call.place.target, bill);
        // A score that is merely missing is not the verifier's word.
        let told = |member: usize| match scores[member] {
            Some(_) => Told::Score,
            None => Told::Failure,
        };
        self.observe((arm, call.place.order), lead, Scores::Many(checked.into()), told);
        Ok(())
    }

    /// Takes the final answer that a call about a question brought, and its bill. A vote may have none,
    /// and is then for no answer. Gives the arm that was born by it.
    pub fn answer(
        &mut self,
        ticket: Ticket,
        label: Option<Label>,
        bill: Cost,
    ) -> Result<Option<ArmId>, TellError> {
        let call = *self.calls.out.get(ticket).ok_or(TellError::NotOutstanding(ticket))?;
        let (question, source) = match call.place.target {
            Target::Question(question, source) => (question, source),
            Target::Arm(_, lead) => {
                let asked = AskedFor::Scores(self.problem.members(lead).len());
                return Err(TellError::OtherReply { ticket, asked });
            }
        };
        self.take_back(ticket, &call, bill);
        self.bill(call.place.target, bill);
        let born = match source {
            Source::Votes(attribute) => {
                self.take_vote((question, attribute), call.place.order, label)
            }
            Source::Generator(_) => self.take_fresh(question, source, label),
        };
        self.changes.push(Change::Question(question));
        self.after_observation();
        Ok(born)
    }

    /// Takes a failure and its bill.
    pub fn fail(&mut self, ticket: Ticket, failure: Failure, bill: Cost) -> Result<(), TellError> {
        let call = *self.calls.out.get(ticket).ok_or(TellError::NotOutstanding(ticket))?;
        self.take_back(ticket, &call, bill);
        // What was not made says nothing about what calls cost.
        if bill > Cost::ZERO || !matches!(failure, Failure::Void(_)) {
            self.bill(call.place.target, bill);
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
        Ok(())
    }

    fn fail_on_arm(&mut self, call: Call, (arm, lead): (ArmId, AttributeId), failure: Failure) {
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
            (1, Some(lowest)) => Scores::One(lowest),
            (1, None) => return self.block(arm, lead),
            _ => Scores::Many(members.iter().map(|&member| counts_as(member)).collect()),
        };
        self.observe((arm, call.place.order), lead, scores, |_| Told::Failure);
    }

    fn take_back(&mut self, ticket: Ticket, call: &Call, bill: Cost) {
        self.changes.clear();
        self.calls.out.remove(ticket);
        let lane = self.lane(call.place.target);
        let was_held = self.is_lane_held(lane);
        self.out_counts[lane] -= 1;
        self.tell_of_hold(lane, was_held);
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

    fn issue(&mut self, place: Place, ceiling: Cost, attempt: u32) -> Dispatched {
        let ticket = Ticket(self.calls.ticket_next);
        self.calls.ticket_next += 1;
        self.calls.out.push(ticket, Call { place, ceiling, attempt });
        let lane = self.lane(place.target);
        let was_held = self.is_lane_held(lane);
        self.out_counts[lane] += 1;
        self.tell_of_hold(lane, was_held);
        match place.target {
            Target::Arm(arm, attribute) => {
                let (loan, branch) = (None, "");
                Dispatched::Arm(Pull { ticket, arm, attribute, ceiling, attempt, loan, branch })
            }
            Target::Question(question, source) => {
                let (loan, branch) = (None, "");
                let pull =
                    QuestionPull { ticket, question, source, ceiling, attempt, loan, branch };
                Dispatched::Question(pull)
            }
        }
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
            self.move_up_after(Place { target: Target::Arm(arm, lead), order });
        }
        self.absorb_early(arm, lead);
        for member in 0..self.problem.members(lead).len() {
            self.reconsider_after(arm, self.problem.members(lead)[member]);
        }
    }

    pub(super) fn forget_in_evidence(&mut self, arm: ArmId, attribute: AttributeId, order: u64) {
        let index = self.problem.pair_index(arm, attribute);
        let slot = self.wealth_slots[attribute.index()];
        let wealths = slot.map(|slot| arm.index() * self.bounded_count + slot);
        let evidence = &mut self.pairs[index].evidence;
        evidence.forget(order, wealths.map(|at| &mut self.wealths[at]));
    }

    /// Gives all later calls of a stream the place before theirs.
    pub(super) fn move_up_after(&mut self, place: Place) {
        let is_later = |other: &Place| other.target == place.target && other.order > place.order;
        for call in self.calls.out.calls_mut().filter(|call| is_later(&call.place)) {
            call.place.order -= 1;
        }
        let mut later = self.calls.early.split_off(&place);
        while let Some(entry) = later.first_entry().filter(|entry| is_later(entry.key())) {
            let (moved, scores) = entry.remove_entry();
            self.calls.early.insert(Place { order: moved.order - 1, ..moved }, scores);
        }
        self.calls.early.append(&mut later);
    }

    /// Keeps the money for a retry; false if it is no longer there.
    fn owe(&mut self, call: Call) -> bool {
        if !self.ledger.fits(call.ceiling) {
            return false;
        }
        self.ledger.reserve(call.ceiling);
        let Call { place: Place { target, .. }, ceiling, attempt } = call;
        let attempt = attempt.saturating_add(1);
        self.calls.owed.push_back(Owed { target, ceiling, attempt });
        *self.calls.owed_counts.entry(target).or_insert(0) += 1;
        true
    }

    /// How many calls a pair's stream has: those dispatched, without void ones that are to be made again.
    pub(super) fn stream_len(&self, arm: ArmId, attribute: AttributeId) -> u64 {
        let target = self.stream_of(Target::Arm(arm, attribute));
        if let Target::Question(question, Source::Votes(attribute)) = target {
            return self.vote_count(question, attribute);
        }
        let owed = self.calls.owed_counts.get(&target).copied().unwrap_or(0);
        self.pair(arm, attribute).tally.dispatched_count - owed
    }

    /// Gives back what was kept for the retries of an arm that has left.
    pub(super) fn drop_owed(&mut self, arm: ArmId) {
        self.drop_owed_of(|target| matches!(target, Target::Arm(of, _) if of == arm));
    }

    pub(super) fn drop_owed_of(&mut self, is_dropped: impl Fn(Target) -> bool) {
        if self.calls.owed.is_empty() {
            return;
        }
        self.calls.owed_counts.retain(|&target, _| !is_dropped(target));
        let ledger = &mut self.ledger;
        self.calls.owed.retain(|owed| {
            let dropped = is_dropped(owed.target);
            if dropped {
                ledger.release(owed.ceiling);
            }
            !dropped
        });
    }

    fn bill(&mut self, target: Target, bill: Cost) {
        match target {
            Target::Arm(arm, attribute) => {
                let index = self.problem.pair_index(arm, attribute);
                let tally = &mut self.pairs[index].tally;
                tally.spent = tally.spent.saturating_add(bill);
            }
            Target::Question(question, source) => self.bill_question(question, source, bill),
        }
        let lane = self.lane(target);
        let ceiling = self.price(target);
        let totals = &mut self.totals[lane];
        totals.billed_count += 1;
        totals.spent = totals.spent.saturating_add(bill);
        self.mean_bills[lane] = mean_bill(ceiling, totals);
        self.bill_squares[lane] += bill.units() * bill.units();
    }

    /// Where counts and money of a call are kept: attributes first, then generators.
    pub(super) fn lane(&self, target: Target) -> usize {
        match target {
            Target::Arm(_, attribute) | Target::Question(_, Source::Votes(attribute)) => {
                attribute.index()
            }
            Target::Question(_, Source::Generator(generator)) => {
                self.processes.len() + generator.index()
            }
        }
    }

    fn price(&self, target: Target) -> Cost {
        self.prices[self.lane(target)]
    }

    fn checked_score(&self, attribute: AttributeId, score: f64) -> Result<f64, TellError> {
        self.problem.attribute(attribute).checked_score(score).map_err(|error| match error {
            ScoreError::NotANumber => TellError::NotANumber { score, attribute },
            ScoreError::NotBinary => TellError::NotBinary { score, attribute },
            ScoreError::BelowLowest(lowest) => TellError::BelowLowest { score, attribute, lowest },
        })
    }

    /// Scores are back: tally them at once, and let the stream's evidence advance if it can.
    fn observe(
        &mut self,
        (arm, order): (ArmId, u64),
        lead: AttributeId,
        scores: Scores,
        told: impl Fn(usize) -> Told,
    ) {
        let count = self.problem.members(lead).len();
        for member in 0..count {
            if let Some(score) = scores.get(member) {
                self.tally_score(arm, self.problem.members(lead)[member], score);
            }
        }
        let next = self.pair(arm, lead).evidence.count;
        if order == next {
            self.absorb_all(arm, lead, &scores);
            self.absorb_early(arm, lead);
        } else {
            let place = Place { target: Target::Arm(arm, lead), order };
            self.calls.early.insert(place, scores);
        }
        for member in 0..count {
            let attribute = self.problem.members(lead)[member];
            self.changes.push(Change::Observed(arm, attribute));
            self.reconsider_after(arm, attribute);
            self.reconsider_exact(arm, attribute, told(member));
        }
        self.after_observation();
    }

    pub(super) fn tally_score(&mut self, arm: ArmId, attribute: AttributeId, score: f64) {
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
    }

    pub(super) fn after_observation(&mut self) {
        self.observation_count += 1;
        self.reconsider_affordable();
        if self.observation_count >= self.refresh_at {
            self.refresh_priors();
        }
    }

    /// The next scores of a stream become evidence of each of its pairs.
    fn absorb_all(&mut self, arm: ArmId, lead: AttributeId, scores: &Scores) {
        for member in 0..self.problem.members(lead).len() {
            let attribute = self.problem.members(lead)[member];
            match scores.get(member) {
                Some(score) if !self.is_blocked(arm, attribute) => {
                    self.absorb(arm, attribute, score);
                }
                // The other pairs of the stream go on.
                blocked => {
                    let index = self.problem.pair_index(arm, attribute);
                    let slot = self.wealth_slots[attribute.index()];
                    let wealths = slot.map(|slot| arm.index() * self.bounded_count + slot);
                    let evidence = &mut self.pairs[index].evidence;
                    evidence.skip(wealths.map(|at| &mut self.wealths[at]));
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
        while !self.calls.early.is_empty() {
            let order = self.pair(arm, lead).evidence.count;
            let Some(scores) = self.calls.early.remove(&Place { target, order }) else { break };
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
                self.early_vote(question, (arm, attribute), order).map(Some)
            }
            target @ Target::Arm(_, lead) => {
                let scores = self.calls.early.get(&Place { target, order })?;
                let member = self.problem.members(lead).iter().position(|it| *it == attribute)?;
                Some(scores.get(member))
            }
        }
    }

    /// Nothing after this place can ever count, since no number can stand for it.
    fn block(&mut self, arm: ArmId, attribute: AttributeId) {
        let index = self.problem.pair_index(arm, attribute);
        self.pairs[index].evidence.closed = true;
        self.changes.push(Change::Observed(arm, attribute));
        // A running maximum may be enough when the level falls; a present value that lacks a score
        // never is.
        if self.problem.guarantee() == Guarantee::FalseDiscovery && self.is_active(arm) {
            self.certifier.update(arm, f64::NEG_INFINITY);
            self.leave(arm);
        }
    }

    /// To a policy a slow caller that has all its calls is as one that there is no money for.
    fn tell_of_hold(&mut self, lane: usize, was_held: bool) {
        if self.is_lane_held(lane) != was_held {
            self.changes.push(Change::AffordableChanged);
        }
    }

    pub(super) fn reconsider_affordable(&mut self) {
        if self.ledger.left() >= self.price_max && self.all_affordable {
            return;
        }
        let mut changed = false;
        for (price, affordable) in self.prices.iter().zip(&mut self.affordable) {
            let fits = self.ledger.fits(*price);
            changed |= *affordable != fits;
            *affordable = fits;
        }
        self.all_affordable = self.affordable.iter().all(|&fits| fits);
        if changed {
            self.changes.push(Change::AffordableChanged);
        }
    }
}
