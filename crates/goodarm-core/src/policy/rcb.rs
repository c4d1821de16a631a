//! `rcb`: the staged remaining-cost index, our default.
//!
//! For each arm: what will it cost to certify it, given that testing stops at the first attribute
//! that fails, divided by the probability that it comes to a certificate at all? The unresolved
//! attributes are tested in an order, cheapest rejection first; a test's cost is lost at the first
//! failure, the rest is paid only if all pass. The arm with the smallest such price is pulled on its
//! first attribute. It is a Gittins rate with abandonment between stages; beliefs come from the
//! attribute's prior, learned over all arms, and from the arm's own scores.

mod memory;

use alloc::vec::Vec;

use crate::bills::ExpectedBills;
use crate::books::{ArmStatus, Books, Change, Pair};
use crate::num::real;
use crate::offer::{offered_level, offered_share};
use crate::outlook::Outlook;
use crate::policy::ranking::{Ranking, Rating, Rule};
use crate::policy::rcb::memory::Memory;
use crate::policy::{Choice, Policy};
use crate::units::{ArmId, AttributeId, Share};

/// The staged remaining-cost index.
#[derive(Clone, Debug)]
pub struct Rcb {
    ranking: Ranking<RemainingCost>,
}

#[derive(Clone, Debug, Default)]
struct RemainingCost {
    /// The level of arms without a share of δ, as of when they were last rated.
    offered_level: f64,
    /// How many scores were back when all arms were last rated.
    rated_at: u64,
    /// The rating of all arms that were never asked about, since then.
    untouched: Option<Option<Rating>>,
    /// The arm's unresolved attributes in the order of their tests; kept to save allocations.
    stages: Vec<Stage>,
    memory: Memory,
}

impl Rcb {
    /// With seed 0.
    pub fn new() -> Self {
        Self::seeded(0)
    }

    /// Arms that look alike are tried in an order that is drawn from the seed, never in that of
    /// their numbers, which may mean something.
    pub fn seeded(seed: u64) -> Self {
        Self { ranking: Ranking::shuffled(RemainingCost::default(), seed) }
    }
}

impl Default for Rcb {
    fn default() -> Self {
        Self::new()
    }
}

/// One unresolved attribute of an arm.
#[derive(Clone, Copy, Debug)]
struct Stage {
    attribute: AttributeId,
    cost: f64,
    outlook: Outlook,
    /// The price of a rejection here, √(cost of changing our mind)/P(fail).
    order: f64,
    /// Calls in flight, or back but behind one in flight: they will be evidence.
    ahead: u64,
}

impl Rule for RemainingCost {
    fn rate(&mut self, books: &Books, arm: ArmId) -> Option<Rating> {
        // Prior weights make arms different from the start.
        if books.is_touched(arm) || books.problem().prior_weights().is_some() {
            return self.rate_one(books, arm);
        }
        if self.untouched.is_none() {
            self.untouched = Some(self.rate_one(books, arm));
        }
        self.untouched.flatten()
    }

    fn begin(&mut self, books: &Books) {
        self.memory.begin(books);
        self.offered_level = offered_level(books);
        self.rated_at = books.observation_count();
        self.untouched = None;
    }

    /// What is offered changes with every loan, most of the time by little; and to rate all arms anew
    /// takes time that must be worth it.
    fn is_stale(&self, books: &Books) -> bool {
        let news = books.observation_count() - self.rated_at;
        books.pool().is_some()
            && 2 * news >= books.problem().arm_count() as u64
            && libm::fabs(offered_level(books) - self.offered_level) > OFFER_CHANGE_MIN
    }
}

impl RemainingCost {
    fn rate_one(&mut self, books: &Books, arm: ArmId) -> Option<Rating> {
        if books.status(arm) == ArmStatus::Rejected {
            return None;
        }
        self.stages.clear();
        let bills = ExpectedBills::of(books, arm);
        let level = books.level_above_base(arm);
        let offered = level == f64::INFINITY;
        for (attribute, pair) in books.problem().attributes().zip(books.pairs_of(arm)) {
            let base = books.base(attribute);
            if pair.evidence.held >= level + base {
                continue;
            }
            // An arm that cannot be finished is not begun; an exact answer is worth waiting for.
            if !books.is_affordable(attribute) || pair.evidence.closed {
                return None;
            }
            let need = if offered { self.offered_level } else { level + base } + MARGIN;
            let prospect = self.memory.prospect(books, (arm, attribute), OPTIMISM);
            let outlook = prospect.outlook(books, (arm, attribute), need);
            let stage = Stage::new(bills.get(attribute), (attribute, pair), outlook);
            let place = self.stages.iter().position(|later| stage.order < later.order);
            self.stages.insert(place.unwrap_or(self.stages.len()), stage);
        }
        let favour = if books.share(arm).is_some() { FAVOUR_OF_SHARES } else { 1.0 };
        rate_stages(&self.stages, favour)
    }

    /// Whether so much of the arm's price has been paid, and so little doubt is left, that it should have
    /// a share before the next call, which then counts.
    fn should_borrow(&mut self, books: &Books, choice: Choice, share: Share) -> bool {
        let need = books.level_of(share) + MARGIN;
        let bills = ExpectedBills::of(books, choice.arm);
        let (mut price, mut probability) = (0.0, 1.0);
        let (mut paid, mut next) = (0.0, 0.0);
        for attribute in books.problem().attributes() {
            if books.is_resolved(choice.arm, attribute) {
                continue;
            }
            let pair = (choice.arm, attribute);
            let prospect = self.memory.prospect(books, pair, OPTIMISM);
            let outlook = prospect.outlook(books, pair, need);
            let bill = bills.get(attribute);
            price += bill * outlook.remaining;
            probability *= outlook.pass_probability;
            paid += bill * real(books.tally(choice.arm, attribute).dispatched_count);
            if attribute == choice.attribute {
                next = bill;
            }
        }
        let part = (paid + next) / price;
        part > PAID_MAX || (part > PAID_MIN && probability > TRUSTED)
    }
}

impl Stage {
    fn new(cost: f64, (attribute, pair): (AttributeId, &Pair), outlook: Outlook) -> Self {
        let failure = 1.0 - outlook.pass_probability + FAILURE_MIN;
        let order = libm::sqrt(cost * outlook.revision) / failure;
        let ahead = pair.tally.dispatched_count - pair.evidence.count;
        Self { attribute, cost, outlook, order, ahead }
    }
}

// I = Σ_j c_j (r_j - t_j + t_j/P_j), P_j the probability that attribute j and all after it pass
fn rate_stages(stages: &[Stage], favour: f64) -> Option<Rating> {
    let mut price = 0.0;
    let mut probability = 1.0;
    for Stage { cost, outlook, .. } in stages.iter().rev() {
        probability *= outlook.pass_probability;
        let wasted = outlook.revision / f64::max(probability, PROBABILITY_MIN);
        price += cost * (outlook.remaining - outlook.revision + wasted);
    }
    // Where all the calls that are needed are in flight, the next attribute has its turn.
    let unfinished = |stage: &&Stage| real(stage.ahead) < stage.outlook.remaining;
    let next = stages.iter().find(unfinished)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of calls")]
    let calls_max = libm::ceil(next.outlook.remaining - real(next.ahead)).clamp(1.0, 1e9) as u32;
    Some(Rating {
        key: price * favour,
        attribute: next.attribute,
        key_per_call_in_flight: IN_FLIGHT_PENALTY * price * favour / next.outlook.revision,
        calls_max,
    })
}

impl Policy for Rcb {
    fn name(&self) -> &'static str {
        "rcb"
    }

    fn begin(&mut self, books: &Books) {
        self.ranking.begin(books);
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let (arm, attribute) = self.ranking.best(books)?;
        Some(Choice { arm, attribute, branch: "index" })
    }

    fn lend(&mut self, books: &Books, choice: Choice) -> Option<Share> {
        let share = offered_share(books);
        let borrows =
            share > Share::NONE && self.ranking.rule().should_borrow(books, choice, share);
        borrows.then_some(share)
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        self.ranking.on_change(books, change);
    }
}

/// Evidence beyond the level, for the random walk that has to cross it.
const MARGIN: f64 = 1.3;
/// How many standard deviations above the believed gap to hope for.
const OPTIMISM: f64 = 2.0;
/// Arms that have a share are to be finished: it is lost otherwise.
const FAVOUR_OF_SHARES: f64 = 0.6;
/// An arm that will surely pass borrows when it has cost this part of what it will cost.
const PAID_MIN: f64 = 0.1;
const TRUSTED: f64 = 0.9;
/// And any arm when it has cost this part.
const PAID_MAX: f64 = 0.3;
/// Smaller changes of the offered level are not worth rating all arms anew.
const OFFER_CHANGE_MIN: f64 = 0.1;
const FAILURE_MIN: f64 = 1e-5;
const PROBABILITY_MIN: f64 = 1e-6;
/// How much a call in flight raises the arm's price, relative to one call in `revision`: `revision`
/// calls at once, after which we may have changed our mind, make it five times as high. Measured on
/// few and many arms with 16 and 64 calls in flight; flat between 2 and 8.
const IN_FLIGHT_PENALTY: f64 = 4.0;
