//! The core inside your own program: many calls in flight, failures, a log, a crash.
//! `cargo run --release -p goodarm-core --example embed`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use goodarm_core::policy::rcb::Rcb;
use goodarm_core::{
    Ask, AttributeSpec, Bill, Call, Cost, CountedFailure, Event, Failure, Guarantee, Outcome,
    Problem, ProblemSpec, ScoreModel, Session, Target, VoidFailure,
};

/// Six answers, a free check and a judge; both have a price, which is a ceiling.
fn problem() -> Result<Problem, Box<dyn Error>> {
    let attribute = |name: &str, price, threshold, scores| AttributeSpec {
        name: name.into(),
        price,
        expected: None,
        threshold,
        scores,
    };
    Ok(Problem::new(ProblemSpec {
        arms: 6,
        attributes: vec![
            attribute("format", 0.000_001, 0.5, ScoreModel::Exact),
            attribute("judge", 0.02, 0.6, ScoreModel::Binary),
        ],
        budget: 20.0,
        delta: 0.05,
        guarantee: Guarantee::Holm,
    })?)
}

/// What came of a call, and its bill: your verifiers go here. The third answer is bad.
fn outcome(call: &Call) -> (Outcome, Bill) {
    let Target::Arm(arm, verifier) = call.target else { unreachable!("there are no questions") };
    if verifier.0 == 0 {
        return (Outcome::Score(1.0), call.ceiling.into());
    }
    if call.ticket.0 % 7 == 3 && call.attempt == 0 {
        // Will be asked again, in its place.
        return (Outcome::Failed(Failure::Void(VoidFailure::RateLimited)), Bill::ZERO);
    }
    if call.ticket.0 % 31 == 30 {
        // Counts as the lowest score. Its bill is not known: probably half of the ceiling, at most all of it.
        let probable = Cost::from_picos(call.ceiling.picos() / 2);
        let outcome = Outcome::Failed(Failure::Counted(CountedFailure::TimedOut));
        return (outcome, Bill::unknown(probable, call.ceiling));
    }
    (Outcome::Score(if arm.0 == 2 { 0.0 } else { 1.0 }), call.ceiling.into())
}

/// Tells the session what came of one call, and gives the event to be logged.
fn settle(session: &mut Session, call: &Call) -> Result<Event, Box<dyn Error>> {
    let (outcome, bill) = outcome(call);
    session.settle(call.ticket, &outcome, bill)?;
    Ok(Event::Settled { ticket: call.ticket, outcome, bill })
}

/// Drives a session until the log has `events_max` events, or to its end; `log` is what a program keeps on its disk.
fn drive(
    session: &mut Session,
    log: &mut Vec<Event>,
    events_max: usize,
) -> Result<(), Box<dyn Error>> {
    let mut out: Vec<Call> = Vec::new();
    while log.len() < events_max {
        match session.ask()? {
            // Durable first, sent second: that is what makes a crash harmless.
            Ask::Call(call) => {
                log.push(call.into());
                out.push(call);
            }
            Ask::Wait => {
                let back = out.remove(0); // or any other: they may come back in any order
                log.push(settle(session, &back)?);
            }
            Ask::Done(reason) => {
                println!("done: {reason:?}");
                break;
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut log = Vec::new();
    let mut session = Session::new(problem()?, Rcb::new());
    drive(&mut session, &mut log, 100)?;
    drop(session); // a crash, with calls in flight

    let mut session = Session::new(problem()?, Rcb::new());
    session.replay(log.iter().cloned())?;
    let lost: Vec<_> = session.books().outstanding().collect();
    for &ticket in &lost {
        // They may have been made: the lowest score, and a bill that is not known.
        let price = Cost::of_price(0.02)?;
        let bill = Bill::unknown(price, price);
        let outcome = Outcome::Failed(Failure::Counted(CountedFailure::Lost));
        session.settle(ticket, &outcome, bill)?;
        log.push(Event::Settled { ticket, outcome, bill });
    }
    drive(&mut session, &mut log, usize::MAX)?;

    let certified: Vec<u32> = session.certified().iter().map(|arm| arm.0).collect();
    let ledger = session.books().ledger();
    println!("{} calls were lost in the crash", lost.len());
    println!("certified {certified:?}");
    println!(
        "spent about {} of {}, at most {}",
        ledger.settled(),
        ledger.budget(),
        ledger.possible()
    );

    let mut again = Session::new(problem()?, Rcb::new());
    again.replay(log)?;
    assert_eq!(again.certified(), session.certified(), "the log is the session");
    Ok(())
}
