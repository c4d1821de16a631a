//! One session, call by call, as a file that other languages are held to as well: the Python package's
//! tests read the same lines.

use goodarm_core::policy::rcb::Rcb;
use goodarm_core::{
    Ask, AttributeSpec, Call, Cost, CountedFailure, Failure, Guarantee, Problem, ProblemSpec,
    ScoreModel, Session,
};

use crate::doors::{Doors, OnArm};

const GOLDEN: &str = include_str!("golden/transcript.txt");
const IN_FLIGHT: usize = 8;

/// A score that depends on the pair and on how many calls came before, and on nothing else.
fn score(pull: &Call, count: u64) -> f64 {
    let (arm, attribute) = (u64::from(pull.arm().0), u64::from(pull.attribute().0));
    let mixed = (arm * 7919 + attribute * 104_729 + count * 1_299_709 + 12_345) % 1_000_003;
    let percent = if arm % 3 == 0 { 40 } else { 85 };
    f64::from(u8::from(mixed % 100 < percent))
}

fn transcript() -> String {
    let attribute = |name: &str, price| AttributeSpec {
        name: name.into(),
        price,
        expected: None,
        threshold: 0.6,
        scores: ScoreModel::Binary,
    };
    let problem = Problem::new(ProblemSpec {
        arms: 30,
        attributes: vec![attribute("cheap", 0.01), attribute("dear", 0.05)],
        budget: 60.0,
        delta: 0.05,
        guarantee: Guarantee::Lent,
    })
    .expect("a problem");
    let mut session = Session::new(problem, Rcb::seeded(7));
    let mut counts = [[0_u64; 2]; 30];
    let mut lines = String::new();
    loop {
        let mut pulls = Vec::new();
        while pulls.len() < IN_FLIGHT {
            match session.ask().expect("a rule that names what is there") {
                Ask::Call(pull) => pulls.push(pull),
                Ask::Wait => break,
                Ask::Done(reason) => {
                    let certified: Vec<u32> = session.certified().iter().map(|arm| arm.0).collect();
                    let settled = session.books().ledger().settled();
                    return lines + &format!("{reason:?} {settled} {certified:?}\n");
                }
            }
        }
        // The last first: evidence must not care.
        for pull in pulls.iter().rev() {
            let count = &mut counts[pull.arm().index()][pull.attribute().index()];
            let price = Cost::of_price(if pull.attribute().0 == 0 { 0.007 } else { 0.05 });
            let price = price.expect("an amount");
            if pull.ticket.0 % 97 == 5 {
                let failure = Failure::Counted(CountedFailure::TimedOut);
                session.fail(pull.ticket, failure, price).expect("its ticket is out");
            } else {
                let score = score(pull, *count);
                session.tell(pull.ticket, score, price).expect("its ticket is out");
            }
            *count += 1;
            lines += &format!("{} {} {}\n", pull.ticket.0, pull.arm(), pull.attribute());
        }
    }
}

#[test]
fn a_session_asks_for_the_same_calls_as_ever() {
    let found = transcript();
    assert!(found.lines().count() > 500, "too few calls to tell anything");
    assert_eq!(found, GOLDEN, "the rules that decide have changed: raise DECISIONS");
}
