//! The plan file.

use goodarm_core::AttributeSpec;
use goodarm_files::{GuaranteeName, Scores};
use serde::Deserialize;

use crate::noise;

/// A plan file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSpec {
    /// The error probability.
    pub delta: f64,
    /// The budget; without it, only the cost of certificates is estimated.
    pub budget: Option<f64>,
    /// The slack ε of the paper's theorems.
    #[serde(default = "slack")]
    pub slack: f64,
    /// The guarantee; the policy's default if not given.
    pub guarantee: Option<GuaranteeName>,
    /// The policy.
    #[serde(default = "policy")]
    pub policy: String,
    /// Calls in flight at once.
    #[serde(default = "concurrency")]
    pub concurrency: usize,
    /// The number of simulated sessions.
    #[serde(default = "repetitions")]
    pub repetitions: u64,
    /// The seed of all draws.
    #[serde(default)]
    pub seed: u64,
    /// The verifiers.
    pub verifiers: Vec<PlanVerifier>,
    /// Groups of answers; empty if there are questions.
    #[serde(default)]
    pub answers: Vec<AnswerSpec>,
    /// The number of questions, if one answer to each is to be certified.
    pub questions: Option<usize>,
    /// The number of answers that each question has from the start.
    #[serde(default)]
    pub given: usize,
    /// The number of given answers of each question, if it is known; it replaces `given`.
    #[serde(skip)]
    pub given_each: Vec<usize>,
    /// The generator of answers.
    pub generator: Option<PlanGenerator>,
    /// Several generators, instead of `generator`.
    #[serde(default)]
    pub generators: Vec<PlanGenerator>,
    /// The most answers that may be made for a question.
    pub candidates_max: Option<usize>,
    /// The share of good answers to questions.
    pub good: Option<f64>,
    /// How much questions differ: 0 if all are alike, 1 if the answers to a question are all good or all
    /// bad.
    pub difficulty: Option<f64>,
    /// The standard deviation of the means of answers to questions.
    pub spread: Option<f64>,
    /// The most simulated calls over all sessions with one budget; sessions are stopped beyond it.
    pub calls_max: Option<u64>,
    /// Whether a session ends when no answer has a realistic chance.
    #[serde(skip)]
    pub stop_when_hopeless: bool,
    /// Whether `spread` is a guess: every repetition draws it between 0 and twice its value.
    #[serde(skip)]
    pub is_spread_guessed: bool,
}

const fn slack() -> f64 {
    0.1
}

fn policy() -> String {
    "rcb".into()
}

const fn concurrency() -> usize {
    1
}

const fn repetitions() -> u64 {
    40
}

/// A verifier of a plan.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanVerifier {
    /// Its name in reports.
    pub name: String,
    /// The most that a call may cost; without `expected`, the price of every call. A call that scores several
    /// verifiers has the price of the first.
    pub price: f64,
    /// What a call costs on average, if that is less than the price.
    pub expected: Option<f64>,
    /// How far the average may be from `expected`: the standard deviation of its logarithm.
    #[serde(skip)]
    pub doubt: f64,
    /// The required mean score.
    pub threshold: f64,
    /// The declared scores.
    pub scores: Scores,
    /// The standard deviation of bounded scores at a mean of a half.
    pub deviation: Option<f64>,
    /// An earlier verifier whose calls also score this one: one reply, one price.
    pub calls_of: Option<String>,
    /// Whether it answers the question itself, and each reply is a vote on all answers.
    #[serde(default)]
    pub solver: bool,
    /// Whether new answers of a solver become candidates.
    #[serde(default)]
    pub proposes: bool,
    /// The mean score of a good answer to a question; half-way from the threshold to 1 if not given.
    pub good_mean: Option<f64>,
    /// The mean score of a bad answer; half the threshold if not given.
    pub bad_mean: Option<f64>,
}

/// A group of similar answers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerSpec {
    /// The number of answers.
    pub count: usize,
    /// The mean score of each verifier.
    pub means: Vec<f64>,
    /// The standard deviation of means between answers.
    #[serde(default)]
    pub spread: f64,
}

impl PlanVerifier {
    /// A verifier that has its own calls on each answer.
    pub fn new(name: &str, price: f64, threshold: f64, scores: Scores) -> Self {
        Self {
            name: name.to_owned(),
            price,
            expected: None,
            doubt: 0.0,
            threshold,
            scores,
            deviation: None,
            calls_of: None,
            solver: false,
            proposes: false,
            good_mean: None,
            bad_mean: None,
        }
    }

    /// What a call costs on average.
    pub(super) fn cost(&self) -> f64 {
        self.expected.unwrap_or(self.price)
    }

    pub(super) fn attribute(&self) -> AttributeSpec {
        AttributeSpec {
            name: self.name.clone(),
            price: self.price,
            expected: self.expected,
            threshold: self.threshold,
            scores: noise::model(self.scores),
        }
    }
}

/// A generator of answers to questions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanGenerator {
    /// Its name in reports.
    #[serde(default = "name")]
    pub name: String,
    /// The most that an answer may cost; without `expected`, the price of every answer.
    pub price: f64,
    /// What an answer costs on average, if that is less than the price.
    pub expected: Option<f64>,
    /// How far the average may be from `expected`: the standard deviation of its logarithm.
    #[serde(skip)]
    pub doubt: f64,
    /// The share of good answers among its answers; that of the plan if not given.
    pub good: Option<f64>,
}

fn name() -> String {
    "generator".into()
}
