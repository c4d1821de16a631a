//! The index of a *new answer*, one that is not made yet. It is an estimate.
//!
//! Making the answer is stage 0. A new answer to question i passes with probability
//! θ_i = (κ θ̄ + Σ π)/(κ + tested), where π is the probability that a tested answer to the question passes, θ̄ the
//! mean over the first answers to all questions, and κ the weight of θ̄ (`concentration`). The index is
//! c/(θ_i f²) + Σ c_j (r_j - t_j + t_j/P_j): c is the price of making an answer, f the share of this question's
//! answers that were new, and the sum is the index of an answer without scores, with pass probabilities rescaled
//! so that their product is θ_i.

use alloc::vec::Vec;

use crate::books::{ArmStatus, Books, Lane};
use crate::call::{Source, Target};
use crate::num::{real, real_size};
use crate::policy::rcb::{RemainingCost, Stage, rescale_pass_probabilities, staged_index};
use crate::units::{ArmId, GeneratorId, QuestionId};

/// When a question gets another answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum FreshRule {
    /// When a new answer is the cheapest way to one more certificate.
    #[default]
    Joint,
    /// When the probability that its last answer passes is too low; one answer at a time.
    OneByOne {
        /// The probability below which an answer is dropped.
        below: f64,
    },
    /// This many answers for each question before anything is checked, and none later: best of n.
    Fixed {
        /// The number of answers, including those that were given.
        count: usize,
    },
}

/// The results of the answers to all questions.
#[derive(Clone, Debug)]
pub(super) struct Population {
    /// The probability that a first answer passes: over all answers, and for each generator.
    theta: f64,
    thetas: Vec<f64>,
    /// After this many answers a question's own results weigh as much as those of all questions.
    concentration: f64,
    /// The stages of an answer without scores, and the probability that it passes, by the priors alone.
    stages: Vec<Stage>,
    chance: f64,
}

impl Default for Population {
    fn default() -> Self {
        Self {
            theta: THETA_START,
            thetas: Vec::new(),
            concentration: CONCENTRATION_START,
            stages: Vec::new(),
            chance: 1.0,
        }
    }
}

impl RemainingCost {
    /// Learns again from all answers.
    pub(super) fn learn_population(&mut self, books: &Books) {
        let Some(questions) = books.problem().questions() else { return };
        let (stages, chance) = self.stages_of_fresh(books);
        self.population.stages = stages;
        self.population.chance = chance;
        let (mut first, mut second) = (Mean::of(THETA_START, DOUBT), Mean::default());
        let generator_count = questions.generators().len();
        let mut by_generator: Vec<Mean> = Vec::new();
        by_generator.resize(generator_count, Mean::default());
        for question in questions.ids() {
            let mut tested = questions.answers(question).iter().copied();
            let mut tested = tested.by_ref().filter(|&arm| is_tested(books, arm));
            let Some(one) = tested.next() else { continue };
            let chance = self.chance(books, one);
            first.add(chance);
            if generator_count > 1 {
                self.learn_generators(books, question, &mut by_generator);
            } else if let Some(Source::Generator(generator)) = books.origin(one) {
                by_generator[generator.index()].add(chance);
            }
            if let Some(other) = tested.next()
                && chance < FAILED_BELOW
            {
                second.add(self.chance(books, other));
            }
        }
        let theta = first.mean().clamp(THETA_MIN, THETA_MAX);
        // After one failure κ pseudo-answers of chance θ̄ leave κ θ̄/(κ + 1).
        let expected = theta * CONCENTRATION_START / (CONCENTRATION_START + 1.0);
        let second = second.with(expected, DOUBT).mean();
        let concentration = second / (theta - second).max(1e-6);
        let population = &mut self.population;
        population.theta = theta;
        population.concentration = concentration.clamp(CONCENTRATION_MIN, CONCENTRATION_MAX);
        // With several generators, one without results starts with a good value, so that it is tried.
        let start = if generator_count > 1 { THETA_START } else { theta };
        population.thetas = (by_generator.iter())
            .map(|mean| mean.with(start, DOUBT).mean().clamp(THETA_MIN, THETA_MAX))
            .collect();
    }

    /// Counts all tested answers to a question for their generators: with several generators, each of them seldom
    /// makes the first answer.
    fn learn_generators(&mut self, books: &Books, question: QuestionId, means: &mut [Mean]) {
        for &arm in books.problem().answers(question) {
            if let Some(Source::Generator(generator)) = books.origin(arm)
                && is_tested(books, arm)
            {
                let chance = self.chance(books, arm);
                means[generator.index()].add(chance);
            }
        }
    }

    /// The probability θ_i that a new answer to the question passes, given the results of its tested answers except
    /// `without`.
    fn theta(&mut self, books: &Books, question: QuestionId, without: Option<ArmId>) -> f64 {
        let Some(questions) = books.problem().questions() else { return 1.0 };
        let Population { theta, concentration, .. } = self.population;
        let (mut sum, mut weight) = (concentration * theta, concentration);
        for &arm in questions.answers(question) {
            if Some(arm) != without && is_tested(books, arm) {
                sum += self.chance(books, arm);
                weight += 1.0;
            }
        }
        (sum / weight).clamp(THETA_MIN, THETA_MAX)
    }

    /// The probability that an answer passes everything, by its own scores and the priors.
    fn chance(&mut self, books: &Books, arm: ArmId) -> f64 {
        if books.status(arm) == ArmStatus::Certified {
            return 1.0;
        }
        if !books.is_active(arm) || books.status(arm) == ArmStatus::Rejected {
            return 0.0;
        }
        let mut chance = 1.0;
        for attribute in books.problem().attributes() {
            if !books.is_resolved(arm, attribute) {
                chance *= self.pass_probability(books, (arm, attribute));
            }
        }
        chance
    }

    /// Corrects the belief about an arm by the results of its question's other answers; false if the arm should not
    /// be pulled at all.
    pub(super) fn adjust_by_question(&mut self, books: &Books, arm: ArmId) -> bool {
        let Some(questions) = books.problem().questions() else { return true };
        let question = questions.of(arm);
        match self.fresh_rule {
            FreshRule::OneByOne { below } => {
                let is_last = questions.answers(question).last() == Some(&arm);
                is_last && (self.chance(books, arm) >= below || !may_be_fresh(books, question))
            }
            FreshRule::Fixed { .. } => true,
            // Votes score all answers, so they include the results of the others.
            FreshRule::Joint if books.problem().has_votes() => true,
            FreshRule::Joint => {
                let theta = self.theta(books, question, Some(arm));
                let chance: f64 =
                    self.stages.iter().map(|it| it.outlook.pass_probability).product();
                let tilted = odds(chance) * odds(theta) / odds(self.population.chance);
                rescale_pass_probabilities(&mut self.stages, chance, tilted / (1.0 + tilted));
                true
            }
        }
    }

    /// The index of a new answer, and the source to ask for it.
    pub(super) fn rate_fresh(
        &mut self,
        books: &Books,
        question: QuestionId,
    ) -> Option<(f64, Source)> {
        let questions = books.problem().questions()?;
        if books.question(question).is_answered() {
            return None;
        }
        let state = books.question(question);
        if let FreshRule::Fixed { count } = self.fresh_rule {
            let given = questions.answers(question).len() - state.new_count;
            let first = GeneratorId::at(0);
            let is_due = given + state.asked_count() < count && may_ask(books, question, first);
            return is_due.then_some((0.0, Source::Generator(first)));
        }
        // One at a time: the value of a new answer depends on the last one.
        if state.asked_count() > state.back_count() {
            return None;
        }
        if let FreshRule::OneByOne { below } = self.fresh_rule
            && let Some(&last) = questions.answers(question).last()
            && books.is_active(last)
            && self.chance(books, last) >= below
        {
            return None;
        }
        let theta = match self.fresh_rule {
            FreshRule::Joint => self.theta(books, question, None),
            FreshRule::OneByOne { .. } | FreshRule::Fixed { .. } => self.population.theta,
        };
        let new = (real_size(state.new_count) + 1.0) / (real_size(state.back_count()) + 1.0);
        let mut best: Option<(f64, Source)> = None;
        let asked = questions.generator_ids().filter(|&it| may_ask(books, question, it));
        for generator in asked {
            let own = self.population.thetas.get(generator.index()).copied();
            let theta = blend(theta, own.unwrap_or(theta), self.population.theta);
            let bill = lane(books, generator).mean_bill;
            let price = bill / (theta * new * new) + self.index_at(theta);
            if best.is_none_or(|(least, _)| price < least) {
                best = Some((price, Source::Generator(generator)));
            }
        }
        best.or_else(|| self.rate_proposal(books, question, theta))
    }

    /// A question may get an answer by a vote if it has none, or if attributes without votes are against all
    /// of its answers.
    fn rate_proposal(
        &mut self,
        books: &Books,
        question: QuestionId,
        theta: f64,
    ) -> Option<(f64, Source)> {
        let problem = books.problem();
        let attribute = problem.attributes().find(|&it| problem.votes_propose(it))?;
        let votes_back = books.question(question).votes_returned_count(attribute);
        let is_awaited = books.is_awaited(Target::Question(question, Source::Votes(attribute)));
        let mut answers = books.active_answers(question).into_iter();
        if answers.any(|arm| self.chance_beside_votes(books, arm) >= FAILED_BELOW)
            || is_awaited
            || !books.takes_votes(question, attribute)
            || !books.is_affordable(attribute)
            || books.lane_of(attribute).is_held()
        {
            return None;
        }
        let answer_count = problem.answers(question).len();
        let new = ((real_size(answer_count) + 1.0) / (real(votes_back) + 1.0)).min(1.0);
        let price = books.lane_of(attribute).mean_bill / (theta * new * new) + self.index_at(theta);
        Some((price, Source::Votes(attribute)))
    }

    /// The probability that an answer passes everything but votes.
    fn chance_beside_votes(&mut self, books: &Books, arm: ArmId) -> f64 {
        let problem = books.problem();
        let others = problem.attributes().filter(|&it| !problem.are_votes(it));
        let others = others.filter(|&it| !books.is_resolved(arm, it));
        others.map(|attribute| self.pass_probability(books, (arm, attribute))).product()
    }

    /// The index of an answer without scores that passes with probability θ.
    fn index_at(&self, theta: f64) -> f64 {
        let mut stages = self.population.stages.clone();
        rescale_pass_probabilities(&mut stages, self.population.chance, theta);
        staged_index(&stages)
    }
}

fn is_tested(books: &Books, arm: ArmId) -> bool {
    let mut attributes = books.problem().attributes();
    attributes.any(|attribute| {
        let tally = books.tally(arm, attribute);
        books.arms.without_proposing_vote(arm, attribute, tally).returned_count > 0
    })
}

fn may_be_fresh(books: &Books, question: QuestionId) -> bool {
    let mut generators = books.problem().questions().into_iter().flat_map(|it| it.generator_ids());
    generators.any(|it| books.takes_fresh(question, it) && lane(books, it).is_affordable)
}

fn may_ask(books: &Books, question: QuestionId, generator: GeneratorId) -> bool {
    let lane = lane(books, generator);
    books.takes_fresh(question, generator) && lane.is_affordable && !lane.is_held()
}

fn lane(books: &Books, generator: GeneratorId) -> &Lane {
    books.lane(books.problem().generator_service(generator))
}

fn odds(probability: f64) -> f64 {
    let probability = probability.clamp(1e-9, 1.0 - 1e-9);
    probability / (1.0 - probability)
}

/// The probability θ of a question, corrected for a generator with probability `own`, where that of all is `all`.
fn blend(theta: f64, own: f64, all: f64) -> f64 {
    let odds = odds(theta) * odds(own) / odds(all);
    (odds / (1.0 + odds)).clamp(THETA_MIN, THETA_MAX)
}

/// A mean with a prior.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    fn of(mean: f64, weight: f64) -> Self {
        Self { sum: mean * weight, weight }
    }

    fn with(self, mean: f64, weight: f64) -> Self {
        Self { sum: self.sum + mean * weight, weight: self.weight + weight }
    }

    fn add(&mut self, value: f64) {
        *self = self.with(value, 1.0);
    }

    fn mean(self) -> f64 {
        self.sum / self.weight
    }
}

const THETA_START: f64 = 0.6;
const THETA_MIN: f64 = 0.01;
const THETA_MAX: f64 = 0.99;
const CONCENTRATION_START: f64 = 2.0;
const CONCENTRATION_MIN: f64 = 0.3;
const CONCENTRATION_MAX: f64 = 20.0;
/// The weight of a start value, as a number of answers.
const DOUBT: f64 = 3.0;
/// An answer with a lower probability to pass counts as failed.
const FAILED_BELOW: f64 = 0.15;
