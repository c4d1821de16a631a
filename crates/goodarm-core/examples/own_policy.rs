//! A policy of your own, outside the crate: `cargo run --release --example own_policy`.
//!
//! "Cheap first": give each arm the same number of rounds; in a round, try its unresolved attributes
//! from the cheapest to the most expensive, and drop an arm when it looks bad. It may be a poor policy, but
//! it cannot overspend and it cannot make a certificate wrong.

#![expect(clippy::print_stdout, reason = "an example prints")]

use goodarm_core::{
    ArmStatus, AttributeSpec, Books, Choice, Guarantee, Policy, Problem, ProblemSpec, ScoreModel,
    Session,
};
use goodarm_sim::episode::{Course, run_while};
use goodarm_sim::world::{ScoreLaw, World};

struct CheapFirst;

impl Policy for CheapFirst {
    fn name(&self) -> &'static str {
        "cheap-first"
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let problem = books.problem();
        let pairs = problem.arms().flat_map(|arm| problem.attributes().map(move |m| (arm, m)));
        let (arm, attribute) = pairs
            .filter(|&(arm, m)| books.is_open(arm, m) && books.is_affordable(m))
            .filter(|&(arm, m)| !books.is_resolved(arm, m))
            .filter(|&(arm, _)| books.status(arm) != ArmStatus::Rejected)
            .min_by_key(|&(arm, m)| {
                (books.tally(arm, m).dispatched_count, problem.attribute(m).price)
            })?;
        Some(Choice::pair(arm, attribute, "cheap-first"))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let prices = [1.0, 10.0];
    let names = ["format", "judge"];
    let attributes = names
        .iter()
        .zip(prices)
        .map(|(name, price)| AttributeSpec {
            name: (*name).into(),
            price,
            expected: None,
            threshold: 0.5,
            scores: ScoreModel::Binary,
        })
        .collect();
    let problem = Problem::new(ProblemSpec {
        arms: 4,
        attributes,
        budget: 2000.0,
        delta: 0.05,
        guarantee: Guarantee::Holm,
    })?;
    let means = vec![vec![0.9, 0.9], vec![0.9, 0.2], vec![0.1, 0.9], vec![0.95, 0.8]];
    let world = World::new(means, vec![ScoreLaw::Binary; 2], &prices);
    let mut session = Session::new(problem, CheapFirst);
    let course = Course { seed: 1, concurrency: 1, raised: None };
    let episode = run_while(&mut session, &world, course, |_, _, _| true);
    println!("certified {:?} for {} of 2000", episode.certified, episode.spent);
    Ok(())
}
