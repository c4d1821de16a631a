//! Nanoseconds for one ask and tell, and bytes for one pair, from twelve arms to a million, beside
//! the plain transcription of Algorithm 1 in the same run.
//!
//! `cargo bench --bench ask_tell` prints the table of `docs/performance.md`; an argument such as
//! `10000` stops at that many arms, and `rcb` leaves out the paper's rule.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::time::{Duration, Instant};

use goodarm_core::policy::bma_gai::{BmaGai, BmaGaiSettings};
use goodarm_core::policy::rcb::Rcb;
use goodarm_core::{
    Ask, AttributeSpec, Call, Cost, Guarantee, Outcome, Policy, Problem, ProblemSpec, ScoreModel,
    Session,
};
use goodarm_sim::random::Random;
use peak_alloc::PeakAlloc;

use crate::transcription::{State, Transcription};

#[path = "../tests/it/transcription.rs"]
mod transcription;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const ARM_COUNTS: [usize; 6] = [12, 100, 1_000, 10_000, 100_000, 1_000_000];
const PRICES: [u64; 3] = [1, 10, 50];
const THRESHOLD: f64 = 0.5;
const UNLIMITED: f64 = 1e14;

fn main() {
    let arms_max = std::env::args().find_map(|argument| argument.parse().ok());
    println!(
        "ns per ask + tell (M = 3), bytes per pair, and how many times faster than the direct"
    );
    println!("transcription of Algorithm 1 in the same state");
    println!();
    println!("|      arms | rule             |       ns | bytes |    direct ns |     ratio |");
    println!("|----------:|------------------|---------:|------:|-------------:|----------:|");
    for arm_count in ARM_COUNTS {
        if arms_max.is_some_and(|most| arm_count > most) {
            break;
        }
        if !std::env::args().any(|argument| argument == "rcb") {
            fallback(arm_count);
            target(arm_count);
        }
        remaining_cost(arm_count, Guarantee::Holm, "rcb, holm");
        remaining_cost(arm_count, Guarantee::Lent, "rcb, lent");
    }
}

/// What a run of one rule measured.
struct Row {
    rule: &'static str,
    nanoseconds: f64,
    bytes: f64,
    direct: Option<f64>,
}

fn print(arm_count: usize, row: &Row) {
    let direct = row.direct.map_or(String::new(), |direct| format!("{direct:.0}"));
    let ratio =
        row.direct.map_or(String::new(), |direct| format!("{:.1}", direct / row.nanoseconds));
    let Row { rule, nanoseconds, bytes, .. } = row;
    println!(
        "| {arm_count:>9} | {rule:<16} | {nanoseconds:>8.0} | {bytes:>5.0} | {direct:>12} | {ratio:>9} |"
    );
}

fn problem(arm_count: usize, delta: f64, guarantee: Guarantee, scores: ScoreModel) -> Problem {
    let attributes = PRICES
        .iter()
        .map(|&price| AttributeSpec {
            name: price.to_string(),
            price: f64::from(u32::try_from(price).expect("small")),
            expected: None,
            threshold: THRESHOLD,
            scores,
        })
        .collect();
    let spec = ProblemSpec { arms: arm_count, attributes, budget: UNLIMITED, delta, guarantee };
    Problem::new(spec).expect("a sound problem")
}

/// A session with scores drawn from a table, so that little but the session is timed.
struct Rig {
    session: Session,
    /// The mean score of each arm.
    means: Vec<f64>,
    noise: Vec<f64>,
    next: usize,
    binary: bool,
    bytes_before: usize,
}

const NOISE_COUNT: usize = 1 << 16;

impl Rig {
    fn new(problem: &Problem, policy: impl Policy + Send + 'static, means: Vec<f64>) -> Self {
        let mut random = Random::new(1);
        let binary = problem.guarantee() != Guarantee::Paper;
        let noise = (0..NOISE_COUNT)
            .map(|_| if binary { random.uniform() } else { random.normal() })
            .collect();
        let bytes_before = ALLOCATOR.current_usage();
        let session = Session::new(problem.clone(), policy);
        Self { session, means, noise, next: 0, binary, bytes_before }
    }

    fn score(&mut self, arm: usize) -> f64 {
        self.next = (self.next + 1) % NOISE_COUNT;
        let (mean, noise) = (self.means[arm], self.noise[self.next]);
        if self.binary { f64::from(u8::from(noise < mean)) } else { mean + noise }
    }

    /// One ask and settle; the call and its score, or `None` when the session has ended.
    fn step(&mut self) -> Option<(Call, f64)> {
        let Ok(Ask::Call(call)) = self.session.ask() else { return None };
        let [arm, attribute] = indices(&call);
        let score = self.score(arm);
        let bill = Cost::from_units(PRICES[attribute]);
        let settled = self.session.settle(call.ticket, &Outcome::Score(score), bill);
        settled.expect("a sound answer");
        Some((call, score))
    }

    /// Nanoseconds per step over about `steps` steps, and bytes per pair after them.
    fn measure(&mut self, steps: usize) -> (f64, f64) {
        let (elapsed, done, bytes) = self.run(steps);
        (per(elapsed, done), bytes)
    }

    /// The time for at most `steps` steps, how many there were, and bytes per pair after them.
    fn run(&mut self, steps: usize) -> (Duration, usize, f64) {
        let begin = Instant::now();
        let mut done = 0;
        while done < steps && self.step().is_some() {
            done += 1;
        }
        let elapsed = begin.elapsed();
        let bytes = ALLOCATOR.current_usage() - self.bytes_before;
        let pairs = self.session.books().problem().pair_count();
        (elapsed, done, ratio(bytes, pairs))
    }
}

fn per(elapsed: Duration, count: usize) -> f64 {
    elapsed.as_secs_f64() * 1e9 / ratio(count, 1)
}

#[expect(clippy::cast_precision_loss, reason = "for display")]
fn ratio(numerator: usize, denominator: usize) -> f64 {
    numerator as f64 / denominator.max(1) as f64
}

fn transcribed(arm_count: usize, delta: f64) -> Transcription {
    Transcription {
        arm_count,
        thresholds: vec![THRESHOLD; PRICES.len()],
        costs: PRICES.to_vec(),
        budget: u64::MAX / 2,
        delta,
        allocation_constant: 8.0,
        cost_blind: false,
        unresolved_only: false,
        state: State::default(),
    }
    .start()
}

/// The arm and the attribute of a call.
fn indices(call: &Call) -> [usize; 2] {
    let (arm, attribute) = call.pair().expect("there are no questions");
    [arm.index(), attribute.index()]
}

/// Nanoseconds for the transcription to choose and observe, in the same state and on the same
/// scores; it must choose the same.
fn measure_direct(rig: &mut Rig, direct: &mut Transcription) -> f64 {
    let mut spent = Duration::ZERO;
    let mut steps = 0;
    while steps < 20_000 && (steps < 3 || spent < Duration::from_secs(1)) {
        let Some((call, score)) = rig.step() else { break };
        let [arm, attribute] = indices(&call);
        let begin = Instant::now();
        let step = direct.next();
        direct.observe(arm, attribute, score);
        spent += begin.elapsed();
        assert_eq!(step, Some((call.branch, arm, attribute)));
        steps += 1;
    }
    per(spent, steps)
}

/// Both at once until the rule is in the branch that is to be measured.
fn warm_up(rig: &mut Rig, direct: &mut Transcription, branch: &str, steps_min: usize) {
    let mut steps = 0;
    while let Some((call, score)) = rig.step() {
        let [arm, attribute] = indices(&call);
        direct.observe(arm, attribute, score);
        steps += 1;
        if steps >= steps_min && call.branch == branch {
            return;
        }
    }
}

const SUB_GAUSSIAN: ScoreModel = ScoreModel::SubGaussian { sigma: 1.0, lowest: None };

fn fallback(arm_count: usize) {
    let problem = problem(arm_count, 0.02, Guarantee::Paper, SUB_GAUSSIAN);
    let policy = BmaGai::new(BmaGaiSettings::default());
    let mut rig = Rig::new(&problem, policy, vec![0.7; arm_count]);
    let mut direct = transcribed(arm_count, 0.02);
    warm_up(&mut rig, &mut direct, "fallback", 3 * arm_count);
    let direct = measure_direct(&mut rig, &mut direct);
    let (nanoseconds, bytes) = rig.measure(steps(arm_count));
    print(arm_count, &Row { rule: "bma-gai fallback", nanoseconds, bytes, direct: Some(direct) });
}

/// At δ = 1e-100 the targeted branch is reached; scores far above the threshold make it early. A
/// session soon has certified its arms, so several are measured.
fn target(arm_count: usize) {
    let problem = problem(arm_count, 1e-100, Guarantee::Paper, SUB_GAUSSIAN);
    let mut random = Random::new(2);
    let means: Vec<f64> = (0..arm_count).map(|_| 3.0 + 9.0 * random.uniform()).collect();
    let fresh = || Rig::new(&problem, BmaGai::new(BmaGaiSettings::default()), means.clone());
    let mut rig = fresh();
    let mut transcription = transcribed(arm_count, 1e-100);
    warm_up(&mut rig, &mut transcription, "target", 3 * arm_count);
    let direct = measure_direct(&mut rig, &mut transcription);
    drop(rig);
    let (mut elapsed, mut steps, mut bytes) = (Duration::ZERO, 0, 0.0);
    while steps < 200_000 {
        let mut rig = fresh();
        while rig.step().is_some_and(|(pull, _)| pull.branch != "target") {}
        // Not so long that few arms are left to certify.
        let (spent, done, bytes_now) = rig.run((6 * arm_count).min(500_000));
        elapsed += spent;
        steps += done.max(1);
        bytes = bytes_now;
    }
    let nanoseconds = per(elapsed, steps);
    print(arm_count, &Row { rule: "bma-gai target", nanoseconds, bytes, direct: Some(direct) });
}

fn remaining_cost(arm_count: usize, guarantee: Guarantee, rule: &'static str) {
    let problem = problem(arm_count, 0.02, guarantee, ScoreModel::Binary);
    let mut random = Random::new(3);
    let means = (0..arm_count).map(|_| 0.2 + 0.75 * random.uniform()).collect();
    let mut rig = Rig::new(&problem, Rcb::new(), means);
    // From the first call on, over several of its passes over all arms.
    let (nanoseconds, bytes) = rig.measure(steps(arm_count));
    print(arm_count, &Row { rule, nanoseconds, bytes, direct: None });
}

fn steps(arm_count: usize) -> usize {
    (3 * arm_count).clamp(500_000, 3_000_000)
}
