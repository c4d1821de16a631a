//! What is to be planned: the language of a plan.

use goodarm_core::AttributeSpec;
use goodarm_files::{GuaranteeName, Scores};
use serde::Deserialize;

use crate::noise;

/// What is to be planned.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSpec {
    /// The error probability.
    pub delta: f64,
    /// What might be spent; without it, what everything costs is found out.
    pub budget: Option<f64>,
    /// ε of the theorems.
    #[serde(default = "slack")]
    pub slack: f64,
    /// The guarantee that will be asked for; what suits the policy if not given.
    pub guarantee: Option<GuaranteeName>,
    /// The policy that will be used.
    #[serde(default = "policy")]
    pub policy: String,
    /// Calls in flight at once.
    #[serde(default = "concurrency")]
    pub concurrency: usize,
    /// How many sessions are simulated.
    #[serde(default = "repetitions")]
    pub repetitions: u64,
    /// All luck comes from this.
    #[serde(default)]
    pub seed: u64,
    /// The verifiers.
    pub verifiers: Vec<PlanVerifier>,
    /// Groups of answers; none where there are questions.
    #[serde(default)]
    pub answers: Vec<AnswerSpec>,
    /// How many questions, if one answer to each is to be certified.
    pub questions: Option<usize>,
    /// How many answers each question has from the start.
    #[serde(default)]
    pub given: usize,
    /// The same, question by question, where that is known.
    #[serde(skip)]
    pub given_each: Vec<usize>,
    /// Who makes answers.
    pub generator: Option<PlanGenerator>,
    /// Several of them, in place of `generator`.
    #[serde(default)]
    pub generators: Vec<PlanGenerator>,
    /// How many answers may be made for a question.
    pub candidates_max: Option<usize>,
    /// The share of answers to questions that are good.
    pub good: Option<f64>,
    /// How much questions differ: 0 if all are alike, 1 if all answers to one are good or none is.
    pub difficulty: Option<f64>,
    /// How much the means of answers to questions differ: their standard deviation.
    pub spread: Option<f64>,
    /// Simulated calls, over all sessions with one budget: what would take more is cut off.
    pub calls_max: Option<u64>,
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

/// One verifier.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanVerifier {
    /// What reports call it.
    pub name: String,
    /// What a call costs; of calls that score several, the first one's price is paid.
    pub price: f64,
    /// The mean score that is asked for.
    pub threshold: f64,
    /// What its scores are like.
    pub scores: Scores,
    /// How much bounded scores scatter: the standard deviation at a mean of a half.
    pub deviation: Option<f64>,
    /// An earlier verifier whose calls score this one, too: one reply, one price.
    pub calls_of: Option<String>,
    /// Whether it is asked the question, and each reply is a vote on all answers to it.
    #[serde(default)]
    pub solver: bool,
    /// Whether an answer of a solver that is new is to be certified, too.
    #[serde(default)]
    pub proposes: bool,
    /// The mean score of a good answer to a question; half-way from the threshold to 1 if not given.
    pub good_mean: Option<f64>,
    /// That of another answer; half the threshold if not given.
    pub bad_mean: Option<f64>,
}

/// Answers that are alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerSpec {
    /// How many.
    pub count: usize,
    /// The mean score of each verifier.
    pub means: Vec<f64>,
    /// How much the means differ from answer to answer: their standard deviation.
    #[serde(default)]
    pub spread: f64,
}

impl PlanVerifier {
    /// A verifier with calls of its own on each answer.
    pub fn new(name: &str, price: f64, threshold: f64, scores: Scores) -> Self {
        Self {
            name: name.to_owned(),
            price,
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

    pub(super) fn attribute(&self) -> AttributeSpec {
        AttributeSpec {
            name: self.name.clone(),
            price: self.price,
            threshold: self.threshold,
            scores: noise::model(self.scores),
        }
    }
}

/// Who makes answers to questions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanGenerator {
    /// What reports call it.
    #[serde(default = "name")]
    pub name: String,
    /// What an answer costs.
    pub price: f64,
    /// The share of its answers that are good; as the plan says if not given.
    pub good: Option<f64>,
}

fn name() -> String {
    "generator".into()
}
