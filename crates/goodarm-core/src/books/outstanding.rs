//! The calls in flight, by ticket. Tickets are given out in order and mostly come back soon, so a
//! queue with holes does in a few steps what a map does in many.

use alloc::collections::VecDeque;

use crate::call::Ticket;

#[derive(Clone, Debug)]
pub(super) struct Outstanding<T> {
    /// The calls in the order of their tickets; `None`, a hole, for a call that was removed.
    queue: VecDeque<(Ticket, Option<T>)>,
    count: usize,
}

impl<T> Default for Outstanding<T> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), count: 0 }
    }
}

impl<T> Outstanding<T> {
    /// Adds a call with a ticket above all earlier ones.
    pub(super) fn push(&mut self, ticket: Ticket, call: T) {
        debug_assert!(self.queue.back().is_none_or(|(last, _)| *last < ticket));
        self.queue.push_back((ticket, Some(call)));
        self.count += 1;
    }

    pub(super) fn get(&self, ticket: Ticket) -> Option<&T> {
        self.queue[self.position(ticket)?].1.as_ref()
    }

    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<T> {
        let position = self.position(ticket)?;
        let call = self.queue[position].1.take()?;
        self.count -= 1;
        while self.queue.front().is_some_and(|(_, call)| call.is_none()) {
            self.queue.pop_front();
        }
        // One call that never comes back must not keep the holes of all later calls in memory.
        if self.queue.len() > HOLES_MIN && self.queue.len() > 2 * self.count {
            self.queue.retain(|(_, call)| call.is_some());
        }
        Some(call)
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &T> {
        self.queue.iter().filter_map(|(_, call)| call.as_ref())
    }

    pub(super) fn calls_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.queue.iter_mut().filter_map(|(_, call)| call.as_mut())
    }

    pub(super) fn tickets(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.queue.iter().filter(|(_, call)| call.is_some()).map(|(ticket, _)| *ticket)
    }

    fn position(&self, ticket: Ticket) -> Option<usize> {
        self.queue.binary_search_by_key(&ticket, |(ticket, _)| *ticket).ok()
    }
}

const HOLES_MIN: usize = 64;

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn it_equals_a_map_and_drops_its_holes() {
        let mut state = 5_u64;
        let (mut queue, mut map) = (Outstanding::default(), BTreeMap::new());
        for ticket in 0..5000 {
            queue.push(Ticket(ticket), ticket);
            map.insert(Ticket(ticket), ticket);
            for _ in 0..2 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Ticket 0 never comes back.
                let chosen = Ticket(1 + (state >> 33) % (ticket + 1));
                assert_eq!(queue.get(chosen), map.get(&chosen));
                assert_eq!(queue.remove(chosen), map.remove(&chosen));
            }
            assert_eq!(queue.len(), map.len());
            assert!(queue.queue.len() <= HOLES_MIN.max(2 * map.len()) + 1);
        }
        assert_eq!(queue.tickets().collect::<Vec<_>>(), map.keys().copied().collect::<Vec<_>>());
    }
}
