//! Arms ranked by a number that depends on the arm alone (and on things that change rarely, such as priors): the
//! arm with the smallest number is pulled next. For each observation one number is computed; the smallest is found
//! in O(log Q).

use alloc::vec;
use alloc::vec::Vec;

use crate::books::{Books, Change};
use crate::min_tree::{MinTree, TreeKey};
use crate::policy::{Choice, Policy};
use crate::units::{ArmId, AttributeId, Share};

/// The next call of an arm, and how urgent it is.
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

/// Rates arms: an index policy.
pub(crate) trait ArmIndex {
    /// The name of the policy that pulls the best arm.
    const NAME: &'static str;
    /// The branch that traces show.
    const BRANCH: &'static str;

    /// The rating of an arm; `None` if it should not be pulled now.
    fn rate(&mut self, books: &Books, arm: ArmId) -> Option<Rating>;

    /// Called before all arms are rated.
    fn begin(&mut self, _books: &Books) {}

    /// What to lend the arm of a choice; see [`Policy::lend`].
    fn lend(&mut self, books: &Books, _choice: Choice) -> Option<Share> {
        books.lending()?.equal_share()
    }

    /// Whether something has changed that requires all arms to be rated again.
    fn is_stale(&self, _books: &Books) -> bool {
        false
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Ranking<R> {
    rule: R,
    ties: Ties,
    /// The key of each arm, by place in the order of ties.
    keys: MinTree<f64>,
    /// The state of each arm.
    states: Vec<State>,
    /// The arm of the last call, if its key does not include that call yet: most of the time the score is back
    /// before the next choice.
    late: Option<ArmId>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    rating: Rating,
    calls_in_flight: u32,
}

impl<R: ArmIndex> Ranking<R> {
    /// Ties go to the smallest arm.
    pub(crate) fn new(rule: R) -> Self {
        Self::with_ties(rule, Ties::ByNumber)
    }

    /// Ties are broken in an order that is drawn from a seed.
    pub(crate) fn shuffled(rule: R, seed: u64) -> Self {
        Self::with_ties(rule, Ties::Shuffled(Order { seed, arms: Vec::new(), places: Vec::new() }))
    }

    fn with_ties(rule: R, ties: Ties) -> Self {
        Self { rule, ties, keys: MinTree::new(1, f64::ABSENT), states: Vec::new(), late: None }
    }

    pub(crate) const fn rule(&mut self) -> &mut R {
        &mut self.rule
    }

    /// Adds a new arm at the end; among arms with the same key it comes last.
    pub(crate) fn add(&mut self, books: &Books, arm: ArmId) {
        self.catch_up();
        self.ties.add(arm);
        self.keys.push(f64::ABSENT);
        let calls_in_flight = books.outstanding_arms().filter(|&of| of == arm).count();
        let calls_in_flight = u32::try_from(calls_in_flight).unwrap_or(u32::MAX);
        self.states.push(State { rating: Rating::NONE, calls_in_flight });
        self.rate(books, arm);
    }

    /// The smallest key; infinite if no arm should be pulled.
    pub(crate) fn best_key(&mut self) -> f64 {
        self.catch_up();
        self.keys.min()
    }

    fn catch_up(&mut self) {
        if let Some(arm) = self.late.take() {
            let key = self.states[arm.index()].key();
            self.keys.set(self.ties.place_of(arm), key);
        }
    }

    pub(crate) fn rate(&mut self, books: &Books, arm: ArmId) {
        if self.late == Some(arm) {
            self.late = None;
        }
        let key = self.key(books, arm);
        self.keys.set(self.ties.place_of(arm), key);
    }

    fn rate_all_if_stale(&mut self, books: &Books) {
        if self.rule.is_stale(books) {
            self.rate_all(books);
        }
    }

    fn rate_all(&mut self, books: &Books) {
        self.rule.begin(books);
        self.late = None;
        let mut keys = core::mem::replace(&mut self.keys, MinTree::new(1, f64::ABSENT));
        keys.fill(
            books.problem().arms().map(|arm| (self.ties.place_of(arm), self.key(books, arm))),
        );
        self.keys = keys;
    }

    fn key(&mut self, books: &Books, arm: ArmId) -> f64 {
        let rating = if books.is_active(arm) { self.rule.rate(books, arm) } else { None };
        let state = &mut self.states[arm.index()];
        state.rating = rating.unwrap_or(Rating::NONE);
        state.key()
    }
}

impl<R: ArmIndex> Policy for Ranking<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn begin(&mut self, books: &Books) {
        let arm_count = books.problem().arm_count();
        self.ties.begin(arm_count);
        self.keys = MinTree::new(arm_count, f64::ABSENT);
        self.states = vec![State { rating: Rating::NONE, calls_in_flight: 0 }; arm_count];
        for arm in books.outstanding_arms() {
            self.states[arm.index()].calls_in_flight += 1;
        }
        self.rate_all(books);
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        self.catch_up();
        let arm = self.ties.arm_at(self.keys.argmin()?);
        let attribute = self.states[arm.index()].rating.attribute;
        // A falling level may have resolved the attribute since it was chosen.
        if !books.is_resolved(arm, attribute) {
            return Some(Choice::pair(arm, attribute, R::BRANCH));
        }
        let attribute = self.rule.rate(books, arm).map(|rating| rating.attribute)?;
        Some(Choice::pair(arm, attribute, R::BRANCH))
    }

    fn lend(&mut self, books: &Books, choice: Choice) -> Option<Share> {
        self.rule.lend(books, choice)
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        match change {
            // One call scores all attributes of a lead; the change of the lead is enough.
            Change::Dispatched(_, attribute) | Change::Observed(_, attribute)
                if books.problem().lead(attribute) != attribute => {}
            Change::Dispatched(arm, _) => {
                let state = &mut self.states[arm.index()];
                state.calls_in_flight += 1;
                state.rating.calls_max = state.rating.calls_max.saturating_sub(1);
                if state.rating.calls_max == 0 {
                    self.rate(books, arm);
                } else if self.late != Some(arm) {
                    self.catch_up();
                    self.late = Some(arm);
                }
            }
            Change::Observed(arm, _) => {
                let state = &mut self.states[arm.index()];
                state.calls_in_flight = state.calls_in_flight.saturating_sub(1);
                self.rate(books, arm);
            }
            Change::Lent(arm) | Change::Released(arm) => {
                self.rate(books, arm);
                self.rate_all_if_stale(books);
            }
            Change::Retired(arm) => {
                self.catch_up();
                self.keys.set(self.ties.place_of(arm), f64::ABSENT);
                self.rate_all_if_stale(books);
            }
            Change::PriorsRefreshed | Change::AffordableChanged => self.rate_all(books),
            Change::Question(_) | Change::Added(_) => {}
        }
    }
}

/// Which of several arms with the same key is the first.
#[derive(Clone, Debug)]
enum Ties {
    ByNumber,
    Shuffled(Order),
}

/// A random order of arms. The order of a file may have a meaning, so the first arms may not be a fair sample.
#[derive(Clone, Debug)]
struct Order {
    seed: u64,
    arms: Vec<ArmId>,
    places: Vec<u32>,
}

impl Ties {
    fn begin(&mut self, arm_count: usize) {
        let Self::Shuffled(order) = self else { return };
        order.arms = (0..arm_count).map(ArmId::at).collect();
        let mut state = order.seed;
        for last in (1..arm_count).rev() {
            let place = bits(&mut state) % (last as u64 + 1);
            order.arms.swap(last, usize::try_from(place).expect("below the number of arms"));
        }
        order.places = vec![0; arm_count];
        for (place, arm) in order.arms.iter().enumerate() {
            order.places[arm.index()] = ArmId::at(place).0;
        }
    }

    fn add(&mut self, arm: ArmId) {
        if let Self::Shuffled(order) = self {
            order.places.push(arm.0);
            order.arms.push(arm);
        }
    }

    fn arm_at(&self, place: usize) -> ArmId {
        match self {
            Self::ByNumber => ArmId::at(place),
            Self::Shuffled(order) => order.arms[place],
        }
    }

    fn place_of(&self, arm: ArmId) -> usize {
        match self {
            Self::ByNumber => arm.index(),
            Self::Shuffled(order) => order.places[arm.index()] as usize,
        }
    }
}

// SplitMix64.
const fn bits(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut bits = *state;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

impl State {
    fn key(&self) -> f64 {
        if self.calls_in_flight == 0 {
            return self.rating.key;
        }
        self.rating.key + self.rating.key_per_call_in_flight * f64::from(self.calls_in_flight)
    }
}
