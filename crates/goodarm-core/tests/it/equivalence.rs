//! The incremental `bma-gai` makes the pulls of the plain transcription, over thousands of random
//! problems: Gaussian and binary scores, budgets that run out, δ from 0.1 to 1e-100.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use goodarm_core::policy::bma_gai::{BmaGai, BmaGaiSettings};
use goodarm_core::{
    Ask, AttributeSpec, Books, Change, Choice, Cost, Guarantee, Policy, Problem, ProblemSpec,
    ScoreModel, Session,
};
use goodarm_sim::random::Random;

use crate::doors::{Doors, OnArm};
use crate::scanning::Scanning;
use crate::scenario::random_scenario;
use crate::transcription::{State, Transcription};

/// How often each branch was taken, over many problems.
type Branches = BTreeMap<&'static str, u64>;

#[derive(Clone, Copy, Debug)]
enum Scores {
    Gaussian,
    Binary,
    /// Scores far above any threshold, which bring the targeted branch within reach.
    Large,
    /// Few values, many ties.
    Coarse,
}

struct Case {
    algorithm: Transcription,
    means: Vec<f64>,
    scores: Scores,
    steps_max: usize,
}

fn pick<T: Copy>(random: &mut Random, options: &[T]) -> T {
    let index = random.below(options.len() as u64);
    options[usize::try_from(index).expect("an index")]
}

fn random_case(random: &mut Random, arm_count: usize, steps_max: usize) -> Case {
    let attribute_count = pick(random, &[1, 2, 3, 4]);
    let scores = pick(
        random,
        &[Scores::Gaussian, Scores::Binary, Scores::Large, Scores::Large, Scores::Coarse],
    );
    let (least, most) = match scores {
        Scores::Gaussian | Scores::Binary => (0.2, 1.0),
        Scores::Large | Scores::Coarse => (-2.0, 12.0),
    };
    let arms: Vec<f64> =
        (0..arm_count).map(|_| least + (most - least) * random.uniform()).collect();
    let means = (0..arm_count * attribute_count)
        .map(|pair| arms[pair / attribute_count] + 0.1 * random.normal())
        .collect();
    let steps = u64::try_from(steps_max).expect("a few");
    let algorithm = Transcription {
        arm_count,
        thresholds: (0..attribute_count).map(|_| 0.1 + 0.8 * random.uniform()).collect(),
        costs: (0..attribute_count).map(|_| pick(random, &[1, 1, 2, 3, 10, 50])).collect(),
        budget: pick(random, &[5, steps / 2, steps, 5 * steps, 100 * steps]).max(1),
        delta: pick(random, &[0.1, 0.02, 1e-4, 1e-10, 1e-40, 1e-100]),
        allocation_constant: pick(random, &[8.0, 8.0, 8.0, 2.0, 0.2]),
        cost_blind: random.below(3) == 0,
        unresolved_only: random.below(3) == 0,
        state: State::default(),
    }
    .start();
    Case { algorithm, means, scores, steps_max }
}

fn draw(scores: Scores, mean: f64, random: &mut Random) -> f64 {
    match scores {
        Scores::Gaussian | Scores::Large => mean + random.normal(),
        Scores::Binary => f64::from(u8::from(random.uniform() < mean)),
        Scores::Coarse => libm::rint((mean + random.normal()) / 4.0) * 4.0,
    }
}

fn session(algorithm: &Transcription) -> Session {
    let attributes = algorithm
        .costs
        .iter()
        .zip(&algorithm.thresholds)
        .enumerate()
        .map(|(index, (&cost, &threshold))| AttributeSpec {
            name: index.to_string(),
            price: f64::from(u32::try_from(cost).expect("a small price")),
            expected: None,
            threshold,
            scores: ScoreModel::SubGaussian { sigma: 1.0, lowest: None },
        })
        .collect();
    let problem = Problem::new(ProblemSpec {
        arms: algorithm.arm_count,
        attributes,
        budget: f64::from(u32::try_from(algorithm.budget).expect("a small budget")),
        delta: algorithm.delta,
        guarantee: Guarantee::Paper,
    });
    let settings = BmaGaiSettings {
        allocation_constant: algorithm.allocation_constant,
        unresolved_only: algorithm.unresolved_only,
    };
    let policy =
        if algorithm.cost_blind { BmaGai::cost_blind(settings) } else { BmaGai::new(settings) };
    Session::new(problem.expect("a sound problem"), policy)
}

fn check(mut case: Case, random: &mut Random, branches: &mut Branches) {
    let mut session = session(&case.algorithm);
    let attribute_count = case.algorithm.costs.len();
    for step in 0..case.steps_max {
        let expected = case.algorithm.next();
        let pull = match session.ask().expect("a legal pull") {
            Ask::Call(pull) => pull,
            Ask::Wait => panic!("no call is in flight"),
            Ask::Done(reason) => {
                assert_eq!(expected, None, "step {step}: stopped because {reason:?}");
                break;
            }
        };
        let (arm, attribute) = (pull.arm().index(), pull.attribute().index());
        assert_eq!(Some((pull.branch, arm, attribute)), expected, "step {step}");
        *branches.entry(pull.branch).or_default() += 1;
        let mean = case.means[arm * attribute_count + attribute];
        let score = draw(case.scores, mean, random);
        case.algorithm.observe(arm, attribute, score);
        session
            .tell(pull.ticket, score, Cost::from_units(case.algorithm.costs[attribute]))
            .expect("told");
    }
    let certified: Vec<usize> = session.certified().iter().map(|arm| arm.index()).collect();
    assert_eq!(certified, case.algorithm.state.certified);
}

fn check_many(
    seed: u64,
    problems: u64,
    arms: impl Fn(&mut Random) -> usize,
    steps: usize,
) -> Branches {
    let mut branches = Branches::new();
    for problem in 0..problems {
        let mut random = Random::at(seed, &[problem]);
        let arm_count = arms(&mut random);
        let case = random_case(&mut random, arm_count, steps);
        check(case, &mut random, &mut branches);
    }
    branches
}

#[test]
fn small_problems_agree_step_by_step() {
    let branches =
        check_many(1, 3000, |random| 1 + usize::try_from(random.below(12)).unwrap(), 1500);
    assert!(branches["explore"] > 20_000 && branches["fallback"] > 500_000, "{branches:?}");
    assert!(branches["target"] > 200_000, "the targeted branch is really taken: {branches:?}");
}

#[test]
fn problems_with_hundreds_of_arms_agree() {
    let branches =
        check_many(2, 60, |random| 100 + usize::try_from(random.below(300)).unwrap(), 6000);
    assert!(branches["target"] > 20_000, "{branches:?}");
}

#[test]
fn problems_with_thousands_of_arms_agree() {
    let branches = check_many(5, 6, |_| 3000, 30_000);
    assert!(branches["target"] > 5_000, "{branches:?}");
}

#[test]
fn every_kind_of_problem_agrees_with_a_scan() {
    let mut target_count = 0;
    for seed in 0..300 {
        let scenario = random_scenario(seed);
        let allocation_constant = if seed % 2 == 0 { 0.05 } else { 0.5 };
        let settings = BmaGaiSettings { allocation_constant, unresolved_only: seed % 3 == 0 };
        let transcript = |policy: Box<dyn Policy + Send>| {
            let mut events = Vec::new();
            let mut session = scenario.session(policy);
            let reason = scenario.drive(&mut session, |_, event| events.push(event));
            (events, reason)
        };
        let incremental = Counting { policy: BmaGai::new(settings), targets: Arc::default() };
        let targets = incremental.targets.clone();
        assert_eq!(
            transcript(Box::new(incremental)),
            transcript(Box::new(Scanning { settings })),
            "{seed}: {scenario:?}"
        );
        target_count += targets.load(Ordering::Relaxed);
    }
    assert!(target_count > 10_000, "the targeted branch is really taken: {target_count}");
}

/// Counts how often the targeted branch is taken.
struct Counting {
    policy: BmaGai,
    targets: Arc<AtomicU64>,
}

impl Policy for Counting {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn begin(&mut self, books: &Books) {
        self.policy.begin(books);
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let choice = self.policy.choose(books);
        let target = choice.is_some_and(|choice| choice.branch == "target");
        self.targets.fetch_add(u64::from(target), Ordering::Relaxed);
        choice
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        self.policy.on_change(books, change);
    }
}
