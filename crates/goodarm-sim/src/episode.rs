//! One session driven to its end in one world.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use goodarm_core::{
    ArmId, Ask, BlockingFailure, Cost, CountedFailure, Failure, Pull, Session, StopReason, Ticket,
    VoidFailure,
};

use crate::world::{Outcome, Reply, Verifiers};

/// What became of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// In the order in which they were certified.
    pub certified: Vec<ArmId>,
    /// The bill.
    pub spent: Cost,
    /// Calls made, retries among them.
    pub pull_count: u64,
    /// Why it ended; none if `watch` had seen enough.
    pub reason: Option<StopReason>,
}

/// Calls in flight, in the order in which they will come back.
struct InFlight {
    time: f64,
    queue: BinaryHeap<Reverse<(Time, Ticket)>>,
    replies: std::collections::BTreeMap<Ticket, (Pull, Reply, Vec<Option<f64>>)>,
}

/// A finite time, which can be ordered.
#[derive(Clone, Copy, PartialEq)]
struct Time(f64);

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Drives a session to its end with up to `concurrency` calls in flight, and calls `watch` for each
/// answer.
///
/// # Panics
/// If the policy names a pair that may not be pulled, or a score does not fit its model: in the
/// laboratory both are bugs.
pub fn run(
    session: &mut Session,
    verifiers: &(impl Verifiers + ?Sized),
    seed: u64,
    concurrency: usize,
    mut watch: impl FnMut(&Session, &Pull, &Reply),
) -> Episode {
    let course = Course { seed, concurrency, raised: None };
    run_while(session, verifiers, course, |session, pull, reply| {
        watch(session, pull, reply);
        true
    })
}

/// How a session is driven.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// All luck comes from this.
    pub seed: u64,
    /// Calls in flight at once.
    pub concurrency: usize,
    /// What the budget is raised to when the session ends for the first time.
    pub raised: Option<Cost>,
}

/// As [`run`], until `watch` says that it has seen enough by returning false.
///
/// # Panics
/// As [`run`].
pub fn run_while(
    session: &mut Session,
    verifiers: &(impl Verifiers + ?Sized),
    course: Course,
    mut watch: impl FnMut(&Session, &Pull, &Reply) -> bool,
) -> Episode {
    let Course { seed, concurrency, mut raised } = course;
    let attribute_count = session.books().problem().attribute_count();
    let mut called = vec![0_u64; session.books().problem().pair_count()];
    let mut out = InFlight { time: 0.0, queue: BinaryHeap::new(), replies: Default::default() };
    let mut pull_count = 0;
    let reason = loop {
        let free = out.queue.len() < concurrency;
        let ask = if free { session.ask() } else { Ok(Ask::Wait) };
        // By reference, since moving a pull right after it was written stalls the processor.
        match ask.as_ref().expect("policies name open, affordable pairs") {
            Ask::Pull(pull) => {
                let pair = pull.arm.index() * attribute_count + pull.attribute.index();
                let reply = verifiers.reply(seed, pull.arm, pull.attribute, called[pair]);
                let scores = shared_scores(session, verifiers, seed, pull, called[pair]);
                called[pair] += 1;
                pull_count += 1;
                if concurrency > 1 {
                    out.send(*pull, reply, scores);
                    continue;
                }
                answer_all(session, pull, &reply, &scores);
                if !watch(session, pull, &reply) {
                    break None;
                }
            }
            Ask::Question(_) => unreachable!("arms of a world answer no questions"),
            Ask::Wait => {
                let (pull, reply, scores) = out.receive();
                answer_all(session, &pull, &reply, &scores);
                if !watch(session, &pull, &reply) {
                    break None;
                }
            }
            Ask::Done(reason) => {
                if !raised.take().is_some_and(|budget| session.raise_budget(budget)) {
                    break Some(*reason);
                }
            }
        }
    };
    Episode {
        certified: session.certified().to_vec(),
        spent: session.books().ledger().settled(),
        pull_count,
        reason,
    }
}

/// What a call says of all attributes that it scores; its bill, latency and failures are the lead's.
/// Nothing if there is only one.
fn shared_scores(
    session: &Session,
    verifiers: &(impl Verifiers + ?Sized),
    seed: u64,
    pull: &Pull,
    call: u64,
) -> Vec<Option<f64>> {
    let members = session.books().problem().members(pull.attribute);
    if members.len() == 1 {
        return Vec::new();
    }
    let score = |&member| match verifiers.reply(seed, pull.arm, member, call).outcome {
        Outcome::Score(score) => Some(score),
        Outcome::Broken | Outcome::Void | Outcome::Exhausted => None,
    };
    members.iter().map(score).collect()
}

impl InFlight {
    fn send(&mut self, pull: Pull, reply: Reply, scores: Vec<Option<f64>>) {
        self.queue.push(Reverse((Time(self.time + reply.latency()), pull.ticket)));
        self.replies.insert(pull.ticket, (pull, reply, scores));
    }

    fn receive(&mut self) -> (Pull, Reply, Vec<Option<f64>>) {
        let Reverse((time, ticket)) = self.queue.pop().expect("sessions wait only for calls");
        self.time = time.0;
        self.replies.remove(&ticket).expect("every call in the queue has a reply")
    }
}

/// Tells a session what a call brought for all attributes that it scores.
fn answer_all(session: &mut Session, pull: &Pull, reply: &Reply, scores: &[Option<f64>]) {
    if scores.is_empty() || !matches!(reply.outcome, Outcome::Score(_)) {
        return answer(session, pull, reply);
    }
    let told = session.tell_all(pull.ticket, scores, reply.bill);
    told.expect("tickets are answered once, with scores that fit their model");
}

/// Tells a session what a call brought.
pub fn answer(session: &mut Session, pull: &Pull, reply: &Reply) {
    let told = match reply.outcome {
        Outcome::Score(score) => session.tell(pull.ticket, score, reply.bill),
        Outcome::Broken => {
            session.fail(pull.ticket, Failure::Counted(CountedFailure::Crashed), reply.bill)
        }
        Outcome::Void => {
            session.fail(pull.ticket, Failure::Void(VoidFailure::NotConnected), Cost::ZERO)
        }
        Outcome::Exhausted => {
            session.fail(pull.ticket, Failure::Blocking(BlockingFailure::Exhausted), Cost::ZERO)
        }
    };
    told.expect("tickets are answered once, with scores that fit their model");
}
