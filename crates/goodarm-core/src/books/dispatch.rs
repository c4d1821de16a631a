//! How calls are dispatched: checks, money, and positions in streams.

use thiserror::Error;

use crate::books::streams::{InFlight, Retry, StreamPosition};
use crate::books::{Books, Change};
use crate::call::{Call, Source, Target};
use crate::cost::Cost;
use crate::problem::Guarantee;
use crate::units::{ArmId, AttributeId, GeneratorId, QuestionId};

/// Why a call may not be made. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// There is no such arm or attribute.
    #[error("there is no arm {0} with an attribute {1}")]
    NoSuchPair(ArmId, AttributeId),
    /// There is no such question, or no such service to ask about it.
    #[error("there is no question {0} that could be asked so")]
    NoSuchQuestion(QuestionId),
    /// The calls of this attribute are votes on a question, not calls about an arm.
    #[error("attribute {0} is asked of questions, not of arms")]
    AskedOfQuestions(AttributeId),
    /// The arm is certified, or can never be.
    #[error("arm {0} takes no more pulls")]
    ArmLeft(ArmId),
    /// An exact attribute has been asked, or a failed call blocks the stream.
    #[error("attribute {1} of arm {0} takes no more pulls")]
    PairClosed(ArmId, AttributeId),
    /// The question has a certified answer, takes no more votes, or takes no more new answers.
    #[error("question {0} takes no more such calls")]
    QuestionClosed(QuestionId),
    /// The ceiling does not fit the budget.
    #[error("attribute {0} is not affordable")]
    NotAffordable(AttributeId),
    /// The ceiling of a fresh answer does not fit the budget.
    #[error("generator {0} is not affordable")]
    NoFreshAnswer(GeneratorId),
}

impl Books {
    /// Dispatches a call: reserves its ceiling and gives it the next position in its stream.
    pub fn dispatch(&mut self, target: Target) -> Result<Call, DispatchError> {
        self.check_target(target)?;
        self.dispatch_stream(target)
    }

    /// Refuses unknown pairs, and calls on an arm by an attribute whose calls are votes on questions.
    pub(crate) fn check_target(&self, target: Target) -> Result<(), DispatchError> {
        match target {
            Target::Arm(arm, attribute) if !self.problem.has_pair(arm, attribute) => {
                Err(DispatchError::NoSuchPair(arm, attribute))
            }
            Target::Arm(_, attribute) if self.problem.are_votes(attribute) => {
                Err(DispatchError::AskedOfQuestions(attribute))
            }
            _ => Ok(()),
        }
    }

    /// Like [`Self::dispatch`], but an arm and an attribute with votes may stand for a vote on the arm's question.
    pub(crate) fn dispatch_stream(&mut self, target: Target) -> Result<Call, DispatchError> {
        self.check_dispatch(target)?;
        self.changes.clear();
        let target = self.problem.stream_of(target);
        let ceiling = self.funds.reserve(self.problem.service(target));
        self.funds.update_affordable(&mut self.changes);
        let order = match target {
            Target::Arm(arm, lead) => {
                let order = self.stream_len(arm, lead);
                for &member in self.problem.members(lead) {
                    self.pairs.enter(arm, member, self.learning.prior(member));
                }
                self.arms.touch(arm);
                order
            }
            Target::Question(question, Source::Votes(attribute)) => {
                self.enter_vote(question, attribute)
            }
            Target::Question(question, Source::Generator(generator)) => {
                self.questions[question.index()].ask_fresh(generator);
                0
            }
        };
        let call = self.issue(StreamPosition { target, order }, ceiling, 0);
        self.announce_dispatch(target);
        Ok(call)
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

    pub(crate) fn check_dispatch(&self, target: Target) -> Result<(), DispatchError> {
        match target {
            Target::Arm(arm, attribute) => {
                if !self.problem.has_pair(arm, attribute) {
                    Err(DispatchError::NoSuchPair(arm, attribute))
                } else if !self.is_active(arm) {
                    Err(DispatchError::ArmLeft(arm))
                } else if self
                    .pairs
                    .are_closed(arm, self.problem.members(self.problem.lead(attribute)))
                {
                    Err(DispatchError::PairClosed(arm, attribute))
                } else if !self.is_affordable(attribute) {
                    Err(DispatchError::NotAffordable(attribute))
                } else {
                    Ok(())
                }
            }
            Target::Question(question, source) => {
                let (is_known, not_affordable) = match source {
                    Source::Votes(it) => {
                        (self.problem.are_votes(it), DispatchError::NotAffordable(it))
                    }
                    Source::Generator(it) => {
                        (self.problem.has(target.role()), DispatchError::NoFreshAnswer(it))
                    }
                };
                if question.index() >= self.questions.len() || !is_known {
                    Err(DispatchError::NoSuchQuestion(question))
                } else if !self.takes_question(question, source) {
                    Err(DispatchError::QuestionClosed(question))
                } else if !self.lane(self.problem.service(target)).is_affordable {
                    Err(not_affordable)
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Dispatches the oldest retry of a void call, if there is one.
    pub fn dispatch_retry(&mut self) -> Option<Call> {
        let target = self.streams.next_retry()?;
        let order = match target {
            Target::Arm(arm, lead) => self.stream_len(arm, lead),
            Target::Question(question, Source::Votes(attribute)) => {
                self.enter_vote(question, attribute)
            }
            Target::Question(_, Source::Generator(_)) => 0,
        };
        let Retry { ceiling, attempt, .. } = self.streams.pop_retry()?;
        let call = self.issue(StreamPosition { target, order }, ceiling, attempt);
        if self.problem.guarantee() == Guarantee::FalseDiscovery
            && let Target::Arm(arm, _) = target
        {
            self.changes.clear();
            self.reconsider(arm);
        }
        Some(call)
    }

    fn issue(&mut self, position: StreamPosition, ceiling: Cost, attempt: u32) -> Call {
        let target = position.target;
        let service = self.problem.service(target);
        let ticket = self.streams.issue(InFlight { position, service, ceiling, attempt });
        if self.funds.begin_call(service) {
            self.changes.push(Change::AffordableChanged);
        }
        Call { ticket, target, ceiling, attempt, loan: None, branch: "" }
    }

    /// The length of a pair's stream: calls dispatched, without void ones to be retried.
    pub(super) fn stream_len(&self, arm: ArmId, attribute: AttributeId) -> u64 {
        let target = self.problem.stream_of(Target::Arm(arm, attribute));
        if let Target::Question(question, Source::Votes(attribute)) = target {
            return self.question(question).vote_count(attribute);
        }
        self.pairs.get(arm, attribute).tally.dispatched_count - self.streams.retry_count(target)
    }

    /// Drops retries, and releases the money that was reserved for them.
    pub(super) fn drop_retries(&mut self, is_dropped: impl Fn(Target) -> bool) {
        let reserved = self.streams.drop_retries(is_dropped);
        self.funds.ledger.release(reserved);
    }
}
