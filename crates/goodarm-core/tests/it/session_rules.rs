//! The contract, rule by rule: what a session must do for its certificates to be valid and its
//! budget to be kept. Where rates are the point, see `validity`; here every rule is a plain fact.
//!
//! The conditions on which validity rests, as the tests number them:
//!
//! 1. σ is declared and never estimated; thresholds and δ lie strictly between 0 and 1.
//! 2. A bad arm fails one attribute for good; of each pair the running maximum is kept.
//! 3. An exact verifier is asked once: a pass needs no evidence, a failure is final.
//! 4. Bets are learned from what was known before a pair's first call, and then kept.
//! 5. Stepping down goes one arm at a time; arms that merely look bad are not subtracted.
//! 6. A share of δ that an arm is lent counts only for calls dispatched after it.
//! 7. Averaged closed testing is not offered.
//! 8. Closed e-BH takes present e-values, with calls in flight at their lowest score, and freezes arms.
//! 9. Scores enter a stream in dispatch order; every call is fresh.
//! 10. A void call leaves no trace and is made again; giving up counts.
//! 11. Calls lost in a crash count.
//! 12. Failures count as the lowest score there can be, or block the stream.
//! 13. Scores outside their range are refused, and only those above it clipped.
//! 14. Evidence is a number, and none comes from scores below the threshold.
//! 15. (Of the paper's allocation, not of certificates.)
//! 16. (Of recorded scores: they certify the recording.)
//! 17. A call that overruns is recorded, with its score.
//! 18. A budget may be raised, never lowered.
//! 19. Arms may join later only where shares of δ are lent, or as answers to a question.
//! 20. A reply that scores several pairs has one place in each of their streams, and counts once.
//! 21. Of the answers to a question at most one is certified; δ is lent, or shared over all that there can be.

mod asking;
mod forged;
mod lending;
mod levels;
mod money;
mod questions;
mod refusals;
mod shared;
mod shared_policies;
mod slow;
mod streams;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use goodarm_core::policy::{Choice, Policy};
use goodarm_core::{
    ArmId, Ask, AttributeId, AttributeSpec, Books, Call, Cost, Design, GeneratorSpec, Guarantee,
    Options, Problem, ProblemSpec, QuestionsSpec, ScoreModel, Session, Target,
};

use crate::doors::Doors;

const FIRST: AttributeId = AttributeId(0);
const SECOND: AttributeId = AttributeId(1);
const SUB_GAUSSIAN: ScoreModel = ScoreModel::SubGaussian { sigma: 1.0, lowest: None };
const UNIT: Cost = Cost::from_units(1);

const GUARANTEES: [Guarantee; 5] = [
    Guarantee::Paper,
    Guarantee::Union,
    Guarantee::Holm,
    Guarantee::Lent,
    Guarantee::FalseDiscovery,
];

/// Verifiers that cost one unit a call, with thresholds of one half.
fn spec(arms: usize, guarantee: Guarantee, scores: &[ScoreModel]) -> ProblemSpec {
    let attribute = |(index, &scores): (usize, &ScoreModel)| AttributeSpec {
        name: format!("attribute {index}"),
        price: 1.0,
        expected: None,
        threshold: 0.5,
        scores,
    };
    ProblemSpec {
        arms,
        attributes: scores.iter().enumerate().map(attribute).collect(),
        budget: 1e6,
        delta: 0.05,
        guarantee,
    }
}

fn problem(spec: ProblemSpec) -> Problem {
    Problem::new(spec).expect("a sound problem")
}

fn books(arms: usize, guarantee: Guarantee, scores: &[ScoreModel]) -> Books {
    Books::new(problem(spec(arms, guarantee, scores)))
}

/// Dispatches one call.
fn send(books: &mut Books, arm: u32, attribute: AttributeId) -> Call {
    books.dispatch(Target::Arm(ArmId(arm), attribute)).expect("the pair is open and affordable")
}

fn answer(books: &mut Books, pull: &Call, score: f64) {
    books.tell(pull.ticket, score, UNIT).expect("the call is in flight and the score is sound");
}

/// Dispatches calls and answers them, one after the other.
fn feed(books: &mut Books, arm: u32, attribute: AttributeId, scores: &[f64]) {
    for &score in scores {
        let pull = send(books, arm, attribute);
        answer(books, &pull, score);
    }
}

/// Feeds a score until the pair's evidence is at least `level`.
fn raise(books: &mut Books, arm: u32, score: f64, level: f64) {
    for _ in 0..10_000 {
        if books.evidence(ArmId(arm), FIRST) >= level {
            return;
        }
        feed(books, arm, FIRST, &[score]);
    }
    panic!("evidence {} stays below {level}", books.evidence(ArmId(arm), FIRST));
}

/// Feeds passes until the arm is certified.
fn pass(books: &mut Books, arm: u32, attribute: AttributeId) {
    for _ in 0..10_000 {
        if books.certified().contains(&ArmId(arm)) {
            return;
        }
        feed(books, arm, attribute, &[1.0]);
    }
    panic!("arm {arm} is not certified");
}

/// Everything there is to see of the books, so that two states can be compared.
fn picture(books: &Books) -> String {
    format!("{books:?}")
}

/// A policy that names what it is told to name, and otherwise nothing.
#[derive(Clone, Default)]
struct Scripted {
    requests: Arc<Mutex<VecDeque<(ArmId, AttributeId)>>>,
}

impl Scripted {
    fn request(&self, arm: u32, attribute: AttributeId) {
        let mut requests = self.requests.lock().expect("no thread panics with the lock");
        requests.push_back((ArmId(arm), attribute));
    }

    fn session(&self, problem: Problem) -> Session {
        let options = Options { in_flight_share: 1.0, ..Options::default() };
        Session::with_options(problem, self.clone(), options).expect("the options make sense")
    }
}

impl Policy for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn choose(&mut self, _: &Books) -> Option<Choice> {
        let mut requests = self.requests.lock().expect("no thread panics with the lock");
        let (arm, attribute) = requests.pop_front()?;
        Some(Choice::pair(arm, attribute, "requested"))
    }
}

fn pulled(ask: Ask) -> Call {
    match ask {
        Ask::Call(pull) => pull,
        Ask::Wait | Ask::Done(_) => panic!("a call was expected, not {ask:?}"),
    }
}

/// What is set aside for a call may be many times its bill: what is in flight is held down by bills, and
/// the budget by ceilings.
#[test]
fn calls_in_flight_are_limited_by_what_they_are_expected_to_cost() {
    let mut spec = spec(2000, Guarantee::Union, &[ScoreModel::Binary]);
    (spec.attributes[0].price, spec.budget) = (6.0, 6000.0);
    let policy = goodarm_core::policy::by_name("uniform", &Default::default()).expect("its name");
    let mut session = Session::new(problem(spec), policy);
    let mut in_flight = VecDeque::new();
    let ask_all = |session: &mut Session, in_flight: &mut VecDeque<Call>| {
        while let Ask::Call(pull) = session.ask().expect("a good policy") {
            in_flight.push_back(pull);
        }
        assert!(session.is_limited_by_budget());
        let ledger = session.books().ledger();
        assert!(ledger.settled() + ledger.reserved() <= ledger.budget());
    };
    ask_all(&mut session, &mut in_flight);
    assert_eq!(in_flight.len(), 20, "2 % of 6,000, at 6 each");
    for _ in 0..200 {
        let pull = in_flight.pop_front().expect("there are some");
        session.tell(pull.ticket, 1.0, Cost::from_units(1)).expect("it is in flight");
        ask_all(&mut session, &mut in_flight);
    }
    let mean_bill = session.books().lane_of(FIRST).mean_bill;
    let expected = f64::from(u32::try_from(in_flight.len()).unwrap()) * mean_bill;
    assert!((100.0..=120.0).contains(&expected), "{expected}");
    assert!(in_flight.len() > 100, "2 % of 5,800, at little more than 1 each: {}", in_flight.len());
}

/// Before the first bill, what is expected limits the calls in flight; the ceiling is reserved all the same.
#[test]
fn the_first_calls_are_limited_by_the_expected_bill_and_reserved_at_their_ceiling() {
    let mut spec = spec(2000, Guarantee::Union, &[ScoreModel::Binary]);
    (spec.attributes[0].price, spec.budget) = (60.0, 6000.0);
    spec.attributes[0].expected = Some(3.0);
    let policy = goodarm_core::policy::by_name("uniform", &Default::default()).expect("its name");
    let mut session = Session::new(problem(spec), policy);
    let mut in_flight = Vec::new();
    while let Ask::Call(pull) = session.ask().expect("a good policy") {
        in_flight.push(pull);
    }
    assert_eq!(in_flight.len(), 40, "2 % of 6,000, at 3 each");
    assert_eq!(session.books().ledger().reserved(), Cost::from_units(40 * 60));
    session.tell(in_flight[0].ticket, 1.0, Cost::from_units(1)).expect("it is in flight");
    let mean_bill = session.books().lane_of(FIRST).mean_bill;
    assert!((mean_bill - 2.0).abs() < 1e-12, "the mean of 3 and 1, not {mean_bill}");
}

#[test]
fn an_expected_bill_is_more_than_nothing_and_at_most_the_price() {
    for (expected, is_valid) in [(0.0, false), (1.0, true), (0.1, true), (1.1, false)] {
        let mut spec = spec(1, Guarantee::Union, &[ScoreModel::Binary]);
        spec.attributes[0].expected = Some(expected);
        assert_eq!(Problem::new(spec).is_ok(), is_valid, "{expected}");
        let generator = GeneratorSpec { name: "g".into(), price: 1.0, expected: Some(expected) };
        let questions = QuestionsSpec {
            count: 1,
            answers: Vec::new(),
            generators: vec![generator],
            candidates_max: 1,
        };
        let design = Design { scored_by: Vec::new(), questions: Some(questions) };
        let spec = self::spec(0, Guarantee::Lent, &[ScoreModel::Binary]);
        assert_eq!(Problem::designed(spec, design).is_ok(), is_valid, "{expected}");
    }
}

fn round_robin() -> Box<dyn goodarm_core::Policy + Send> {
    goodarm_core::policy::by_name("round-robin", &Default::default()).expect("its name")
}
