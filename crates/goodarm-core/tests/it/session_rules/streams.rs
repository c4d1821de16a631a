//! From scores to evidence: order, failures, retries, frozen bets, running maxima.

use goodarm_core::books::DispatchError;
use goodarm_core::{
    ArmId, ArmStatus, BlockingFailure, Books, Call, Cost, CountedFailure, Failure, Guarantee,
    ProblemSpec, ScoreModel, Target, VoidFailure,
};

use super::{
    FIRST, GUARANTEES, SECOND, SUB_GAUSSIAN, UNIT, answer, books, feed, pass, picture, problem,
    send, spec,
};

use crate::doors::{Doors, OnArm};

const ARM: ArmId = ArmId(0);
const VOID: Failure = Failure::Void(VoidFailure::RateLimited);
const COUNTED: [CountedFailure; 7] = [
    CountedFailure::TimedOut,
    CountedFailure::Crashed,
    CountedFailure::Unreadable,
    CountedFailure::Truncated,
    CountedFailure::Refused,
    CountedFailure::Lost,
    CountedFailure::GivenUp,
];
const FLOORED: ScoreModel = ScoreModel::SubGaussian { sigma: 1.0, lowest: Some(-2.0) };

fn fail(books: &mut Books, pull: &Call, failure: Failure, bill: Cost) {
    books.fail(pull.ticket, failure, bill).expect("the call is in flight");
}

/// Condition 2: what a pair's evidence has once reached is kept.
#[test]
fn what_was_resolved_stays_resolved() {
    for guarantee in [Guarantee::Paper, Guarantee::Union, Guarantee::Holm] {
        let mut books = books(2, guarantee, &[ScoreModel::Binary, ScoreModel::Binary]);
        // The paper takes scores in [0, 1] for as noisy as σ = 1.
        feed(&mut books, 0, FIRST, &[1.0; 400]);
        let height = books.evidence(ARM, FIRST);
        assert!(books.is_resolved(ARM, FIRST));
        feed(&mut books, 0, FIRST, &[0.0; 400]);
        assert!((books.evidence(ARM, FIRST) - height).abs() < f64::MIN_POSITIVE, "{guarantee:?}");
        pass(&mut books, 0, SECOND);
    }
}

/// Condition 8: for false discovery only the present counts.
#[test]
fn for_false_discovery_evidence_can_be_lost_again() {
    let scores = [ScoreModel::Binary, ScoreModel::Binary];
    let mut books = books(2, Guarantee::FalseDiscovery, &scores);
    feed(&mut books, 0, FIRST, &[1.0; 40]);
    assert!(books.is_resolved(ARM, FIRST));
    feed(&mut books, 0, FIRST, &[0.0; 40]);
    assert!(!books.is_resolved(ARM, FIRST));
    feed(&mut books, 0, SECOND, &[1.0; 40]);
    assert!(books.certified().is_empty());
}

/// Condition 9: scores enter a pair's evidence in dispatch order, whenever they come back.
#[test]
fn early_scores_wait_for_their_turn() {
    let mut books = books(2, Guarantee::Holm, &[ScoreModel::Binary]);
    let pulls = [0, 1, 2].map(|_| send(&mut books, 0, FIRST));
    let seen =
        |books: &Books| (books.tally(ARM, FIRST).returned_count, books.evidence_count(ARM, FIRST));
    answer(&mut books, &pulls[2], 1.0);
    assert_eq!(seen(&books), (1, 0));
    assert!((books.tally(ARM, FIRST).mean() - 1.0).abs() < 1e-12, "policies see it at once");
    answer(&mut books, &pulls[0], 1.0);
    assert_eq!(seen(&books), (2, 1));
    answer(&mut books, &pulls[1], 0.0);
    assert_eq!(seen(&books), (3, 3));
}

#[test]
fn the_order_of_answers_does_not_matter_in_the_end() {
    for model in [ScoreModel::Binary, ScoreModel::UNIT, FLOORED, SUB_GAUSSIAN] {
        for guarantee in GUARANTEES {
            let scores = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
            let evidence = |order: [usize; 7]| {
                let mut books = books(2, guarantee, &[model]);
                let pulls = scores.map(|_| send(&mut books, 0, FIRST));
                for index in order {
                    answer(&mut books, &pulls[index], scores[index]);
                }
                books.evidence(ARM, FIRST).to_bits()
            };
            let in_order = evidence([0, 1, 2, 3, 4, 5, 6]);
            assert_eq!(evidence([6, 5, 4, 3, 2, 1, 0]), in_order, "{model:?} {guarantee:?}");
            assert_eq!(evidence([3, 0, 6, 1, 5, 2, 4]), in_order, "{model:?} {guarantee:?}");
        }
    }
}

/// Conditions 9, 11 and 12: a counted failure of any kind is the lowest score.
#[test]
fn a_counted_failure_is_the_lowest_score() {
    for (model, lowest) in [(ScoreModel::Binary, 0.0), (ScoreModel::UNIT, 0.0), (FLOORED, -2.0)] {
        for reason in COUNTED {
            let (mut failed, mut told) =
                (books(2, Guarantee::Holm, &[model]), books(2, Guarantee::Holm, &[model]));
            feed(&mut failed, 0, FIRST, &[1.0; 5]);
            let pull = send(&mut failed, 0, FIRST);
            fail(&mut failed, &pull, Failure::Counted(reason), UNIT);
            feed(&mut failed, 0, FIRST, &[1.0; 5]);
            feed(&mut told, 0, FIRST, &[1.0, 1.0, 1.0, 1.0, 1.0, lowest, 1.0, 1.0, 1.0, 1.0, 1.0]);
            assert_eq!(picture(&failed), picture(&told), "{model:?} {reason:?}");
        }
    }
}

/// Condition 12: where no score is surely low enough, a failed call blocks its stream.
#[test]
fn without_a_lowest_score_a_counted_failure_blocks_the_stream() {
    for guarantee in GUARANTEES {
        let mut books = books(2, guarantee, &[SUB_GAUSSIAN, ScoreModel::Binary]);
        feed(&mut books, 0, FIRST, &[1.0; 3]);
        let [lost, later] = [0, 1].map(|_| send(&mut books, 0, FIRST));
        let before = books.evidence(ARM, FIRST).to_bits();
        fail(&mut books, &lost, Failure::Counted(CountedFailure::Lost), UNIT);
        answer(&mut books, &later, 1e6);
        assert_eq!(books.evidence(ARM, FIRST).to_bits(), before, "{guarantee:?}");
        assert_eq!(books.evidence_count(ARM, FIRST), 3);
        assert!(!books.is_open(ARM, FIRST));
        let refused = books.dispatch(Target::Arm(ARM, FIRST));
        // Present values need every call, so for false discovery the arm may as well leave.
        if guarantee != Guarantee::FalseDiscovery {
            assert_eq!(refused, Err(DispatchError::PairClosed(ARM, FIRST)));
            assert!(
                books.dispatch(Target::Arm(ARM, SECOND)).is_ok(),
                "the arm itself is not closed"
            );
        }
        assert!(refused.is_err() && books.certified().is_empty());
    }
}

/// Condition 13: a score below the lowest is not clipped up, and the end of a recording is not a zero.
#[test]
fn a_blocking_failure_ends_the_stream_and_does_not_reject_the_arm() {
    for reason in [BlockingFailure::BelowLowest, BlockingFailure::Exhausted] {
        for (guarantee, model) in GUARANTEES
            .into_iter()
            .flat_map(|guarantee| [ScoreModel::Binary, FLOORED].map(|model| (guarantee, model)))
        {
            let mut books = books(2, guarantee, &[model, ScoreModel::Binary]);
            feed(&mut books, 0, FIRST, &[1.0; 3]);
            let [earlier, ended, later] = [0, 1, 2].map(|_| send(&mut books, 0, FIRST));
            fail(&mut books, &ended, Failure::Blocking(reason), UNIT);
            answer(&mut books, &later, 1.0);
            assert_eq!(books.evidence_count(ARM, FIRST), 3, "{reason:?} {guarantee:?}");
            answer(&mut books, &earlier, 1.0);
            assert_eq!(books.evidence_count(ARM, FIRST), 4, "what came before it counts");
            assert!(!books.is_open(ARM, FIRST) && books.dispatch(Target::Arm(ARM, FIRST)).is_err());
            assert_eq!(books.status(ARM), ArmStatus::Undecided, "{reason:?} {guarantee:?}");
            assert_eq!(books.tally(ARM, FIRST).spent, Cost::from_units(6), "it is paid");
            let totals = books.totals(FIRST);
            let bills = books.lane_of(FIRST).bills;
            assert_eq!((totals.returned_count, bills.count), (5, 6));
            assert!((totals.score_sum - 5.0).abs() < 1e-12, "{}", totals.score_sum);
        }
    }
}

/// The arm leaves at once where present values count, and other evidence may still be against it.
#[test]
fn an_exact_failure_rejects_an_arm_with_a_blocked_stream() {
    for guarantee in GUARANTEES {
        let mut books = books(2, guarantee, &[ScoreModel::Binary, ScoreModel::Exact]);
        let [blocked, failed] = [FIRST, SECOND].map(|attribute| send(&mut books, 0, attribute));
        fail(&mut books, &blocked, Failure::Blocking(BlockingFailure::BelowLowest), UNIT);
        assert_eq!(books.status(ARM), ArmStatus::Undecided, "{guarantee:?}");
        answer(&mut books, &failed, 0.0);
        assert_eq!(books.status(ARM), ArmStatus::Rejected, "{guarantee:?}");
    }
}

#[test]
fn evidence_from_before_the_block_still_certifies() {
    let mut books = books(1, Guarantee::Holm, &[SUB_GAUSSIAN, ScoreModel::Binary]);
    feed(&mut books, 0, FIRST, &[2.0; 30]);
    assert!(books.is_resolved(ARM, FIRST));
    let pull = send(&mut books, 0, FIRST);
    fail(&mut books, &pull, Failure::Counted(CountedFailure::Lost), UNIT);
    pass(&mut books, 0, SECOND);
}

/// Condition 10: the retry is mandatory, and comes last. In the void call's place it would count before
/// scores that were known when it was made.
#[test]
fn a_void_call_leaves_no_trace_and_is_made_again() {
    let mut books = books(2, Guarantee::Holm, &[ScoreModel::Binary]);
    let [mut call, later] = [0, 1].map(|_| send(&mut books, 0, FIRST));
    answer(&mut books, &later, 1.0);
    for attempt in 1..=3 {
        fail(&mut books, &call, VOID, Cost::ZERO);
        assert_eq!(books.evidence_count(ARM, FIRST), 1, "nothing waits for it");
        call = books.dispatch_retry().unwrap();
        assert_eq!((call.arm(), call.attribute(), call.attempt), (ARM, FIRST, attempt));
        assert!(call.ticket > later.ticket, "tickets are never used again");
        assert!(books.dispatch_retry().is_none(), "one retry for one void call");
        let tally = books.tally(ARM, FIRST);
        assert_eq!(
            (tally.dispatched_count, tally.returned_count),
            (2, 1),
            "a retry is not counted twice"
        );
    }
    answer(&mut books, &call, 0.0);
    assert_eq!(books.evidence_count(ARM, FIRST), 2);
}

#[test]
fn a_void_call_without_money_for_a_retry_counts() {
    let model = [ScoreModel::Binary];
    let spec = ProblemSpec { budget: 1.5, ..spec(2, Guarantee::Holm, &model) };
    let mut poor = Books::new(problem(spec));
    let pull = send(&mut poor, 0, FIRST);
    fail(&mut poor, &pull, VOID, UNIT);
    assert!(poor.dispatch_retry().is_none());
    assert_eq!(poor.evidence_count(ARM, FIRST), 1, "as the lowest score");
    assert!(poor.tally(ARM, FIRST).sum.abs() < f64::MIN_POSITIVE);
}

#[test]
fn giving_up_a_retry_counts_as_the_lowest_score() {
    let mut books = books(2, Guarantee::Holm, &[ScoreModel::Binary]);
    let pull = send(&mut books, 0, FIRST);
    fail(&mut books, &pull, VOID, Cost::ZERO);
    let retry = books.dispatch_retry().unwrap();
    fail(&mut books, &retry, Failure::Counted(CountedFailure::GivenUp), Cost::ZERO);
    assert!(books.dispatch_retry().is_none());
    let tally = *books.tally(ARM, FIRST);
    assert_eq!((tally.returned_count, books.evidence_count(ARM, FIRST)), (1, 1));
}

/// Condition 4: bets are learned from what was known before a pair's first call, and then kept.
#[test]
fn bets_are_frozen_at_the_first_dispatch() {
    let own = [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    for model in [ScoreModel::Binary, ScoreModel::UNIT, FLOORED, SUB_GAUSSIAN] {
        let evidence = |begun_before: bool, others: f64| {
            let mut books = books(30, Guarantee::Union, &[model]);
            let first = begun_before.then(|| send(&mut books, 0, FIRST));
            for arm in 1..30 {
                feed(&mut books, arm, FIRST, &[others; 4]);
            }
            let first = first.unwrap_or_else(|| send(&mut books, 0, FIRST));
            answer(&mut books, &first, own[0]);
            feed(&mut books, 0, FIRST, &own[1..]);
            books.evidence(ARM, FIRST).to_bits()
        };
        assert_eq!(evidence(true, 0.0), evidence(true, 1.0), "{model:?}: begun before they came");
        assert_ne!(evidence(false, 0.0), evidence(false, 1.0), "{model:?}: begun after");
    }
}

/// Condition 14: no evidence from scores that lie below the threshold on the whole.
#[test]
fn scores_below_the_threshold_are_no_evidence() {
    let models = [ScoreModel::Binary, ScoreModel::UNIT, FLOORED, SUB_GAUSSIAN];
    for guarantee in [Guarantee::Union, Guarantee::Holm, Guarantee::FalseDiscovery] {
        for model in models {
            let mut books = books(2, guarantee, &[model]);
            feed(&mut books, 0, FIRST, &[0.0; 100]);
            feed(&mut books, 0, FIRST, &[1.0, 0.0].repeat(500));
            assert!(books.evidence(ARM, FIRST) <= 0.0, "{guarantee:?} {model:?}");
        }
    }
}

/// Condition 14: nothing overflows or clips, at any threshold.
#[test]
fn evidence_is_a_number_at_every_threshold() {
    for threshold in [1e-9, 0.01, 0.5, 0.97, 0.99, 1.0 - 1e-9] {
        for model in [ScoreModel::Binary, ScoreModel::UNIT, SUB_GAUSSIAN] {
            for guarantee in GUARANTEES {
                let mut spec = spec(2, guarantee, &[model]);
                spec.attributes[0].threshold = threshold;
                spec.delta = 1e-300;
                let mut books = Books::new(problem(spec));
                feed(&mut books, 1, FIRST, &[0.0; 1000]);
                feed(&mut books, 0, FIRST, &[1.0; 30]);
                for arm in [ARM, ArmId(1)] {
                    let evidence = books.evidence(arm, FIRST);
                    assert!(evidence.is_finite(), "{threshold} {model:?} {guarantee:?} {evidence}");
                }
            }
        }
    }
}
