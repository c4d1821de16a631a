//! `rcb`, the default policy: a staged remaining-cost index.
//!
//! The *index* of an arm estimates the cost of one certificate if only arms like it are tested:
//!
//! I = Σ_j c_j (r_j - t_j + t_j/P_j), over its unresolved attributes j in the order of their tests, where
//!
//! - c is the expected price of a call,
//! - r is `Outlook::remaining`: calls until the evidence is enough, if the attribute passes,
//! - t is `Outlook::revision`, at most r: calls after which the belief may change,
//! - P_j is the probability that attribute j and all later ones pass.
//!
//! Testing stops at the first attribute that fails, so 1/P_j arms reach test j for each arm that passes all. Each
//! costs t calls there. The other r - t calls are paid only for the arm that passes. Attributes are tested in the
//! order of `rejection_cost`, cheapest first. The policy takes the arm with the smallest index and calls its first
//! attribute.
//!
//! The index is a Gittins index where an arm may be abandoned between stages. Beliefs come from the attribute's
//! prior, learned over all arms, and from the arm's own scores. `docs/explanation/how-the-policy-thinks.md` calls
//! the index the price of an answer.

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

/// Questions ranked by the index of a new answer, one that is not made yet.
#[derive(Clone, Debug)]
struct QuestionRanking {
    keys: MinTree<f64>,
    sources: Vec<Option<Source>>,
    /// [`RemainingCost::epoch`] when all questions were last rated.
    epoch: u64,
}

#[derive(Clone, Debug, Default)]
struct RemainingCost {
    /// The level that an arm without a share would get if it borrowed, computed when all arms were last rated.
    offered_level: f64,
    /// The number of scores when all arms were last rated.
    rated_at: u64,
    /// How often all arms were rated.
    epoch: u64,
    fresh_rule: FreshRule,
    population: Population,
    /// The one rating of all arms without a call. The outer `None`: not computed since all arms were last
    /// rated. The inner `None`: such an arm should not be pulled.
    untouched: Option<Option<Rating>>,
    /// The unresolved attributes of the arm that is being rated, in the order of their tests. A field to save
    /// allocations.
    stages: Vec<Stage>,
    memory: Memory,
}

impl Rcb {
    /// The policy with seed 0.
    pub fn new() -> Self {
        Self::seeded(0)
    }

    /// Arms with the same index are tried in a random order drawn from the seed, because the order of their
    /// numbers may have a meaning.
    pub fn seeded(seed: u64) -> Self {
        Self::with_fresh_rule(seed, FreshRule::default())
    }

    /// The policy with this rule for when a question gets a new answer.
    pub fn with_fresh_rule(seed: u64, fresh_rule: FreshRule) -> Self {
        let rule = RemainingCost { fresh_rule, ..RemainingCost::default() };
        let keys = MinTree::new(0, f64::ABSENT);
        let questions = QuestionRanking { keys, sources: Vec::new(), epoch: 0 };
        Self { ranking: Ranking::shuffled(rule, seed), questions }
    }

    /// Rates all questions if all arms were rated since the last time, and otherwise the changed one.
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
    /// The *lead*: the attribute whose calls score all of them.
    attribute: AttributeId,
    cost: f64,
    outlook: Outlook,
    /// The order of tests; see the function of this name.
    rejection_cost: f64,
    /// Calls that are not evidence yet: in flight, or back but waiting for an earlier one.
    ahead: u64,
    /// Whether the calls take hours.
    is_slow: bool,
}

impl ArmIndex for RemainingCost {
    const NAME: &'static str = "rcb";
    const BRANCH: &'static str = "index";

    fn rate(&mut self, books: &Books, arm: ArmId) -> Option<Rating> {
        // With questions, arms without a call differ.
        if books.arms.is_touched(arm) || books.problem().questions().is_some() {
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

    /// Ratings depend on the offered level. It changes a little with every loan, and rating all arms again
    /// takes time: wait for scores of half as many calls as there are arms, and for a larger change.
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
        if !self.adjust_by_question(books, arm) {
            return None;
        }
        let factor = if books.share(arm).is_some() { LENT_ARM_FACTOR } else { 1.0 };
        rate_stages(&self.stages, factor).filter(|rating| self.may_be_next(books, rating.attribute))
    }

    /// Whether this attribute may be called next. Slow services, such as people, are asked only about answers
    /// without other calls in flight: another reply may make the slow call unnecessary.
    fn may_be_next(&self, books: &Books, next: AttributeId) -> bool {
        let is_awaited = |stage: &Stage| stage.attribute != next && stage.ahead > 0;
        !books.lane_of(next).is_slow()
            || !books.lane_of(next).is_held() && !self.stages.iter().any(is_awaited)
    }

    /// Fills `stages` with the unresolved attributes of an arm, for this level; `None` if the arm cannot be
    /// certified.
    fn stage(&mut self, books: &Books, arm: ArmId, level: f64) -> Option<()> {
        self.stages.clear();
        let problem = books.problem();
        let bills = ExpectedBills::of(books, arm);
        for (attribute, pair) in problem.attributes().zip(books.pairs.of(arm)) {
            // Evidence counts from here: 0, or ξ with the paper's certificate.
            let base = books.pairs.base(attribute);
            if pair.evidence.value >= books.arms.level(arm) + base {
                continue;
            }
            // An arm is not begun if one of its attributes cannot be paid for, or gets no more calls because
            // it is blocked, or exact and already called.
            let lane = books.lane_of(attribute);
            if !lane.is_affordable || pair.evidence.closed {
                return None;
            }
            let need = level + base + MARGIN;
            let prospect = self.memory.prospect(books, (arm, attribute));
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
        self.memory.prospect(books, pair).pass_probability()
    }

    /// The stages of a new answer, and the probability that it passes all of them, by the priors alone.
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
                ..Stage::new(lane.mean_bill, lead, outlook)
            });
        }
        let chance = stages.iter().map(|stage| stage.outlook.pass_probability).product();
        (stages, chance)
    }

    /// The level of a new answer.
    fn offered_level_of(&self, books: &Books) -> f64 {
        if books.pool().is_some() { self.offered_level } else { books.arms.level_of_fresh() }
    }

    /// Whether the arm should get a share before the next call, so that this call is evidence. Earlier calls prove
    /// nothing; their cost and that of the next call are compared with the expected cost of a certificate from now
    /// on. The arm borrows if they are a large part of it, or a smaller part and it will probably pass.
    fn should_borrow(&mut self, books: &Books, choice: Choice, share: Share) -> bool {
        let Target::Arm(arm, attribute) = choice.target else { return false };
        let problem = books.problem();
        let next = problem.lead(attribute);
        if self.stage(books, arm, problem.delta().level_of(share)).is_none() {
            return false;
        }
        // Without a share, a person's reply would prove nothing.
        if books.lane_of(next).is_slow() {
            return true;
        }
        let (mut cost, mut probability) = (0.0, 1.0);
        let (mut paid, mut bill) = (0.0, 0.0);
        for lead in books.problem().attributes() {
            let Some(stage) = self.stages.iter().find(|stage| stage.attribute == lead) else {
                continue;
            };
            // Calls to people come last, and would dominate the cost.
            if stage.is_slow {
                continue;
            }
            cost += stage.cost * stage.outlook.remaining;
            probability *= stage.outlook.pass_probability;
            paid += stage.cost * real(books.tally(arm, lead).dispatched_count);
            if lead == next {
                bill = stage.cost;
            }
        }
        let part = (paid + bill) / cost;
        part > BORROW_PAID_MAX || (part > BORROW_PAID_MIN && probability > BORROW_PROBABILITY_MIN)
    }
}

impl Stage {
    fn new(cost: f64, attribute: AttributeId, outlook: Outlook) -> Self {
        let rejection_cost = rejection_cost(cost, outlook);
        Self { attribute, cost, outlook, rejection_cost, ahead: 0, is_slow: false }
    }

    /// The cheapest rejection first; calls that take hours last.
    fn is_before(&self, later: &Self) -> bool {
        (self.is_slow, self.rejection_cost) < (later.is_slow, later.rejection_cost)
    }

    /// This stage, joined with another attribute that the same calls score.
    fn with(self, other: Outlook) -> Self {
        let outlook = Outlook {
            pass_probability: self.outlook.pass_probability * other.pass_probability,
            remaining: self.outlook.remaining.max(other.remaining),
            revision: self.outlook.revision.max(other.revision),
        };
        Self { outlook, rejection_cost: rejection_cost(self.cost, outlook), ..self }
    }
}

/// Inserts a stage in the order of tests, or joins it with the stage that the same calls score.
fn add_stage(
    stages: &mut Vec<Stage>,
    lead: AttributeId,
    outlook: Outlook,
    new: impl FnOnce() -> Stage,
) {
    let stage = match stages.iter().position(|stage| stage.attribute == lead) {
        // Each call scores all of them. The one with most calls to go decides their number, and all must pass.
        Some(earlier) => stages.remove(earlier).with(outlook),
        None => new(),
    };
    let place = stages.iter().position(|later| stage.is_before(later));
    stages.insert(place.unwrap_or(stages.len()), stage);
}

/// The order of tests: √(c t)/(1 - P), with P of this stage alone. A test comes early if it is cheap and likely to
/// fail. Without the root the order would be optimal for a known P.
fn rejection_cost(cost: f64, outlook: Outlook) -> f64 {
    libm::sqrt(cost * outlook.revision) / (1.0 - outlook.pass_probability + FAILURE_MIN)
}

/// Raises the pass probability of each stage to the same power, so that their product changes from `chance` to
/// `wanted`.
fn rescale_pass_probabilities(stages: &mut [Stage], chance: f64, wanted: f64) {
    let log = libm::log(chance.clamp(1e-9, 1.0 - 1e-9));
    let power = (libm::log(wanted.clamp(1e-9, 1.0 - 1e-9)) / log).clamp(POWER_MIN, POWER_MAX);
    for stage in stages {
        let rescaled = libm::pow(stage.outlook.pass_probability, power);
        stage.outlook.pass_probability = rescaled;
    }
}

/// The index of an arm with these stages; the formula is in the module documentation.
fn staged_index(stages: &[Stage]) -> f64 {
    let mut index = 0.0;
    let mut probability = 1.0;
    for Stage { cost, outlook, .. } in stages.iter().rev() {
        probability *= outlook.pass_probability;
        let revisions = outlook.revision / f64::max(probability, PROBABILITY_MIN);
        index += cost * (outlook.remaining - outlook.revision + revisions);
    }
    index
}

fn rate_stages(stages: &[Stage], factor: f64) -> Option<Rating> {
    let index = staged_index(stages);
    // If all calls that a stage needs are in flight, the next stage gets the call.
    let unfinished = |stage: &&Stage| real(stage.ahead) < stage.outlook.remaining;
    let next = stages.iter().find(unfinished)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of calls")]
    let calls_max = libm::ceil(next.outlook.remaining - real(next.ahead)).clamp(1.0, 1e9) as u32;
    Some(Rating {
        key: index * factor,
        attribute: next.attribute,
        key_per_call_in_flight: IN_FLIGHT_PENALTY * index * factor / next.outlook.revision,
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
            Change::Observed(arm, _) | Change::Retired(arm) => Some(questions.of(arm)),
            _ => None,
        };
        // The result of one answer changes the belief about the other answers to its question. Not with votes
        // (the replies of solvers): each vote scores all answers to the question, so the scores of an answer
        // already include the results of the others.
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

/// `remaining` counts calls until the evidence is this far above the level, because evidence fluctuates.
const MARGIN: f64 = 1.3;
/// `remaining` assumes a gap this many standard deviations above the believed one.
const OPTIMISM: f64 = 2.0;
/// Lowers the index of arms with a share of δ: if they are not certified, part of the share is lost.
const LENT_ARM_FACTOR: f64 = 0.6;
/// An arm borrows a share when its calls so far and the next one cost more than this part of what a certificate
/// will cost from now on, and its probability of passing is above `BORROW_PROBABILITY_MIN`.
const BORROW_PAID_MIN: f64 = 0.1;
const BORROW_PROBABILITY_MIN: f64 = 0.9;
/// Above this part, an arm borrows a share whether or not it will probably pass.
const BORROW_PAID_MAX: f64 = 0.3;
/// After a smaller change of the offered level, arms are not rated again.
const OFFER_CHANGE_MIN: f64 = 0.1;
/// Limits of the power in `rescale_pass_probabilities`.
const POWER_MIN: f64 = 0.02;
const POWER_MAX: f64 = 50.0;
const FAILURE_MIN: f64 = 1e-5;
const PROBABILITY_MIN: f64 = 1e-6;
/// A call in flight raises the arm's index by this factor divided by `revision`: with `revision` calls in flight
/// the index is five times as high. Tuned on few and many arms with 16 and 64 calls in flight; the results are
/// flat between 2 and 8.
const IN_FLIGHT_PENALTY: f64 = 4.0;
