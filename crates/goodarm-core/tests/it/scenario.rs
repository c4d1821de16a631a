//! Random problems with everything in them, and a caller that answers in random order.

use goodarm_core::policy::{Parameters, by_name};
use goodarm_core::{
    Ask, AttributeSpec, Bill, Call, Cost, Event, Guarantee, Options, Policy, Problem, ProblemSpec,
    ScoreModel, Session, StopReason,
};
use goodarm_sim::random::Random;
use goodarm_sim::world::{
    Between, BillLaw, Failures, Latency, ScoreLaw, SimulatedReply, Verifiers, World,
};

use crate::doors::OnArm;

/// A problem, its truth, and how it is run.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) problem: Problem,
    pub(crate) world: World,
    pub(crate) options: Options,
    pub(crate) concurrency: usize,
    pub(crate) seed: u64,
}

fn pick<T: Copy>(random: &mut Random, options: &[T]) -> T {
    let index = random.below(options.len() as u64);
    options[usize::try_from(index).expect("an index")]
}

fn attribute(random: &mut Random, index: usize) -> (AttributeSpec, ScoreLaw, BillLaw) {
    let (scores, law) = match random.below(6) {
        0 => (ScoreModel::SubGaussian { sigma: 1.0, lowest: None }, ScoreLaw::Gaussian(1.0)),
        1 => (ScoreModel::SubGaussian { sigma: 0.5, lowest: Some(0.0) }, ScoreLaw::Binary),
        2 => (ScoreModel::UNIT, ScoreLaw::Beta(4.0, [0.0, 1.0])),
        3 => (ScoreModel::Exact, ScoreLaw::Exact),
        _ => (ScoreModel::Binary, ScoreLaw::Binary),
    };
    let price = pick(random, &[0.1, 1.0, 2.5, 10.0, 50.0]);
    let ceiling = Cost::of_price(price).expect("a price");
    let bill = if random.below(2) == 0 {
        BillLaw::Fixed(ceiling)
    } else {
        BillLaw::LogNormal {
            mean: 0.5 * price,
            variation: 0.8,
            between: Between::default(),
            ceiling,
        }
    };
    let threshold = 0.3 + 0.5 * random.uniform();
    (AttributeSpec { name: index.to_string(), price, expected: None, threshold, scores }, law, bill)
}

pub(crate) fn random_scenario(seed: u64) -> Scenario {
    let mut random = Random::at(seed, &[1]);
    let arms = pick(&mut random, &[1, 2, 5, 12, 40]);
    let attribute_count = pick(&mut random, &[1, 2, 3]);
    let made: Vec<_> = (0..attribute_count).map(|index| attribute(&mut random, index)).collect();
    let guarantee = pick(
        &mut random,
        &[
            Guarantee::Paper,
            Guarantee::Union,
            Guarantee::Holm,
            Guarantee::Lent,
            Guarantee::FalseDiscovery,
        ],
    );
    let means = (0..arms)
        .map(|_| {
            let quality = if random.below(2) == 0 { 0.9 } else { 0.5 };
            made.iter().map(|_| (quality + 0.1 * random.normal()).clamp(0.02, 0.98)).collect()
        })
        .collect();
    let void = pick(&mut random, &[0.0, 0.1]);
    let failures = Failures { high: 0.02, low: 0.1, split: 0.5, void };
    let world = World {
        means,
        scores: made.iter().map(|(_, law, _)| *law).collect(),
        bills: made.iter().map(|(.., bill)| *bill).collect(),
        latency: Latency { slowdown: 5.0, split: 0.5 },
        failures: if random.below(2) == 0 { failures } else { Failures::NONE },
    };
    let spec = ProblemSpec {
        arms,
        attributes: made.into_iter().map(|(spec, ..)| spec).collect(),
        budget: pick(&mut random, &[0.05, 30.0, 500.0, 3000.0]),
        delta: pick(&mut random, &[0.2, 0.02, 1e-6]),
        guarantee,
    };
    let options = Options {
        in_flight_share: pick(&mut random, &[0.02, 0.3, 1.0]),
        stop_when_hopeless: random.below(3) == 0,
        ..Options::default()
    };
    Scenario {
        problem: Problem::new(spec).expect("a sound problem"),
        world,
        options,
        concurrency: pick(&mut random, &[1, 1, 4, 64]),
        seed,
    }
}

impl Scenario {
    pub(crate) fn policy(&self, name: &str) -> Box<dyn Policy + Send> {
        let means = Some(self.world.means.clone());
        by_name(name, &Parameters { means, ..Parameters::default() }).expect("a policy")
    }

    pub(crate) fn session(&self, policy: Box<dyn Policy + Send>) -> Session {
        Session::with_options(self.problem.clone(), policy, self.options).expect("sound options")
    }

    /// Answers in random order, asks as often as it can, and shows everything to `watch`.
    pub(crate) fn drive(
        &self,
        session: &mut Session,
        watch: impl FnMut(&Session, Event),
    ) -> StopReason {
        self.drive_asking(session, |session, _| session.ask().expect("a legal pull"), watch)
    }

    /// The same for a caller that asks in its own way.
    pub(crate) fn drive_asking(
        &self,
        session: &mut Session,
        mut ask: impl FnMut(&mut Session, &mut Random) -> Ask,
        mut watch: impl FnMut(&Session, Event),
    ) -> StopReason {
        let mut random = Random::at(self.seed, &[2]);
        let attribute_count = self.problem.attribute_count();
        let mut called = vec![0; self.problem.pair_count()];
        let mut out: Vec<(Call, SimulatedReply)> = Vec::new();
        for _ in 0..STEPS_MAX {
            let may_ask = out.len() < self.concurrency && random.below(4) > 0;
            let asked =
                if may_ask || out.is_empty() { ask(session, &mut random) } else { Ask::Wait };
            match asked {
                Ask::Call(pull) => {
                    let pair = pull.arm().index() * attribute_count + pull.attribute().index();
                    let reply =
                        self.world.reply(self.seed, pull.arm(), pull.attribute(), called[pair]);
                    called[pair] += 1;
                    out.push((pull, reply));
                    watch(session, pull.into());
                }
                Ask::Wait => {
                    let chosen = random.below(out.len() as u64);
                    let (pull, reply) = out.swap_remove(usize::try_from(chosen).expect("an index"));
                    let event = event(&pull, &reply);
                    session.replay([event.clone()]).expect("a sound answer");
                    watch(session, event);
                }
                Ask::Done(reason) => return reason,
            }
        }
        panic!("the session does not end");
    }
}

fn event(pull: &Call, reply: &SimulatedReply) -> Event {
    let paid = reply.paid();
    // The bill of a call that failed is not known, except where it never began.
    let bill = if reply.outcome.is_failed() && paid > Cost::ZERO {
        Bill::unknown(Cost::from_picos(paid.picos() / 3), pull.ceiling)
    } else {
        paid.into()
    };
    Event::Settled { ticket: pull.ticket, outcome: reply.outcome.clone(), bill }
}

const STEPS_MAX: usize = 2_000_000;
