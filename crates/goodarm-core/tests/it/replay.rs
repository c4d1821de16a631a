//! A session is its events: replayed, they rebuild it, and a record of something else is noticed.

use goodarm_core::policy::NAMES;
use goodarm_core::session::ReplayError;
use goodarm_core::{ArmId, Ask, Books, Event, Session, Target};
use goodarm_sim::random::Random;

use crate::designed::{self, random_problem};
use crate::scenario::{Scenario, random_scenario};

fn record(scenario: &Scenario, name: &str) -> (Vec<Event>, Session) {
    let mut events = Vec::new();
    let mut session = scenario.session(scenario.policy(name));
    scenario.drive(&mut session, |_, event| events.push(event));
    (events, session)
}

/// One with many calls in flight at once, and many events.
fn long_scenario() -> Scenario {
    (1000..)
        .map(random_scenario)
        .find(|scenario| scenario.concurrency > 1 && record(scenario, "rcb").0.len() > 1000)
        .expect("some scenario is long")
}

/// Everything that can be seen of a session.
fn picture(session: &Session) -> String {
    let books = session.books();
    let problem = books.problem();
    let mut picture = format!("{:?} {:?}\n", books.certified(), books.ledger());
    for arm in problem.arms() {
        for attribute in problem.attributes() {
            let evidence = books.evidence(arm, attribute).to_bits();
            let tally = books.tally(arm, attribute);
            picture += &format!("{arm} {attribute} {evidence:x} {tally:?}\n");
        }
    }
    picture
}

/// The caller of the recorded run also asked when it had to wait; the replay asks only where there
/// was a call. If asking once less changed a decision, the two would part.
#[test]
fn replayed_events_rebuild_the_session_bit_for_bit() {
    for seed in 0..120 {
        let scenario = random_scenario(1000 + seed);
        for name in NAMES {
            let (events, session) = record(&scenario, name);
            let mut rebuilt = scenario.session(scenario.policy(name));
            rebuilt.replay(events).unwrap_or_else(|error| panic!("{name} {seed}: {error}"));
            assert_eq!(picture(&rebuilt), picture(&session), "{name} {seed}");
        }
    }
}

/// A runner whose calls hang asks about other arms than the policy would choose.
#[test]
fn calls_that_the_policy_did_not_choose_are_replayed_as_well() {
    let mut other_count = 0;
    for seed in 0..120 {
        let scenario = random_scenario(1000 + seed);
        let attributes: Vec<_> = scenario.problem.attributes().collect();
        for name in NAMES {
            let mut events = Vec::new();
            let mut session = scenario.session(scenario.policy(name));
            let ask = |session: &mut Session, random: &mut Random| {
                let chosen = random.below(3 * attributes.len() as u64);
                let attribute = attributes.get(usize::try_from(chosen).expect("an index"));
                let asked = match attribute {
                    Some(&attribute) => {
                        let service = session.books().problem().service_of(attribute);
                        session.ask_probe(service)
                    }
                    None => session.ask(),
                };
                let asked = asked.expect("a legal pull");
                let is_other = matches!(asked, Ask::Call(pull) if pull.branch == "another");
                other_count += u64::from(is_other);
                asked
            };
            scenario.drive_asking(&mut session, ask, |_, event| events.push(event));
            let mut rebuilt = scenario.session(scenario.policy(name));
            rebuilt.replay(events.clone()).unwrap_or_else(|error| panic!("{name} {seed}: {error}"));
            assert_eq!(picture(&rebuilt), picture(&session), "{name} {seed}");
            let mut books = Books::new(scenario.problem.clone());
            for event in events {
                books.apply(&event).unwrap_or_else(|error| panic!("{name} {seed}: {error}"));
            }
            assert_eq!(books.certified(), session.certified(), "{name} {seed}");
        }
    }
    assert!(other_count > 1000, "{other_count}");
}

#[test]
fn a_run_that_is_cut_anywhere_continues_unchanged() {
    let scenario = long_scenario();
    let (events, session) = record(&scenario, "rcb");
    for cut in [1, events.len() / 3, events.len() - 1] {
        let mut resumed = scenario.session(scenario.policy("rcb"));
        resumed.replay(events[..cut].iter().cloned()).unwrap();
        resumed.replay(events[cut..].iter().cloned()).unwrap();
        assert_eq!(picture(&resumed), picture(&session));
    }
}

#[test]
fn a_record_of_another_run_is_noticed() {
    let scenario = long_scenario();
    let (mut events, _) = record(&scenario, "rcb");
    let asked = events.iter_mut().rev().find_map(|event| match event {
        Event::Asked { target: Target::Arm(arm, _), .. } => Some(arm),
        _ => None,
    });
    let arm = asked.unwrap();
    *arm = ArmId(arm.0 + 1);
    let mut session = scenario.session(scenario.policy("rcb"));
    assert!(matches!(session.replay(events), Err(ReplayError::Diverged { .. })));
}

/// The same where one call scores several attributes, arms share questions, and answers are born: with
/// failures, void calls and releases, in random order.
#[test]
fn designed_problems_are_rebuilt_bit_for_bit() {
    let (mut births, mut certificates) = (0, 0);
    for seed in 0..600 {
        let problem = random_problem(seed);
        let mut events = Vec::new();
        let mut session = designed::session(&problem, seed);
        designed::drive(&mut session, seed, |_, event| events.push(event));
        births += session.books().problem().arm_count() - problem.arm_count();
        certificates += session.certified().len();
        let mut rebuilt = designed::session(&problem, seed);
        rebuilt.replay(events.clone()).unwrap_or_else(|error| panic!("{seed}: {error}"));
        assert_eq!(format!("{:?}", rebuilt.books()), format!("{:?}", session.books()), "{seed}");
        let mut books = Books::new(problem);
        for event in events {
            books.apply(&event).unwrap_or_else(|error| panic!("{seed}: {error}"));
        }
        assert_eq!(designed::picture(&books), designed::picture(session.books()), "{seed}");
    }
    assert!(births > 300 && certificates > 100, "{births} {certificates}");
}
