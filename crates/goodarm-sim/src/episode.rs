//! Drives one session to its end in one world.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use goodarm_core::{ArmId, Ask, AttributeId, Call, Cost, Outcome, Session, StopReason, Ticket};

use crate::world::{SimulatedReply, Verifiers};

/// The result of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Certified arms, in the order of their certificates.
    pub certified: Vec<ArmId>,
    /// The settled bills.
    pub spent: Cost,
    /// Calls made, including retries.
    pub pull_count: u64,
    /// Why the session ended; `None` if `watch` ended it.
    pub reason: Option<StopReason>,
}

/// Calls in flight, in the order in which they will return.
struct InFlight {
    time: f64,
    /// The times of return as bits, which are ordered like the numbers because no time is negative.
    queue: BinaryHeap<Reverse<(u64, Ticket)>>,
    replies: std::collections::BTreeMap<Ticket, (Call, SimulatedReply, Outcome)>,
}

/// How a session is driven.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    /// The seed of all draws.
    pub seed: u64,
    /// Calls in flight at once.
    pub concurrency: usize,
    /// The budget after the session has ended for the first time, if it is raised then.
    pub raised: Option<Cost>,
}

/// Drives a session with up to `concurrency` calls in flight to its end, or until `watch`, which is called
/// after each call, returns false.
///
/// # Panics
/// If the policy chooses a pair that may not be called, or a score does not fit its model: in a simulation
/// both are bugs.
pub fn run_while(
    session: &mut Session,
    verifiers: &(impl Verifiers + ?Sized),
    course: Course,
    mut watch: impl FnMut(&Session, &Call, &SimulatedReply) -> bool,
) -> Episode {
    let Course { seed, concurrency, mut raised } = course;
    let attribute_count = session.books().problem().attribute_count();
    let mut called = vec![0_u64; session.books().problem().pair_count()];
    let mut out = InFlight { time: 0.0, queue: BinaryHeap::new(), replies: Default::default() };
    let mut pull_count = 0;
    let reason = loop {
        let free = out.queue.len() < concurrency;
        let ask = if free { session.ask() } else { Ok(Ask::Wait) };
        // The call is used by reference, because moving it right after it was written stalls the processor.
        match ask.as_ref().expect("policies name open, affordable pairs") {
            Ask::Call(call) => {
                let (arm, attribute) = call.pair().expect("arms of a world answer no questions");
                let pair = arm.index() * attribute_count + attribute.index();
                let reply = verifiers.reply(seed, arm, attribute, called[pair]);
                let count = called[pair];
                let outcome = outcome(session, attribute, &reply, |member| {
                    verifiers.reply(seed, arm, member, count)
                });
                called[pair] += 1;
                pull_count += 1;
                if concurrency > 1 {
                    out.send(*call, reply, outcome);
                    continue;
                }
                settle(session, call, &outcome, &reply);
                if !watch(session, call, &reply) {
                    break None;
                }
            }
            Ask::Wait => {
                let (call, reply, outcome) = out.receive();
                settle(session, &call, &outcome, &reply);
                if !watch(session, &call, &reply) {
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

/// The outcome for all attributes that a call scores. Bill, latency and failure are those of the lead, which is the
/// attribute that is called; `others` gives the reply of each attribute.
fn outcome(
    session: &Session,
    lead: AttributeId,
    reply: &SimulatedReply,
    others: impl Fn(AttributeId) -> SimulatedReply,
) -> Outcome {
    let members = session.books().problem().members(lead);
    if members.len() == 1 || reply.outcome.is_failed() {
        return reply.outcome.clone();
    }
    let score = |&member| others(member).outcome.score(0);
    Outcome::Scores(members.iter().map(score).collect())
}

impl InFlight {
    fn send(&mut self, call: Call, reply: SimulatedReply, outcome: Outcome) {
        let time = self.time + reply.latency();
        self.queue.push(Reverse((time.to_bits(), call.ticket)));
        self.replies.insert(call.ticket, (call, reply, outcome));
    }

    fn receive(&mut self) -> (Call, SimulatedReply, Outcome) {
        let Reverse((time, ticket)) = self.queue.pop().expect("sessions wait only for calls");
        self.time = f64::from_bits(time);
        self.replies.remove(&ticket).expect("every call in the queue has a reply")
    }
}

fn settle(session: &mut Session, call: &Call, outcome: &Outcome, reply: &SimulatedReply) {
    let settled = session.settle(call.ticket, outcome, reply.paid());
    settled.expect("tickets are settled once, with scores that fit their model");
}
