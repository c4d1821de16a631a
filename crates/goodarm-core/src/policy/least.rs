//! The pair with the least of something (pulls, money) among the open pairs of active arms; ties go
//! to the smallest arm, then to the smallest attribute. One tree of minima for each attribute, since
//! attributes come and go with the money.

use alloc::vec::Vec;

use crate::books::{Books, Change};
use crate::min_tree::{Key, MinTree};
use crate::units::{ArmId, AttributeId};

#[derive(Clone, Debug)]
pub(crate) struct Least<K> {
    key_of: fn(&Books, ArmId, AttributeId) -> K,
    /// Whether a score or a bill changes a key, or only a call that is let out.
    keyed_by_answers: bool,
    unresolved_only: bool,
    trees: Vec<MinTree<K>>,
}

impl Least<u64> {
    /// The pair with the fewest calls, those that are out included.
    pub(crate) fn fewest_pulls(unresolved_only: bool) -> Self {
        let pulls = |books: &Books, arm, attribute| books.tally(arm, attribute).dispatched_count;
        Self { keyed_by_answers: false, ..Self::new(pulls, unresolved_only) }
    }
}

impl<K: Key> Least<K> {
    /// Keys that change with calls, scores and bills.
    pub(crate) fn new(key_of: fn(&Books, ArmId, AttributeId) -> K, unresolved_only: bool) -> Self {
        Self { key_of, keyed_by_answers: true, unresolved_only, trees: Vec::new() }
    }

    pub(crate) fn begin(&mut self, books: &Books) {
        let problem = books.problem();
        self.trees = problem
            .attributes()
            .map(|attribute| {
                let mut tree = MinTree::new(problem.arm_count(), K::ABSENT);
                tree.fill_with(|index| self.key(books, ArmId::at(index), attribute));
                tree
            })
            .collect();
    }

    pub(crate) fn on_change(&mut self, books: &Books, change: Change) {
        match change {
            Change::Dispatched(arm, attribute) => self.update(books, arm, attribute),
            Change::Observed(arm, attribute) if !self.unresolved_only => {
                if self.keyed_by_answers || !books.is_open(arm, attribute) {
                    self.update(books, arm, attribute);
                }
            }
            Change::Observed(arm, _) | Change::Left(arm) => {
                for attribute in books.problem().attributes() {
                    self.update(books, arm, attribute);
                }
            }
            Change::LevelRaised => self.begin(books),
            Change::PriorsRefreshed | Change::AffordableChanged => {}
        }
    }

    /// The least key with its pair, among affordable attributes.
    pub(crate) fn find(&mut self, books: &Books) -> Option<(K, ArmId, AttributeId)> {
        let mut best: Option<(K, ArmId, AttributeId)> = None;
        for attribute in books.problem().attributes() {
            // Most attributes are out of the question by their root alone.
            let root = self.trees[attribute.index()].min();
            if best.is_some_and(|(least, ..)| root > least) || !books.is_affordable(attribute) {
                continue;
            }
            let Some((key, arm)) = self.find_in(books, attribute) else { continue };
            if best.is_none_or(|(least, first, _)| key < least || (key == least && arm < first)) {
                best = Some((key, arm, attribute));
            }
        }
        best
    }

    fn find_in(&mut self, books: &Books, attribute: AttributeId) -> Option<(K, ArmId)> {
        loop {
            let tree = &mut self.trees[attribute.index()];
            let arm = ArmId::at(tree.argmin()?);
            // A falling level resolves pairs of arms that nothing happened to.
            if !self.unresolved_only || !books.is_resolved(arm, attribute) {
                return Some((tree.min(), arm));
            }
            self.update(books, arm, attribute);
        }
    }

    fn update(&mut self, books: &Books, arm: ArmId, attribute: AttributeId) {
        let key = self.key(books, arm, attribute);
        self.trees[attribute.index()].set(arm.index(), key);
    }

    fn key(&self, books: &Books, arm: ArmId, attribute: AttributeId) -> K {
        let wanted = books.is_open(arm, attribute)
            && !(self.unresolved_only && books.is_resolved(arm, attribute));
        if wanted { (self.key_of)(books, arm, attribute) } else { K::ABSENT }
    }
}
