//! The pair with the least of something (pulls, money) among the open pairs of active arms; ties go
//! to the smallest arm, then to the smallest attribute.
//!
//! One tree of minima over all pairs, arm by arm, as long as there is money for every attribute; then
//! one for each attribute, since attributes become affordable and unaffordable.

use alloc::vec::Vec;

use crate::books::{Books, Change};
use crate::min_tree::{MinTree, TreeKey};
use crate::policy::{Choice, Policy};
use crate::units::{ArmId, AttributeId};

/// The quantity of which the next pair has the least.
pub(crate) trait Measure {
    /// The type of its values.
    type Key: TreeKey;
    /// The name of the policy that pulls the pair with the least of it.
    const NAME: &'static str;
    /// The branch that traces show.
    const BRANCH: &'static str;
    /// True if a score or a bill can change a key; false if only a dispatch can.
    const KEYED_BY_ANSWERS: bool;

    /// The value of the quantity for a pair.
    fn key(books: &Books, arm: ArmId, attribute: AttributeId) -> Self::Key;
}

/// Pulls the open, affordable pair with the least of something.
#[derive(Clone, Debug)]
pub(crate) struct Least<M: Measure> {
    unresolved_only: bool,
    trees: Vec<MinTree<M::Key>>,
    /// How many attributes a tree holds: all of them, or one.
    width: usize,
}

impl<M: Measure> Least<M> {
    /// With `unresolved_only`, pairs whose evidence is enough get no more calls.
    pub(crate) const fn new(unresolved_only: bool) -> Self {
        Self { unresolved_only, trees: Vec::new(), width: 1 }
    }

    /// Adds an arm at the end.
    pub(crate) fn push(&mut self, books: &Books, arm: ArmId) {
        for number in 0..self.trees.len() {
            for place in 0..self.width {
                let key = self.key(books, arm, AttributeId::at(number * self.width + place));
                self.trees[number].push(key);
            }
        }
    }

    /// The least key with its pair, among affordable attributes.
    pub(crate) fn find(&mut self, books: &Books) -> Option<(M::Key, ArmId, AttributeId)> {
        if self.unresolved_only {
            self.forget_resolved(books);
        }
        let mut best: Option<(M::Key, ArmId, AttributeId)> = None;
        for number in 0..self.trees.len() {
            // The root alone rules out most trees.
            let key = self.trees[number].min();
            if best.is_some_and(|(least, ..)| key > least) {
                continue;
            }
            let Some((arm, attribute)) = self.first(number) else { continue };
            if books.is_affordable(attribute)
                && !books.lane_of(attribute).is_held()
                && best.is_none_or(|(least, first, _)| key < least || (key == least && arm < first))
            {
                best = Some((key, arm, attribute));
            }
        }
        best
    }

    /// The pair with the least key of a tree.
    fn first(&mut self, tree: usize) -> Option<(ArmId, AttributeId)> {
        let index = self.trees[tree].argmin()?;
        let (arm, attribute) = (index / self.width, index % self.width);
        Some((ArmId::at(arm), AttributeId::at(tree * self.width + attribute)))
    }

    /// Drops resolved pairs: a falling level resolves pairs of arms without any change of their own.
    fn forget_resolved(&mut self, books: &Books) {
        for tree in 0..self.trees.len() {
            while let Some((arm, attribute)) = self.first(tree) {
                if !books.is_resolved(arm, attribute) {
                    break;
                }
                self.update(books, arm, attribute);
            }
        }
    }

    /// Splits the one tree the first time that an attribute cannot be called; returns whether it did. The trees
    /// stay split, so that they are not rebuilt each time this changes.
    fn split_if_unaffordable(&mut self, books: &Books) -> bool {
        let is_unaffordable =
            |attribute| !books.is_affordable(attribute) || books.lane_of(attribute).is_held();
        let split = self.width > 1 && books.problem().attributes().any(is_unaffordable);
        if split {
            self.width = 1;
            self.fill(books);
        }
        split
    }

    fn fill(&mut self, books: &Books) {
        let problem = books.problem();
        self.trees = (0..problem.attribute_count() / self.width)
            .map(|number| {
                let mut tree = MinTree::new(problem.arm_count() * self.width, M::Key::ABSENT);
                tree.fill_with(|index| {
                    let attribute = AttributeId::at(number * self.width + index % self.width);
                    self.key(books, ArmId::at(index / self.width), attribute)
                });
                tree
            })
            .collect();
    }

    fn update(&mut self, books: &Books, arm: ArmId, attribute: AttributeId) {
        let key = self.key(books, arm, attribute);
        let (tree, place) =
            if self.width > 1 { (0, attribute.index()) } else { (attribute.index(), 0) };
        self.trees[tree].set(arm.index() * self.width + place, key);
    }

    fn key(&self, books: &Books, arm: ArmId, attribute: AttributeId) -> M::Key {
        let wanted = books.is_open(arm, attribute)
            && !(self.unresolved_only && books.is_resolved(arm, attribute));
        if wanted { M::key(books, arm, attribute) } else { M::Key::ABSENT }
    }
}

impl<M: Measure> Policy for Least<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn begin(&mut self, books: &Books) {
        self.width = books.problem().attribute_count();
        if !self.split_if_unaffordable(books) {
            self.fill(books);
        }
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let (_, arm, attribute) = self.find(books)?;
        Some(Choice::pair(arm, attribute, M::BRANCH))
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        match change {
            Change::Dispatched(arm, attribute) => self.update(books, arm, attribute),
            Change::Observed(arm, attribute) if !self.unresolved_only => {
                if M::KEYED_BY_ANSWERS || !books.is_open(arm, attribute) {
                    self.update(books, arm, attribute);
                }
            }
            Change::Observed(arm, _) | Change::Retired(arm) | Change::Released(arm) => {
                for attribute in books.problem().attributes() {
                    self.update(books, arm, attribute);
                }
            }
            Change::AffordableChanged => {
                self.split_if_unaffordable(books);
            }
            Change::PriorsRefreshed | Change::Lent(_) | Change::Question(_) | Change::Added(_) => {}
        }
    }
}
