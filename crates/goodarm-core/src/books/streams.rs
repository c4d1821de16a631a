//! Calls that are not in their pairs' evidence yet: in flight, back before an earlier one of their stream, or void
//! and to be retried. [`Streams`] keeps the order of each stream.

use alloc::collections::{BTreeMap, VecDeque};

use crate::books::outstanding::Outstanding;
use crate::call::{Target, Ticket};
use crate::cost::Cost;
use crate::outcome::Outcome;
use crate::units::ServiceId;

/// The streams of all pairs and questions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    pub(super) in_flight: Outstanding<InFlight>,
    /// Scores that are back but wait for an earlier call of their stream.
    pub(super) early: BTreeMap<StreamPosition, Outcome>,
    retries: VecDeque<Retry>,
    /// The number of retries of each stream that has any.
    retry_counts: BTreeMap<Target, u64>,
    ticket_next: u64,
}

/// A call in flight: its position in its stream, and the money reserved for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) position: StreamPosition,
    pub(super) service: ServiceId,
    pub(super) ceiling: Cost,
    pub(super) attempt: u32,
}

/// The `order`-th call of a stream, counted from 0 in dispatch order. The calls about one arm by one lead attribute
/// (see [`Problem::lead`](crate::Problem::lead)) are a stream, for all pairs that they score. The votes by one
/// attribute on a question are a stream. Calls of generators have no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StreamPosition {
    pub(super) target: Target,
    pub(super) order: u64,
}

/// A void call that must be made again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retry {
    pub(super) target: Target,
    pub(super) ceiling: Cost,
    pub(super) attempt: u32,
}

impl Streams {
    /// The number of the next call.
    pub(crate) const fn ticket_next(&self) -> Ticket {
        Ticket(self.ticket_next)
    }

    /// Gives a call its number.
    pub(super) fn issue(&mut self, call: InFlight) -> Ticket {
        let ticket = self.ticket_next();
        self.ticket_next += 1;
        self.in_flight.push(ticket, call);
        ticket
    }

    /// Adds a retry of a void call.
    pub(super) fn retry(&mut self, call: &InFlight) {
        let (target, ceiling) = (call.position.target, call.ceiling);
        let attempt = call.attempt.saturating_add(1);
        self.retries.push_back(Retry { target, ceiling, attempt });
        *self.retry_counts.entry(target).or_insert(0) += 1;
    }

    /// The target of the oldest retry.
    pub(crate) fn next_retry(&self) -> Option<Target> {
        self.retries.front().map(|retry| retry.target)
    }

    /// Takes the oldest retry.
    pub(super) fn pop_retry(&mut self) -> Option<Retry> {
        let retry = self.retries.pop_front()?;
        let count = self.retry_counts.get_mut(&retry.target).expect("each retry is counted");
        *count -= 1;
        if *count == 0 {
            self.retry_counts.remove(&retry.target);
        }
        Some(retry)
    }

    /// The number of retries that wait to be made.
    pub(crate) fn retry_count(&self, target: Target) -> u64 {
        self.retry_counts.get(&target).copied().unwrap_or(0)
    }

    /// Drops retries, and returns the money that was reserved for them.
    pub(super) fn drop_retries(&mut self, is_dropped: impl Fn(Target) -> bool) -> Cost {
        if self.retries.is_empty() {
            return Cost::ZERO;
        }
        self.retry_counts.retain(|&target, _| !is_dropped(target));
        let mut reserved = Cost::ZERO;
        self.retries.retain(|retry| {
            let dropped = is_dropped(retry.target);
            if dropped {
                reserved = reserved + retry.ceiling;
            }
            !dropped
        });
        reserved
    }

    /// Moves all later calls of a stream up by one position.
    pub(super) fn move_up_after(&mut self, position: StreamPosition) {
        let is_later = |other: &StreamPosition| {
            other.target == position.target && other.order > position.order
        };
        for call in self.in_flight.calls_mut().filter(|call| is_later(&call.position)) {
            call.position.order -= 1;
        }
        let mut later = self.early.split_off(&position);
        while let Some(entry) = later.first_entry().filter(|entry| is_later(entry.key())) {
            let (moved, scores) = entry.remove_entry();
            self.early.insert(StreamPosition { order: moved.order - 1, ..moved }, scores);
        }
        self.early.append(&mut later);
    }
}
