//! From evidence to certificates: stepping down, weights, exact verifiers, closed e-BH.

use goodarm_core::books::DispatchError;
use goodarm_core::policy::rcb::Rcb;
use goodarm_core::{
    ArmId, ArmStatus, Books, Cost, CountedFailure, Failure, Guarantee, ProblemSpec, ScoreModel,
    Session, Share, Target, VoidFailure,
};
use goodarm_sim::episode::{Course, run_while};
use goodarm_sim::world::{ScoreLaw, World};

use super::{
    FIRST, GUARANTEES, SECOND, SUB_GAUSSIAN, UNIT, answer, books, feed, pass, problem, raise, send,
    spec,
};

use crate::doors::{Doors, OnArm};

const DELTA: f64 = 0.05;
const EXACT: [ScoreModel; 2] = [ScoreModel::Exact, ScoreModel::Binary];

// ln(k/δ)
fn level(arms: f64) -> f64 {
    (arms / DELTA).ln()
}

fn check_level(books: &Books, arm: u32, expected: f64) {
    let level = books.level(ArmId(arm), FIRST);
    assert!((level - expected).abs() < 1e-9, "arm {arm}: {level}, not {expected}");
}

/// Condition 5: one arm at a time, and each lowers the level for the next.
#[test]
fn stepping_down_goes_one_arm_at_a_time() {
    let mut books = books(4, Guarantee::Holm, &[SUB_GAUSSIAN]);
    // Not enough for four, three or two, but in each case for one arm fewer.
    for (arm, arms) in [(0, 3.0), (1, 2.0), (2, 1.0)] {
        raise(&mut books, arm, 0.6, level(arms));
        assert!(books.evidence(ArmId(arm), FIRST) < level(arms + 1.0));
    }
    check_level(&books, 0, level(4.0));
    assert!(books.certified().is_empty());
    raise(&mut books, 3, 1.0, level(4.0));
    assert_eq!(books.certified(), [3, 0, 1, 2].map(ArmId));
}

#[test]
fn an_arm_that_no_other_frees_is_not_certified() {
    let mut books = books(4, Guarantee::Holm, &[SUB_GAUSSIAN]);
    // Enough if two were certified, but only one is.
    raise(&mut books, 0, 0.6, level(2.0));
    assert!(books.evidence(ArmId(0), FIRST) < level(3.0));
    raise(&mut books, 1, 1.0, level(4.0));
    assert_eq!(books.certified(), [ArmId(1)]);
    check_level(&books, 0, level(3.0));
}

#[test]
fn the_plain_union_never_steps_down() {
    let mut books = books(4, Guarantee::Union, &[SUB_GAUSSIAN]);
    raise(&mut books, 0, 1.0, level(4.0));
    assert_eq!(books.certified(), [ArmId(0)]);
    check_level(&books, 1, level(4.0));
}

/// Condition 5: what merely looks bad still takes its share of δ.
#[test]
fn rejected_arms_are_not_subtracted() {
    for guarantee in [Guarantee::Union, Guarantee::Holm] {
        let mut books = books(4, guarantee, &[ScoreModel::Binary]);
        feed(&mut books, 0, FIRST, &[0.0; 100]);
        assert_eq!(books.status(ArmId(0)), ArmStatus::Rejected);
        assert!(books.is_active(ArmId(0)), "it may still be certified");
        check_level(&books, 1, level(4.0));
    }
}

#[test]
fn a_rejected_arm_may_still_be_certified() {
    let mut books = books(1, Guarantee::Holm, &[ScoreModel::Binary]);
    feed(&mut books, 0, FIRST, &[0.0; 60]);
    assert_eq!(books.status(ArmId(0)), ArmStatus::Rejected);
    pass(&mut books, 0, FIRST);
    assert_eq!(books.status(ArmId(0)), ArmStatus::Certified);
}

/// A certified arm shows the level that it had to reach, not a level after its certificate.
#[test]
fn a_certified_arm_keeps_the_level_of_its_certificate() {
    for guarantee in GUARANTEES {
        let mut books = books(3, guarantee, &[SUB_GAUSSIAN]);
        let mut needed = Vec::new();
        for arm in 0..3 {
            if guarantee == Guarantee::Lent {
                books.lend(ArmId(arm), Share::of(0.3)).expect("the pool is full");
            }
            needed.push(books.level(ArmId(arm), FIRST));
            pass(&mut books, arm, FIRST);
        }
        for (arm, needed) in (0..3).zip(needed) {
            check_level(&books, arm, needed);
            assert!(books.is_resolved(ArmId(arm), FIRST), "{guarantee:?}");
        }
    }
}

/// Condition 3: one call tells all.
#[test]
fn an_exact_verifier_is_asked_once() {
    for guarantee in GUARANTEES {
        let mut books = books(2, guarantee, &EXACT);
        let pull = send(&mut books, 0, FIRST);
        let closed = Err(DispatchError::PairClosed(ArmId(0), FIRST));
        assert_eq!(
            books.dispatch(Target::Arm(ArmId(0), FIRST)),
            closed,
            "while the call is in flight"
        );
        answer(&mut books, &pull, 0.5);
        assert!(books.is_resolved(ArmId(0), FIRST), "ξ itself passes");
        assert!(books.evidence(ArmId(0), FIRST) > f64::MAX, "and needs no evidence");
        assert_eq!(books.dispatch(Target::Arm(ArmId(0), FIRST)), closed);
        assert!(books.certified().is_empty(), "the other verifier has not spoken");
        if guarantee == Guarantee::Lent {
            books.lend(ArmId(0), Share::WHOLE).expect("the pool is full");
        }
        pass(&mut books, 0, SECOND);
    }
}

/// Condition 3: a failed exact call is never a pass, and is never tried again.
#[test]
fn an_arm_that_fails_an_exact_verifier_leaves() {
    for guarantee in GUARANTEES {
        for counted in [false, true] {
            let mut books = books(2, guarantee, &EXACT);
            feed(&mut books, 0, SECOND, &[1.0; 20]);
            let pull = send(&mut books, 0, FIRST);
            if counted {
                let failure = Failure::Counted(CountedFailure::TimedOut);
                books.fail(pull.ticket, failure, UNIT).unwrap();
            } else {
                answer(&mut books, &pull, 0.499);
            }
            // A failure is not evidence against the answer.
            let status = if counted { ArmStatus::Undecided } else { ArmStatus::Rejected };
            assert_eq!(books.status(ArmId(0)), status);
            assert!(!books.is_active(ArmId(0)));
            let left = Err(DispatchError::ArmLeft(ArmId(0)));
            assert_eq!(books.dispatch(Target::Arm(ArmId(0), FIRST)), left);
            assert_eq!(books.dispatch(Target::Arm(ArmId(0), SECOND)), left);
            assert!(books.dispatch_retry().is_none());
            assert!(books.certified().is_empty());
        }
    }
}

#[test]
fn a_void_exact_call_is_made_again() {
    let mut books = books(2, Guarantee::Holm, &EXACT);
    let pull = send(&mut books, 0, FIRST);
    let void = Failure::Void(VoidFailure::NotConnected);
    books.fail(pull.ticket, void, Cost::ZERO).unwrap();
    assert!(books.is_active(ArmId(0)));
    assert!(
        books.dispatch(Target::Arm(ArmId(0), FIRST)).is_err(),
        "only as the retry that is owed"
    );
    let retry = books.dispatch_retry().unwrap();
    assert_eq!((retry.arm(), retry.attribute(), retry.attempt), (ArmId(0), FIRST, 1));
    answer(&mut books, &retry, 1.0);
    assert!(books.is_resolved(ArmId(0), FIRST));
}

/// Conditions 3 and 5: only the verifier's own word frees the others' δ, not a call that broke.
#[test]
fn exact_failures_are_subtracted_and_broken_calls_are_not() {
    let mut books = books(4, Guarantee::Holm, &EXACT);
    let binary = |books: &Books| books.level(ArmId(3), SECOND);
    let broken = send(&mut books, 0, FIRST);
    let failure = Failure::Counted(CountedFailure::Crashed);
    books.fail(broken.ticket, failure, UNIT).unwrap();
    assert!((binary(&books) - level(4.0)).abs() < 1e-9);
    feed(&mut books, 1, FIRST, &[0.0]);
    assert!((binary(&books) - level(3.0)).abs() < 1e-9);
    let mut union = super::books(4, Guarantee::Union, &EXACT);
    feed(&mut union, 1, FIRST, &[0.0]);
    assert!((binary(&union) - level(4.0)).abs() < 1e-9);
}

#[test]
fn an_exact_failure_can_certify_another_arm() {
    let scores = [SUB_GAUSSIAN, ScoreModel::Exact];
    let mut books = books(3, Guarantee::Holm, &scores);
    feed(&mut books, 0, SECOND, &[1.0]);
    raise(&mut books, 0, 0.6, level(2.0));
    assert!(books.certified().is_empty());
    feed(&mut books, 1, SECOND, &[0.0]);
    assert_eq!(books.certified(), [ArmId(0)]);
}

/// Condition 8: k arms at ln(Q/(k δ)) are certified together, and none of them alone.
#[test]
fn false_discovery_certifies_arms_in_company() {
    let mut books = books(10, Guarantee::FalseDiscovery, &[SUB_GAUSSIAN]);
    for arm in 0..3 {
        raise(&mut books, arm, 0.6, level(10.0 / 4.0));
        assert!(books.evidence(ArmId(arm), FIRST) < level(10.0 / 3.0));
    }
    assert!(books.certified().is_empty());
    raise(&mut books, 3, 0.6, level(10.0 / 4.0));
    let mut certified = books.certified().to_vec();
    certified.sort();
    assert_eq!(certified, [0, 1, 2, 3].map(ArmId));
}

/// Condition 8: the set only grows, and its arms take no more calls.
#[test]
fn for_false_discovery_certified_arms_are_frozen() {
    let mut books = books(10, Guarantee::FalseDiscovery, &[SUB_GAUSSIAN]);
    raise(&mut books, 0, 1.0, level(10.0));
    assert_eq!(books.certified(), [ArmId(0)]);
    assert_eq!(books.dispatch(Target::Arm(ArmId(0), FIRST)), Err(DispatchError::ArmLeft(ArmId(0))));
    raise(&mut books, 1, 0.6, level(9.0 / 2.0));
    assert_eq!(books.certified(), [ArmId(0), ArmId(1)], "the first is company for the second");
    feed(&mut books, 2, FIRST, &[0.0; 50]);
    assert_eq!(books.certified(), [ArmId(0), ArmId(1)]);
}

/// Condition 8: a call in flight counts as its lowest score until it is back.
#[test]
fn for_false_discovery_calls_in_flight_count_against() {
    let floored = ScoreModel::SubGaussian { sigma: 1.0, lowest: Some(0.0) };
    for model in [ScoreModel::Binary, ScoreModel::UNIT, floored] {
        for (guarantee, early) in [(Guarantee::FalseDiscovery, false), (Guarantee::Holm, true)] {
            let mut books = books(2, guarantee, &[model]);
            let out = [0; 200].map(|_| send(&mut books, 0, FIRST));
            for pull in &out[..100] {
                answer(&mut books, pull, 1.0);
            }
            assert!(books.is_resolved(ArmId(0), FIRST));
            assert_eq!(!books.certified().is_empty(), early, "{guarantee:?} {model:?}");
            for pull in &out[100..] {
                answer(&mut books, pull, 1.0);
            }
            assert_eq!(books.certified(), [ArmId(0)], "{guarantee:?} {model:?}");
        }
    }
}

/// Conditions 8 and 12: without a lowest score, nothing is certified while a call is in flight.
#[test]
fn for_false_discovery_a_call_without_a_lowest_score_blocks_while_it_is_in_flight() {
    let mut books = books(2, Guarantee::FalseDiscovery, &[SUB_GAUSSIAN]);
    let out = [0; 200].map(|_| send(&mut books, 0, FIRST));
    for pull in &out[..199] {
        answer(&mut books, pull, 1.0);
    }
    assert!(books.is_resolved(ArmId(0), FIRST) && books.certified().is_empty());
    answer(&mut books, &out[199], 0.0);
    assert_eq!(books.certified(), [ArmId(0)]);
}

/// Calls until the first certificate, where the first arm is good and all others are bad.
fn calls_to_the_first_certificate(guarantee: Guarantee, bad: f64, seed: u64) -> Option<u64> {
    const ARMS: usize = 20;
    let means = (0..ARMS).map(|arm| vec![if arm == 0 { 0.9 } else { bad }]).collect();
    let world = World::new(means, vec![ScoreLaw::Binary], &[1.0]);
    let spec = ProblemSpec { budget: 2e3, ..spec(ARMS, guarantee, &[ScoreModel::Binary]) };
    let mut session = Session::new(problem(spec), Rcb::new());
    let unfinished = |session: &Session, _: &_, _: &_| session.certified().is_empty();
    let episode =
        run_while(&mut session, &world, Course { seed, concurrency: 1, raised: None }, unfinished);
    (!episode.certified.is_empty()).then_some(episode.pull_count)
}

/// A good arm without company is pulled until it needs none.
#[test]
fn for_false_discovery_a_lone_good_arm_is_not_left_behind() {
    for bad in [0.3, 0.45] {
        for seed in 0..5 {
            let alone = calls_to_the_first_certificate(Guarantee::Union, bad, seed);
            let found = calls_to_the_first_certificate(Guarantee::FalseDiscovery, bad, seed);
            let near = found.zip(alone).is_some_and(|(found, alone)| 2 * found <= 3 * alone);
            assert!(near, "bad {bad}, seed {seed}: {found:?} calls, not {alone:?}");
        }
    }
}

/// The same scores on another scale prove the same, and failures are the lowest of them.
#[test]
fn decisions_do_not_depend_on_the_scale_of_a_range() {
    for guarantee in [Guarantee::Holm, Guarantee::FalseDiscovery] {
        let of = |scores: ScoreModel, threshold: f64| {
            let mut spec = spec(2, guarantee, &[scores]);
            spec.attributes[0].threshold = threshold;
            Books::new(problem(spec))
        };
        let (lowest, highest) = (-7.0, 1.0);
        let mut unit = of(ScoreModel::UNIT, 0.625);
        let mut wide = of(ScoreModel::Bounded { lowest, highest }, -2.0);
        for call in 0..60_u32 {
            let share = f64::from(call % 7) / 16.0 + 0.5;
            for (books, score) in [(&mut unit, share), (&mut wide, lowest + 8.0 * share)] {
                let pull = books.dispatch(Target::Arm(ArmId(call % 2), FIRST)).unwrap();
                match call % 10 {
                    9 => books
                        .fail(pull.ticket, Failure::Counted(CountedFailure::Unreadable), Cost::ZERO)
                        .unwrap(),
                    _ => books.tell(pull.ticket, score, Cost::ZERO).unwrap(),
                }
            }
            let evidence = [&unit, &wide].map(|books| books.evidence(ArmId(call % 2), FIRST));
            assert_eq!(evidence[0].to_bits(), evidence[1].to_bits(), "{call}: {evidence:?}");
            let [one, other] = [&unit, &wide].map(|books| *books.prior(FIRST));
            assert!((8.0 * one.gap_mean - other.gap_mean).abs() < 1e-12, "{one:?} {other:?}");
        }
    }
    let negative = ScoreModel::Bounded { lowest: -7.0, highest: -1.0 };
    let mut spec = spec(2, Guarantee::Paper, &[negative]);
    spec.attributes[0].threshold = -2.0;
    let books = Books::new(problem(spec));
    assert!(!books.is_resolved(ArmId(0), FIRST), "nothing is certified before a score");
}

/// An arm whose stream is blocked leaves, and strong evidence that waited for company leaves with it.
#[test]
fn for_false_discovery_a_blocked_arm_is_not_certified_later() {
    let spec =
        ProblemSpec { delta: 0.1, ..spec(200, Guarantee::FalseDiscovery, &[ScoreModel::Binary]) };
    let mut books = Books::new(problem(spec));
    feed(&mut books, 0, FIRST, &[1.0; 12]);
    let pull = send(&mut books, 0, FIRST);
    let exhausted = Failure::Blocking(goodarm_core::BlockingFailure::Exhausted);
    books.fail(pull.ticket, exhausted, Cost::ZERO).expect("the call is in flight");
    for arm in 1..100 {
        while books.is_active(ArmId(arm)) {
            feed(&mut books, arm, FIRST, &[1.0]);
        }
    }
    assert_eq!(books.status(ArmId(0)), ArmStatus::Undecided);
    assert_eq!(books.certified().len(), 99);
}
