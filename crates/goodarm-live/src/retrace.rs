//! What a run's events prove, found out again: books driven by a record, with no policy in sight.

use goodarm_core::books::DispatchError;
use goodarm_core::{Books, Event, Pull, TellError, Ticket};

/// Where a record and the books part.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The record has another call than the books would let out.
    #[error("call {} of the record would be call {} of the books", recorded.0, found.0)]
    Ticket {
        /// In the record.
        recorded: Ticket,
        /// In the books.
        found: Ticket,
    },
    /// A void call must be tried again before anything else is asked.
    #[error("call {} is not the retry that is owed", .0.0)]
    RetryOwed(Ticket),
    /// The call may not be made: no money left, a certified answer, a check that was asked before.
    #[error("call {}: {reason}", ticket.0)]
    Refused {
        /// Which call.
        ticket: Ticket,
        /// Why not.
        reason: DispatchError,
    },
    /// The answer cannot be taken.
    #[error("{0}")]
    Told(#[from] TellError),
    /// A budget can only be raised.
    #[error("the budget is lowered")]
    BudgetLowered,
    /// A kind of event that did not exist when this was written.
    #[error("an unknown event")]
    Unknown,
}

/// Does in the books what the record says was done.
pub fn follow(books: &mut Books, event: Event) -> Result<(), Mismatch> {
    match event {
        Event::Asked { ticket, arm, attribute } => {
            let pull: Pull = match books.dispatch_owed() {
                Some(retry) if (retry.arm, retry.attribute) == (arm, attribute) => retry,
                Some(_) => return Err(Mismatch::RetryOwed(ticket)),
                None => books
                    .dispatch(arm, attribute)
                    .map_err(|reason| Mismatch::Refused { ticket, reason })?,
            };
            if pull.ticket == ticket {
                Ok(())
            } else {
                Err(Mismatch::Ticket { recorded: ticket, found: pull.ticket })
            }
        }
        Event::Told { ticket, score, cost } => Ok(books.tell(ticket, score, cost)?),
        Event::Failed { ticket, failure, cost } => Ok(books.fail(ticket, failure, cost)?),
        Event::BudgetRaised { budget } => {
            if books.raise_budget(budget) {
                Ok(())
            } else {
                Err(Mismatch::BudgetLowered)
            }
        }
        _ => Err(Mismatch::Unknown),
    }
}
