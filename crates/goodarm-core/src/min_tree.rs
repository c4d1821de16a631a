//! The smallest of many keys, of which one changes at a time: O(log n) to change a key, O(log n) to
//! find the leftmost minimum or the leftmost key below a limit.
//!
//! Fan-out eight: the children of a node lie side by side in one or two cache lines, and a million
//! keys make seven levels.

use alloc::vec;
use alloc::vec::Vec;

use crate::cost::Cost;

/// A key with a largest value, which stands for "absent".
pub(crate) trait TreeKey: Copy + PartialOrd {
    const ABSENT: Self;
}

impl TreeKey for f64 {
    const ABSENT: Self = Self::INFINITY;
}

impl TreeKey for u64 {
    const ABSENT: Self = Self::MAX;
}

impl TreeKey for Cost {
    const ABSENT: Self = Self::from_picos(u128::MAX);
}

const FAN_OUT: usize = 8;

/// A tree of minima over a fixed number of keys.
#[derive(Clone, Debug)]
pub(crate) struct MinTree<K> {
    /// The keys first, then the minima of each eight of them, and so on up to one.
    levels: Vec<Vec<K>>,
    /// The top of the tree.
    min: K,
    /// The result of [`MinTree::argmin`]; `None` if it has to be computed again.
    argmin: Option<usize>,
}

impl<K: TreeKey> MinTree<K> {
    pub(crate) fn new(count: usize, key: K) -> Self {
        let mut levels = vec![vec![key; count]];
        let mut width = count;
        while width > 1 {
            width = width.div_ceil(FAN_OUT);
            levels.push(vec![key; width]);
        }
        Self { levels, min: key, argmin: None }
    }

    pub(crate) fn key(&self, index: usize) -> K {
        self.levels[0][index]
    }

    pub(crate) fn set(&mut self, index: usize, key: K) {
        if self.argmin.is_some_and(|argmin| argmin == index || key <= self.key(argmin)) {
            self.argmin = None;
        }
        let mut position = index;
        let mut smallest = key;
        for level in 0..self.levels.len() {
            if self.levels[level][position] == smallest {
                return;
            }
            self.levels[level][position] = smallest;
            let first = position - position % FAN_OUT;
            let siblings = &self.levels[level];
            let last = (first + FAN_OUT).min(siblings.len());
            smallest = siblings[first..last].iter().copied().fold(K::ABSENT, min);
            position /= FAN_OUT;
        }
        self.min = smallest;
    }

    /// Adds a key at the end.
    pub(crate) fn push(&mut self, key: K) {
        self.levels[0].push(K::ABSENT);
        let mut below = 0;
        while self.levels[below].len() > 1 {
            if self.levels.len() == below + 1 {
                self.levels.push(Vec::new());
            }
            let width = self.levels[below].len().div_ceil(FAN_OUT);
            for node in self.levels[below + 1].len()..width {
                let children = self.levels[below].iter().skip(node * FAN_OUT).take(FAN_OUT);
                let smallest = children.copied().fold(K::ABSENT, min);
                self.levels[below + 1].push(smallest);
            }
            below += 1;
        }
        self.set(self.levels[0].len() - 1, key);
    }

    /// Sets every key at once: O(n), cheaper than n times [`MinTree::set`].
    pub(crate) fn fill_with(&mut self, mut key_at: impl FnMut(usize) -> K) {
        let count = self.levels[0].len();
        self.fill((0..count).map(|index| (index, key_at(index))));
    }

    /// Sets the keys of all these indices at once.
    pub(crate) fn fill(&mut self, keys: impl Iterator<Item = (usize, K)>) {
        self.argmin = None;
        for (index, key) in keys {
            self.levels[0][index] = key;
        }
        for level in 1..self.levels.len() {
            let (below, above) = self.levels.split_at_mut(level);
            let children = &below[level - 1];
            for (node, eight) in above[0].iter_mut().zip(children.chunks(FAN_OUT)) {
                *node = eight.iter().copied().fold(K::ABSENT, min);
            }
        }
        self.min = self.levels.last().and_then(|top| top.first()).copied().unwrap_or(K::ABSENT);
    }

    pub(crate) const fn min(&self) -> K {
        self.min
    }

    /// The leftmost index with the smallest key; `None` if every key is absent.
    pub(crate) fn argmin(&mut self) -> Option<usize> {
        if self.argmin.is_none() {
            let min = self.min();
            self.argmin = if min == K::ABSENT { None } else { self.first_at_most(min) };
        }
        self.argmin
    }

    /// The leftmost index whose key is at most `limit`. The limit must be below [`TreeKey::ABSENT`].
    pub(crate) fn first_at_most(&self, limit: K) -> Option<usize> {
        if self.min() > limit {
            return None;
        }
        let mut position = 0;
        for level in (0..self.levels.len() - 1).rev() {
            let first = position * FAN_OUT;
            let children = &self.levels[level];
            let last = (first + FAN_OUT).min(children.len());
            position = first
                + children[first..last]
                    .iter()
                    .position(|&key| key <= limit)
                    .expect("a node is the minimum of its children");
        }
        Some(position)
    }
}

fn min<K: TreeKey>(one: K, other: K) -> K {
    if other < one { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grown_tree_equals_a_new_one_of_that_size() {
        let mut grown = MinTree::new(0, f64::ABSENT);
        let mut state = 3_u64;
        for count in 1..200_usize {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = f64::from((state >> 40) as u32);
            grown.push(key);
            let mut other = MinTree::new(count, f64::ABSENT);
            other.fill_with(|index| grown.key(index));
            assert_eq!(grown.argmin(), other.argmin());
            assert_eq!(grown.levels, other.levels);
        }
    }

    #[test]
    fn it_agrees_with_a_linear_scan() {
        let mut state = 1_u64;
        let mut next = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (state >> 33) % bound
        };
        for count in [1_usize, 2, 7, 8, 9, 12, 63, 64, 65, 600] {
            let mut keys = vec![3_u64; count];
            let mut tree = MinTree::new(count, 3_u64);
            for _ in 0..2000 {
                let index = usize::try_from(next(count as u64)).unwrap();
                let key = match next(10) {
                    0 => u64::ABSENT,
                    _ => next(6),
                };
                keys[index] = key;
                tree.set(index, key);
                let smallest = *keys.iter().min().unwrap();
                let leftmost = keys.iter().position(|&key| key == smallest);
                assert_eq!(tree.argmin(), leftmost.filter(|_| smallest != u64::ABSENT));
                assert_eq!(tree.first_at_most(4), keys.iter().position(|&key| key <= 4));
            }
            let mut filled = MinTree::new(count, 0);
            filled.fill_with(|index| keys[index]);
            assert_eq!(filled.levels, tree.levels);
        }
    }
}
