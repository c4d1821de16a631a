//! The cost of each guarantee if few or most answers are good: calls until 95 % of the good arms are
//! certified, and the number that is certified at a quarter and at half of the calls of the row's first
//! guarantee.
//!
//! `cargo run --release -p goodarm-sim --example false_discovery -- [repetitions] [arms]`

#![expect(clippy::print_stdout, reason = "a table for the terminal")]

use goodarm_core::policy::rcb::Rcb;
use goodarm_core::{AttributeSpec, Guarantee, Problem, ProblemSpec, ScoreModel, Session};
use goodarm_sim::episode::{Course, run_while};
use goodarm_sim::random::Random;
use goodarm_sim::world::{ScoreLaw, World};

#[derive(Clone, Copy)]
struct Cell {
    arms: u32,
    good_percent: u32,
    attributes: u32,
    delta: f64,
}

/// The call of each certificate, and the number of wrong ones.
struct Run {
    good: usize,
    calls: Vec<u64>,
    wrong: usize,
}

const GUARANTEES: [Guarantee; 2] = [Guarantee::Holm, Guarantee::FalseDiscovery];

fn main() {
    let number = |index: usize| std::env::args().nth(index).and_then(|text| text.parse().ok());
    let repetitions: u32 = number(1).unwrap_or(200);
    let sizes: Vec<u32> = number(2).map_or(vec![100, 1000], |arms| vec![arms]);
    println!("arms good % attributes delta guarantee calls-to-95% se at-1/4 se at-1/2 se wrong %");
    for arms in sizes {
        for good_percent in [10, 30, 78] {
            for attributes in [1, 3] {
                for delta in [0.02, 0.1] {
                    report(Cell { arms, good_percent, attributes, delta }, repetitions);
                }
            }
        }
    }
}

fn report(cell: Cell, repetitions: u32) {
    let Cell { arms, good_percent, attributes, delta } = cell;
    let runs = |guarantee| (0..repetitions).map(move |seed| cell.run(guarantee, seed.into()));
    let mut full = 0.0;
    for guarantee in GUARANTEES {
        let runs: Vec<Run> = runs(guarantee).collect();
        let calls = mean(runs.iter().map(Run::calls_to_most));
        if full == 0.0 {
            full = calls.0;
        }
        let at = |share: f64| mean(runs.iter().map(|run| run.certified_at(share * full)));
        let wrong = mean(runs.iter().map(Run::wrong_percent));
        let (quarter, half) = (at(0.25), at(0.5));
        println!(
            "{arms} {good_percent} {attributes} {delta} {guarantee:?} {:.0} {:.1} {:.2} {:.2} {:.2} {:.2} {:.3}",
            calls.0, calls.1, quarter.0, quarter.1, half.0, half.1, wrong.0
        );
    }
}

impl Cell {
    fn run(self, guarantee: Guarantee, seed: u64) -> Run {
        let mut random = Random::at(seed, &[self.arms.into(), self.good_percent.into()]);
        let good = self.arms * self.good_percent / 100;
        let means = (0..self.arms).map(|arm| self.means(arm < good, &mut random)).collect();
        let laws = vec![ScoreLaw::Binary; self.attributes as usize];
        let world = World::new(means, laws, &vec![1.0; self.attributes as usize]);
        let mut session = Session::new(self.problem(guarantee), Rcb::new());
        let mut run = Run { good: good as usize, calls: Vec::new(), wrong: 0 };
        let mut call = 0;
        let course = Course { seed, concurrency: 1, raised: None };
        run_while(&mut session, &world, course, |session, _, _| {
            call += 1;
            for arm in &session.certified()[run.calls.len()..] {
                run.calls.push(call);
                run.wrong += usize::from(arm.0 >= good);
            }
            run.calls.len() - run.wrong < run.most()
        });
        run
    }

    fn means(self, good: bool, random: &mut Random) -> Vec<f64> {
        let mut means: Vec<f64> =
            (0..self.attributes).map(|_| 0.8 + 0.15 * random.uniform()).collect();
        if !good {
            let fails = random.below(self.attributes.into());
            means[usize::try_from(fails).expect("an index")] = 0.2 + 0.3 * random.uniform();
        }
        means
    }

    fn problem(self, guarantee: Guarantee) -> Problem {
        let attribute = |index: u32| AttributeSpec {
            name: index.to_string(),
            price: 1.0,
            expected: None,
            threshold: 0.5,
            scores: ScoreModel::Binary,
        };
        Problem::new(ProblemSpec {
            arms: self.arms as usize,
            attributes: (0..self.attributes).map(attribute).collect(),
            budget: 2e3 * f64::from(self.arms),
            delta: self.delta,
            guarantee,
        })
        .expect("a sound problem")
    }
}

impl Run {
    fn most(&self) -> usize {
        (self.good * 95).div_ceil(100)
    }

    fn calls_to_most(&self) -> f64 {
        self.calls.last().map_or(f64::NAN, |&calls| real(calls))
    }

    fn certified_at(&self, calls: f64) -> f64 {
        real(self.calls.iter().filter(|&&call| real(call) <= calls).count() as u64)
    }

    fn wrong_percent(&self) -> f64 {
        100.0 * real(self.wrong as u64) / real(self.calls.len().max(1) as u64)
    }
}

/// The mean and its standard error.
fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let count = real(values.len() as u64);
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, (variance / count).sqrt())
}

#[expect(clippy::cast_precision_loss, reason = "counts of calls")]
const fn real(count: u64) -> f64 {
    count as f64
}
