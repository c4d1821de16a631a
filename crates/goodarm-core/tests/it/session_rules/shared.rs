//! One call, several scores: one price, one ticket, one record, and a stream for each pair.

use goodarm_core::books::DispatchError;
use goodarm_core::problem::design::DesignError;
use goodarm_core::{
    ArmId, ArmStatus, Ask, AttributeId, BlockingFailure, Books, CountedFailure, Design, Event,
    Failure, Guarantee, Outcome, Problem, ScoreModel, ScoredBy, SettleError, Share, SpecError,
    Target, VoidFailure,
};

use super::{FIRST, SECOND, SUB_GAUSSIAN, Scripted, UNIT, picture, pulled, send, spec};

use crate::doors::{Doors, OnArm};

const ARM: ArmId = ArmId(0);
const THIRD: AttributeId = AttributeId(2);
const BINARY: ScoreModel = ScoreModel::Binary;
const RATE_LIMITED: Failure = Failure::Void(VoidFailure::RateLimited);

/// One call scores all attributes.
fn rubric(arms: usize, guarantee: Guarantee, scores: &[ScoreModel]) -> Problem {
    let mut scored_by = vec![ScoredBy::CallsOf(0); scores.len()];
    scored_by[0] = ScoredBy::OwnCalls;
    let mut spec = spec(arms, guarantee, scores);
    // The price of what has no calls of its own is not looked at.
    for attribute in &mut spec.attributes[1..] {
        attribute.price = 70.0;
    }
    Problem::designed(spec, Design { scored_by, questions: None }).expect("a sound design")
}

fn rubric_books(arms: usize, guarantee: Guarantee, scores: &[ScoreModel]) -> Books {
    Books::new(rubric(arms, guarantee, scores))
}

fn tell_all(books: &mut Books, arm: u32, scores: &[Option<f64>]) {
    let pull = send(books, arm, FIRST);
    books.tell_all(pull.ticket, scores, UNIT).expect("as many scores as were asked for");
}

fn evidence(books: &Books, attribute: AttributeId) -> f64 {
    books.evidence(ARM, attribute)
}

#[test]
fn a_call_that_scores_several_pairs_has_one_price_ticket_and_record() {
    let script = Scripted::default();
    let mut session = script.session(rubric(2, Guarantee::Holm, &[BINARY, BINARY]));
    // Chosen for its second attribute, it is the call of the first.
    script.request(0, SECOND);
    let pull = pulled(session.ask().unwrap());
    assert_eq!((pull.attribute(), pull.ceiling), (FIRST, UNIT));
    let books = session.books();
    assert_eq!((books.in_flight_count(), books.ledger().reserved()), (1, UNIT));
    for attribute in [FIRST, SECOND] {
        assert_eq!(books.lane_of(attribute).in_flight_count(), 1);
        assert_eq!(books.tally(ARM, attribute).dispatched_count, 1);
    }
    let scores = [Some(1.0), Some(0.0)];
    session.tell_all(pull.ticket, &scores, UNIT).unwrap();
    let books = session.books();
    assert_eq!((books.ledger().settled(), books.observation_count()), (UNIT, 1));
    assert_eq!(
        [FIRST, SECOND].map(|it| books.tally(ARM, it).sum.to_bits()),
        [1.0, 0.0].map(f64::to_bits)
    );
    let mut rebuilt = Books::new(rubric(2, Guarantee::Holm, &[BINARY, BINARY]));
    rebuilt.apply(&pull.into()).unwrap();
    let told = Event::Settled {
        ticket: pull.ticket,
        outcome: Outcome::Scores(scores.into()),
        bill: UNIT.into(),
    };
    rebuilt.apply(&told).unwrap();
    assert_eq!(rebuilt.ledger(), books.ledger());
    // A reply counts once.
    let again = session.tell_all(pull.ticket, &scores, UNIT);
    assert_eq!(again, Err(SettleError::NotOutstanding(pull.ticket)));
}

#[test]
fn every_attribute_takes_its_scores_in_dispatch_order() {
    let models =
        [BINARY, ScoreModel::UNIT, ScoreModel::SubGaussian { sigma: 0.5, lowest: Some(0.0) }];
    let replies: Vec<[Option<f64>; 3]> =
        (0..12_u8).map(|call| [1.0, 0.9, 0.8].map(|score| (call != 7).then_some(score))).collect();
    let mut plain = rubric_books(1, Guarantee::Union, &models);
    let mut mixed = rubric_books(1, Guarantee::Union, &models);
    let sent: Vec<_> =
        replies.iter().map(|_| (send(&mut plain, 0, FIRST), send(&mut mixed, 0, FIRST))).collect();
    for ((pull, _), scores) in sent.iter().zip(&replies) {
        plain.tell_all(pull.ticket, scores, UNIT).unwrap();
    }
    for call in [11, 3, 7, 1, 2, 9, 10, 4, 6, 8, 5] {
        mixed.tell_all(sent[call].1.ticket, &replies[call], UNIT).unwrap();
        assert_eq!(mixed.evidence_count(ARM, SECOND), 0, "the first call is out");
        assert_eq!(evidence(&mixed, SECOND).to_bits(), 0);
    }
    mixed.tell_all(sent[0].1.ticket, &replies[0], UNIT).unwrap();
    for attribute in [FIRST, SECOND, THIRD] {
        assert_eq!(evidence(&mixed, attribute).to_bits(), evidence(&plain, attribute).to_bits());
        assert_eq!(mixed.evidence_count(ARM, attribute), 12);
    }
}

/// A criterion that a reply lacks is a failed score of that criterion.
#[test]
fn a_missing_score_fails_its_attribute_alone() {
    let mut books = rubric_books(1, Guarantee::Holm, &[BINARY, BINARY]);
    let mut whole = rubric_books(1, Guarantee::Holm, &[BINARY, BINARY]);
    tell_all(&mut books, 0, &[Some(1.0), None]);
    tell_all(&mut whole, 0, &[Some(1.0), Some(0.0)]);
    for attribute in [FIRST, SECOND] {
        assert_eq!(books.tally(ARM, attribute), whole.tally(ARM, attribute));
        assert_eq!(evidence(&books, attribute).to_bits(), evidence(&whole, attribute).to_bits());
    }
}

/// Without a lowest score it blocks that attribute, and so does a score below the lowest; the others continue.
#[test]
fn a_score_that_no_number_can_replace_blocks_its_attribute_alone() {
    for (second, reply) in [(SUB_GAUSSIAN, None), (ScoreModel::UNIT, Some(-0.5))] {
        let mut books = rubric_books(1, Guarantee::Lent, &[BINARY, second]);
        books.lend(ARM, Share::of(0.5)).unwrap();
        tell_all(&mut books, 0, &[Some(1.0), Some(1.0)]);
        let before = evidence(&books, SECOND);
        tell_all(&mut books, 0, &[Some(1.0), reply]);
        assert!(books.is_blocked(ARM, SECOND) && !books.is_open(ARM, SECOND));
        assert!(!books.is_blocked(ARM, FIRST) && books.is_open(ARM, FIRST));
        for _ in 0..40 {
            tell_all(&mut books, 0, &[Some(1.0), Some(1.0)]);
        }
        assert!(books.is_resolved(ARM, FIRST) && !books.is_resolved(ARM, SECOND));
        assert!(evidence(&books, SECOND) <= before && books.certified().is_empty());
        // Nothing comes back for evidence that lacks a score.
        books.release(ARM).unwrap();
        assert!((books.pool().unwrap().fraction() - 0.5).abs() < 1e-12);
    }
}

/// The same for a reply that is back too early: a score below the lowest is not counted as the lowest.
#[test]
fn a_release_does_not_clip_up_a_score_that_waits_for_an_earlier_one() {
    let bounded = ScoreModel::Bounded { lowest: 0.45, highest: 1.0 };
    let mut books = rubric_books(1, Guarantee::Lent, &[BINARY, bounded]);
    books.lend(ARM, Share::of(0.5)).unwrap();
    for _ in 0..4 {
        tell_all(&mut books, 0, &[Some(1.0), Some(1.0)]);
    }
    let _first = send(&mut books, 0, FIRST);
    let second = send(&mut books, 0, FIRST);
    books.tell_all(second.ticket, &[Some(1.0), Some(0.0)], UNIT).unwrap();
    books.release(ARM).unwrap();
    assert!((books.pool().unwrap().fraction() - 0.5).abs() < 1e-12, "{:?}", books.pool());
}

/// A reply without its only score counts as a failed call.
#[test]
fn a_single_score_that_is_missing_is_not_left_out() {
    let mut books = super::books(1, Guarantee::Lent, &[SUB_GAUSSIAN]);
    books.lend(ARM, Share::of(0.5)).unwrap();
    tell_all(&mut books, 0, &[Some(2.0)]);
    tell_all(&mut books, 0, &[None]);
    assert!(books.is_blocked(ARM, FIRST) && books.dispatch(Target::Arm(ARM, FIRST)).is_err());
    books.release(ARM).unwrap();
    assert!((books.pool().unwrap().fraction() - 0.5).abs() < 1e-12);
}

/// Scores of calls before the loan prove nothing, also of an attribute that is blocked by then.
#[test]
fn a_blocked_attribute_does_not_get_back_the_scores_before_its_loan() {
    let mut books = rubric_books(1, Guarantee::Lent, &[BINARY, SUB_GAUSSIAN]);
    for _ in 0..30 {
        tell_all(&mut books, 0, &[Some(1.0), Some(3.0)]);
    }
    let out = [0; 2].map(|_| send(&mut books, 0, FIRST));
    books.lend(ARM, Share::of(0.5)).unwrap();
    for pull in out {
        books.tell_all(pull.ticket, &[Some(1.0), None], UNIT).unwrap();
    }
    tell_all(&mut books, 0, &[Some(1.0), Some(3.0)]);
    assert!(evidence(&books, SECOND) <= 0.0, "{}", evidence(&books, SECOND));
}

/// A missing score of an exact verifier frees no part of δ.
#[test]
fn a_missing_exact_score_frees_no_part_of_delta() {
    let models = [ScoreModel::Exact, ScoreModel::Exact];
    let mut scored_by = vec![ScoredBy::OwnCalls, ScoredBy::CallsOf(0), ScoredBy::OwnCalls];
    for (reply, share_back, status) in [
        ([Some(1.0), None], 0.5, ArmStatus::Undecided),
        ([Some(1.0), Some(0.0)], 1.0, ArmStatus::Rejected),
        ([None, Some(0.0)], 0.5, ArmStatus::Rejected),
    ] {
        let spec = spec(2, Guarantee::Lent, &[models[0], models[1], BINARY]);
        let design = Design { scored_by: scored_by.clone(), questions: None };
        let mut books = Books::new(Problem::designed(spec, design).unwrap());
        books.lend(ARM, Share::of(0.5)).unwrap();
        tell_all(&mut books, 0, &reply);
        assert!(!books.is_active(ARM));
        assert_eq!(books.status(ARM), status);
        assert!((books.pool().unwrap().fraction() - share_back).abs() < 1e-12, "{reply:?}");
    }
    // Stepping down subtracts only what the verifier failed.
    scored_by.truncate(2);
    for (reply, steps_down) in [([Some(1.0), None], false), ([Some(1.0), Some(0.0)], true)] {
        let mut spec = spec(2, Guarantee::Holm, &[models[0], models[1]]);
        spec.attributes.push(goodarm_core::AttributeSpec {
            name: "judge".into(),
            price: 1.0,
            expected: None,
            threshold: 0.5,
            scores: BINARY,
        });
        let scored_by = vec![ScoredBy::OwnCalls, ScoredBy::CallsOf(0), ScoredBy::OwnCalls];
        let design = Design { scored_by, questions: None };
        let mut books = Books::new(Problem::designed(spec, design).unwrap());
        let before = books.level(ArmId(1), THIRD);
        tell_all(&mut books, 0, &reply);
        assert_eq!(books.level(ArmId(1), THIRD) < before, steps_down);
    }
}

#[test]
fn exact_attributes_of_one_call_are_asked_once() {
    let mut books = rubric_books(1, Guarantee::Holm, &[ScoreModel::Exact, ScoreModel::Exact]);
    tell_all(&mut books, 0, &[Some(1.0), Some(1.0)]);
    assert_eq!(books.certified(), [ARM]);
    let mut books = rubric_books(1, Guarantee::Holm, &[ScoreModel::Exact, ScoreModel::Exact]);
    let pull = send(&mut books, 0, FIRST);
    for attribute in [FIRST, SECOND] {
        assert_eq!(
            books.dispatch(Target::Arm(ARM, attribute)),
            Err(DispatchError::PairClosed(ARM, attribute))
        );
    }
    books.fail(pull.ticket, RATE_LIMITED, UNIT).unwrap();
    let retry = books.dispatch_retry().unwrap();
    books.tell_all(retry.ticket, &[Some(1.0), Some(1.0)], UNIT).unwrap();
    assert_eq!(books.certified(), [ARM]);
}

#[test]
fn a_reply_of_the_wrong_kind_is_refused_and_changes_nothing() {
    let mut books = rubric_books(1, Guarantee::Holm, &[BINARY, BINARY]);
    let pull = send(&mut books, 0, FIRST);
    let before = picture(&books);
    let ticket = pull.ticket;
    let other = Err(SettleError::OtherReply(ticket));
    assert_eq!(books.tell(ticket, 1.0, UNIT), other);
    for scores in [&[][..], &[Some(1.0)], &[Some(1.0); 3]] {
        assert_eq!(books.tell_all(ticket, scores, UNIT), other);
    }
    assert_eq!(books.answer(ticket, None, UNIT).map(|_| ()), other);
    for wrong in [0.5, f64::NAN, 2.0] {
        assert!(books.tell_all(ticket, &[Some(1.0), Some(wrong)], UNIT).is_err());
    }
    assert_eq!(picture(&books), before);
    books.tell_all(ticket, &[Some(1.0), None], UNIT).unwrap();
}

/// A void call leaves all its streams; its retry is the last of each.
#[test]
fn a_void_call_leaves_every_stream_and_is_made_again_as_the_last() {
    let models = [BINARY, ScoreModel::UNIT];
    let mut books = rubric_books(1, Guarantee::Union, &models);
    let mut plain = rubric_books(1, Guarantee::Union, &models);
    let replies = [[Some(0.0), Some(0.2)], [Some(1.0), Some(0.9)], [Some(1.0), Some(0.7)]];
    let sent = [0; 3].map(|_| send(&mut books, 0, FIRST));
    books.tell_all(sent[2].ticket, &replies[1], UNIT).unwrap();
    books.fail(sent[1].ticket, RATE_LIMITED, UNIT).unwrap();
    books.tell_all(sent[0].ticket, &replies[0], UNIT).unwrap();
    assert_eq!(books.evidence_count(ARM, SECOND), 2);
    // No other call of its streams may be recorded before it, under the name of any of its attributes.
    let next = goodarm_core::Ticket(3);
    let asked =
        |attribute| Event::Asked { ticket: next, target: Target::Arm(ARM, attribute), loan: None };
    let mut named = books.clone();
    named.apply(&asked(SECOND)).unwrap();
    assert_eq!(named.ledger().reserved(), UNIT, "it is the retry, not a new call");
    let retry = books.dispatch_retry().unwrap();
    assert_eq!((retry.ticket, retry.attempt), (next, 1));
    books.tell_all(retry.ticket, &replies[2], UNIT).unwrap();
    for scores in &replies {
        tell_all(&mut plain, 0, scores);
    }
    for attribute in [FIRST, SECOND] {
        assert_eq!(evidence(&books, attribute).to_bits(), evidence(&plain, attribute).to_bits());
    }
}

#[test]
fn a_failed_call_fails_each_attribute_by_its_own_rule() {
    let mut books = rubric_books(1, Guarantee::Holm, &[BINARY, SUB_GAUSSIAN, ScoreModel::UNIT]);
    let pull = send(&mut books, 0, FIRST);
    books.fail(pull.ticket, Failure::Counted(CountedFailure::Crashed), UNIT).unwrap();
    let blocked = [FIRST, SECOND, THIRD].map(|attribute| books.is_blocked(ARM, attribute));
    assert_eq!(blocked, [false, true, false]);
    let pull = send(&mut books, 0, FIRST);
    books.fail(pull.ticket, Failure::Blocking(BlockingFailure::Exhausted), UNIT).unwrap();
    assert!(books.dispatch(Target::Arm(ARM, FIRST)).is_err(), "nothing is left to score");
}

/// A caller whose calls hang names any attribute of the call.
#[test]
fn a_hanging_call_is_awaited_by_each_of_its_attributes() {
    let script = Scripted::default();
    let problem = rubric(3, Guarantee::Union, &[BINARY, SUB_GAUSSIAN]);
    let mut session = script.session(problem.clone());
    let mut events = Vec::new();
    let ask = |session: &mut goodarm_core::Session, arm, events: &mut Vec<Event>| {
        script.request(arm, FIRST);
        let pull = pulled(session.ask_probe(session.books().problem().service_of(SECOND)).unwrap());
        events.push(pull.into());
        pull
    };
    // The second attribute never gets a score for arm 0, but does not wait for one any more.
    let pull = ask(&mut session, 0, &mut events);
    session.tell_all(pull.ticket, &[Some(1.0), None], UNIT).unwrap();
    let outcome = Outcome::Scores([Some(1.0), None].into());
    events.push(Event::Settled { ticket: pull.ticket, outcome, bill: UNIT.into() });
    assert_eq!(ask(&mut session, 1, &mut events).arm(), ArmId(1));
    let other = ask(&mut session, 1, &mut events);
    assert_eq!((other.arm(), other.branch), (ARM, "another"));
    let replayed = Scripted::default();
    let mut rebuilt = replayed.session(problem);
    for arm in [0, 1, 1] {
        replayed.request(arm, FIRST);
    }
    rebuilt.replay(events).unwrap();
    assert!(matches!(rebuilt.ask(), Ok(Ask::Wait)));
}

#[test]
fn wrong_designs_are_refused() {
    let refused = |scored_by: Vec<ScoredBy>, models: &[ScoreModel]| {
        let spec = spec(1, Guarantee::Holm, models);
        match Problem::designed(spec, Design { scored_by, questions: None }) {
            Err(SpecError::Design(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let with = |with| ScoredBy::CallsOf(with);
    let own = ScoredBy::OwnCalls;
    assert_eq!(
        refused(vec![own], &[BINARY; 2]),
        DesignError::ScoredByCount { given: 1, attributes: 2 }
    );
    for (scored_by, attribute, to) in
        [(vec![own, with(1)], 1, 1), (vec![with(1), own], 0, 1), (vec![own, with(9)], 1, 9)]
    {
        assert_eq!(refused(scored_by, &[BINARY; 2]), DesignError::CallsOf { attribute, with: to });
    }
    let chain = refused(vec![own, with(0), with(1)], &[BINARY; 3]);
    assert_eq!(chain, DesignError::CallsOf { attribute: 2, with: 1 });
    let mixed = refused(vec![own, with(0)], &[ScoreModel::Exact, BINARY]);
    assert_eq!(mixed, DesignError::ExactAndNot(1));
    let votes = refused(vec![ScoredBy::Votes { proposes: true }], &[BINARY]);
    assert_eq!(votes, DesignError::VotesWithoutQuestions(0));
}
