//! A fixed design: the same calls for every pair, for any scores, and no certificate.

use goodarm_core::policy::{NAMES, Parameters, by_name};
use goodarm_core::{
    ArmId, ArmStatus, Ask, AttributeId, AttributeSpec, Call, Cost, CountedFailure, Design, Failure,
    GeneratorId, GeneratorSpec, Guarantee, Label, Outcome, Problem, ProblemSpec, QuestionId,
    QuestionsSpec, ScoreModel, ScoredBy, Session, StopReason, Target, VoidFailure,
};

const CHECK: AttributeId = AttributeId(0);
const JUDGE: AttributeId = AttributeId(1);

/// An exact check and a judge, which cost 1 each.
fn spec(arms: usize, budget: f64) -> ProblemSpec {
    let attribute = |name: &str, scores| AttributeSpec {
        name: name.into(),
        price: 1.0,
        expected: None,
        threshold: 0.5,
        scores,
    };
    ProblemSpec {
        arms,
        attributes: vec![
            attribute("check", ScoreModel::Exact),
            attribute("judge", ScoreModel::Binary),
        ],
        budget,
        delta: 0.5,
        guarantee: Guarantee::Nothing,
    }
}

fn session(problem: Problem, policy: &str, calls: u64) -> Session {
    let means = vec![vec![0.5; problem.attribute_count()]; problem.arm_count()];
    let (calls_per_pair, means) = (Some(calls), Some(means));
    let parameters = Parameters { calls_per_pair, means, ..Parameters::default() };
    Session::new(problem, by_name(policy, &parameters).expect("a policy"))
}

/// Every judge approves, and every check fails odd arms.
fn drive(session: &mut Session) -> StopReason {
    loop {
        match session.ask().expect("a legal call") {
            Ask::Call(Call { ticket, target, .. }) => {
                let outcome = match target {
                    Target::Arm(arm, CHECK) if arm.0 % 2 == 1 => Outcome::Score(0.0),
                    Target::Arm(..) => Outcome::Score(1.0),
                    Target::Question(..) => {
                        Outcome::Answer(Some(Label(u32::try_from(ticket.0 % 3).expect("small"))))
                    }
                };
                session.settle(ticket, &outcome, Cost::from_units(1)).expect("it is out");
            }
            Ask::Wait => unreachable!("nothing is in flight"),
            Ask::Done(reason) => return reason,
        }
    }
}

fn counts(session: &Session, attribute: AttributeId) -> Vec<u64> {
    let books = session.books();
    books.problem().arms().map(|arm| books.tally(arm, attribute).returned_count).collect()
}

#[test]
fn every_pair_gets_its_calls_for_any_scores() {
    let mut session = session(Problem::new(spec(6, 1e6)).expect("sound"), "fixed", 40);
    assert_eq!(drive(&mut session), StopReason::AllCallsMade);
    // The check said all that it can say, and its no does not stop the judge.
    assert_eq!(counts(&session, CHECK), [1; 6]);
    assert_eq!(counts(&session, JUDGE), [40; 6]);
    assert!(session.books().certified().is_empty(), "forty of forty at δ = 0.5");
    assert_eq!(session.books().status(ArmId(1)), ArmStatus::Rejected);
    // The wrong twin: under a guarantee the same calls certify, and failed answers get no more.
    let spec = ProblemSpec { guarantee: Guarantee::Lent, ..spec(6, 1e6) };
    let mut promised = self::session(Problem::new(spec).expect("sound"), "fixed", 40);
    drive(&mut promised);
    assert!(!promised.books().certified().is_empty());
    assert!(counts(&promised, JUDGE).iter().all(|&count| count < 40));
}

#[test]
fn where_the_money_ends_no_pair_is_ahead_by_more_than_one() {
    for budget in 1..60 {
        let problem = Problem::new(spec(7, f64::from(budget))).expect("sound");
        let mut session = session(problem, "fixed", 9);
        assert_eq!(drive(&mut session), StopReason::BudgetSpent);
        let judged = counts(&session, JUDGE);
        let (most, fewest) = (judged.iter().max().unwrap(), judged.iter().min().unwrap());
        assert!(most - fewest <= 1, "{judged:?}");
    }
}

#[test]
fn void_calls_are_made_again_and_failed_ones_count() {
    let mut session = session(Problem::new(spec(2, 1e6)).expect("sound"), "fixed", 3);
    let mut asked = 0;
    while let Ask::Call(call) = session.ask().expect("a legal call") {
        asked += 1;
        let failure = match asked % 3 {
            0 => Failure::Void(VoidFailure::RateLimited),
            _ => Failure::Counted(CountedFailure::Unreadable),
        };
        session.settle(call.ticket, &Outcome::Failed(failure), Cost::ZERO).expect("it is out");
    }
    assert_eq!((counts(&session, CHECK), counts(&session, JUDGE)), (vec![1; 2], vec![3; 2]));
}

/// Three questions with one answer, a solver and two generators.
fn questions(candidates_max: usize, budget: f64) -> Problem {
    let maker = |name: &str| GeneratorSpec { name: name.into(), price: 1.0, expected: None };
    let design = Design {
        scored_by: vec![ScoredBy::OwnCalls, ScoredBy::Votes { proposes: false }],
        questions: Some(QuestionsSpec {
            count: 3,
            answers: vec![(QuestionId(0), Label(7))],
            generators: vec![maker("one"), maker("two")],
            candidates_max,
        }),
    };
    Problem::designed(spec(1, budget), design).expect("sound")
}

#[test]
fn generators_and_solvers_have_as_many_calls_for_every_question() {
    let mut session = session(questions(8, 1e6), "fixed", 4);
    assert_eq!(drive(&mut session), StopReason::AllCallsMade);
    let books = session.books();
    for question in (0..3).map(QuestionId) {
        let state = books.question(question);
        assert_eq!([0, 1].map(|it| state.asked_count_of(GeneratorId(it))), [4, 4]);
        assert_eq!(books.question(question).votes_returned_count(JUDGE), 4);
    }
    // Answers that were made are checked as well.
    assert!(books.problem().arm_count() > 4);
    assert!(counts(&session, CHECK).iter().all(|&count| count == 1));
    assert!(session.books().certified().is_empty());
    let checks = session.books().problem().arm_count() as u64;
    assert_eq!(session.books().ledger().settled(), Cost::from_units(checks + 3 * 12));
}

#[test]
fn nothing_is_certified_under_any_policy() {
    for name in NAMES {
        let mut session = session(Problem::new(spec(5, 300.0)).expect("sound"), name, 5);
        drive(&mut session);
        assert!(session.books().certified().is_empty(), "{name}");
    }
    // Not even what needs no evidence.
    let mut exact = spec(4, 100.0);
    exact.attributes.truncate(1);
    let mut exact = session(Problem::new(exact).expect("sound"), "fixed", 2);
    drive(&mut exact);
    assert_eq!((exact.books().certified(), counts(&exact, CHECK)), (&[][..], vec![1; 4]));
}

#[test]
fn added_arms_get_their_calls() {
    let mut session = session(Problem::new(spec(2, 1e6)).expect("sound"), "fixed", 3);
    drive(&mut session);
    session.add_arms(2).expect("nothing was promised");
    drive(&mut session);
    assert_eq!(counts(&session, JUDGE), [3; 4]);
}
