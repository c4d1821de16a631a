//! `bma-gai` and `cb-gai`: Algorithm 1 of the paper, to the letter, without its scan of all pairs.
//!
//! Between two pulls of an arm its intervals only widen: H⁺ only rises and H⁻ only falls with t. So an old H⁺ is a
//! lower bound on the new one, and an H⁻ computed for a later time is a lower bound until then. Two trees of such
//! bounds show which few arms have to be computed again; every decision is made on fresh values, so the pulls are
//! those of the plain transcription, bit for bit. (All operations involved are correctly rounded, hence monotone,
//! except log; and the logs of two whole numbers below 10¹² differ by far more than its error.)

use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::books::{Books, Change};
use crate::min_tree::{MinTree, TreeKey};
use crate::num::{real, real_size};
use crate::policy::least::Least;
use crate::policy::round_robin::Pulls;
use crate::policy::{Choice, Policy, may_resolve};
use crate::units::{ArmId, AttributeId};

/// The 8 in [P Eq. track-allocation-interval].
pub const ALLOCATION_CONSTANT: f64 = 8.0;

/// What may be changed about Algorithm 1; the defaults are the paper's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BmaGaiSettings {
    /// The 8 in √(8 log(t + 1)/N).
    pub allocation_constant: f64,
    /// Departs from [P Alg. 1 l. 5 and 9] if set: explore and fall back only on unresolved pairs.
    pub unresolved_only: bool,
}

impl Default for BmaGaiSettings {
    fn default() -> Self {
        Self { allocation_constant: ALLOCATION_CONSTANT, unresolved_only: false }
    }
}

/// Algorithm 1, and its cost-blind variant.
#[derive(Clone, Debug)]
pub struct BmaGai {
    settings: BmaGaiSettings,
    cost_blind: bool,
    /// c_m in H; all 1 for the cost-blind variant.
    costs: Vec<f64>,
    thresholds: Vec<f64>,
    fewest_pulls: Least<Pulls>,
    /// H⁺ of each arm when it was last computed: at most what it is now.
    conservative: MinTree<f64>,
    /// At most H⁻ of each arm, until the time in `optimistic_until`.
    optimistic: MinTree<f64>,
    optimistic_until: Vec<u64>,
    expiries: BinaryHeap<Reverse<(u64, u32)>>,
    horizon: u64,
    /// The time t for which a logarithm was last computed, and 8 log(t + 1).
    clock: (u64, f64),
    /// An arm whose H⁺ was computed at the time in `clock`.
    fresh: Option<ArmId>,
    /// For each arm an attribute whose interval reaches down to ξ, if one is known. Until that attribute is pulled
    /// again this stays so, and H⁺ is infinite.
    blockers: Vec<Option<AttributeId>>,
}

/// Which end of the allocation interval.
#[derive(Clone, Copy)]
enum End {
    Lower,
    Upper,
}

impl BmaGai {
    /// BMA-GAI.
    pub fn new(settings: BmaGaiSettings) -> Self {
        Self {
            settings,
            cost_blind: false,
            costs: Vec::new(),
            thresholds: Vec::new(),
            fewest_pulls: Least::new(settings.unresolved_only),
            conservative: MinTree::new(1, f64::ABSENT),
            optimistic: MinTree::new(1, 0.0),
            optimistic_until: Vec::new(),
            expiries: BinaryHeap::new(),
            horizon: 0,
            clock: (0, 0.0),
            fresh: None,
            blockers: Vec::new(),
        }
    }

    /// CB-GAI: the same with unit costs in H.
    pub fn cost_blind(settings: BmaGaiSettings) -> Self {
        Self { cost_blind: true, ..Self::new(settings) }
    }

    // [P Eq. track-exploration]  min N < √(t + 1)/D
    fn must_explore(books: &Books, fewest: f64) -> bool {
        let pairs = real_size(books.problem().pair_count());
        let next = real(books.observation_count()) + 1.0;
        // A root and a quotient are slow, and the two sides are hardly ever close.
        let square = (fewest * pairs) * (fewest * pairs);
        if libm::fabs(next - square) > CLOSE * square {
            return square < next;
        }
        fewest < libm::sqrt(next) / pairs
    }

    // [P Eq. track-allocation-interval]  μ̂ ± √(8 log(t + 1)/N); 0 and 1 when N = 0
    fn interval_end(
        books: &Books,
        (arm, attribute): (ArmId, AttributeId),
        scaled_log: f64,
        end: End,
    ) -> f64 {
        let tally = books.tally(arm, attribute);
        if tally.returned_count == 0 {
            return match end {
                End::Lower => 0.0,
                End::Upper => 1.0,
            };
        }
        let radius = libm::sqrt(scaled_log / real(tally.returned_count));
        match end {
            End::Lower => tally.mean() - radius,
            End::Upper => tally.mean() + radius,
        }
    }

    // [P §4, surrogate H]  H(z) = Σ 2c/(z - ξ)² if every z > ξ, else ∞
    fn surrogate(&self, books: &Books, arm: ArmId, scaled_log: f64, end: End) -> f64 {
        let mut sum = 0.0;
        for (index, (&cost, &threshold)) in self.costs.iter().zip(&self.thresholds).enumerate() {
            let pair = (arm, AttributeId::at(index));
            let gap = Self::interval_end(books, pair, scaled_log, end) - threshold;
            if gap <= 0.0 {
                return f64::INFINITY;
            }
            sum += 2.0 * cost / (gap * gap);
        }
        sum
    }

    // [P Eq. track-cost-interval]  ∞ for an arm with no affordable unresolved attribute
    fn cost_index(&self, books: &Books, arm: ArmId, scaled_log: f64, end: End) -> f64 {
        let index = self.surrogate(books, arm, scaled_log, end);
        if index < f64::INFINITY && !Self::has_affordable_unresolved(books, arm) {
            return f64::INFINITY;
        }
        index
    }

    fn has_affordable_unresolved(books: &Books, arm: ArmId) -> bool {
        books.problem().attributes().any(|attribute| may_resolve(books, arm, attribute))
    }

    // [P Eq. track-stable-target]  min{q : H⁻_q ≤ min H⁺}; `None` for min H⁺ = ∞
    fn stable_target(&mut self, books: &Books) -> Option<ArmId> {
        self.conservative.argmin()?;
        let scaled_log = self.scaled_log(books);
        self.expire(books);
        let mut bracket = (0.0, f64::INFINITY);
        self.narrow(books, scaled_log, &mut bracket);
        if bracket.1 == f64::INFINITY {
            return None;
        }
        loop {
            let index = self
                .optimistic
                .first_at_most(bracket.1)
                .expect("an arm whose H⁺ is finite has an H⁻ below it");
            let arm = ArmId::at(index);
            let optimistic = self.cost_index(books, arm, scaled_log, End::Upper);
            if optimistic <= bracket.0 {
                return Some(arm);
            }
            if optimistic > bracket.1 {
                self.exclude(books, arm, optimistic, bracket.1);
            } else {
                self.narrow(books, scaled_log, &mut bracket);
            }
        }
    }

    /// Computes H⁺ again for the arms that may have the smallest one, until one is finite. The smallest H⁺ is then
    /// between the ends of `bracket`.
    fn narrow(&mut self, books: &Books, scaled_log: f64, bracket: &mut (f64, f64)) {
        while let Some(index) = self.conservative.argmin() {
            let stale = self.conservative.key(index);
            let mut fresh = stale;
            if self.fresh != Some(ArmId::at(index)) {
                fresh = self.cost_index(books, ArmId::at(index), scaled_log, End::Lower);
                debug_assert!(fresh >= stale, "H⁺ only rises between two pulls of an arm");
                self.conservative.set(index, fresh);
            }
            bracket.1 = bracket.1.min(fresh);
            bracket.0 = self.conservative.min();
            if bracket.1 < f64::INFINITY {
                return;
            }
        }
    }

    /// Raises the bound of an arm with H⁻ above the limit, and sets a later time until which H⁻ stays above it.
    fn exclude(&mut self, books: &Books, arm: ArmId, now: f64, limit: f64) {
        let time = books.observation_count();
        let (mut bound, mut until) = (now, time);
        let mut span = self.horizon - time;
        while span > 0 {
            let later = self.scaled_log_at(time + span);
            let ahead = self.cost_index(books, arm, later, End::Upper);
            if ahead > limit {
                (bound, until) = (ahead, time + span);
                break;
            }
            span /= 4;
        }
        self.optimistic.set(arm.index(), bound);
        if self.optimistic_until[arm.index()] != until {
            self.optimistic_until[arm.index()] = until;
            self.expiries.push(Reverse((until, arm.0)));
        }
    }

    /// Drops the bounds that have expired.
    fn expire(&mut self, books: &Books) {
        let time = books.observation_count();
        while let Some(&Reverse((until, arm))) = self.expiries.peek() {
            if until >= time {
                break;
            }
            self.expiries.pop();
            if self.optimistic_until[arm as usize] == until {
                self.forget_optimistic(books, ArmId(arm));
            }
        }
        if time >= self.horizon {
            self.horizon = time + time / 8 + 16;
        }
    }

    fn forget_optimistic(&mut self, books: &Books, arm: ArmId) {
        if self.optimistic_until[arm.index()] == u64::MAX {
            return;
        }
        self.optimistic_until[arm.index()] = u64::MAX;
        self.optimistic.set(arm.index(), if books.is_active(arm) { 0.0 } else { f64::ABSENT });
    }

    // [P Eq. track-attribute]  argmin over U_q ∩ M_t of N/ṽ, ṽ = 2/(u - ξ)²
    fn attribute(&mut self, books: &Books, arm: ArmId) -> Option<AttributeId> {
        let scaled_log = self.scaled_log(books);
        let mut best: Option<(f64, AttributeId)> = None;
        for attribute in books.problem().attributes() {
            if !may_resolve(books, arm, attribute) {
                continue;
            }
            let upper = Self::interval_end(books, (arm, attribute), scaled_log, End::Upper);
            let gap = upper - self.thresholds[attribute.index()];
            let requirement = 2.0 / (gap * gap);
            let ratio = real(books.tally(arm, attribute).dispatched_count) / requirement;
            if best.is_none_or(|(least, _)| ratio < least) {
                best = Some((ratio, attribute));
            }
        }
        best.map(|(_, attribute)| attribute)
    }

    fn scaled_log(&mut self, books: &Books) -> f64 {
        let time = books.observation_count();
        if self.clock.0 != time {
            self.clock = (time, self.scaled_log_at(time));
            self.fresh = None;
        }
        self.clock.1
    }

    fn scaled_log_at(&self, time: u64) -> f64 {
        self.settings.allocation_constant * libm::log(real(time) + 1.0)
    }

    fn observed(&mut self, books: &Books, arm: ArmId, attribute: AttributeId) {
        let blocker = self.blockers[arm.index()];
        if blocker.is_some_and(|blocker| blocker != attribute) {
            self.forget_optimistic(books, arm);
        } else {
            self.recompute(books, arm);
        }
    }

    fn recompute(&mut self, books: &Books, arm: ArmId) {
        // An attribute that blocks with the earlier, smaller logarithm blocks now as well, so no new logarithm is
        // needed. An arm whose H⁺ was finite is seldom blocked.
        let was_finite = self.conservative.key(arm.index()) < f64::INFINITY;
        let stale = self.clock.1;
        let blocker = if was_finite { None } else { self.blocker(books, arm, stale) };
        self.blockers[arm.index()] = blocker;
        let index = if blocker.is_some() || !books.is_active(arm) {
            f64::ABSENT
        } else {
            let scaled_log = self.scaled_log(books);
            self.fresh = Some(arm);
            self.cost_index(books, arm, scaled_log, End::Lower)
        };
        self.conservative.set(arm.index(), index);
        self.forget_optimistic(books, arm);
    }

    fn blocker(&self, books: &Books, arm: ArmId, scaled_log: f64) -> Option<AttributeId> {
        books.problem().attributes().find(|&attribute| {
            let lower = Self::interval_end(books, (arm, attribute), scaled_log, End::Lower);
            lower - self.thresholds[attribute.index()] <= 0.0
        })
    }

    fn recompute_all(&mut self, books: &Books) {
        let scaled_log = self.scaled_log(books);
        let active = |index| books.is_active(ArmId::at(index));
        let mut conservative = MinTree::new(books.problem().arm_count(), f64::ABSENT);
        conservative.fill_with(|index| {
            let arm = ArmId::at(index);
            if active(index) {
                self.cost_index(books, arm, scaled_log, End::Lower)
            } else {
                f64::ABSENT
            }
        });
        self.conservative = conservative;
        self.optimistic.fill_with(|index| if active(index) { 0.0 } else { f64::ABSENT });
        self.optimistic_until.fill(u64::MAX);
        self.expiries.clear();
    }
}

impl Policy for BmaGai {
    fn name(&self) -> &'static str {
        if self.cost_blind { "cb-gai" } else { "bma-gai" }
    }

    fn begin(&mut self, books: &Books) {
        let problem = books.problem();
        let price = |attribute| problem.attribute(attribute).price.units();
        self.costs = problem
            .attributes()
            .map(|attribute| if self.cost_blind { 1.0 } else { price(attribute) })
            .collect();
        self.thresholds =
            problem.attributes().map(|attribute| problem.attribute(attribute).threshold).collect();
        self.optimistic = MinTree::new(problem.arm_count(), 0.0);
        self.optimistic_until = vec![u64::MAX; problem.arm_count()];
        self.clock = (0, self.scaled_log_at(0));
        self.blockers = vec![None; problem.arm_count()];
        self.fewest_pulls.begin(books);
        self.recompute_all(books);
    }

    // [P Alg. 1 l. 4-13]
    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let (fewest, arm, attribute) = self.fewest_pulls.find(books)?;
        if Self::must_explore(books, fewest) {
            return Some(Choice::pair(arm, attribute, "explore"));
        }
        let Some(target) = self.stable_target(books) else {
            return Some(Choice::pair(arm, attribute, "fallback"));
        };
        let attribute = self.attribute(books, target)?;
        Some(Choice::pair(target, attribute, "target"))
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        self.fewest_pulls.on_change(books, change);
        match change {
            Change::Observed(arm, attribute) => self.observed(books, arm, attribute),
            Change::Retired(arm) => {
                self.conservative.set(arm.index(), f64::ABSENT);
                self.optimistic.set(arm.index(), f64::ABSENT);
                // The level of the other arms may fall, and resolve their pairs.
                self.fresh = None;
            }
            Change::AffordableChanged => self.recompute_all(books),
            Change::Released(arm) => self.recompute(books, arm),
            // An exact pair closes when it is asked.
            Change::Dispatched(arm, attribute) => {
                if books.problem().attribute(attribute).is_exact() {
                    self.recompute(books, arm);
                }
            }
            Change::PriorsRefreshed | Change::Lent(_) | Change::Question(_) | Change::Added(_) => {}
        }
    }
}

/// The relative distance beyond which rounding cannot change the result of a comparison.
const CLOSE: f64 = 1e-9;
