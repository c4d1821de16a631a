//! A policy that has the truth: which answers are good, and the probability that a fresh one is. It bounds
//! what joint allocation can do, apart from chance.

use goodarm_core::policy::Choice;
use goodarm_core::{
    ArmId, AttributeId, Books, GeneratorId, Policy, QuestionId, Share, Source, Target,
};

use crate::questions::world::QuestionWorld;
use crate::theory::divergence;

/// A policy that has the truth.
#[derive(Clone, Debug)]
pub struct QuestionOracle {
    world: QuestionWorld,
    /// The average cost of certifying a good answer that is not made yet.
    typical_cost: f64,
    /// The generators, and the votes of all attributes.
    sources: Vec<Source>,
    /// For each question, the probability that a fresh answer of each source is good.
    thetas: Vec<Vec<f64>>,
}

impl QuestionOracle {
    /// An oracle of this world.
    pub fn new(world: QuestionWorld) -> Self {
        let ids = (0_u32..).map(QuestionId).take(world.questions.count);
        let generators = (0_u32..).map(GeneratorId).take(world.questions.generators.len());
        let attributes = (0_u32..).map(AttributeId).take(world.attributes.len());
        let votes = attributes.map(Source::Votes);
        let sources: Vec<Source> = generators.map(Source::Generator).chain(votes).collect();
        let of_question =
            |question| sources.iter().map(|source| world.theta(question, *source)).collect();
        let thetas = ids.map(of_question).collect();
        let typical_cost = world.attributes.iter().map(|it| it.price * TYPICAL_CALLS).sum();
        Self { world, typical_cost, sources, thetas }
    }

    /// The remaining cost of certifying an answer, and the attribute to call next. The number of calls is the missing
    /// evidence over its growth per call. `None` if the answer is bad or cannot be certified.
    fn cost(&self, books: &Books, arm: ArmId) -> Option<(f64, AttributeId)> {
        let questions = books.problem().questions()?;
        let answer = (questions.of(arm), questions.label(arm));
        if !books.is_active(arm) || !self.world.is_good(answer) {
            return None;
        }
        let (mut cost, mut next) = (0.0, None);
        for attribute in books.problem().attributes() {
            if books.is_resolved(arm, attribute) {
                continue;
            }
            if !books.is_affordable(attribute) || !books.is_open(arm, attribute) {
                return None;
            }
            let declared = books.problem().attribute(attribute);
            let share = books.share(arm).unwrap_or_else(|| offer(books));
            let level = books.problem().delta().level_of(share);
            let left = level - books.evidence(arm, attribute).max(0.0);
            let mean = self.world.mean(answer, attribute);
            let calls = match declared.is_exact() {
                true => 1.0,
                false => (left / divergence(mean, declared.threshold).max(GROWTH_MIN)).max(1.0),
            };
            cost += calls * declared.price.units();
            next = next.or(Some(attribute));
        }
        Some((cost, next?))
    }
}

impl Policy for QuestionOracle {
    fn name(&self) -> &'static str {
        "oracle"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let questions = books.problem().questions()?;
        let mut best: Option<(f64, Choice)> = None;
        let mut offer = |price: f64, choice: Choice| {
            if best.is_none_or(|(least, _)| price < least) {
                best = Some((price, choice));
            }
        };
        for question in questions.ids().filter(|&it| !books.question(it).is_answered()) {
            let known = questions.answers(question).iter();
            let known = known.filter_map(|&arm| self.cost(books, arm).map(|it| (it, arm)));
            let cheapest = known.min_by(|a, b| a.0.0.total_cmp(&b.0.0));
            if let Some(((cost, attribute), arm)) = cheapest {
                offer(cost, Choice::pair(arm, attribute, "good"));
                continue;
            }
            for (&source, theta) in self.sources.iter().zip(&self.thetas[question.index()]) {
                if let Some(price) = price_of_fresh(books, question, source) {
                    let target = Target::Question(question, source);
                    let cost = price / theta.max(1e-9) + self.typical_cost;
                    offer(cost, Choice { target, branch: "fresh" });
                }
            }
        }
        best.map(|(_, choice)| choice)
    }

    fn lend(&mut self, books: &Books, _: Choice) -> Option<Share> {
        let share = offer(books);
        (share > Share::NONE).then_some(share)
    }
}

/// The price of a fresh answer of a source; `None` if it cannot be asked for.
fn price_of_fresh(books: &Books, question: QuestionId, source: Source) -> Option<f64> {
    let problem = books.problem();
    match source {
        Source::Generator(generator) => {
            let lane = books.lane(problem.generator_service(generator));
            let is_possible = books.takes_fresh(question, generator) && lane.is_affordable;
            let generators = problem.questions()?.generators();
            is_possible.then(|| generators[generator.index()].price.units())
        }
        Source::Votes(attribute) => {
            let is_possible = problem.votes_propose(attribute)
                && books.takes_votes(question, attribute)
                && books.is_affordable(attribute);
            is_possible.then(|| problem.attribute(attribute).price.units())
        }
    }
}

/// The share that the oracle lends: most of the pool. All shares that it lends are returned.
fn offer(books: &Books) -> Share {
    Share::of(0.9 * books.pool().map_or(0.0, Share::fraction))
}

/// The least average evidence of a binary score that the oracle assumes.
const GROWTH_MIN: f64 = 1e-6;
const TYPICAL_CALLS: f64 = 20.0;
