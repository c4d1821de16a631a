//! Conditions 6 and 19: shares of δ that are lent and come back, and arms that join.

use goodarm_core::books::{AddArmsError, LendError};
use goodarm_core::event::EventError;
use goodarm_core::policy::rcb::Rcb;
use goodarm_core::{
    ArmId, ArmStatus, Ask, Books, Event, Failure, Guarantee, Loan, Options, ProblemSpec,
    ScoreModel, Session, Share, StopReason, Target, VoidFailure,
};

use super::{FIRST, SECOND, SUB_GAUSSIAN, UNIT, answer, books, feed, pass, problem, send, spec};

use crate::doors::{Doors, OnArm, told};

const BINARY: &[ScoreModel] = &[ScoreModel::Binary];
const ARM: ArmId = ArmId(0);
const OTHER: ArmId = ArmId(1);

fn has_none(books: &Books) -> bool {
    books.evidence(ARM, FIRST).to_bits() == 0
}

fn half() -> Share {
    Share::of(0.5)
}

fn pool_and_loans(books: &Books) -> (Share, usize) {
    let lending = books.lending().expect("shares of δ are lent");
    (lending.pool(), lending.out_count())
}

#[test]
fn a_share_sets_the_level_and_a_certificate_returns_all_of_it() {
    let mut books = books(3, Guarantee::Lent, BINARY);
    assert_eq!(books.pool(), Some(Share::WHOLE));
    assert!(books.level(ARM, FIRST).is_infinite());
    books.lend(ARM, half()).unwrap();
    assert_eq!(pool_and_loans(&books), (half(), 1));
    assert!((books.level(ARM, FIRST) - (2.0_f64 / 0.05).ln()).abs() < 1e-12);
    pass(&mut books, 0, FIRST);
    assert_eq!(pool_and_loans(&books), (Share::WHOLE, 0));
    // It is shown as it was when it was enough.
    assert!((books.level(ARM, FIRST) - (2.0_f64 / 0.05).ln()).abs() < 1e-12);
    books.lend(OTHER, Share::WHOLE).unwrap();
    assert!((books.level(OTHER, FIRST) - 20.0_f64.ln()).abs() < 1e-12);
}

/// Calls that were dispatched before an arm has its share prove nothing, also those that come back
/// after it; they count against the arm, and for beliefs.
#[test]
fn evidence_begins_with_the_loan() {
    let floored = ScoreModel::SubGaussian { sigma: 1.0, lowest: Some(0.0) };
    for model in [ScoreModel::Binary, ScoreModel::UNIT, floored] {
        let mut late = books(3, Guarantee::Lent, &[model]);
        // Few enough that no weights are learned from them.
        feed(&mut late, 0, FIRST, &[1.0; 10]);
        let early = [0; 3].map(|_| send(&mut late, 0, FIRST));
        assert!(has_none(&late));
        late.lend(ARM, half()).unwrap();
        let first = send(&mut late, 0, FIRST);
        answer(&mut late, &first, 1.0);
        for pull in &early {
            assert!(has_none(&late), "{model:?}: a call before it is out");
            answer(&mut late, pull, 1.0);
        }
        feed(&mut late, 0, FIRST, &[1.0; 3]);
        // Four hits can prove no more than this, and the thirteen before them would.
        let most = 4.0 * 2.0_f64.ln() + 1e-9;
        let evidence = late.evidence(ARM, FIRST);
        assert!(evidence > 0.0 && evidence < most, "{model:?}: {evidence}");
        assert_eq!(late.tally(ARM, FIRST).returned_count, 17);
    }
}

#[test]
fn looks_without_a_share_can_reject_but_not_certify() {
    let mut books = books(2, Guarantee::Lent, BINARY);
    feed(&mut books, 0, FIRST, &[0.0; 30]);
    feed(&mut books, 1, FIRST, &[1.0; 30]);
    assert_eq!(books.status(ARM), ArmStatus::Rejected);
    assert_eq!(books.status(OTHER), ArmStatus::Undecided);
}

/// α min(1, E), and nothing of the evidence stays.
#[test]
fn a_release_returns_what_the_present_evidence_is_worth() {
    for (scores, calls_out) in
        [(&[1.0, 1.0, 1.0][..], 0), (&[1.0, 0.0, 0.0], 0), (&[1.0, 1.0], 1), (&[1.0, 1.0, 1.0], 60)]
    {
        let mut books = books(2, Guarantee::Lent, BINARY);
        books.lend(ARM, half()).unwrap();
        feed(&mut books, 0, FIRST, scores);
        let out: Vec<_> = (0..calls_out).map(|_| send(&mut books, 0, FIRST)).collect();
        // What it would be if the calls that are out had failed.
        let mut drained = books.clone();
        for pull in &out {
            answer(&mut drained, pull, 0.0);
        }
        drained.release(ARM).unwrap();
        books.release(ARM).unwrap();
        assert_eq!(books.pool(), drained.pool());
        let back = books.pool().unwrap().fraction() - 0.5;
        assert!((0.0..=0.5).contains(&back), "{back}");
        let clean = !scores.contains(&0.0) && calls_out == 0;
        assert_eq!((back - 0.5).abs() < 1e-9, clean, "{scores:?} {calls_out}: {back}");
        assert!(books.share(ARM).is_none() && has_none(&books));
        // A new loan begins new evidence, with calls still in flight.
        books.lend(ARM, Share::of(0.1)).unwrap();
        for pull in &out {
            answer(&mut books, pull, 1.0);
        }
        assert!(has_none(&books));
    }
    // No number is surely low enough for a call that is out.
    let mut floorless = books(2, Guarantee::Lent, &[SUB_GAUSSIAN]);
    floorless.lend(ARM, half()).unwrap();
    send(&mut floorless, 0, FIRST);
    floorless.release(ARM).unwrap();
    assert_eq!(floorless.pool(), Some(half()));
}

#[test]
fn exact_scores_need_no_share() {
    let exact = [ScoreModel::Exact, ScoreModel::Binary];
    let mut books = super::books(3, Guarantee::Lent, &exact);
    // Asked before the loan, and still known after it.
    feed(&mut books, 0, FIRST, &[1.0]);
    books.lend(ARM, half()).unwrap();
    pass(&mut books, 0, SECOND);
    // A share of an arm that turns out to be bad comes back in full: it could never be certified.
    books.lend(OTHER, half()).unwrap();
    feed(&mut books, 1, SECOND, &[0.0, 0.0]);
    feed(&mut books, 1, FIRST, &[0.0]);
    assert_eq!((books.status(OTHER), books.pool()), (ArmStatus::Rejected, Some(Share::WHOLE)));
    // A call that merely failed is not the verifier's word.
    let mut failed = super::books(3, Guarantee::Lent, &exact);
    failed.lend(ARM, half()).unwrap();
    let pull = send(&mut failed, 0, FIRST);
    let timed_out = Failure::Counted(goodarm_core::CountedFailure::TimedOut);
    failed.fail(pull.ticket, timed_out, UNIT).unwrap();
    assert_eq!((failed.is_active(ARM), failed.pool()), (false, Some(half())));
    // With exact verifiers alone there is nothing to lend for.
    let mut certain = super::books(2, Guarantee::Lent, &[ScoreModel::Exact]);
    feed(&mut certain, 0, FIRST, &[1.0]);
    assert_eq!((certain.certified(), certain.pool()), (&[ARM][..], Some(Share::WHOLE)));
}

#[test]
fn impossible_loans_are_refused() {
    let mut books = books(2, Guarantee::Lent, BINARY);
    let too_much = |asked, pool| Err(LendError::NotInPool { asked, pool });
    assert_eq!(books.lend(ARM, Share::NONE), too_much(Share::NONE, Share::WHOLE));
    books.lend(ARM, half()).unwrap();
    assert_eq!(books.lend(ARM, Share::of(0.1)), Err(LendError::AlreadyLent(ARM)));
    assert_eq!(books.lend(OTHER, Share::of(0.51)), too_much(Share::of(0.51), half()));
    assert_eq!(books.release(OTHER), Err(LendError::NothingLent(OTHER)));
    assert_eq!(books.lend(ArmId(2), half()), Err(LendError::NoSuchArm(ArmId(2))));
    pass(&mut books, 0, FIRST);
    assert_eq!(books.lend(ARM, half()), Err(LendError::ArmLeft(ARM)));
    assert_eq!(books.release(ARM), Err(LendError::ArmLeft(ARM)));
    for guarantee in super::GUARANTEES.into_iter().filter(|&other| other != Guarantee::Lent) {
        let mut books = super::books(2, guarantee, BINARY);
        assert_eq!(books.lend(ARM, half()), Err(LendError::NotLending));
        assert_eq!(books.add_arms(1), Err(AddArmsError::NotLending));
    }
}

/// A void call leaves no trace, whether it was a look or counted; its retry is a call like any other.
#[test]
fn a_void_look_leaves_no_trace() {
    for model in [ScoreModel::Binary, ScoreModel::UNIT] {
        let mut books = books(2, Guarantee::Lent, &[model]);
        feed(&mut books, 0, FIRST, &[1.0, 0.0]);
        let look = send(&mut books, 0, FIRST);
        books.lend(ARM, half()).unwrap();
        let counts = send(&mut books, 0, FIRST);
        answer(&mut books, &counts, 1.0);
        assert!(has_none(&books), "a look before it is out");
        let void = Failure::Void(VoidFailure::RateLimited);
        books.fail(look.ticket, void, goodarm_core::Cost::ZERO).unwrap();
        let first = books.evidence(ARM, FIRST);
        assert!(first > 0.0, "{model:?}: the call counts");
        let retry = books.dispatch_retry().unwrap();
        answer(&mut books, &retry, 1.0);
        assert!(books.evidence(ARM, FIRST) > first, "{model:?}: the retry counts after it");
        assert_eq!(books.tally(ARM, FIRST).returned_count, 4);
    }
}

#[test]
fn arms_are_added_during_a_session() {
    let spec = ProblemSpec { budget: 3000.0, ..spec(3, Guarantee::Lent, &[ScoreModel::Binary; 2]) };
    let mut events = Vec::new();
    let mut session = Session::new(problem(spec.clone()), Rcb::seeded(5));
    let drive = |session: &mut Session, calls: usize, events: &mut Vec<Event>| {
        for _ in 0..calls {
            let Ok(Ask::Call(pull)) = session.ask() else { return };
            events.push(pull.into());
            let score = f64::from(u8::from(pull.arm().0 % 2 == 1));
            session.tell(pull.ticket, score, UNIT).unwrap();
            events.push(told(pull.ticket, score, UNIT));
        }
    };
    drive(&mut session, 10, &mut events);
    assert_eq!(session.add_arms(1), Ok(()));
    assert_eq!(session.books().problem().arm_count(), 4);
    session.add_arms(2).unwrap();
    events.extend([Event::ArmsAdded { count: 1 }, Event::ArmsAdded { count: 2 }]);
    drive(&mut session, 10_000, &mut events);
    let mut certified = session.certified().to_vec();
    certified.sort();
    assert_eq!(certified, [ArmId(1), ArmId(3), ArmId(5)]);
    let mut again = Session::new(problem(spec), Rcb::seeded(5));
    again.replay(events).unwrap();
    assert_eq!(format!("{:?}", again.books()), format!("{:?}", session.books()));
}

/// What was hopeless may not be so with more arms.
#[test]
fn added_arms_are_called() {
    let spec = ProblemSpec { budget: 200.0, ..spec(2, Guarantee::Lent, BINARY) };
    let options = Options { stop_when_hopeless: true, ..Options::default() };
    let mut session = Session::with_options(problem(spec), Rcb::new(), options).unwrap();
    let reason = loop {
        match session.ask().unwrap() {
            Ask::Call(pull) => session.tell(pull.ticket, 0.0, UNIT).unwrap(),
            Ask::Wait => unreachable!("no call is in flight"),
            Ask::Done(reason) => break reason,
        }
    };
    assert_eq!(reason, StopReason::Hopeless);
    session.add_arms(5).unwrap();
    let asked = session.ask().unwrap();
    assert!(matches!(asked, Ask::Call(pull) if pull.arm().0 >= 2), "{asked:?}");
}

/// The record of a loan is checked against the books: no policy is asked.
#[test]
fn a_forged_loan_is_noticed() {
    let mut books = books(3, Guarantee::Lent, BINARY);
    let asked = |ticket, arm, loan: Option<Loan>| Event::Asked {
        ticket: goodarm_core::Ticket(ticket),
        target: Target::Arm(arm, FIRST),
        loan: loan.map(|loan| (arm, loan)),
    };
    let weights = books.clone().lend(ARM, half()).unwrap().weights;
    books.apply(&asked(0, ARM, Some(Loan { share: half(), weights }))).unwrap();
    let more = Loan { share: Share::of(0.6), weights };
    let refused = books.apply(&asked(1, OTHER, Some(more)));
    assert!(matches!(refused, Err(EventError::NotLent { .. })), "{refused:?}");
    let twice = books.apply(&asked(1, ARM, Some(Loan { share: Share::of(0.1), weights })));
    assert!(matches!(twice, Err(EventError::NotLent { .. })), "{twice:?}");
    let other = Loan { share: half(), weights: weights ^ 1 };
    assert!(matches!(books.apply(&asked(1, OTHER, Some(other))), Err(EventError::Weights(_))));
}
