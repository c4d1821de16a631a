//! The history of a session as events, from which its books can be rebuilt.

use thiserror::Error;

use crate::books::{AddArmsError, Books, DispatchError, LendError, SettleError, Settlement};
use crate::call::{Call, Loan, Target, Ticket};
use crate::cost::Cost;
use crate::ledger::Bill;
use crate::outcome::Outcome;
use crate::units::ArmId;

/// One event. The enum is exhaustive on purpose: a new kind of event must be handled wherever events are
/// written, read or counted.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A call was dispatched.
    Asked {
        /// Its number.
        ticket: Ticket,
        /// The arm or question, and who scores or answers it.
        target: Target,
        /// The share that was lent just before the call, and the arm that got it: the arm of the call, or an answer
        /// to its question. `None` if nothing was lent.
        loan: Option<(ArmId, Loan)>,
    },
    /// A call came back.
    Settled {
        /// Which call.
        ticket: Ticket,
        /// Its outcome.
        outcome: Outcome,
        /// Its bill.
        bill: Bill,
    },
    /// The budget was raised.
    BudgetRaised {
        /// The new budget.
        budget: Cost,
    },
    /// An arm's share of δ was taken back.
    Released {
        /// Which arm.
        arm: ArmId,
    },
    /// Arms were added.
    ArmsAdded {
        /// How many.
        count: u32,
    },
}

impl From<Call> for Event {
    fn from(Call { ticket, target, loan, .. }: Call) -> Self {
        Self::Asked { ticket, target, loan }
    }
}

/// Why an event is impossible. Nothing has changed, except that with [`EventError::Weights`] the share was lent.
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
    /// The call may not be made: there is no money left, the arm is certified, or the pair takes no more calls.
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
    /// The weights of the arm's bets differ: the record was made by another program.
    #[error("call {}: the bets on its answer have other weights in the record", .0.0)]
    Weights(Ticket),
    /// A share cannot be taken back.
    #[error("{0}")]
    NotReleased(LendError),
    /// Arms cannot be added.
    #[error("{0}")]
    NotAdded(#[from] AddArmsError),
    /// The outcome cannot be settled.
    #[error("{0}")]
    NotSettled(#[from] SettleError),
    /// A budget can only be raised.
    #[error("the budget is lowered")]
    BudgetLowered,
}

impl Books {
    /// Applies a recorded event. No policy is consulted: it does not matter here whether a call was a good
    /// choice, only whether it could be made.
    pub fn apply(&mut self, event: &Event) -> Result<Settlement, EventError> {
        match *event {
            Event::Asked { ticket, target, loan } => {
                self.apply_asked(ticket, target, loan)?;
            }
            Event::Settled { ticket, ref outcome, bill } => {
                return Ok(self.settle(ticket, outcome, bill)?);
            }
            Event::BudgetRaised { budget } if self.raise_budget(budget) => {}
            Event::BudgetRaised { .. } => return Err(EventError::BudgetLowered),
            Event::Released { arm } => self.release(arm).map_err(EventError::NotReleased)?,
            Event::ArmsAdded { count } => self.add_arms(count as usize)?,
        }
        Ok(Settlement::default())
    }

    fn apply_asked(
        &mut self,
        ticket: Ticket,
        target: Target,
        loan: Option<(ArmId, Loan)>,
    ) -> Result<(), EventError> {
        let refused = |reason| EventError::Refused { ticket, reason };
        self.check_target(target).map_err(refused)?;
        let found = self.streams.ticket_next();
        if found != ticket {
            return Err(EventError::Ticket { recorded: ticket, found });
        }
        let stream = self.problem().stream_of(target);
        match self.streams.next_retry() {
            Some(next) if next == stream && loan.is_none() => {
                self.dispatch_retry();
            }
            // Only the stream of a retry has to wait for it.
            Some(_) if self.streams.retry_count(stream) > 0 => {
                return Err(EventError::RetryOwed(ticket));
            }
            _ => {
                self.check_dispatch(stream).map_err(refused)?;
                if let Some((arm, recorded)) = loan {
                    let not_lent = |reason| EventError::NotLent { ticket, reason };
                    if !self.problem().is_about(stream, arm) {
                        return Err(not_lent(LendError::NoSuchArm(arm)));
                    }
                    let found = self.lend(arm, recorded.share).map_err(not_lent)?;
                    if found != recorded {
                        return Err(EventError::Weights(ticket));
                    }
                }
                self.dispatch_stream(stream).map_err(refused)?;
            }
        }
        Ok(())
    }
}
