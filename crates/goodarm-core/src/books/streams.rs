//! Calls that are not in their pairs' evidence yet: in flight, back before an earlier one of their
//! stream, or void and owed again. It keeps the order of each stream.

use alloc::collections::{BTreeMap, VecDeque};

use crate::books::outstanding::Outstanding;
use crate::call::{Target, Ticket};
use crate::cost::Cost;
use crate::outcome::Outcome;
use crate::units::ServiceId;

/// The streams of all pairs and questions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams {
    pub(super) out: Outstanding<InFlight>,
    /// Scores that are back but wait for an earlier call of their stream.
    pub(super) early: BTreeMap<Place, Outcome>,
    owed: VecDeque<Owed>,
    /// How many of them each stream has; never 0.
    owed_counts: BTreeMap<Target, u64>,
    ticket_next: u64,
}

/// A call in flight: its place in its stream, and what is reserved for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) place: Place,
    pub(super) service: ServiceId,
    pub(super) ceiling: Cost,
    pub(super) attempt: u32,
}

/// The `order`-th call of a stream, counted from 0 in dispatch order. All calls of an arm and an
/// attribute with calls of its own are one stream, which feeds all pairs that these calls score; so
/// are all votes of one kind on a question. Fresh answers have no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) target: Target,
    pub(super) order: u64,
}

/// A void call that must be made again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
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
        self.out.push(ticket, call);
        ticket
    }

    /// Owes a void call again.
    pub(super) fn owe(&mut self, call: &InFlight) {
        let (target, ceiling) = (call.place.target, call.ceiling);
        let attempt = call.attempt.saturating_add(1);
        self.owed.push_back(Owed { target, ceiling, attempt });
        *self.owed_counts.entry(target).or_insert(0) += 1;
    }

    /// The oldest retry that is owed.
    pub(crate) fn owed(&self) -> Option<Target> {
        self.owed.front().map(|owed| owed.target)
    }

    /// Takes the oldest retry from the queue. It counts as owed until [`Self::repay`].
    pub(super) fn next_owed(&mut self) -> Option<Owed> {
        self.owed.pop_front()
    }

    /// A retry of this is made.
    pub(super) fn repay(&mut self, target: Target) {
        if let Some(count) = self.owed_counts.get_mut(&target) {
            *count -= 1;
            if *count == 0 {
                self.owed_counts.remove(&target);
            }
        }
    }

    /// Whether a retry of this is owed.
    pub(crate) fn owes(&self, target: Target) -> bool {
        self.owed_counts.contains_key(&target)
    }

    /// How many retries of this are owed.
    pub(super) fn owed_count(&self, target: Target) -> u64 {
        self.owed_counts.get(&target).copied().unwrap_or(0)
    }

    /// Drops retries, and gives what was reserved for them.
    pub(super) fn drop_owed(&mut self, is_dropped: impl Fn(Target) -> bool) -> Cost {
        if self.owed.is_empty() {
            return Cost::ZERO;
        }
        self.owed_counts.retain(|&target, _| !is_dropped(target));
        let mut reserved = Cost::ZERO;
        self.owed.retain(|owed| {
            let dropped = is_dropped(owed.target);
            if dropped {
                reserved = reserved + owed.ceiling;
            }
            !dropped
        });
        reserved
    }

    /// Gives all later calls of a stream the place before theirs.
    pub(super) fn move_up_after(&mut self, place: Place) {
        let is_later = |other: &Place| other.target == place.target && other.order > place.order;
        for call in self.out.calls_mut().filter(|call| is_later(&call.place)) {
            call.place.order -= 1;
        }
        let mut later = self.early.split_off(&place);
        while let Some(entry) = later.first_entry().filter(|entry| is_later(entry.key())) {
            let (moved, scores) = entry.remove_entry();
            self.early.insert(Place { order: moved.order - 1, ..moved }, scores);
        }
        self.early.append(&mut later);
    }
}
