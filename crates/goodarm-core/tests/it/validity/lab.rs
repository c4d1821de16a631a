//! Boundary nulls, and a driver that can be made to break the rules.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::{Arc, Mutex, MutexGuard};

use goodarm_core::policy::{self, Parameters, Policy};
use goodarm_core::problem::ScoreError;
use goodarm_core::{
    ArmId, Ask, AttributeId, AttributeSpec, BlockingFailure, Call, Cost, CountedFailure, Failure,
    Guarantee, Options, Outcome, Problem, ProblemSpec, ScoreModel, Session, SettleError, Ticket,
    VoidFailure,
};
use goodarm_sim::random::Random;
use goodarm_sim::world::{
    BROKEN, Failures, Latency, ScoreLaw, SimulatedReply, VOID, Verifiers, World,
};

use super::hostile::{Chaser, Gambler, Pupil, Shark};
use super::twins::Screener;

use crate::doors::{Doors, OnArm};

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
    Scores { name: "bounded", declared: ScoreModel::UNIT, law: ScoreLaw::Beta(1.0, [0.0, 1.0]) };
pub(super) const BINARY: Scores =
    Scores { name: "binary", declared: ScoreModel::Binary, law: ScoreLaw::Binary };

pub(super) const THRESHOLDS: [f64; 2] = [0.5, 0.7];
const PRICES: [f64; 2] = [1.0, 2.0];
/// The mean of attributes that are not on the boundary.
const HIGH: f64 = 0.95;

/// An instance, and how it is run. The first `good` arms are good; each other arm has one attribute
/// whose mean is exactly its threshold, so that to certify it is an error, though barely.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lab {
    pub(super) guarantee: Guarantee,
    pub(super) scores: Scores,
    pub(super) arms: u32,
    pub(super) good: u32,
    /// How many calls the budget is good for, on average.
    pub(super) calls: u32,
    pub(super) delta: f64,
    pub(super) concurrency: usize,
    pub(super) failures: Failures,
    pub(super) drift: Drift,
    pub(super) habit: Habit,
}

/// How the driver treats calls and what comes back from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Habit {
    Honest,
    /// Wrong: a score counts for the oldest call of its pair in flight.
    CompletionOrder,
    /// Wrong: calls that broke are declared void, and so made again until they do not break.
    FailuresDropped,
    /// Wrong: a pair's first reply is kept, and given again for every later call.
    Cached,
    /// Wrong: a score below the lowest counts as the lowest.
    ClippedUp,
    /// Wrong: every call is made twice, and the reply that is back first is taken.
    Hedged,
}

/// What the means of bad arms do in the course of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Drift {
    /// Nothing: always on the boundary.
    None,
    /// Below the boundary for the first calls, on it afterwards.
    Rising,
    /// Below the boundary whenever luck was bad so far, on it otherwise.
    Moody,
    /// Wrong: at any time one attribute is far below its threshold, but not always the same.
    Rotating,
}

impl Drift {
    /// What is taken from the mean of a bad arm's null attribute, given what has happened so far.
    fn drop(self, null: Stream) -> f64 {
        match self {
            Self::Rising if null.count < 3 => 0.2,
            Self::Moody if null.excess < 0.0 => 0.2,
            Self::None | Self::Rising | Self::Moody | Self::Rotating => 0.0,
        }
    }
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
            drift: Drift::None,
            habit: Habit::Honest,
        }
    }

    pub(super) fn problem(&self) -> Problem {
        let attribute = |index: usize| AttributeSpec {
            name: format!("attribute {index}"),
            price: PRICES[index],
            expected: None,
            threshold: THRESHOLDS[index],
            scores: self.scores.declared,
        };
        Problem::new(ProblemSpec {
            arms: self.arms as usize,
            attributes: vec![attribute(0), attribute(1)],
            budget: 0.5 * (PRICES[0] + PRICES[1]) * f64::from(self.calls),
            delta: self.delta,
            guarantee: self.guarantee,
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
        policy::NAMES.into_iter().chain(["chaser", "gambler", "shark"])
    }

    fn policy(&self, name: &str, spy: &Spy) -> Box<dyn Policy + Send> {
        match name {
            "chaser" => Box::new(Chaser::new(*self, spy.clone())),
            "gambler" => Box::new(Gambler::new(*self, spy.clone())),
            "shark" => Box::new(Shark::new(*self, spy.clone())),
            "pupil" => Box::new(Pupil::new(*self, spy.clone())),
            "screener" => Box::new(Screener::new(*self)),
            _ => {
                // With the true means the oracle would not touch a bad arm, so it is given false ones.
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

    /// In how many of `trials` sessions there was an error. Every session has luck of its own, so
    /// that counts of different settings may be added up.
    pub(super) fn errors(&self, policy: &str, trials: u32) -> u32 {
        let wrong = |trial| {
            let seed = self.seed(policy, trial);
            let certified = self.run(policy, seed);
            let bad = count(certified.iter().filter(|arm| arm.0 >= self.good));
            match self.guarantee {
                // Rounded up or down at random, a share of wrong certificates becomes an event
                // whose probability is the false discovery rate.
                Guarantee::FalseDiscovery => {
                    let rounding = Random::at(seed, &[u64::from(trial)]).uniform();
                    bad > 0 && rounding < f64::from(bad) / f64::from(count(certified.iter()))
                }
                _ => bad > 0,
            }
        };
        (0..trials).map(|trial| u32::from(wrong(trial))).sum()
    }

    /// The share of good arms that are certified.
    pub(super) fn power(&self, policy: &str, trials: u32) -> f64 {
        let found = |trial| {
            let certified = self.run(policy, self.seed(policy, trial));
            count(certified.iter().filter(|arm| arm.0 < self.good))
        };
        f64::from((0..trials).map(found).sum::<u32>()) / f64::from(trials * self.good)
    }

    /// A seed for each trial of each setting.
    pub(super) fn seed(&self, policy: &str, trial: u32) -> u64 {
        let text = format!("{self:?} {policy}");
        let path: Vec<u64> = text.bytes().map(u64::from).chain([u64::from(trial)]).collect();
        Random::at(0, &path).bits()
    }
}

pub(super) fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    items.map(|_| 1).sum()
}

/// What has really happened on one pair, calls in flight included.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stream {
    pub(super) count: u32,
    /// Σ(x - ξ) over all calls dispatched.
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
const RELEASE_INTERVAL: u64 = 7;

/// The outcomes of all calls dispatched so far, which no honest policy can see; never a future one.
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
        self.streams.lock().expect("no thread panics with the lock")
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
    out: BTreeMap<Ticket, (Call, SimulatedReply)>,
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
                Ask::Call(pull) => self.send(pull),
                Ask::Wait => self.receive(),
                Ask::Done(_) => return self.session,
            }
        }
    }

    fn send(&mut self, pull: Call) {
        let (arm, attribute, ticket) = (pull.arm(), pull.attribute(), pull.ticket);
        let index = pair_index(arm, attribute);
        self.world.means[arm.index()][attribute.index()] = self.mean_now(arm, attribute);
        let draw = |call| self.world.reply(self.seed, arm, attribute, call);
        let reply = match self.lab.habit {
            Habit::Cached => draw(0),
            Habit::Hedged => {
                let (one, other) = (draw(self.called[index]), draw(self.called[index] + 1));
                self.called[index] += 1;
                if one.latency() < other.latency() { one } else { other }
            }
            Habit::Honest | Habit::ClippedUp | Habit::CompletionOrder | Habit::FailuresDropped => {
                draw(self.called[index])
            }
        };
        self.called[index] += 1;
        if let Some(score) = self.outcome(attribute, &reply) {
            self.spy.note(arm, attribute, score);
        }
        self.queue.push(Reverse(((self.time + reply.latency()).to_bits(), ticket)));
        self.out.insert(ticket, (pull, reply));
        self.unanswered.insert(ticket, index);
    }

    /// The mean of the call that is about to be made: it may depend on all calls before it.
    fn mean_now(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        let steady = self.lab.means(arm, 0.0)[attribute.index()];
        let Some(null) = self.lab.null_of(arm) else { return steady };
        if self.lab.drift == Drift::Rotating {
            let calls: u32 =
                (0..2).map(|other| self.spy.stream(arm, AttributeId(other)).count).sum();
            return if (calls / ROTATION_CALLS) % 2 == attribute.0 { HIGH } else { 0.2 };
        }
        let drop = self.lab.drift.drop(self.spy.stream(arm, null));
        if attribute == null { steady - drop } else { steady }
    }

    /// What the call will count as, if it will count.
    fn outcome(&self, attribute: AttributeId, reply: &SimulatedReply) -> Option<f64> {
        match reply.outcome {
            Outcome::Score(score) => Some(score),
            BROKEN if self.lab.habit == Habit::FailuresDropped => None,
            BROKEN => self.session.books().problem().attribute(attribute).lowest_score(),
            _ => None,
        }
    }

    fn receive(&mut self) {
        let Reverse((time, back)) = self.queue.pop().expect("a session waits for calls");
        self.time = f64::from_bits(time);
        let (pull, reply) = self.out.remove(&back).expect("what is queued is in flight");
        let ticket = match self.lab.habit {
            Habit::CompletionOrder => self.oldest(pair_index(pull.arm(), pull.attribute())),
            _ => back,
        };
        self.unanswered.remove(&ticket);
        self.answer(ticket, &reply);
        self.release_some();
    }

    /// Takes back the share of an arm whose luck has turned, now and then.
    fn release_some(&mut self) {
        let books = self.session.books();
        let due = books.observation_count().is_multiple_of(RELEASE_INTERVAL);
        let unlucky = |arm: &ArmId| {
            let null = self.lab.null_of(*arm).unwrap_or(AttributeId(0));
            let luck = self.spy.stream(*arm, null).excess;
            books.share(*arm).is_some() && books.is_active(*arm) && luck < 0.0
        };
        if let Some(arm) = books.problem().arms().find(unlucky).filter(|_| due) {
            self.session.release(arm).expect("the arm has a share");
        }
    }

    fn answer(&mut self, ticket: Ticket, reply: &SimulatedReply) {
        let void = Failure::Void(VoidFailure::RateLimited);
        let crashed = Failure::Counted(CountedFailure::Crashed);
        let unreadable = Failure::Counted(CountedFailure::Unreadable);
        let blocking = Failure::Blocking;
        let answered = match reply.outcome {
            Outcome::Score(score) => match self.session.tell(ticket, score, reply.bill) {
                Err(SettleError::Score { reason: ScoreError::BelowLowest(_), .. })
                    if self.lab.habit == Habit::ClippedUp =>
                {
                    self.session.fail(ticket, unreadable, reply.bill)
                }
                Err(SettleError::Score { reason: ScoreError::BelowLowest(_), .. }) => {
                    self.session.fail(ticket, blocking(BlockingFailure::BelowLowest), reply.bill)
                }
                told => told,
            },
            BROKEN if self.lab.habit != Habit::FailuresDropped => {
                self.session.fail(ticket, crashed, reply.bill)
            }
            BROKEN | VOID => self.session.fail(ticket, void, Cost::ZERO),
            _ => self.session.fail(ticket, blocking(BlockingFailure::Exhausted), Cost::ZERO),
        };
        answered.expect("each ticket is answered once");
    }

    fn oldest(&self, pair: usize) -> Ticket {
        let mut tickets = self.unanswered.iter();
        *tickets.find(|&(_, &other)| other == pair).expect("one of the pair's calls is back").0
    }
}

/// Calls of an arm after which its attributes change places.
const ROTATION_CALLS: u32 = 60;
