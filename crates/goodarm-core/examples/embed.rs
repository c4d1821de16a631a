//! The core inside your own program: many calls in flight, failures, a log, a crash.
//! `cargo run --release -p goodarm-core --example embed`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use goodarm_core::policy::rcb::Rcb;
use goodarm_core::{
    Ask, AttributeSpec, Cost, CountedFailure, Event, Failure, Guarantee, Problem, ProblemSpec,
    Pull, ScoreModel, Session, VoidFailure,
};

/// Six answers, a free check and a judge; both have a price, which is a ceiling.
fn problem() -> Result<Problem, Box<dyn Error>> {
    let attribute = |name: &str, price, threshold, scores| AttributeSpec {
        name: name.into(),
        price,
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
        prior_weights: None,
    })?)
}

/// What came back from a call: your verifiers go here. The third answer is bad.
fn outcome(pull: &Pull) -> Result<f64, Failure> {
    if pull.attribute.0 == 0 {
        return Ok(1.0);
    }
    if pull.ticket.0 % 7 == 3 && pull.attempt == 0 {
        return Err(Failure::Void(VoidFailure::RateLimited)); // will be asked again, in its place
    }
    if pull.ticket.0 % 31 == 30 {
        return Err(Failure::Counted(CountedFailure::TimedOut)); // counts as the lowest score
    }
    Ok(if pull.arm.0 == 2 { 0.0 } else { 1.0 })
}

/// Tells the session about one call, and gives the event to be logged.
fn settle(session: &mut Session, pull: Pull) -> Result<Event, Box<dyn Error>> {
    let ticket = pull.ticket;
    match outcome(&pull) {
        Ok(score) => {
            session.tell(ticket, score, pull.ceiling)?;
            Ok(Event::Told { ticket, score, cost: pull.ceiling })
        }
        Err(failure) => {
            let cost = if matches!(failure, Failure::Void(_)) { Cost::ZERO } else { pull.ceiling };
            session.fail(ticket, failure, cost)?;
            Ok(Event::Failed { ticket, failure, cost })
        }
    }
}

/// Drives a session for so many events, or to its end; `log` is what a program keeps on its disk.
fn drive(
    session: &mut Session,
    log: &mut Vec<Event>,
    events_max: usize,
) -> Result<(), Box<dyn Error>> {
    let mut out: Vec<Pull> = Vec::new();
    while log.len() < events_max {
        match session.ask()? {
            // Durable first, sent second: that is what makes a crash harmless.
            Ask::Pull(pull) => {
                log.push(pull.into());
                out.push(pull);
            }
            Ask::Question(_) => unreachable!("there are no questions"),
            Ask::Wait => {
                let back = out.remove(0); // or any other: they may come back in any order
                log.push(settle(session, back)?);
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
        // They may have been made: spent, and the lowest score.
        let cost = Cost::of_price(0.02)?;
        let failure = Failure::Counted(CountedFailure::Lost);
        session.fail(ticket, failure, cost)?;
        log.push(Event::Failed { ticket, failure, cost });
    }
    drive(&mut session, &mut log, usize::MAX)?;

    let certified: Vec<u32> = session.certified().iter().map(|arm| arm.0).collect();
    let ledger = session.books().ledger();
    println!("{} calls were lost in the crash", lost.len());
    println!("certified {certified:?}");
    println!("spent {} of {}, reserved {}", ledger.settled(), ledger.budget(), ledger.reserved());

    let mut again = Session::new(problem()?, Rcb::new());
    again.replay(log)?;
    assert_eq!(again.certified(), session.certified(), "the log is the session");
    Ok(())
}
