//! `rcb`: the staged remaining-cost index, our default.
//!
//! The price of an arm is the cost of certifying it, given that testing stops at the first attribute
//! that fails, divided by the probability of a certificate. The unresolved
//! attributes are tested in an order, cheapest rejection first; a test's cost is lost at the first
//! failure, the rest is paid only if all pass. The arm with the smallest price is pulled on its
//! first attribute. It is a Gittins rate with abandonment between stages; beliefs come from the
//! attribute's prior, learned over all arms, and from the arm's own scores.

mod fresh;
mod memory;

use alloc::vec::Vec;

use crate::books::{ArmStatus, Books, Change};
use crate::call::{Source, Target};
use crate::min_tree::{MinTree, TreeKey};
use crate::num::real;
use crate::offer::{offered_level, offered_share};
use crate::outlook::{ExpectedBills, Outlook, Prospect};
use crate::policy::ranking::{ArmIndex, Ranking, Rating};
pub use crate::policy::rcb::fresh::FreshRule;
use crate::policy::rcb::fresh::Population;
use crate::policy::rcb::memory::Memory;
use crate::policy::{Choice, Policy};
use crate::units::{ArmId, AttributeId, QuestionId, Share};

/// The staged remaining-cost index.
#[derive(Clone, Debug)]
pub struct Rcb {
    ranking: Ranking<RemainingCost>,
    questions: QuestionRanking,
}

/// Questions ranked by the price of a certificate for a fresh answer.
#[derive(Clone, Debug)]
struct QuestionRanking {
    keys: MinTree<f64>,
    sources: Vec<Option<Source>>,
    /// The value of [`RemainingCost::epoch`] when all of them were rated.
    epoch: u64,
}

#[derive(Clone, Debug, Default)]
struct RemainingCost {
    /// The level of arms without a share of δ, as of when they were last rated.
    offered_level: f64,
    /// How many scores were back when all arms were last rated.
    rated_at: u64,
    /// How often all arms were rated.
    epoch: u64,
    fresh_rule: FreshRule,
    population: Population,
    /// The rating of all arms that were never called, since then.
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

    /// Arms with the same key are tried in an order drawn from the seed, never in the order of their
    /// numbers, which may have a meaning.
    pub fn seeded(seed: u64) -> Self {
        Self::with_fresh_rule(seed, FreshRule::default())
    }

    /// With another rule for when a question gets another answer.
    pub fn with_fresh_rule(seed: u64, fresh_rule: FreshRule) -> Self {
        let rule = RemainingCost { fresh_rule, ..RemainingCost::default() };
        let keys = MinTree::new(0, f64::ABSENT);
        let questions = QuestionRanking { keys, sources: Vec::new(), epoch: 0 };
        Self { ranking: Ranking::shuffled(rule, seed), questions }
    }

    /// All questions, if all arms were rated since; one of them otherwise.
    fn rate_questions(&mut self, books: &Books, changed: Option<QuestionId>) {
        let Some(questions) = books.problem().questions() else { return };
        let rule = self.ranking.rule();
        if self.questions.epoch != rule.epoch {
            self.questions.epoch = rule.epoch;
            let ratings: Vec<_> = questions.ids().map(|it| rule.rate_fresh(books, it)).collect();
            self.questions.keys = MinTree::new(ratings.len(), f64::ABSENT);
            let key = |rating: &Option<(f64, Source)>| rating.map_or(f64::ABSENT, |it| it.0);
            self.questions.keys.fill(ratings.iter().map(key).enumerate());
            self.questions.sources = ratings.iter().map(|it| it.map(|it| it.1)).collect();
        } else if let Some(question) = changed {
            let rating = rule.rate_fresh(books, question);
            self.questions.sources[question.index()] = rating.map(|it| it.1);
            let key = rating.map_or(f64::ABSENT, |it| it.0);
            self.questions.keys.set(question.index(), key);
        }
    }
}

impl Default for Rcb {
    fn default() -> Self {
        Self::new()
    }
}

/// One unresolved attribute of an arm, or several that the same calls score.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Whose calls they are.
    attribute: AttributeId,
    cost: f64,
    outlook: Outlook,
    /// The price of a rejection here.
    order: f64,
    /// Calls in flight, or back and waiting for one in flight: they will be evidence.
    ahead: u64,
    /// Whether the calls take hours.
    is_slow: bool,
}

impl ArmIndex for RemainingCost {
    const NAME: &'static str = "rcb";
    const BRANCH: &'static str = "index";

    fn rate(&mut self, books: &Books, arm: ArmId) -> Option<Rating> {
        // Prior weights make arms different from the start, and so do questions.
        let problem = books.problem();
        let differs = problem.prior_weights().is_some() || problem.questions().is_some();
        if books.arms.is_touched(arm) || differs {
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
        self.epoch += 1;
        self.learn_population(books);
    }

    fn lend(&mut self, books: &Books, choice: Choice) -> Option<Share> {
        let share = offered_share(books);
        (share > Share::NONE && self.should_borrow(books, choice, share)).then_some(share)
    }

    /// The offered level changes with every loan, mostly by little, and rating all arms again takes time.
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
        let level = books.arms.level(arm);
        let level = if level == f64::INFINITY { self.offered_level } else { level };
        self.stage(books, arm, level)?;
        if !self.bend_by_question(books, arm) {
            return None;
        }
        let favour = if books.share(arm).is_some() { FAVOUR_OF_SHARES } else { 1.0 };
        rate_stages(&self.stages, favour).filter(|rating| self.may_be_next(books, rating.attribute))
    }

    /// People are asked only about answers without other calls in flight: a reply that comes soon may spare
    /// them the question.
    fn may_be_next(&self, books: &Books, next: AttributeId) -> bool {
        let is_awaited = |stage: &Stage| stage.attribute != next && stage.ahead > 0;
        !books.lane_of(next).is_slow()
            || !books.lane_of(next).is_held() && !self.stages.iter().any(is_awaited)
    }

    /// Computes the calls that an arm still needs to reach a level, in the order of their tests; `None` if
    /// they cannot be made.
    fn stage(&mut self, books: &Books, arm: ArmId, level: f64) -> Option<()> {
        self.stages.clear();
        let problem = books.problem();
        let bills = ExpectedBills::of(books, arm);
        for (attribute, pair) in problem.attributes().zip(books.pairs.of(arm)) {
            let base = books.pairs.base(attribute);
            if pair.evidence.held >= books.arms.level(arm) + base {
                continue;
            }
            // An arm that cannot be finished is not begun; an exact answer is worth waiting for.
            let lane = books.lane_of(attribute);
            if !lane.is_affordable() || pair.evidence.closed {
                return None;
            }
            let need = level + base + MARGIN;
            let prospect = self.memory.prospect(books, (arm, attribute), OPTIMISM);
            let outlook = prospect.outlook(books, (arm, attribute), need);
            let lead = problem.lead(attribute);
            let ahead = pair.tally.dispatched_count - pair.evidence.count;
            add_stage(&mut self.stages, lead, outlook, || Stage {
                ahead,
                is_slow: lane.is_slow(),
                ..Stage::new(bills.get(lead), lead, outlook)
            });
        }
        Some(())
    }

    fn pass_probability(&mut self, books: &Books, pair: (ArmId, AttributeId)) -> f64 {
        self.memory.prospect(books, pair, OPTIMISM).pass_probability()
    }

    /// The stages of an answer without scores, and its chance by the priors alone.
    fn stages_of_fresh(&mut self, books: &Books) -> (Vec<Stage>, f64) {
        let problem = books.problem();
        let mut stages: Vec<Stage> = Vec::new();
        for attribute in problem.attributes() {
            let prospect = Prospect::of_fresh(books, attribute);
            let need = self.offered_level_of(books) + books.pairs.base(attribute) + MARGIN;
            let outlook = prospect.outlook_of_fresh(books, attribute, need);
            let lead = problem.lead(attribute);
            let lane = books.lane_of(lead);
            add_stage(&mut stages, lead, outlook, || Stage {
                is_slow: lane.is_slow(),
                ..Stage::new(lane.mean_bill(), lead, outlook)
            });
        }
        let chance = stages.iter().map(|stage| stage.outlook.pass_probability).product();
        (stages, chance)
    }

    /// The level for an answer without a share.
    fn offered_level_of(&self, books: &Books) -> f64 {
        if books.pool().is_some() { self.offered_level } else { books.arms.level_of_fresh() }
    }

    /// Whether enough of the arm's price has been paid, with little enough doubt left, that it should have a
    /// share before the next call, which then counts.
    fn should_borrow(&mut self, books: &Books, choice: Choice, share: Share) -> bool {
        let Target::Arm(arm, attribute) = choice.target else { return false };
        let problem = books.problem();
        let next = problem.lead(attribute);
        if self.stage(books, arm, problem.delta().level_of(share)).is_none() {
            return false;
        }
        // The reply of a person before that would prove nothing.
        if books.lane_of(next).is_slow() {
            return true;
        }
        let (mut price, mut probability) = (0.0, 1.0);
        let (mut paid, mut bill) = (0.0, 0.0);
        for lead in books.problem().attributes() {
            let Some(stage) = self.stages.iter().find(|stage| stage.attribute == lead) else {
                continue;
            };
            // Calls to people are most of the price, and come last.
            if stage.is_slow {
                continue;
            }
            price += stage.cost * stage.outlook.remaining;
            probability *= stage.outlook.pass_probability;
            paid += stage.cost * real(books.tally(arm, lead).dispatched_count);
            if lead == next {
                bill = stage.cost;
            }
        }
        let part = (paid + bill) / price;
        part > PAID_MAX || (part > PAID_MIN && probability > TRUSTED)
    }
}

impl Stage {
    fn new(cost: f64, attribute: AttributeId, outlook: Outlook) -> Self {
        let order = rejection_price(cost, outlook);
        Self { attribute, cost, outlook, order, ahead: 0, is_slow: false }
    }

    /// The cheapest rejection first; calls that take hours last.
    fn is_before(&self, later: &Self) -> bool {
        (self.is_slow, self.order) < (later.is_slow, later.order)
    }

    /// With another attribute that the same calls score.
    fn with(self, other: Outlook) -> Self {
        let outlook = Outlook {
            pass_probability: self.outlook.pass_probability * other.pass_probability,
            remaining: self.outlook.remaining.max(other.remaining),
            revision: self.outlook.revision.max(other.revision),
        };
        Self { outlook, order: rejection_price(self.cost, outlook), ..self }
    }
}

/// One more test in its place.
fn add_stage(
    stages: &mut Vec<Stage>,
    lead: AttributeId,
    outlook: Outlook,
    new: impl FnOnce() -> Stage,
) {
    let stage = match stages.iter().position(|stage| stage.attribute == lead) {
        // One call for all of them: as many as the slowest needs, and all must pass.
        Some(earlier) => stages.remove(earlier).with(outlook),
        None => new(),
    };
    let place = stages.iter().position(|later| stage.is_before(later));
    stages.insert(place.unwrap_or(stages.len()), stage);
}

/// The price of a rejection, √(cost of changing our mind)/P(fail).
fn rejection_price(cost: f64, outlook: Outlook) -> f64 {
    libm::sqrt(cost * outlook.revision) / (1.0 - outlook.pass_probability + FAILURE_MIN)
}

/// Changes a chance to the wanted one, by the same power for each stage.
fn bend(stages: &mut [Stage], chance: f64, wanted: f64) {
    let log = libm::log(chance.clamp(1e-9, 1.0 - 1e-9));
    let power = (libm::log(wanted.clamp(1e-9, 1.0 - 1e-9)) / log).clamp(POWER_MIN, POWER_MAX);
    for stage in stages {
        let bent = libm::pow(stage.outlook.pass_probability, power);
        stage.outlook.pass_probability = bent;
    }
}

// I = Σ_j c_j (r_j - t_j + t_j/P_j), P_j the probability that attribute j and all after it pass
fn staged_price(stages: &[Stage]) -> f64 {
    let mut price = 0.0;
    let mut probability = 1.0;
    for Stage { cost, outlook, .. } in stages.iter().rev() {
        probability *= outlook.pass_probability;
        let wasted = outlook.revision / f64::max(probability, PROBABILITY_MIN);
        price += cost * (outlook.remaining - outlook.revision + wasted);
    }
    price
}

fn rate_stages(stages: &[Stage], favour: f64) -> Option<Rating> {
    let price = staged_price(stages);
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
        RemainingCost::NAME
    }

    fn begin(&mut self, books: &Books) {
        self.ranking.begin(books);
        self.rate_questions(books, None);
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        if self.questions.keys.min() < self.ranking.best_key()
            && let Some(index) = self.questions.keys.argmin()
            && let Some(source) = self.questions.sources[index]
        {
            let target = Target::Question(QuestionId::at(index), source);
            return Some(Choice { target, branch: "fresh" });
        }
        self.ranking.choose(books)
    }

    fn lend(&mut self, books: &Books, choice: Choice) -> Option<Share> {
        self.ranking.lend(books, choice)
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        self.ranking.on_change(books, change);
        let Some(questions) = books.problem().questions() else { return };
        let question = match change {
            Change::Question(question) => Some(question),
            Change::Observed(arm, _) | Change::Left(arm) => Some(questions.of(arm)),
            _ => None,
        };
        // What became of one answer tells something about its siblings, unless votes did already.
        if let Some(question) = question.filter(|_| !books.problem().has_votes()) {
            for sibling in books.active_answers(question) {
                self.ranking.rate(books, sibling);
            }
        }
        self.rate_questions(books, question);
    }

    fn on_birth(&mut self, books: &Books, arm: ArmId) {
        self.ranking.add(books, arm);
    }
}

/// Evidence beyond the level, for the random walk that has to cross it.
const MARGIN: f64 = 1.3;
/// How many standard deviations above the believed gap to hope for.
const OPTIMISM: f64 = 2.0;
/// Arms that have a share are to be finished: it is lost otherwise.
const FAVOUR_OF_SHARES: f64 = 0.6;
/// An arm that will almost surely pass borrows when this part of its price is paid.
const PAID_MIN: f64 = 0.1;
const TRUSTED: f64 = 0.9;
/// And any arm when this part is paid.
const PAID_MAX: f64 = 0.3;
/// Smaller changes of the offered level are not worth rating all arms again.
const OFFER_CHANGE_MIN: f64 = 0.1;
/// No chance is bent further.
const POWER_MIN: f64 = 0.02;
const POWER_MAX: f64 = 50.0;
const FAILURE_MIN: f64 = 1e-5;
const PROBABILITY_MIN: f64 = 1e-6;
/// How much a call in flight raises the arm's price, relative to one call in `revision`: `revision`
/// calls at once, after which we may have changed our mind, make it five times as high. Measured on
/// few and many arms with 16 and 64 calls in flight; flat between 2 and 8.
const IN_FLIGHT_PENALTY: f64 = 4.0;
