//! What happened to a session, in a form that can be kept: events rebuild its books.

use alloc::boxed::Box;

use thiserror::Error;

use crate::books::{AddArmsError, Books, DispatchError, LendError, Loan, TellError};
use crate::cost::Cost;
use crate::pull::{Dispatched, Failure, Pull, QuestionPull, Source, Target, Ticket};
use crate::units::{ArmId, AttributeId, Label, QuestionId};

/// One thing that happened. It is exhaustive on purpose: a new kind of event must be thought of
/// wherever events are written, read or counted.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A call was dispatched.
    Asked {
        /// Its number.
        ticket: Ticket,
        /// Which answer.
        arm: ArmId,
        /// Which verifier.
        attribute: AttributeId,
        /// What the arm was lent just before, where shares of δ are lent.
        loan: Option<Loan>,
    },
    /// A call about a question was dispatched.
    QuestionAsked {
        /// Its number.
        ticket: Ticket,
        /// Which question.
        question: QuestionId,
        /// And whom.
        source: Source,
        /// What an answer of the question was lent just before, where shares of δ are lent.
        loan: Option<(ArmId, Loan)>,
    },
    /// A call came back with a score.
    Told {
        /// Which call.
        ticket: Ticket,
        /// Its score.
        score: f64,
        /// Its bill.
        cost: Cost,
    },
    /// A call came back with a score for each attribute that it scores; none for one that the reply
    /// lacks.
    ToldAll {
        /// Which call.
        ticket: Ticket,
        /// Its scores, in the order of [`Problem::members`](crate::Problem::members).
        scores: Box<[Option<f64>]>,
        /// Its bill.
        cost: Cost,
    },
    /// A question was answered: a vote came back, or a fresh answer.
    Answered {
        /// Which call.
        ticket: Ticket,
        /// The number of the final answer; none if a vote is for no answer that could be read.
        label: Option<Label>,
        /// Its bill.
        cost: Cost,
    },
    /// A call came back without a score.
    Failed {
        /// Which call.
        ticket: Ticket,
        /// What happened to it.
        failure: Failure,
        /// Its bill.
        cost: Cost,
    },
    /// There is more money.
    BudgetRaised {
        /// The new budget.
        budget: Cost,
    },
    /// An arm's share of δ was taken back.
    Released {
        /// Which answer.
        arm: ArmId,
    },
    /// There are more arms.
    ArmsAdded {
        /// How many more.
        count: u32,
    },
}

impl From<QuestionPull> for Event {
    fn from(QuestionPull { ticket, question, source, loan, .. }: QuestionPull) -> Self {
        Self::QuestionAsked { ticket, question, source, loan }
    }
}

impl From<Pull> for Event {
    fn from(Pull { ticket, arm, attribute, loan, .. }: Pull) -> Self {
        Self::Asked { ticket, arm, attribute, loan }
    }
}

impl From<Dispatched> for Event {
    fn from(dispatched: Dispatched) -> Self {
        match dispatched {
            Dispatched::Arm(pull) => pull.into(),
            Dispatched::Question(pull) => pull.into(),
        }
    }
}

impl Event {
    /// The outcome of a call: its score, or why it has none.
    pub const fn of_outcome(ticket: Ticket, outcome: Result<f64, Failure>, cost: Cost) -> Self {
        match outcome {
            Ok(score) => Self::Told { ticket, score, cost },
            Err(failure) => Self::Failed { ticket, failure, cost },
        }
    }
}

/// Why an event cannot have happened. Nothing has changed, but for [`EventError::Weights`].
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum EventError {
    /// The books would give the call another number.
    #[error("call {} of the record would be call {} of the books", recorded.0, found.0)]
    Ticket {
        /// In the record.
        recorded: Ticket,
        /// In the books.
        found: Ticket,
    },
    /// A void call must be tried again before anything else is asked of its pair.
    #[error("call {} is not the retry that is owed", .0.0)]
    RetryOwed(Ticket),
    /// The call may not be made: no money left, a certified answer, a check that was made before.
    #[error("call {}: {reason}", ticket.0)]
    Refused {
        /// Which call.
        ticket: Ticket,
        /// Why not.
        reason: DispatchError,
    },
    /// The share cannot be lent before this call.
    #[error("call {}: {reason}", ticket.0)]
    NotLent {
        /// Which call.
        ticket: Ticket,
        /// Why not.
        reason: LendError,
    },
    /// The weights of the arm's bets would be others: the record was made by another program.
    #[error("call {}: the bets on its answer have other weights in the record", .0.0)]
    Weights(Ticket),
    /// A share cannot be taken back.
    #[error("{0}")]
    NotReleased(LendError),
    /// Arms cannot be added.
    #[error("{0}")]
    NotAdded(#[from] AddArmsError),
    /// The outcome cannot be taken.
    #[error("{0}")]
    Told(#[from] TellError),
    /// A budget can only be raised.
    #[error("the budget is lowered")]
    BudgetLowered,
}

impl Books {
    /// Does what a record says was done. No policy is consulted: whether the call was a good choice
    /// does not matter here, only whether it could be made.
    pub fn apply(&mut self, event: &Event) -> Result<(), EventError> {
        match *event {
            Event::Asked { ticket, attribute, .. } if self.is_asked_of_questions(attribute) => {
                let reason = DispatchError::AskedOfQuestions(attribute);
                Err(EventError::Refused { ticket, reason })
            }
            Event::Asked { ticket, arm, attribute, loan } => {
                let loan = loan.map(|loan| (arm, loan));
                self.apply_asked(ticket, Target::Arm(arm, attribute), loan)
            }
            Event::QuestionAsked { ticket, question, source, loan } => {
                self.apply_asked(ticket, Target::Question(question, source), loan)
            }
            Event::Told { ticket, score, cost } => Ok(self.tell(ticket, score, cost)?),
            Event::ToldAll { ticket, ref scores, cost } => Ok(self.tell_all(ticket, scores, cost)?),
            Event::Answered { ticket, label, cost } => {
                self.answer(ticket, label, cost)?;
                Ok(())
            }
            Event::Failed { ticket, failure, cost } => Ok(self.fail(ticket, failure, cost)?),
            Event::BudgetRaised { budget } => {
                if self.raise_budget(budget) {
                    Ok(())
                } else {
                    Err(EventError::BudgetLowered)
                }
            }
            Event::Released { arm } => self.release(arm).map_err(EventError::NotReleased),
            Event::ArmsAdded { count } => Ok(self.add_arms(count as usize)?),
        }
    }

    fn apply_asked(
        &mut self,
        ticket: Ticket,
        target: Target,
        loan: Option<(ArmId, Loan)>,
    ) -> Result<(), EventError> {
        let found = self.ticket_next();
        if found != ticket {
            return Err(EventError::Ticket { recorded: ticket, found });
        }
        let refused = |reason| EventError::Refused { ticket, reason };
        let target = self.known_stream_of(target).map_err(refused)?;
        match self.owed() {
            Some(owed) if owed == target && loan.is_none() => {
                self.dispatch_owed();
            }
            // Other pairs need not wait for it.
            Some(_) if self.owes(target) => return Err(EventError::RetryOwed(ticket)),
            _ => {
                self.check_dispatch(target).map_err(refused)?;
                if let Some((arm, recorded)) = loan {
                    let not_lent = |reason| EventError::NotLent { ticket, reason };
                    self.check_borrower(arm, target).map_err(not_lent)?;
                    let found = self.lend(arm, recorded.share).map_err(not_lent)?;
                    if found != recorded {
                        return Err(EventError::Weights(ticket));
                    }
                }
                self.dispatch_target(target).map_err(refused)?;
            }
        }
        Ok(())
    }
}
