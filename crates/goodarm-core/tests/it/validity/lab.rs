//! Boundary nulls, and a driver that can be made to break the rules.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, Mutex, MutexGuard};

use goodarm_core::policy::{self, Parameters, Policy};
use goodarm_core::{
    ArmId, Ask, AttributeId, AttributeSpec, Cost, CountedFailure, Failure, Guarantee, Options,
    Problem, ProblemSpec, Pull, ScoreModel, Session, Ticket, VoidFailure,
};
use goodarm_sim::random::Random;
use goodarm_sim::world::{Failures, Latency, Outcome, Reply, ScoreLaw, World};

use super::hostile::{Chaser, Gambler};

/// What is declared about scores, and how they are in fact drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scores {
    pub(super) name: &'static str,
    pub(super) declared: ScoreModel,
    pub(super) law: ScoreLaw,
}

pub(super) const NOISE: f64 = 0.25;

pub(super) const FLOORED: Scores = Scores {
    name: "sub-Gaussian with a lowest score",
    // Twelve standard deviations below every mean: never seen, and what failures count as.
    declared: ScoreModel::SubGaussian { sigma: NOISE, lowest: Some(-3.0) },
    law: ScoreLaw::Gaussian(NOISE),
};
pub(super) const FLOORLESS: Scores = Scores {
    name: "sub-Gaussian without a lowest score",
    declared: ScoreModel::SubGaussian { sigma: NOISE, lowest: None },
    law: ScoreLaw::Gaussian(NOISE),
};
pub(super) const BOUNDED: Scores =
    Scores { name: "bounded", declared: ScoreModel::Bounded, law: ScoreLaw::Beta(1.0) };
pub(super) const BINARY: Scores =
    Scores { name: "binary", declared: ScoreModel::Binary, law: ScoreLaw::Binary };

pub(super) const THRESHOLDS: [f64; 2] = [0.5, 0.7];
const PRICES: [f64; 2] = [1.0, 2.0];
/// The mean of whatever is not on the boundary.
const HIGH: f64 = 0.95;

/// An instance, and how it is run. The first `good` arms are good; each other arm has one attribute
/// whose mean is exactly its threshold, so that to certify it is an error, though barely.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lab {
    pub(super) guarantee: Guarantee,
    pub(super) scores: Scores,
    pub(super) arms: u32,
    pub(super) good: u32,
    /// How many calls the budget is good for, on the average.
    pub(super) calls: u32,
    pub(super) delta: f64,
    pub(super) concurrency: usize,
    pub(super) failures: Failures,
    pub(super) habit: Habit,
}

/// How the driver treats what comes back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Habit {
    Honest,
    /// Wrong: a score counts for the oldest call of its pair that is out.
    CompletionOrder,
    /// Wrong: calls that broke are declared void, and so made again until they do not break.
    FailuresDropped,
}

impl Lab {
    pub(super) const fn new(guarantee: Guarantee, scores: Scores) -> Self {
        Self {
            guarantee,
            scores,
            arms: 11,
            good: 0,
            calls: 1000,
            delta: 0.2,
            concurrency: 1,
            failures: Failures::NONE,
            habit: Habit::Honest,
        }
    }

    pub(super) fn problem(&self) -> Problem {
        let attribute = |index: usize| AttributeSpec {
            name: format!("attribute {index}"),
            price: PRICES[index],
            threshold: THRESHOLDS[index],
            scores: self.scores.declared,
        };
        Problem::new(ProblemSpec {
            arms: self.arms as usize,
            attributes: vec![attribute(0), attribute(1)],
            budget: 0.5 * (PRICES[0] + PRICES[1]) * f64::from(self.calls),
            delta: self.delta,
            guarantee: self.guarantee,
            prior_weights: None,
        })
        .expect("the laboratory states sound problems")
    }

    /// Low scores come back ten times later.
    pub(super) fn world(&self) -> World {
        let means = (0..self.arms).map(|arm| self.means(ArmId(arm), 0.0)).collect();
        World {
            latency: Latency { slowdown: 10.0, split: THRESHOLDS[0] },
            failures: self.failures,
            ..World::new(means, vec![self.scores.law; 2], &PRICES)
        }
    }

    /// The attribute that a bad arm fails, if only just.
    pub(super) fn null_of(&self, arm: ArmId) -> Option<AttributeId> {
        (arm.0 >= self.good).then_some(AttributeId(arm.0 % 2))
    }

    fn means(&self, arm: ArmId, lift: f64) -> Vec<f64> {
        let null = self.null_of(arm).map(AttributeId::index);
        let mean = |index| if null == Some(index) { THRESHOLDS[index] + lift } else { HIGH };
        (0..THRESHOLDS.len()).map(mean).collect()
    }

    /// Every policy there is, and those that cheat.
    pub(super) fn policy_names() -> impl Iterator<Item = &'static str> {
        policy::NAMES.into_iter().chain(["chaser", "gambler"])
    }

    fn policy(&self, name: &str, spy: &Spy) -> Box<dyn Policy + Send> {
        match name {
            "chaser" => Box::new(Chaser::new(*self, spy.clone())),
            "gambler" => Box::new(Gambler::new(*self, spy.clone())),
            _ => {
                // Told the truth, the oracle would not touch a bad arm: so it is lied to.
                let means = (0..self.arms).map(|arm| self.means(ArmId(arm), 0.1)).collect();
                let parameters = Parameters { means: Some(means), ..Parameters::default() };
                policy::by_name(name, &parameters).expect("the names are those of the library")
            }
        }
    }

    /// Runs one session to its end.
    pub(super) fn run(&self, policy: &str, seed: u64) -> Vec<ArmId> {
        let spy = Spy::new(self);
        let policy = self.policy(policy, &spy);
        let options = Options { in_flight_share: 1.0, ..Options::default() };
        let session =
            Session::with_options(self.problem(), policy, options).expect("the options make sense");
        Driver::new(self, session, spy, seed).finish().certified().to_vec()
    }

    /// In how many of `trials` sessions some bad arm was certified. Every session has luck of its
    /// own, so that counts of different policies may be added up.
    pub(super) fn errors(&self, policy: &str, trials: u32) -> u32 {
        let wrong = |trial: u32| {
            self.run(policy, self.seed(policy, trial)).iter().any(|&arm| arm.0 >= self.good)
        };
        (0..trials).map(|trial| u32::from(wrong(trial))).sum()
    }

    /// A seed for each trial of each setting.
    pub(super) fn seed(&self, policy: &str, trial: u32) -> u64 {
        let text = format!("{self:?} {policy}");
        let path: Vec<u64> = text.bytes().map(u64::from).chain([u64::from(trial)]).collect();
        Random::at(0, &path).bits()
    }
}

/// What has really happened on one pair, calls that are out included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stream {
    pub(super) count: u32,
    /// Σ(x - ξ) over all calls let out.
    pub(super) excess: f64,
}

impl Stream {
    /// About ln E, with the sign of the excess.
    pub(super) fn strength(&self, sigma: f64) -> f64 {
        let excess = self.excess / sigma;
        excess * excess.abs() / (2.0 * (f64::from(self.count) + PRIOR_COUNT))
    }

    /// An optimist's mean excess: what is lucky, and what may still become so.
    pub(super) fn promise(&self, sigma: f64) -> f64 {
        let count = f64::from(self.count) + PRIOR_COUNT;
        self.excess / sigma / count + 1.0 / count.sqrt()
    }
}

const PRIOR_COUNT: f64 = 10.0;

/// The outcomes of all calls let out so far, which no honest policy can see; never a future one.
#[derive(Clone, Debug)]
pub(super) struct Spy {
    streams: Arc<Mutex<Vec<Stream>>>,
}

impl Spy {
    pub(super) fn new(lab: &Lab) -> Self {
        let streams = vec![Stream::default(); lab.arms as usize * THRESHOLDS.len()];
        Self { streams: Arc::new(Mutex::new(streams)) }
    }

    pub(super) fn stream(&self, arm: ArmId, attribute: AttributeId) -> Stream {
        self.lock()[pair_index(arm, attribute)]
    }

    fn note(&self, arm: ArmId, attribute: AttributeId, score: f64) {
        let stream = &mut self.lock()[pair_index(arm, attribute)];
        stream.count += 1;
        stream.excess += score - THRESHOLDS[attribute.index()];
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Stream>> {
        self.streams.lock().expect("nobody panics with the lock")
    }
}

fn pair_index(arm: ArmId, attribute: AttributeId) -> usize {
    arm.index() * THRESHOLDS.len() + attribute.index()
}

/// Makes the calls of one session.
pub(super) struct Driver<'a> {
    lab: &'a Lab,
    session: Session,
    spy: Spy,
    world: World,
    seed: u64,
    called: Vec<u64>,
    time: f64,
    /// When each call comes back, as the bits of a positive number, which are ordered as it is.
    queue: BinaryHeap<Reverse<(u64, Ticket)>>,
    out: BTreeMap<Ticket, (Pull, Reply)>,
    /// The pairs of the tickets that are not answered.
    unanswered: BTreeMap<Ticket, usize>,
}

impl<'a> Driver<'a> {
    pub(super) fn new(lab: &'a Lab, session: Session, spy: Spy, seed: u64) -> Self {
        Self {
            world: lab.world(),
            called: vec![0; session.books().problem().pair_count()],
            lab,
            session,
            spy,
            seed,
            time: 0.0,
            queue: BinaryHeap::new(),
            out: BTreeMap::new(),
            unanswered: BTreeMap::new(),
        }
    }

    /// Asks and answers until there is nothing more to do.
    pub(super) fn finish(mut self) -> Session {
        loop {
            let full = self.out.len() >= self.lab.concurrency;
            let ask = if full { Ok(Ask::Wait) } else { self.session.ask() };
            match ask.expect("policies name open, affordable pairs") {
                Ask::Pull(pull) => self.send(pull),
                Ask::Wait => self.receive(),
                Ask::Done(_) => return self.session,
            }
        }
    }

    fn send(&mut self, pull: Pull) {
        let index = pair_index(pull.arm, pull.attribute);
        let reply = self.world.reply(self.seed, pull.arm, pull.attribute, self.called[index]);
        self.called[index] += 1;
        if let Outcome::Score(score) = reply.outcome {
            self.spy.note(pull.arm, pull.attribute, score);
        }
        self.queue.push(Reverse(((self.time + reply.latency).to_bits(), pull.ticket)));
        self.out.insert(pull.ticket, (pull, reply));
        self.unanswered.insert(pull.ticket, index);
    }

    fn receive(&mut self) {
        let Reverse((time, back)) = self.queue.pop().expect("a session waits for calls");
        self.time = f64::from_bits(time);
        let (pull, reply) = self.out.remove(&back).expect("what is queued is out");
        let ticket = match self.lab.habit {
            Habit::CompletionOrder => self.oldest(pair_index(pull.arm, pull.attribute)),
            Habit::Honest | Habit::FailuresDropped => back,
        };
        self.unanswered.remove(&ticket);
        let void = Failure::Void(VoidFailure::RateLimited);
        let answered = match reply.outcome {
            Outcome::Score(score) => self.session.tell(ticket, score, reply.bill),
            Outcome::Void => self.session.fail(ticket, void, Cost::ZERO),
            Outcome::Broken if self.lab.habit == Habit::FailuresDropped => {
                self.session.fail(ticket, void, Cost::ZERO)
            }
            Outcome::Broken => {
                let failure = Failure::Counted(CountedFailure::Crashed);
                self.session.fail(ticket, failure, reply.bill)
            }
        };
        answered.expect("each ticket is answered once");
    }

    fn oldest(&self, pair: usize) -> Ticket {
        let mut tickets = self.unanswered.iter();
        *tickets.find(|&(_, &other)| other == pair).expect("one of the pair's calls is back").0
    }
}
