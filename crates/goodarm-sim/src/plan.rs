//! Plans before any money is spent: what a budget buys, and what a number of certificates costs.
//!
//! There are two estimates. The asymptotic one is the paper's theory: T*_ℓ log(1/δ). The realistic one simulates
//! sessions on answers as described. A plan about questions has only the realistic one.

mod bills;
mod questions;
mod result;
mod spec;

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use goodarm_core::{Options, ScoreModel, ScoredBy};
use rayon::prelude::*;

use crate::instance::Instance;
use crate::noise;
use crate::num::size;
use crate::random::Random;
use crate::run::run;
use crate::theory::Complexity;
use crate::trial::{Method, Trial, TrialError, TrialSettings};
use crate::world::{Failures, Latency, World};
use crate::world_error::PAIRS_MAX;

pub use self::questions::guessed_means;
pub use self::result::{Plan, PlanStep, Purchase, PurchaseTheory, Spread, StepTheory, Truncation};
pub use self::spec::{AnswerSpec, PlanGenerator, PlanSpec, PlanVerifier};

/// Why a plan cannot be made. Python has a class for each variant.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The value of a key cannot be used.
    #[error("{key}: {reason}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// No session can be run.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The caller cancelled the plan.
    #[error("the plan was cancelled")]
    Cancelled,
}

impl PlanError {
    fn key(key: impl Display, reason: impl Display) -> Self {
        Self::Key { key: key.to_string(), reason: reason.to_string() }
    }

    fn too_many(answers: usize) -> Self {
        let reason =
            format!("{answers} answers with all verifiers are more than {PAIRS_MAX} pairs");
        Self::key("answers", reason)
    }
}

/// Makes a plan.
pub fn plan(spec: &PlanSpec) -> Result<Plan, PlanError> {
    plan_until(spec, &AtomicBool::new(false))
}

/// Makes a plan, or stops once `cancelled` is true.
pub fn plan_until(spec: &PlanSpec, cancelled: &AtomicBool) -> Result<Plan, PlanError> {
    check(spec)?;
    let instance = spec.instance(0)?;
    let complexity = instance.questions.is_none().then(|| instance.complexity());
    let log = -libm::log(spec.delta);
    // Much more than enough for everything that can be certified.
    let ample = match &complexity {
        Some(complexity) => {
            REACH * complexity.total() * (log + libm::log(size(instance.means.len())))
        }
        None => spec.ample_for_questions(),
    };
    let ample = ample.max(spec.smallest_budget());
    let trials = spec.simulate(ample, cancelled)?;
    let reached = || trials.iter().map(|trial| trial.certified.len()).max().unwrap_or(0);
    let step_count = complexity.as_ref().map_or_else(reached, Complexity::good_count);
    let step = |count| step(count, complexity.as_ref(), log, &trials);
    let steps = (1..=step_count).map(step).collect();
    let mut cut = Truncation {
        calls: spec.session_calls_max(),
        of_steps: spec.cut_count(&trials),
        of_purchase: 0,
    };
    let mut purchase = None;
    if let Some(budget) = spec.budget {
        let trials = spec.simulate(budget, cancelled)?;
        let (realistic, mean) = certified(&trials)?;
        cut.of_purchase = spec.cut_count(&trials);
        purchase = Some(Purchase {
            budget,
            theory: complexity.as_ref().map(|complexity| spec.reach(complexity, budget / log)),
            mean,
            realistic,
            spent: trials.iter().map(|trial| trial.spent).sum::<f64>() / size(trials.len()),
            spending: spread(trials.iter().map(|trial| trial.spent))
                .ok_or_else(|| PlanError::key("repetitions", NONE))?,
        });
    }
    let (answers, good) = match &instance.questions {
        Some(world) => {
            let given = &world.questions.answers;
            (given.len(), given.iter().filter(|&&answer| world.is_good(answer)).count())
        }
        None => (instance.means.len(), step_count),
    };
    Ok(Plan {
        delta: spec.delta,
        questions: spec.questions,
        answers,
        good,
        steps,
        purchase,
        repetitions: spec.repetitions,
        cut: (cut.of_steps + cut.of_purchase > 0).then_some(cut),
    })
}

/// The cost of a number of certificates; `log` is log(1/δ).
fn step(count: usize, complexity: Option<&Complexity>, log: f64, trials: &[Trial]) -> PlanStep {
    let cost = |trial: &Trial| trial.certified.get(count - 1).map_or(f64::INFINITY, |it| it.cost);
    PlanStep {
        certified: count,
        theory: complexity.map(|complexity| StepTheory {
            complexity: complexity.staircase[count] - complexity.staircase[count - 1],
            characteristic: complexity.staircase[count],
            asymptotic: complexity.staircase[count] * log,
        }),
        realistic: spread(trials.iter().map(cost)),
    }
}

/// The number of certified answers: its distribution over sessions, and its mean.
fn certified(trials: &[Trial]) -> Result<(Spread, f64), PlanError> {
    let counts = trials.iter().map(|trial| size(trial.certified.len()));
    let mean = counts.clone().sum::<f64>() / size(trials.len());
    let spread = spread(counts).ok_or_else(|| PlanError::key("repetitions", NONE))?;
    Ok((spread, mean))
}

fn check(spec: &PlanSpec) -> Result<(), PlanError> {
    if spec.repetitions == 0 {
        return Err(PlanError::key("repetitions", NONE));
    }
    if spec.concurrency == 0 {
        return Err(PlanError::key("concurrency", NONE));
    }
    if !(spec.slack > 0.0 && spec.slack < 1.0) {
        let reason = format!("{} is not between 0 and 1", spec.slack);
        return Err(PlanError::key("slack", reason));
    }
    if let Some(budget) = spec.budget
        && !(budget > 0.0 && budget.is_finite())
    {
        return Err(PlanError::key("budget", format!("{budget} is not a positive number")));
    }
    let counts = spec.answers.iter().map(|answers| answers.count);
    let count = counts.fold(0_usize, usize::saturating_add);
    if count.saturating_mul(spec.verifiers.len()) > PAIRS_MAX {
        return Err(PlanError::too_many(count));
    }
    for (group, answers) in spec.answers.iter().enumerate() {
        let wrong = |key, reason| Err(PlanError::key(format!("answers[{group}].{key}"), reason));
        let (given, verifiers) = (answers.means.len(), spec.verifiers.len());
        if given != verifiers {
            return wrong("means", format!("{given} means for {verifiers} verifiers"));
        }
        for (key, shares) in [("means", &answers.means[..]), ("spread", &[answers.spread])] {
            if let Some(share) = shares.iter().find(|share| !(0.0..=1.0).contains(*share)) {
                return wrong(key, format!("{share} is not between 0 and 1"));
            }
        }
    }
    spec.check_questions()?;
    spec.scored_by()?;
    // The rest is checked when the problem is made.
    spec.simulate_one(spec.smallest_budget() * 1e-3, 0).map(|_| ())
}

impl PlanSpec {
    fn smallest_budget(&self) -> f64 {
        let verifiers = self.verifiers.iter().map(|verifier| verifier.price);
        verifiers.chain(self.makers().map(|maker| maker.price)).fold(1.0, f64::max)
    }

    /// The limit of calls per session, so that all sessions together stay within the limit of the plan.
    fn session_calls_max(&self) -> u64 {
        (self.calls_max.unwrap_or(CALLS_MAX) / self.repetitions).max(1)
    }

    fn cut_count(&self, trials: &[Trial]) -> usize {
        trials.iter().filter(|trial| trial.is_cut(self.session_calls_max())).count()
    }

    fn reach(&self, complexity: &Complexity, normalized: f64) -> PurchaseTheory {
        PurchaseTheory {
            normalized,
            asymptotic: complexity.reach(normalized),
            asymptotic_lower: complexity.reach_lower(normalized, self.slack),
            asymptotic_upper: complexity.reach_upper(normalized, self.slack),
        }
    }

    /// Which calls give the scores of each verifier.
    fn scored_by(&self) -> Result<Vec<ScoredBy>, PlanError> {
        let by = |(index, verifier): (usize, &PlanVerifier)| {
            let Some(name) = &verifier.calls_of else {
                let proposes = verifier.proposes;
                return Ok(match verifier.solver {
                    true => ScoredBy::Votes { proposes },
                    false => ScoredBy::OwnCalls,
                });
            };
            let is_lead = |it: &PlanVerifier| it.name == *name && it.calls_of.is_none();
            let lead = self.verifiers[..index].iter().position(|it| is_lead(it) && !it.solver);
            let unknown = || {
                let reason =
                    format!("no earlier verifier with calls of its own is called {name:?}");
                PlanError::key(format_args!("verifiers[{index}].calls_of"), reason)
            };
            lead.map(ScoredBy::CallsOf).ok_or_else(unknown)
        };
        self.verifiers.iter().enumerate().map(by).collect()
    }

    /// What the spread is multiplied by in a repetition.
    fn spread_factor(&self, repetition: u64) -> f64 {
        let luck = Random::at(self.seed, &[repetition, 0x5B7EAD]).uniform();
        if self.is_spread_guessed { 2.0 * luck } else { 1.0 }
    }

    /// Answers as described; means with a spread are drawn again in every repetition.
    fn instance(&self, repetition: u64) -> Result<Instance, PlanError> {
        let mut random = Random::at(self.seed, &[repetition, 0x91A7]);
        let seed = random.clone().bits();
        let spread_factor = self.spread_factor(repetition);
        let mut means = Vec::new();
        for answers in &self.answers {
            let spread = spread_factor * answers.spread;
            for _ in 0..answers.count {
                let drawn = answers.means.iter().zip(&self.verifiers).map(|(mean, verifier)| {
                    match noise::model(verifier.scores) {
                        ScoreModel::Exact => *mean,
                        _ => (mean + spread * random.normal()).clamp(0.0, 1.0),
                    }
                });
                means.push(drawn.collect::<Vec<f64>>());
            }
        }
        let bills = self.verifier_bills(repetition)?;
        let mut laws = Vec::new();
        for (index, verifier) in self.verifiers.iter().enumerate() {
            let law = noise::law(verifier.scores, verifier.deviation).map_err(|error| {
                PlanError::key(format_args!("verifiers[{index}].deviation"), error)
            })?;
            laws.push(law);
        }
        let scored_by = self.scored_by()?;
        let questions = match self.questions {
            Some(count) => {
                let mut world = self.world(count, &laws, &scored_by, [seed, repetition]);
                world.bills = self.service_bills(repetition)?;
                Some(world)
            }
            None => None,
        };
        let world = World {
            means: means.clone(),
            scores: laws.clone(),
            bills,
            latency: Latency::INDEPENDENT,
            failures: Failures::NONE,
        };
        Ok(Instance {
            attributes: self.verifiers.iter().map(PlanVerifier::attribute).collect(),
            costs: self.verifiers.iter().map(PlanVerifier::cost).collect(),
            laws,
            types: vec![0; means.len()],
            type_names: vec!["answer".into()],
            right: None,
            means,
            verifiers: Arc::new(world),
            scored_by,
            questions: questions.map(Arc::new),
        })
    }

    fn simulate(&self, budget: f64, cancelled: &AtomicBool) -> Result<Vec<Trial>, PlanError> {
        (0..self.repetitions)
            .into_par_iter()
            .map(|repetition| {
                if cancelled.load(Ordering::Relaxed) {
                    return Err(PlanError::Cancelled);
                }
                self.simulate_one(budget, repetition)
            })
            .collect()
    }

    fn simulate_one(&self, budget: f64, repetition: u64) -> Result<Trial, PlanError> {
        let setting = TrialSettings {
            budget,
            delta: self.delta,
            concurrency: self.concurrency,
            seed: Random::at(self.seed, &[repetition]).bits(),
            shuffled: true,
            until_all_good: false,
            calls_max: self.session_calls_max(),
        };
        let Options { in_flight_min, stop_when_hopeless, .. } =
            Options::of_run(self.stop_when_hopeless);
        let method = Method {
            in_flight_min,
            stop_when_hopeless,
            ..Method::new(&self.policy, self.guarantee)
        };
        Ok(run(&self.instance(repetition)?, &method, setting)?)
    }
}

/// The 10 %, 50 % and 90 % quantiles of a sample; `None` if the sample is empty or its median is infinite.
fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let at =
        |tenths: usize| sorted.get((sorted.len().saturating_sub(1) * tenths + 5) / 10).copied();
    let spread = Spread { low: at(1)?, median: at(5)?, high: at(9)? };
    spread.median.is_finite().then_some(spread)
}

const NONE: &str = "at least one is needed";
/// This multiple of T* (log(1/δ) + log Q) is enough for every policy worth planning with.
const REACH: f64 = 6.0;
/// The default limit of simulated calls, so that a plan takes a few minutes at most.
const CALLS_MAX: u64 = 100_000_000;

#[cfg(test)]
mod tests {
    use goodarm_files::{GuaranteeName, Scores};

    use super::*;

    fn spec() -> PlanSpec {
        PlanSpec {
            delta: 0.02,
            budget: Some(20_000.0),
            slack: 0.1,
            guarantee: Some(GuaranteeName::Holm),
            policy: "rcb".into(),
            concurrency: 1,
            repetitions: 12,
            seed: 1,
            verifiers: vec![
                PlanVerifier::new("format", 1.0, 0.5, Scores::Exact),
                PlanVerifier::new("judge", 20.0, 0.5, Scores::Binary),
            ],
            answers: vec![
                AnswerSpec { count: 14, means: vec![1.0, 0.9], spread: 0.02 },
                AnswerSpec { count: 6, means: vec![1.0, 0.2], spread: 0.02 },
            ],
            ..PlanSpec::default()
        }
    }

    #[test]
    fn costs_grow_and_are_above_theory() {
        let plan = plan(&spec()).unwrap();
        assert_eq!((plan.answers, plan.good, plan.steps.len()), (20, 14, 14));
        for pair in plan.steps.windows(2) {
            assert!(pair[0].theory.unwrap().asymptotic < pair[1].theory.unwrap().asymptotic);
            assert!(pair[0].realistic.unwrap().median <= pair[1].realistic.unwrap().median);
        }
        let last = plan.steps.last().unwrap();
        assert!(last.realistic.unwrap().median > last.theory.unwrap().asymptotic, "{last:?}");
        let purchase = plan.purchase.unwrap();
        assert!(purchase.realistic.median > 12.0, "{purchase:?}");
    }

    /// Bills are around the expected price. The price is reserved, so the last of the money cannot be spent.
    #[test]
    fn calls_are_billed_as_expected_and_reserved_at_their_price() {
        let mut spec = PlanSpec { budget: Some(2000.0), ..spec() };
        let few = plan(&spec).unwrap().purchase.unwrap();
        assert!(few.realistic.median <= 5.0, "{few:?}");
        for verifier in &mut spec.verifiers {
            verifier.expected = Some(0.1 * verifier.price);
        }
        let many = plan(&spec).unwrap();
        let purchase = many.purchase.unwrap();
        assert!(purchase.realistic.median > 12.0, "{purchase:?}");
        assert!(purchase.spending.high <= 2000.0 && purchase.spending.low > 500.0, "{purchase:?}");
        assert!(purchase.spending.low < purchase.spending.high, "{purchase:?}");
        let dear = plan(&PlanSpec { budget: Some(20_000.0), ..self::spec() }).unwrap();
        let ratio = |of: fn(&PlanStep) -> f64| of(&dear.steps[3]) / of(&many.steps[3]);
        assert!((ratio(|step| step.theory.unwrap().asymptotic) - 10.0).abs() < 1e-6);
        assert!((7.0..13.0).contains(&ratio(|step| step.realistic.unwrap().median)));
        // A price of half the budget: hardly more than the other half can be spent.
        spec.verifiers[1].price = 1000.0;
        spec.answers[0].count = 200;
        let half = plan(&spec).unwrap().purchase.unwrap();
        assert!(half.spending.high < 1010.0 && half.spending.low > 900.0, "{half:?}");
        spec.verifiers[0].expected = Some(2.0);
        assert!(plan(&spec).unwrap_err().to_string().contains("expected bill of attribute 0"));
    }

    #[test]
    fn errors_name_the_key() {
        let wrong = |change: &dyn Fn(&mut PlanSpec), name: &str| {
            let mut spec = spec();
            change(&mut spec);
            let error = plan(&spec).unwrap_err();
            assert!(error.to_string().contains(name), "{error} should name {name}");
        };
        wrong(&|spec| spec.answers[1].means.truncate(1), "answers[1].means");
        wrong(&|spec| spec.delta = 2.0, "delta");
        wrong(&|spec| spec.policy = "magic".into(), "policy");
        wrong(&|spec| spec.verifiers[0].price = -1.0, "verifiers[0].price");
        wrong(&|spec| spec.verifiers[1].deviation = Some(0.1), "verifiers[1].deviation");
        wrong(&|spec| spec.budget = Some(f64::NAN), "budget");
        wrong(&|spec| spec.answers.clear(), "arms");
    }

    #[test]
    fn callers_can_tell_errors_apart() {
        let mut wrong = spec();
        wrong.policy = "magic".into();
        assert!(matches!(plan(&wrong), Err(PlanError::Trial(TrialError::Policy { .. }))));
        wrong = spec();
        wrong.delta = 2.0;
        assert!(matches!(plan(&wrong), Err(PlanError::Trial(TrialError::Problem(_)))));
        wrong = spec();
        wrong.verifiers[0].price = -1.0;
        assert!(
            matches!(plan(&wrong), Err(PlanError::Key { key, .. }) if key == "verifiers[0].price")
        );
        wrong = spec();
        wrong.answers[0].count = usize::MAX;
        assert_eq!(plan(&wrong), Err(PlanError::too_many(usize::MAX)));
        let cancelled = AtomicBool::new(true);
        assert_eq!(plan_until(&spec(), &cancelled), Err(PlanError::Cancelled));
    }

    /// One reply scores both judges: there is one price, and the judge that needs more calls decides.
    #[test]
    fn a_call_that_scores_several_verifiers_is_paid_once() {
        let rubric = |shared: bool| {
            let mut spec = spec();
            spec.verifiers.push(PlanVerifier {
                calls_of: shared.then(|| "judge".into()),
                ..PlanVerifier::new("tone", 20.0, 0.5, Scores::Binary)
            });
            spec.answers = vec![AnswerSpec { count: 8, means: vec![1.0, 0.9, 0.7], spread: 0.0 }];
            spec.budget = Some(7000.0);
            plan(&spec).unwrap()
        };
        let (shared, apart) = (rubric(true), rubric(false));
        let h = |mean| 20.0 / crate::theory::divergence(mean, 0.5);
        let found = |plan: &Plan| plan.steps[0].theory.unwrap().complexity;
        assert!((found(&shared) - h(0.7)).abs() < 1e-9, "{shared:?}");
        assert!((found(&apart) - h(0.7) - h(0.9)).abs() < 1e-9, "{apart:?}");
        let last = |plan: &Plan| plan.steps[7].realistic.unwrap().median;
        assert!(last(&shared) < 0.9 * last(&apart), "{} {}", last(&shared), last(&apart));
        let mut wrong = spec();
        wrong.verifiers[1].calls_of = Some("missing".into());
        assert!(plan(&wrong).unwrap_err().to_string().contains("verifiers[1].calls_of"));
    }

    #[test]
    fn very_long_sessions_are_stopped() {
        let mut spec = spec();
        spec.verifiers[1].threshold = 0.99999;
        spec.answers = vec![AnswerSpec { count: 3, means: vec![1.0, 0.999_995], spread: 0.0 }];
        spec.calls_max = Some(12_000);
        spec.budget = Some(10_000.0);
        let plan = plan(&spec).unwrap();
        let cut = plan.cut.unwrap();
        assert_eq!((cut.calls, cut.of_steps, cut.of_purchase), (1000, 12, 0));
        assert!(plan.steps[0].realistic.is_none());
    }
}
