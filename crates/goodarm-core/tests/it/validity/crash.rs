//! Calls in flight when the process died: what to do with them, and what not.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use goodarm_core::policy::by_name;
use goodarm_core::{
    ArmId, Ask, AttributeId, AttributeSpec, Call, Cost, CountedFailure, Event, Failure, Guarantee,
    Options, Outcome, Problem, ProblemSpec, ScoreModel, Session, Target, Ticket,
};
use goodarm_sim::random::Random;
use goodarm_sim::world::{Latency, ScoreLaw, Verifiers, World};

use super::limit::{check_broken, check_valid};

use crate::doors::{Doors, OnArm, failed, told};

const TRIALS: u32 = 200;
const DELTA: f64 = 0.05;
const CALLS: u32 = 1000;
const CONCURRENCY: usize = 16;
/// Answers between two crashes.
const LIFETIME: u32 = 150;

/// What becomes of the calls that were in flight.
#[derive(Clone, Copy, PartialEq)]
enum Recovery {
    /// They count as the lowest score.
    Lost,
    /// Wrong: they are made again.
    Reissued,
    /// Wrong: they are forgotten, as if they had never been dispatched.
    Skipped,
}

/// One bad arm, a process that dies every now and then, and the record it leaves.
struct Life {
    recovery: Recovery,
    world: World,
    seed: u64,
    called: u64,
    time: f64,
    session: Session,
    record: Vec<Event>,
    queue: BinaryHeap<Reverse<(u64, Ticket)>>,
    scores: BTreeMap<Ticket, f64>,
}

impl Life {
    fn new(recovery: Recovery, trial: u32) -> Self {
        let means = vec![vec![0.5]];
        let latency = Latency { slowdown: 10.0, split: 0.5 };
        Self {
            recovery,
            world: World { latency, ..World::new(means, vec![ScoreLaw::Binary], &[1.0]) },
            seed: Random::at(u64::from(trial), &[11]).bits(),
            called: 0,
            time: 0.0,
            session: session(),
            record: Vec::new(),
            queue: BinaryHeap::new(),
            scores: BTreeMap::new(),
        }
    }

    /// Whether the bad arm is certified in the end.
    fn ends_in_error(mut self) -> bool {
        let mut answers = 0;
        loop {
            let full = self.queue.len() >= CONCURRENCY;
            let ask = if full { Ok(Ask::Wait) } else { self.session.ask() };
            match ask.expect("round-robin names open, affordable pairs") {
                Ask::Call(pull) => {
                    self.record.push(Event::from(pull));
                    self.send(&pull);
                }
                Ask::Wait => {
                    self.receive();
                    answers += 1;
                    if answers % LIFETIME == 0 {
                        self.crash();
                    }
                }
                Ask::Done(_) => return !self.session.certified().is_empty(),
            }
        }
    }

    fn send(&mut self, pull: &Call) {
        let reply = self.world.reply(self.seed, pull.arm(), pull.attribute(), self.called);
        self.called += 1;
        let Outcome::Score(score) = reply.outcome else { unreachable!("nothing fails here") };
        self.queue.push(Reverse(((self.time + reply.latency()).to_bits(), pull.ticket)));
        self.scores.insert(pull.ticket, score);
    }

    fn receive(&mut self) {
        let Reverse((time, ticket)) = self.queue.pop().expect("a session waits for calls");
        self.time = f64::from_bits(time);
        let score = self.scores.remove(&ticket).expect("every call in the queue has a score");
        let cost = Cost::from_units(1);
        self.session.tell(ticket, score, cost).expect("each ticket is answered once");
        self.record.push(told(ticket, score, cost));
    }

    fn crash(&mut self) {
        self.queue.clear();
        self.scores.clear();
        self.session = session();
        if self.recovery == Recovery::Skipped {
            return self.relive_without_lost_calls();
        }
        let replayed = self.session.replay(self.record.iter().cloned());
        replayed.expect("the same policy asks the same again");
        let out: Vec<Ticket> = self.session.books().outstanding().collect();
        for ticket in out {
            match self.recovery {
                Recovery::Reissued => self.send(&call_again(ticket)),
                Recovery::Lost | Recovery::Skipped => self.lose(ticket),
            }
        }
    }

    /// Makes only the calls that came back, in the same order.
    fn relive_without_lost_calls(&mut self) {
        let mut scores = BTreeMap::new();
        for event in core::mem::take(&mut self.record) {
            if let Event::Settled { ticket, outcome: Outcome::Score(score), bill } = event {
                scores.insert(ticket, (score, bill.settled()));
            }
        }
        for (score, cost) in scores.into_values() {
            // There may be less to ask now: the arm may be certified earlier.
            let Ok(Ask::Call(pull)) = self.session.ask() else { return };
            let ticket = pull.ticket;
            self.session.tell(ticket, score, cost).expect("the call is in flight");
            self.record.extend([Event::from(pull), told(ticket, score, cost)]);
        }
    }

    fn lose(&mut self, ticket: Ticket) {
        let (failure, cost) = (Failure::Counted(CountedFailure::Lost), Cost::from_units(1));
        self.session.fail(ticket, failure, cost).expect("the call is in flight");
        self.record.push(failed(ticket, failure, cost));
    }
}

fn session() -> Session {
    let coin = AttributeSpec {
        name: "coin".into(),
        price: 1.0,
        expected: None,
        threshold: 0.5,
        scores: ScoreModel::Binary,
    };
    let problem = Problem::new(ProblemSpec {
        arms: 1,
        attributes: vec![coin],
        budget: f64::from(CALLS),
        delta: DELTA,
        guarantee: Guarantee::Union,
    })
    .expect("a sound problem");
    let options = Options { in_flight_share: 1.0, ..Options::default() };
    let policy = by_name("round-robin", &Default::default()).expect("its name");
    Session::with_options(problem, policy, options).expect("options make sense")
}

fn call_again(ticket: Ticket) -> Call {
    let ceiling = Cost::from_units(1);
    Call::again(ticket, Target::Arm(ArmId(0), AttributeId(0)), ceiling)
}

fn errors(recovery: Recovery) -> u32 {
    (0..TRIALS).map(|trial| u32::from(Life::new(recovery, trial).ends_in_error())).sum()
}

#[test]
fn calls_lost_in_a_crash_do_no_harm_when_they_count() {
    check_valid("lost", errors(Recovery::Lost), TRIALS, DELTA);
}

#[test]
fn making_lost_calls_again_breaks_it() {
    check_broken("reissued", errors(Recovery::Reissued), TRIALS, DELTA);
}

#[test]
fn forgetting_lost_calls_breaks_it() {
    check_broken("skipped", errors(Recovery::Skipped), TRIALS, DELTA);
}
