//! What every policy must keep to, in every kind of problem, with answers in any order.

use goodarm_core::policy::NAMES;
use goodarm_core::{ArmStatus, Event, Session};

use crate::scenario::{Scenario, random_scenario};

const SCENARIOS: u64 = 150;

fn for_all(check: impl Fn(&str, &Scenario)) {
    for seed in 0..SCENARIOS {
        let scenario = random_scenario(seed);
        for name in NAMES {
            check(name, &scenario);
        }
    }
}

fn check_books(session: &Session) {
    let ledger = session.books().ledger();
    assert!(ledger.possible() <= ledger.budget(), "{ledger:?}");
}

#[test]
fn pulls_are_legal_money_is_kept_and_sessions_end() {
    for_all(|name, scenario| {
        let mut session = scenario.session(scenario.policy(name));
        scenario.drive(&mut session, |session, _| check_books(session));
        let books = session.books();
        assert_eq!(books.in_flight_count(), 0, "{name}");
        assert_eq!(books.ledger().reserved(), goodarm_core::Cost::ZERO, "{name}: {scenario:?}");
        for &arm in books.certified() {
            assert_eq!(books.status(arm), ArmStatus::Certified);
        }
    });
}

#[test]
fn every_unit_spent_is_on_some_pair_and_some_attribute() {
    for_all(|name, scenario| {
        let mut session = scenario.session(scenario.policy(name));
        let (mut billed, mut possible) = (goodarm_core::Cost::ZERO, goodarm_core::Cost::ZERO);
        scenario.drive(&mut session, |_, event| {
            if let Event::Settled { bill, .. } = event {
                billed = billed + bill.settled();
                possible = possible + bill.possible();
            }
        });
        let books = session.books();
        let problem = books.problem();
        let zero = goodarm_core::Cost::ZERO;
        let by_attribute = problem
            .attributes()
            .map(|m| books.lane_of(m).bills.spent)
            .fold(zero, |sum, cost| sum + cost);
        let by_pair = problem
            .arms()
            .flat_map(|arm| problem.attributes().map(move |attribute| (arm, attribute)))
            .map(|(arm, attribute)| books.tally(arm, attribute).spent)
            .fold(zero, |sum, cost| sum + cost);
        assert_eq!((by_attribute, by_pair), (billed, billed), "{name}");
        let ledger = books.ledger();
        assert_eq!((ledger.settled(), ledger.possible()), (billed, possible), "{name}");
    });
}

#[test]
fn the_same_outcomes_give_the_same_asks() {
    for_all(|name, scenario| {
        let transcript = || {
            let mut events = Vec::new();
            let mut session = scenario.session(scenario.policy(name));
            let reason = scenario.drive(&mut session, |_, event| events.push(event));
            (events, reason, session.certified().to_vec())
        };
        assert_eq!(transcript(), transcript(), "{name}");
    });
}
