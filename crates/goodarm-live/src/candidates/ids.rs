//! Ids in one text, and the way back from an id to its place.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

/// Unique ids, numbered in the order of their arrival.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    text: String,
    ends: Vec<u64>,
    /// An open hash table of numbers: at most half full, a power of two long.
    slots: Vec<u32>,
    hasher: RandomState,
}

const EMPTY: u32 = u32::MAX;

impl Ids {
    pub(super) fn get(&self, index: usize) -> &str {
        &self.text[range(&self.ends, index)]
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn ends(&self) -> &[u64] {
        &self.ends
    }

    pub(super) fn find(&self, id: &str) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let found = self.slots[self.slot_of(id)];
        (found != EMPTY).then_some(found)
    }

    /// Gives the id the next number, `next`, or says whose it is already.
    pub(super) fn insert(&mut self, id: &str, next: u32) -> Result<(), u32> {
        assert!(next != EMPTY && next as usize == self.ends.len(), "ids are numbered in order");
        if self.slots.len() <= 2 * self.ends.len() {
            self.grow();
        }
        let slot = self.slot_of(id);
        if self.slots[slot] != EMPTY {
            return Err(self.slots[slot]);
        }
        self.slots[slot] = next;
        self.text.push_str(id);
        self.ends.push(self.text.len() as u64);
        Ok(())
    }

    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Where an id is, or the empty slot where it would be.
    fn slot_of(&self, id: &str) -> usize {
        let mask = self.slots.len() - 1;
        #[expect(clippy::cast_possible_truncation, reason = "any bits of a hash will do")]
        let mut slot = self.hasher.hash_one(id) as usize & mask;
        while self.slots[slot] != EMPTY && self.get(self.slots[slot] as usize) != id {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let length = (2 * self.slots.len()).max(16);
        self.slots.clear();
        self.slots.resize(length, EMPTY);
        for number in (0..EMPTY).take(self.ends.len()) {
            let slot = self.slot_of(self.get(number as usize));
            self.slots[slot] = number;
        }
    }
}

/// The place of a text among others that stand one behind the other.
pub(super) fn range(ends: &[u64], index: usize) -> Range<usize> {
    let start = index.checked_sub(1).map_or(0, |before| ends[before]);
    in_memory(start)..in_memory(ends[index])
}

fn in_memory(end: u64) -> usize {
    usize::try_from(end).expect("the text is in memory")
}
