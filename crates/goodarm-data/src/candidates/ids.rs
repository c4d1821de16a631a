//! Ids in one text, with a table from id to number.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Unique ids, numbered in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    pub(super) text: String,
    pub(super) ends: Vec<u64>,
    /// The number of each id, found by the hash of the id. The ids themselves are only in `text`.
    numbers: HashTable<u32>,
    hasher: RandomState,
}

impl Ids {
    pub(super) fn get(&self, index: usize) -> &str {
        &self.text[range(&self.ends, index)]
    }

    pub(super) fn find(&self, id: &str) -> Option<u32> {
        let is_it = |number: &u32| self.get(*number as usize) == id;
        self.numbers.find(self.hasher.hash_one(id), is_it).copied()
    }

    /// Gives the id the next number, `next`; the error is the number that it already has.
    pub(super) fn insert(&mut self, id: &str, next: u32) -> Result<(), u32> {
        assert!(next as usize == self.ends.len(), "ids are numbered in order");
        let id_of = |number: &u32| &self.text[range(&self.ends, *number as usize)];
        let hash_of = |id: &str| self.hasher.hash_one(id);
        match self.numbers.entry(hash_of(id), |it| id_of(it) == id, |it| hash_of(id_of(it))) {
            Entry::Occupied(taken) => return Err(*taken.get()),
            Entry::Vacant(free) => free.insert(next),
        };
        self.text.push_str(id);
        self.ends.push(self.text.len() as u64);
        Ok(())
    }

    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

/// The range of bytes of the text with this index, if texts that end at `ends` follow each other.
pub(super) fn range(ends: &[u64], index: usize) -> Range<usize> {
    end(ends, index)..end(ends, index + 1)
}

/// The end of the first `count` texts.
pub(super) fn end(ends: &[u64], count: usize) -> usize {
    let end = count.checked_sub(1).map_or(0, |last| ends[last]);
    usize::try_from(end).expect("the text is in memory")
}
