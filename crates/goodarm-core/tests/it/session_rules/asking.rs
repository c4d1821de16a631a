//! What `ask` says, and when.

use goodarm_core::books::DispatchError;
use goodarm_core::policy::rcb::Rcb;
use goodarm_core::session::Refusal;
use goodarm_core::{
    ArmId, Ask, AskError, AttributeId, BlockingFailure, Choice, Cost, Failure, Guarantee,
    ProblemSpec, ScoreModel, Session, StopReason, VoidFailure,
};

use super::{FIRST, SECOND, Scripted, UNIT, picture, problem, pulled, round_robin, spec};

use crate::doors::{Doors, OnArm};

const EXACT: [ScoreModel; 2] = [ScoreModel::Exact, ScoreModel::Binary];

#[test]
fn wait_means_that_a_call_is_in_flight_and_done_that_none_is() {
    let scripted = Scripted::default();
    let mut session = scripted.session(problem(spec(2, Guarantee::Holm, &EXACT)));
    scripted.request(0, FIRST);
    let pull = pulled(session.ask().unwrap());
    assert_eq!(session.ask(), Ok(Ask::Wait));
    session.tell(pull.ticket, 1.0, UNIT).unwrap();
    assert_eq!(session.ask(), Ok(Ask::Done(StopReason::NothingWorthwhile)));
    scripted.request(1, FIRST);
    assert!(
        matches!(session.ask(), Ok(Ask::Call(_))),
        "done is not for ever if the policy wakes up"
    );
}

#[test]
fn nothing_affordable_is_a_wait_while_bills_may_come_in_lower() {
    let spec = ProblemSpec { budget: 1.0, ..spec(2, Guarantee::Holm, &[ScoreModel::Binary]) };
    let mut session = Session::new(problem(spec), round_robin());
    let pull = pulled(session.ask().unwrap());
    assert_eq!(session.ask(), Ok(Ask::Wait));
    session.tell(pull.ticket, 1.0, Cost::ZERO).unwrap();
    let pull = pulled(session.ask().unwrap());
    session.tell(pull.ticket, 1.0, UNIT).unwrap();
    assert_eq!(session.ask(), Ok(Ask::Done(StopReason::BudgetSpent)));
}

#[test]
fn a_session_ends_when_every_arm_is_certified_or_decided() {
    for (score, reason) in [(1.0, StopReason::AllCertified), (0.0, StopReason::AllDecided)] {
        let exact = spec(2, Guarantee::Holm, &[ScoreModel::Exact]);
        let mut session = Session::new(problem(exact), round_robin());
        for answer in [1.0, score] {
            let pull = pulled(session.ask().unwrap());
            session.tell(pull.ticket, answer, UNIT).unwrap();
        }
        assert_eq!(session.ask(), Ok(Ask::Done(reason)));
    }
}

#[test]
fn asking_while_there_is_nothing_to_do_changes_nothing() {
    let spec = ProblemSpec { budget: 3.0, ..spec(2, Guarantee::Holm, &[ScoreModel::Binary]) };
    let mut session = Scripted::default().session(problem(spec.clone()));
    let before = picture(session.books());
    assert!(matches!(session.ask(), Ok(Ask::Done(_))));
    assert_eq!(picture(session.books()), before);
    let mut session = Session::new(problem(spec), round_robin());
    session.ask().unwrap();
    let before = picture(session.books());
    assert_eq!([session.ask(), session.ask()], [Ok(Ask::Wait), Ok(Ask::Wait)]);
    assert_eq!(picture(session.books()), before);
}

/// Condition 10: the retry comes before anything that the policy wants.
#[test]
fn a_retry_is_asked_first() {
    let scripted = Scripted::default();
    let mut session = scripted.session(problem(spec(2, Guarantee::Holm, &[ScoreModel::Binary])));
    scripted.request(0, FIRST);
    scripted.request(1, FIRST);
    let void = pulled(session.ask().unwrap());
    session.fail(void.ticket, Failure::Void(VoidFailure::RateLimited), Cost::ZERO).unwrap();
    let retry = pulled(session.ask().unwrap());
    assert_eq!((retry.arm(), retry.attempt, retry.branch), (ArmId(0), 1, "retry"));
    assert_ne!(retry.ticket, void.ticket);
    let wanted = pulled(session.ask().unwrap());
    assert_eq!((wanted.arm(), wanted.attempt, wanted.branch), (ArmId(1), 0, "requested"));
}

#[test]
fn a_retry_is_asked_even_where_nothing_new_may_be_dispatched() {
    let scores = [ScoreModel::Binary];
    let spec = ProblemSpec { budget: 1.0, ..spec(2, Guarantee::Holm, &scores) };
    let mut session = Session::new(problem(spec), round_robin());
    let void = pulled(session.ask().unwrap());
    session.fail(void.ticket, Failure::Void(VoidFailure::NotConnected), Cost::ZERO).unwrap();
    assert_eq!(pulled(session.ask().unwrap()).branch, "retry");
}

/// Lets a scripted name a pair, and expects a refusal that changes nothing.
fn check_refused(
    scripted: &Scripted,
    session: &mut Session,
    pair: (u32, AttributeId),
    why: DispatchError,
) {
    let before = picture(session.books());
    scripted.request(pair.0, pair.1);
    let choice = Choice::pair(ArmId(pair.0), pair.1, "requested");
    assert_eq!(
        session.ask(),
        Err(AskError { policy: "scripted", choice, reason: Refusal::Dispatch(why) })
    );
    assert_eq!(picture(session.books()), before);
}

#[test]
fn a_policy_that_names_a_closed_pair_is_refused() {
    let mut spec = ProblemSpec { budget: 4.5, ..spec(3, Guarantee::Holm, &EXACT) };
    spec.attributes[1].price = 3.0;
    let scripted = Scripted::default();
    let mut session = scripted.session(problem(spec));
    let (one, two) = (ArmId(1), AttributeId(2));
    let unknown = DispatchError::NoSuchPair(ArmId(3), FIRST);
    check_refused(&scripted, &mut session, (3, FIRST), unknown);
    check_refused(&scripted, &mut session, (1, two), DispatchError::NoSuchPair(one, two));
    scripted.request(0, FIRST);
    let failing = pulled(session.ask().unwrap());
    session.tell(failing.ticket, 0.0, UNIT).unwrap();
    check_refused(&scripted, &mut session, (0, SECOND), DispatchError::ArmLeft(ArmId(0)));
    scripted.request(1, FIRST);
    pulled(session.ask().unwrap());
    check_refused(&scripted, &mut session, (1, FIRST), DispatchError::PairClosed(one, FIRST));
    check_refused(&scripted, &mut session, (1, SECOND), DispatchError::NotAffordable(SECOND));
    scripted.request(2, FIRST);
    assert!(matches!(session.ask(), Ok(Ask::Call(_))), "the session continues");
}

#[test]
fn no_policy_gets_a_call_past_a_certificate() {
    let scripted = Scripted::default();
    let mut session = scripted.session(problem(spec(2, Guarantee::Holm, &[ScoreModel::Binary])));
    while session.certified().is_empty() {
        scripted.request(0, FIRST);
        let pull = pulled(session.ask().unwrap());
        session.tell(pull.ticket, 1.0, UNIT).unwrap();
    }
    check_refused(&scripted, &mut session, (0, FIRST), DispatchError::ArmLeft(ArmId(0)));
    assert_eq!(session.certified(), [ArmId(0)]);
}

/// Where all that is left cannot be asked about any more, nothing has been decided.
#[test]
fn blocked_streams_do_not_decide_an_arm() {
    let exhausted = Failure::Blocking(BlockingFailure::Exhausted);
    for guarantee in [Guarantee::FalseDiscovery, Guarantee::Lent] {
        let mut session =
            Session::new(problem(spec(2, guarantee, &[ScoreModel::Binary])), Rcb::new());
        for _ in 0..2 {
            let pull = pulled(session.ask().unwrap());
            session.fail(pull.ticket, exhausted, Cost::ZERO).unwrap();
        }
        let ended = session.ask();
        assert_eq!(ended, Ok(Ask::Done(StopReason::NothingWorthwhile)), "{guarantee:?}");
    }
}

/// Arms that look alike come in an order of the seed's, which is not that of their numbers.
#[test]
fn the_order_of_first_calls_follows_the_seed() {
    let first_arms = |seed| -> Vec<u32> {
        let problem = problem(spec(40, Guarantee::Lent, &[ScoreModel::Binary]));
        let mut session = Session::new(problem, Rcb::seeded(seed));
        (0..10)
            .map(|_| {
                let pull = pulled(session.ask().unwrap());
                session.tell(pull.ticket, 0.0, UNIT).unwrap();
                pull.arm().0
            })
            .collect()
    };
    assert_eq!(first_arms(1), first_arms(1));
    assert_ne!(first_arms(1), first_arms(2));
    assert_ne!(first_arms(1), (0..10).collect::<Vec<_>>());
}

/// Calls on some answers cost ten times as much. Once a few bills are in, the cheap answers are
/// certified first, also by a verifier that has not been billed for them.
#[test]
fn answers_whose_calls_are_cheap_are_certified_first() {
    let mut spec = spec(24, Guarantee::Lent, &[ScoreModel::Binary, ScoreModel::Binary]);
    for attribute in &mut spec.attributes {
        attribute.price = 20.0;
    }
    spec.budget = 3000.0;
    let mut session = Session::new(problem(spec), Rcb::new());
    let is_cheap = |arm: ArmId| arm.0.is_multiple_of(2);
    while let Ask::Call(pull) = session.ask().unwrap() {
        // Bills of an answer differ by a tenth.
        let tenth = u64::from(pull.ticket.0.is_multiple_of(2));
        let bill = Cost::from_units(if is_cheap(pull.arm()) { 1 } else { 10 + tenth });
        session.tell(pull.ticket, 1.0, bill).unwrap();
    }
    let certified = session.certified();
    let cheap = certified.iter().take(12).filter(|arm| is_cheap(**arm)).count();
    assert!(certified.len() >= 12 && cheap >= 10, "{cheap} of the first twelve: {certified:?}");
}
