//! Worlds of questions: the probability that a fresh answer is good, and the scores of answers.

use std::collections::BTreeMap;

use goodarm_core::{
    AttributeId, AttributeSpec, Cost, GeneratorId, GeneratorSpec, Label, QuestionId, QuestionsSpec,
    ScoreModel, ScoredBy, ServiceId, Source,
};
use serde::Deserialize;

use crate::num::size;
use crate::pools::{self, AnswerPool, PoolError};
use crate::questions::described::{Described, QuestionDescription};
use crate::random::Random;
use crate::world::{BillLaw, ScoreLaw, attribute};
use crate::world_error::WorldError;

/// The declared questions and verifiers, and the truth.
#[derive(Clone, Debug)]
pub struct QuestionWorld {
    /// The verifiers.
    pub attributes: Vec<AttributeSpec>,
    /// Which calls give the scores of each verifier.
    pub scored_by: Vec<ScoredBy>,
    /// The questions, with the given answers.
    pub questions: QuestionsSpec,
    /// The bills of each service; if empty, every call costs its ceiling.
    pub bills: Vec<BillLaw>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Invented(Invented),
    Recorded(Recorded),
    Described(Described),
}

/// Invented questions: each has a difficulty θ, and a fresh answer is good with probability θ.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InventedSpec {
    /// The number of questions.
    pub questions: usize,
    /// θ is drawn from Beta(a, b).
    pub difficulty: [f64; 2],
    /// The price of a fresh answer; calls of the three verifiers cost 1, 10 and 50.
    pub generation: f64,
    /// The most fresh answers of a question.
    pub candidates_max: usize,
}

impl InventedSpec {
    /// Checks the law of difficulties and the number of questions.
    pub fn check(&self) -> Result<(), WorldError> {
        WorldError::check_law("difficulty", self.difficulty)?;
        match self.questions {
            0 => Err(WorldError::Questions("at least one is needed")),
            1..=QUESTIONS_MAX => Ok(()),
            _ => Err(WorldError::Questions("there are too many")),
        }
    }
}

#[derive(Clone, Debug)]
struct Invented {
    thetas: Vec<f64>,
    seed: u64,
}

/// Recorded questions: answers and checks are drawn from the recorded solutions.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedSpec {
    /// The first question, counted from 0.
    #[serde(default)]
    pub first: usize,
    /// The number of questions.
    pub questions: usize,
    /// Whether the majority of five is a third verifier.
    pub majority: bool,
    /// Whether one reply is compared with all answers to its question.
    pub votes: bool,
    /// Whether each question has its recorded candidate from the start.
    pub given: bool,
    /// The most fresh answers of a question.
    pub candidates_max: usize,
}

#[derive(Clone, Debug)]
struct Recorded {
    pools: Vec<AnswerPool>,
    /// For each question and answer, the probability that it is the most frequent of five draws.
    majorities: Vec<Vec<f64>>,
}

impl QuestionWorld {
    /// Invents questions.
    pub fn invented(spec: &InventedSpec, seed: u64) -> Self {
        let [a, b] = spec.difficulty;
        let theta = |question| Random::at(seed, &[u64::MAX, question]).beta(a, b);
        let declared =
            |(number, price): (u32, f64)| attribute(number.to_string(), price, ScoreModel::Binary);
        Self {
            attributes: (1..).zip(PRICES).map(declared).collect(),
            scored_by: Vec::new(),
            questions: QuestionsSpec {
                count: spec.questions,
                answers: Vec::new(),
                generators: vec![GeneratorSpec {
                    name: "model".into(),
                    price: spec.generation,
                    expected: None,
                }],
                candidates_max: spec.candidates_max,
            },
            bills: Vec::new(),
            kind: Kind::Invented(Invented {
                thetas: (0..spec.questions as u64).map(theta).collect(),
                seed,
            }),
        }
    }

    /// Reads recorded questions.
    pub fn recorded(text: &str, spec: &RecordedSpec) -> Result<Self, PoolError> {
        let pools = pools::read(text, spec.first, spec.questions)?;
        let tokens = pools.iter().map(AnswerPool::mean_tokens).sum::<f64>() / size(pools.len());
        let mut attributes = vec![
            attribute("parseable", 1.0, ScoreModel::Exact),
            attribute("one solution", tokens, ScoreModel::Binary),
        ];
        let draws = match spec.votes {
            true => ScoredBy::Votes { proposes: !spec.given },
            false => ScoredBy::OwnCalls,
        };
        let mut scored_by = vec![ScoredBy::OwnCalls, draws];
        if spec.majority {
            attributes.push(attribute("majority of five", 5.0 * tokens, ScoreModel::Binary));
            scored_by.push(match spec.votes {
                true => ScoredBy::Votes { proposes: false },
                false => ScoredBy::OwnCalls,
            });
        }
        let given = |(index, pool): (usize, &AnswerPool)| {
            pool.candidate.map(|label| (QuestionId::at(index), label))
        };
        let given = pools.iter().enumerate().filter_map(given);
        let fresh = || vec![GeneratorSpec { name: "model".into(), price: tokens, expected: None }];
        let questions = QuestionsSpec {
            count: pools.len(),
            answers: if spec.given { given.collect() } else { Vec::new() },
            generators: if spec.votes && !spec.given { Vec::new() } else { fresh() },
            candidates_max: spec.candidates_max,
        };
        let majorities = pools.iter().map(AnswerPool::majorities).collect();
        let kind = Kind::Recorded(Recorded { pools, majorities });
        Ok(Self { attributes, scored_by, questions, bills: Vec::new(), kind })
    }

    /// Draws questions from a description of them.
    pub fn described(
        attributes: Vec<AttributeSpec>,
        generators: Vec<GeneratorSpec>,
        candidates_max: usize,
        description: QuestionDescription,
        seed: u64,
    ) -> Self {
        let (count, scored_by) = (description.questions, description.scored_by.clone());
        let world = Described::new(description, seed);
        let answers = world.given();
        let questions = QuestionsSpec { count, answers, generators, candidates_max };
        let kind = Kind::Described(world);
        Self { attributes, scored_by, questions, bills: Vec::new(), kind }
    }

    /// The bill of a call: the `count`-th one of a service about a subject; `None` for the ceiling.
    pub(crate) fn bill(
        &self,
        seed: u64,
        subject: u32,
        service: ServiceId,
        count: u64,
    ) -> Option<Cost> {
        let path = [u64::from(subject), u64::from(service.0), count];
        let law = self.bills.get(service.index())?;
        let mut random = Random::at(seed, &[BILL, path[0], path[1], path[2]]);
        Some(law.draw(seed, path, &mut random))
    }

    /// The true mean of an answer by an attribute.
    pub fn mean(&self, (question, label): (QuestionId, Label), attribute: AttributeId) -> f64 {
        match &self.kind {
            Kind::Invented(world) => world.means(question, label)[attribute.index()],
            Kind::Described(world) => world.mean((question, label), attribute),
            Kind::Recorded(world) => {
                let pool = &world.pools[question.index()];
                match attribute.0 {
                    0 => 1.0,
                    1 => pool.share(Some(label)),
                    _ => world.majorities[question.index()][label.0 as usize],
                }
            }
        }
    }

    /// Whether every mean of an answer reaches its threshold.
    pub fn is_good(&self, answer: (QuestionId, Label)) -> bool {
        let attributes = (0_u32..).map(AttributeId).zip(&self.attributes);
        attributes.into_iter().all(|(id, it)| self.mean(answer, id) >= it.threshold)
    }

    /// The probability that a fresh answer of a source is good. Only in a described world do sources differ.
    pub fn theta(&self, question: QuestionId, source: Source) -> f64 {
        match &self.kind {
            Kind::Invented(world) => world.thetas[question.index()],
            Kind::Described(world) => world.theta(question, source),
            Kind::Recorded(world) => {
                let pool = &world.pools[question.index()];
                let good = |label: &Label| self.is_good((question, *label));
                pool.labels().filter(good).map(|label| pool.share(Some(label))).sum()
            }
        }
    }

    /// The `call`-th score of an answer.
    pub fn score(
        &self,
        seed: u64,
        (question, label): (QuestionId, Label),
        attribute: AttributeId,
        call: u64,
    ) -> f64 {
        let path = [u64::from(question.0), u64::from(label.0), u64::from(attribute.0), call];
        let mean = self.mean((question, label), attribute);
        let law = match &self.kind {
            Kind::Described(world) => world.law(attribute),
            Kind::Invented(_) | Kind::Recorded(_) => ScoreLaw::Binary,
        };
        law.draw(mean, &mut Random::at(seed, &path))
    }

    /// The `call`-th answer to a question, if it is readable.
    pub fn answer(
        &self,
        seed: u64,
        question: QuestionId,
        source: Source,
        call: u64,
    ) -> Option<Label> {
        let who = match source {
            Source::Votes(attribute) => u64::from(attribute.0),
            Source::Generator(generator) => GENERATORS + u64::from(generator.0),
        };
        let mut random = Random::at(seed, &[u64::from(question.0), GENERATORS, who, call]);
        match &self.kind {
            // All answers are different: their number decides whether they are good.
            Kind::Invented(_) => Some(Label(u32::try_from(call).ok()?)),
            Kind::Described(world) => Some(world.answer(seed, question, source, call)),
            Kind::Recorded(world) => {
                let pool = &world.pools[question.index()];
                match source {
                    Source::Votes(AttributeId(2)) => pool.majority_of_five(&mut random),
                    _ => pool.draw(&mut random),
                }
            }
        }
    }

    /// The price of one more answer to a question.
    pub(crate) fn price_of_draw(&self) -> f64 {
        let mut votes = self.scored_by.iter().zip(&self.attributes);
        let votes = votes.find(|(by, _)| matches!(by, ScoredBy::Votes { .. }));
        match self.questions.generators.first() {
            Some(generator) => generator.price,
            None => votes.map_or(self.attributes[0].price, |(_, attribute)| attribute.price),
        }
    }

    /// The number of questions that can be answered.
    pub fn answerable_count(&self) -> usize {
        let ids = (0_u32..).map(QuestionId).take(self.questions.count);
        let is_answerable = |&question: &QuestionId| match &self.kind {
            Kind::Described(world) => world.is_answerable(question),
            _ => self.theta(question, Source::Generator(GeneratorId(0))) > 0.0,
        };
        ids.filter(is_answerable).count()
    }

    /// The most frequent final answer of this number of draws for each question, without a guarantee.
    pub fn self_consistency(&self, seed: u64, draws: u64) -> Vec<Option<(QuestionId, Label)>> {
        let ids = (0_u32..).map(QuestionId).take(self.questions.count);
        let vote = |question| {
            let mut votes: BTreeMap<Label, (u64, u64)> = BTreeMap::new();
            for call in 0..draws {
                let source = Source::Generator(GeneratorId(0));
                if let Some(label) = self.answer(seed, question, source, call) {
                    votes.entry(label).or_insert((0, draws - call)).0 += 1;
                }
            }
            let winner = votes.iter().max_by_key(|(_, count)| **count)?;
            Some((question, *winner.0))
        };
        ids.map(vote).collect()
    }
}

impl Invented {
    /// The three means of an answer. Those of a good answer are high. A bad answer fails the expensive verifier, and
    /// each of the others with probability 1/2.
    fn means(&self, question: QuestionId, label: Label) -> [f64; 3] {
        let path = [u64::from(question.0), u64::from(label.0)];
        let mut random = Random::at(self.seed, &path);
        let is_good = random.uniform() < self.thetas[question.index()];
        let mut means = [0.0; 3];
        for (index, mean) in means.iter_mut().enumerate() {
            let fails = !is_good && (index == 2 || random.uniform() < 0.5);
            *mean = if fails {
                random.beta(3.0, 7.0).min(0.5 - GAP_MIN)
            } else {
                random.beta(17.0, 3.0).max(0.5 + GAP_MIN)
            };
        }
        means
    }
}

const QUESTIONS_MAX: usize = 1 << 20;
const BILL: u64 = 0xB111;
const PRICES: [f64; 3] = [1.0, 10.0, 50.0];
/// The smallest distance of an invented answer's mean from its threshold.
const GAP_MIN: f64 = 0.05;
/// Larger than any attribute's index.
const GENERATORS: u64 = 1 << 32;
