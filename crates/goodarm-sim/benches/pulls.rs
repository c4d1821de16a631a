//! Simulated calls per second on one core, including the draws of scores, beside a plain numpy
//! transcription of Algorithm 1 in the same run: `cargo bench -p goodarm-sim --bench pulls`.
//!
//! Both run in turn, and the fastest of five runs counts: other work of the machine only makes a run
//! slower. The numpy column is empty if Python or numpy is missing.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::process::Command;
use std::time::Instant;

use goodarm_core::policy::{Parameters, by_name};
use goodarm_core::{AttributeSpec, Guarantee, Problem, ProblemSpec, ScoreModel, Session};
use goodarm_sim::episode::{Course, run_while};
use goodarm_sim::world::{ScoreLaw, World};

/// Arms, attributes, calls of ours, calls of numpy.
const SIZES: [(usize, usize, u32, u32); 3] =
    [(12, 4, 1_000_000, 10_000), (1_000, 4, 1_000_000, 2_000), (100_000, 4, 3_000_000, 20)];

const POLICIES: [&str; 2] = ["bma-gai", "rcb"];

const ROUNDS: usize = 5;

fn main() {
    println!(
        "|    arms | attributes | policy  | pulls/s and core | ns/pull | numpy ns/pull | ratio |"
    );
    println!(
        "|--------:|-----------:|---------|-----------------:|--------:|--------------:|------:|"
    );
    for (arms, attributes, pulls, pulls_numpy) in SIZES {
        let mut numpy: Option<f64> = None;
        let mut ours = [f64::INFINITY; POLICIES.len()];
        for _ in 0..ROUNDS {
            let now = python(arms, attributes, pulls_numpy);
            numpy = now.map(|now| numpy.map_or(now, |least| least.min(now)));
            for (least, policy) in ours.iter_mut().zip(POLICIES) {
                *least = least.min(goodarm(policy, arms, attributes, pulls));
            }
        }
        for (nanoseconds, policy) in ours.into_iter().zip(POLICIES) {
            // numpy runs Algorithm 1 only.
            let (other, ratio) = match numpy {
                Some(numpy) if policy == "bma-gai" => {
                    (format!("{numpy:.0}"), format!("{:.0}", numpy / nanoseconds))
                }
                _ => Default::default(),
            };
            println!(
                "| {arms:>7} | {attributes:>10} | {policy:<7} | {:>16.0} | {nanoseconds:>7.0} | {other:>13} | {ratio:>5} |",
                1e9 / nanoseconds
            );
        }
    }
}

/// Nanoseconds per call of a new session with money for about `pulls` calls.
fn goodarm(policy: &str, arms: usize, attributes: usize, pulls: u32) -> f64 {
    let prices: Vec<f64> = (0..attributes).map(|index| f64::from(1_u32 << index)).collect();
    let attribute_specs = prices
        .iter()
        .map(|&price| AttributeSpec {
            name: price.to_string(),
            price,
            expected: None,
            threshold: 0.5,
            scores: ScoreModel::SubGaussian { sigma: 1.0, lowest: None },
        })
        .collect();
    let mean_price = prices.iter().sum::<f64>() / f64::from(u32::try_from(attributes).unwrap_or(1));
    let guarantee = if policy == "rcb" { Guarantee::Holm } else { Guarantee::Paper };
    let problem = Problem::new(ProblemSpec {
        arms,
        attributes: attribute_specs,
        budget: mean_price * f64::from(pulls),
        // So small that no arm is certified during the measurement.
        delta: if policy == "rcb" { 1e-300 } else { 0.02 },
        guarantee,
    })
    .expect("a sound problem");
    let world = World::new(
        vec![vec![0.51; attributes]; arms],
        vec![ScoreLaw::Gaussian(1.0); attributes],
        &prices,
    );
    let policy = by_name(policy, &Parameters::default()).expect("a policy");
    let mut session = Session::new(problem, policy);
    let begin = Instant::now();
    let course = Course { seed: 1, concurrency: 1, raised: None };
    let episode = run_while(&mut session, &world, course, |_, _, _| true);
    let pulls = u32::try_from(episode.pull_count).unwrap_or(u32::MAX);
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(pulls)
}

fn python(arms: usize, attributes: usize, pulls: u32) -> Option<f64> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/algorithm1.py");
    let arguments = [arms.to_string(), attributes.to_string(), pulls.to_string()];
    let output = Command::new("python3").arg(script).args(arguments).output().ok()?;
    output.status.success().then_some(())?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
