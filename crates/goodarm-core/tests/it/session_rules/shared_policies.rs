//! What policies and sessions make of calls that score several pairs, and of answers that do not exist yet.

use goodarm_core::policy::{NAMES, Parameters, by_name};
use goodarm_core::{
    ArmId, Ask, Books, Design, GeneratorId, GeneratorSpec, Guarantee, Label, Options, Problem,
    ProblemSpec, QuestionId, QuestionsSpec, ScoreModel, ScoredBy, Session, Source, StopReason,
    Target,
};

use super::{FIRST, SECOND, UNIT, send, spec};

use crate::doors::Doors;

fn rubric(arms: usize, budget: f64, scores: &[ScoreModel]) -> Problem {
    let mut scored_by = vec![ScoredBy::CallsOf(0); scores.len()];
    scored_by[0] = ScoredBy::OwnCalls;
    let spec = ProblemSpec { budget, ..spec(arms, Guarantee::Holm, scores) };
    Problem::designed(spec, Design { scored_by, questions: None }).expect("a sound design")
}

#[test]
fn a_score_below_the_lowest_blocks_before_other_checks() {
    for (model, score) in [(ScoreModel::Binary, -1.0), (ScoreModel::UNIT, -2e9)] {
        let mut books = Books::new(rubric(1, 100.0, &[ScoreModel::Binary, model]));
        let pull = send(&mut books, 0, FIRST);
        books.tell_all(pull.ticket, &[Some(1.0), Some(score)], UNIT).unwrap();
        assert!(books.is_blocked(ArmId(0), SECOND) && !books.is_blocked(ArmId(0), FIRST));
    }
}

#[test]
fn no_policy_forgets_the_other_answers_over_shared_calls() {
    for name in NAMES.into_iter().filter(|name| !["oracle", "rcb", "hdoc"].contains(name)) {
        let policy = by_name(name, &Parameters::default()).unwrap();
        let mut session = Session::new(rubric(4, 1e4, &[ScoreModel::Binary; 3]), policy);
        for call in 0..80_u32 {
            let Ask::Call(pull) = session.ask().unwrap() else { panic!("{name} has money") };
            // Neither good nor bad.
            let scores = [Some(f64::from(call % 2)); 3];
            session.tell_all(pull.ticket, &scores, UNIT).unwrap();
        }
        let counts: Vec<u64> =
            (0..4).map(|arm| session.books().tally(ArmId(arm), FIRST).dispatched_count).collect();
        assert!(counts.iter().all(|&count| count >= 5), "{name}: {counts:?}");
    }
}

#[test]
fn a_call_that_scores_five_criteria_is_not_hopeless_for_the_price_of_five() {
    let options = Options { stop_when_hopeless: true, ..Options::default() };
    let policy = by_name("rcb", &Parameters::default()).unwrap();
    // Enough for one answer by shared calls, and for none by a call for each criterion.
    let problem = rubric(1, 16.0, &[ScoreModel::Binary; 5]);
    let mut session = Session::with_options(problem, policy, options).unwrap();
    let reason = loop {
        match session.ask().unwrap() {
            Ask::Call(pull) => session.tell_all(pull.ticket, &[Some(1.0); 5], UNIT).unwrap(),
            Ask::Done(reason) => break reason,
            Ask::Wait => unreachable!("one call at a time, and no questions"),
        }
    };
    assert_eq!(reason, StopReason::AllCertified);
}

fn question(guarantee: Guarantee, scored_by: ScoredBy, budget: f64) -> Problem {
    let questions = QuestionsSpec {
        count: 1,
        answers: Vec::new(),
        generators: vec![GeneratorSpec { name: "maker".into(), price: 1.0, expected: None }],
        candidates_max: 3,
    };
    let spec = ProblemSpec { budget, ..spec(0, guarantee, &[ScoreModel::Binary]) };
    let design = Design { scored_by: vec![scored_by], questions: Some(questions) };
    Problem::designed(spec, design).expect("a sound design")
}

#[test]
fn a_question_without_an_answer_is_not_hopeless() {
    let options = Options { stop_when_hopeless: true, ..Options::default() };
    let policy = by_name("rcb", &Parameters::default()).unwrap();
    let problem = question(Guarantee::Lent, ScoredBy::OwnCalls, 200.0);
    let mut session = Session::with_options(problem, policy, options).unwrap();
    let reason = loop {
        match session.ask().unwrap() {
            Ask::Call(pull) if pull.pair().is_none() => {
                session.answer(pull.ticket, Some(Label(0)), UNIT).unwrap();
            }
            Ask::Call(pull) => session.tell(pull.ticket, 1.0, UNIT).unwrap(),
            Ask::Done(reason) => break reason,
            Ask::Wait => unreachable!("one call at a time"),
        }
    };
    assert_eq!((reason, session.certified()), (StopReason::AllCertified, &[ArmId(0)][..]));
}

#[test]
fn an_answer_that_votes_have_proved_is_certified_when_it_is_made() {
    let questions = QuestionsSpec {
        count: 1,
        answers: vec![(QuestionId(0), Label(0))],
        generators: vec![GeneratorSpec { name: "maker".into(), price: 1.0, expected: None }],
        candidates_max: 3,
    };
    let spec = ProblemSpec { budget: 1e3, ..spec(1, Guarantee::Union, &[ScoreModel::Binary]) };
    let scored_by = vec![ScoredBy::Votes { proposes: false }];
    let design = Design { scored_by, questions: Some(questions) };
    let mut books = Books::new(Problem::designed(spec, design).expect("a sound design"));
    let asked = |books: &mut Books, source| {
        books
            .dispatch(Target::Question(QuestionId(0), source))
            .expect("the question is open")
            .ticket
    };
    for _ in 0..40 {
        let ticket = asked(&mut books, Source::Votes(FIRST));
        assert_eq!(books.answer(ticket, Some(Label(7)), UNIT).unwrap(), None);
    }
    assert!(books.certified().is_empty(), "no arm has that answer");
    let ticket = asked(&mut books, Source::Generator(GeneratorId(0)));
    let born = books.answer(ticket, Some(Label(7)), UNIT).unwrap();
    assert_eq!(books.certified(), [born.expect("a new answer")]);
}
