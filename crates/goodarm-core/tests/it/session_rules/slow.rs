//! Services whose calls take hours, such as people: other calls continue meanwhile, and they are asked last.

use goodarm_core::policy::NAMES;
use goodarm_core::{Event, ServiceId};

use super::*;
use crate::doors::{Doors, OnArm};
use crate::scenario::random_scenario;

/// A cheap exact check, and a person who is exact and costs a thousandth of the budget.
fn cascade(arms: usize, in_flight_max: u32) -> Session {
    let mut spec = spec(arms, Guarantee::Union, &[ScoreModel::Binary, ScoreModel::Exact]);
    (spec.attributes[0].price, spec.attributes[1].price) = (0.01, 40.0);
    spec.budget = 1000.0;
    let policy = goodarm_core::policy::by_name("rcb", &Default::default()).expect("its name");
    let mut session = Session::new(problem(spec), policy);
    session.set_slow(session.books().problem().service_of(SECOND), in_flight_max);
    session
}

/// Answers all calls of the first attribute with a pass until there is nothing but to wait for people.
fn drive_cheap(session: &mut Session, people: &mut Vec<Call>) {
    let mut out = VecDeque::new();
    loop {
        match session.ask().expect("a good policy") {
            Ask::Call(pull) if pull.attribute() == SECOND => {
                assert!(out.iter().all(|other: &Call| other.arm() != pull.arm()), "{pull:?}");
                people.push(pull);
            }
            Ask::Call(pull) => out.push_back(pull),
            _ => match out.pop_front() {
                Some(pull) => {
                    session.tell(pull.ticket, 1.0, pull.ceiling).expect("it is in flight");
                }
                None => return,
            },
        }
    }
}

#[test]
fn fast_calls_continue_while_people_are_asked_up_to_the_limit() {
    let mut session = cascade(30, 4);
    let mut people = Vec::new();
    drive_cheap(&mut session, &mut people);
    assert_eq!(people.len(), 4, "16 % of the money, and so many as there may be");
    let books = session.books();
    let passed = |arm: ArmId| books.is_resolved(arm, FIRST);
    assert!(people.iter().all(|pull| passed(pull.arm())), "only what has passed the cheap check");
    assert!(books.problem().arms().all(passed), "the check continues while people think");
    assert_eq!(books.ledger().reserved(), Cost::from_units(160));
    // A person who has answered is asked about the next arm.
    let first = people.remove(0);
    session.tell(first.ticket, 1.0, first.ceiling).expect("it is in flight");
    assert_eq!(session.certified(), [first.arm()]);
    drive_cheap(&mut session, &mut people);
    assert_eq!(people.len(), 4);
}

#[test]
fn one_fast_call_is_always_allowed_beside_slow_ones() {
    let mut spec = spec(2, Guarantee::Union, &[ScoreModel::Binary, ScoreModel::Exact]);
    spec.budget = 20.0;
    let script = Scripted::default();
    let mut session = Session::new(problem(spec), script.clone());
    session.set_slow(session.books().problem().service_of(SECOND), 9);
    script.request(0, SECOND);
    pulled(session.ask().expect("a good policy"));
    // It costs 5 % of the money.
    script.request(1, FIRST);
    pulled(session.ask().expect("a good policy"));
    script.request(0, FIRST);
    assert_eq!(session.ask(), Ok(Ask::Wait));
    assert!(session.is_limited_by_budget());
    script.request(1, SECOND);
    pulled(session.ask().expect("a good policy"));
}

#[test]
fn a_policy_that_names_a_service_at_its_limit_waits() {
    let script = Scripted::default();
    let mut session = script.session(problem(spec(3, Guarantee::Union, &[ScoreModel::Binary])));
    session.set_slow(session.books().problem().service_of(FIRST), 1);
    session.set_slow(ServiceId(1), 1);
    script.request(0, FIRST);
    let pull = pulled(session.ask().expect("a good policy"));
    script.request(1, FIRST);
    assert_eq!(session.ask(), Ok(Ask::Wait));
    assert!(!session.is_limited_by_budget());
    session.tell(pull.ticket, 1.0, UNIT).expect("it is in flight");
    script.request(1, FIRST);
    pulled(session.ask().expect("a good policy"));
}

/// What is slow decides what is asked, so a replay that knows of it asks the same, under every policy.
#[test]
fn runs_with_slow_services_end_and_are_replayed() {
    let mut slow_count = 0;
    for seed in 0..60 {
        let scenario = random_scenario(7000 + seed);
        let last = AttributeId(u32::try_from(scenario.problem.attribute_count()).expect("few") - 1);
        for name in NAMES {
            let session = || {
                let mut session = scenario.session(scenario.policy(name));
                session.set_slow(session.books().problem().service_of(last), 2);
                session
            };
            let (mut events, mut driven) = (Vec::new(), session());
            scenario.drive(&mut driven, |session, event: Event| {
                // A retry is the last of its call, and is owed.
                let out = session.books().lane_of(last).in_flight_count();
                slow_count += usize::from(out == 2);
                events.push(event);
            });
            let mut rebuilt = session();
            rebuilt.replay(events).unwrap_or_else(|error| panic!("{name} {seed}: {error}"));
            assert_eq!(picture(rebuilt.books()), picture(driven.books()), "{name} {seed}");
        }
    }
    assert!(slow_count > 1000, "{slow_count}");
}
