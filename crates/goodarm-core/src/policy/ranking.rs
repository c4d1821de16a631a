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
    /// How many calls of the arm may be out before the next score is awaited.
    pub(crate) in_flight_max: u32,
}

/// Rates an arm; none if it should not be pulled now.
pub(crate) trait Rule {
    fn rate(&self, books: &Books, arm: ArmId) -> Option<Rating>;
}

#[derive(Clone, Debug)]
pub(crate) struct Ranking<R> {
    rule: R,
    keys: MinTree<f64>,
    states: Vec<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    attribute: AttributeId,
    in_flight: u32,
    in_flight_max: u32,
}

impl<R: Rule> Ranking<R> {
    pub(crate) fn new(rule: R) -> Self {
        Self { rule, keys: MinTree::new(1, f64::ABSENT), states: Vec::new() }
    }

    pub(crate) fn begin(&mut self, books: &Books) {
        let arm_count = books.problem().arm_count();
        let state = State { attribute: AttributeId(0), in_flight: 0, in_flight_max: 0 };
        self.keys = MinTree::new(arm_count, f64::ABSENT);
        self.states = vec![state; arm_count];
        self.rate_all(books);
    }

    pub(crate) fn best(&self, books: &Books) -> Option<(ArmId, AttributeId)> {
        let arm = ArmId::at(self.keys.argmin()?);
        let attribute = self.states[arm.index()].attribute;
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
                state.in_flight += 1;
                if state.in_flight >= state.in_flight_max {
                    self.keys.set(arm.index(), f64::ABSENT);
                }
            }
            Change::Observed(arm, _) => {
                let state = &mut self.states[arm.index()];
                state.in_flight = state.in_flight.saturating_sub(1);
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
        let Some(rating) = rating else { return f64::ABSENT };
        let state = &mut self.states[arm.index()];
        state.attribute = rating.attribute;
        state.in_flight_max = rating.in_flight_max;
        if state.in_flight >= state.in_flight_max { f64::ABSENT } else { rating.key }
    }
}
