//! Arms ranked by a number that depends on the arm alone (and on slow things such as priors): the
//! smallest is pulled next. One number is computed for each observation, and found in O(log Q).

use alloc::vec;
use alloc::vec::Vec;

use crate::books::{Books, Change};
use crate::min_tree::{Key, MinTree};
use crate::units::{ArmId, AttributeId};

/// What an arm is worth next, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rating {
    /// The smaller the sooner.
    pub(crate) key: f64,
    pub(crate) attribute: AttributeId,
    /// Added to the key for each call of the arm in flight: its score is not known yet.
    pub(crate) key_per_call_in_flight: f64,
    /// How many more calls of the attribute to dispatch before rating the arm again.
    pub(crate) calls_max: u32,
}

impl Rating {
    const NONE: Self = Self {
        key: f64::ABSENT,
        attribute: AttributeId(0),
        key_per_call_in_flight: 0.0,
        calls_max: u32::MAX,
    };
}

/// Rates an arm; none if it should not be pulled now.
pub(crate) trait Rule {
    fn rate(&mut self, books: &Books, arm: ArmId) -> Option<Rating>;
}

#[derive(Clone, Debug)]
pub(crate) struct Ranking<R> {
    rule: R,
    keys: MinTree<f64>,
    states: Vec<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    rating: Rating,
    calls_in_flight: u32,
}

impl<R: Rule> Ranking<R> {
    pub(crate) fn new(rule: R) -> Self {
        Self { rule, keys: MinTree::new(1, f64::ABSENT), states: Vec::new() }
    }

    pub(crate) fn begin(&mut self, books: &Books) {
        let arm_count = books.problem().arm_count();
        self.keys = MinTree::new(arm_count, f64::ABSENT);
        self.states = vec![State { rating: Rating::NONE, calls_in_flight: 0 }; arm_count];
        self.rate_all(books);
    }

    pub(crate) fn best(&mut self, books: &Books) -> Option<(ArmId, AttributeId)> {
        let arm = ArmId::at(self.keys.argmin()?);
        let attribute = self.states[arm.index()].rating.attribute;
        // A falling level may have resolved the attribute since it was chosen.
        if !books.is_resolved(arm, attribute) {
            return Some((arm, attribute));
        }
        let attribute = self.rule.rate(books, arm).map(|rating| rating.attribute)?;
        Some((arm, attribute))
    }

    pub(crate) fn on_change(&mut self, books: &Books, change: Change) {
        match change {
            Change::Dispatched(arm, _) => {
                let state = &mut self.states[arm.index()];
                state.calls_in_flight += 1;
                state.rating.calls_max = state.rating.calls_max.saturating_sub(1);
                if state.rating.calls_max == 0 {
                    self.rate(books, arm);
                } else {
                    let key = state.key();
                    self.keys.set(arm.index(), key);
                }
            }
            Change::Observed(arm, _) => {
                let state = &mut self.states[arm.index()];
                state.calls_in_flight = state.calls_in_flight.saturating_sub(1);
                self.rate(books, arm);
            }
            Change::Left(arm) => self.keys.set(arm.index(), f64::ABSENT),
            Change::PriorsRefreshed | Change::AffordableChanged | Change::LevelRaised => {
                self.rate_all(books);
            }
        }
    }

    fn rate(&mut self, books: &Books, arm: ArmId) {
        let key = self.key(books, arm);
        self.keys.set(arm.index(), key);
    }

    fn rate_all(&mut self, books: &Books) {
        let mut keys = core::mem::replace(&mut self.keys, MinTree::new(1, f64::ABSENT));
        keys.fill_with(|index| self.key(books, ArmId::at(index)));
        self.keys = keys;
    }

    fn key(&mut self, books: &Books, arm: ArmId) -> f64 {
        let rating = if books.is_active(arm) { self.rule.rate(books, arm) } else { None };
        let state = &mut self.states[arm.index()];
        state.rating = rating.unwrap_or(Rating::NONE);
        state.key()
    }
}

impl State {
    fn key(&self) -> f64 {
        if self.calls_in_flight == 0 {
            return self.rating.key;
        }
        self.rating.key + self.rating.key_per_call_in_flight * f64::from(self.calls_in_flight)
    }
}
