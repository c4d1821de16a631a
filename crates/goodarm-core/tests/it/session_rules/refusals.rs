//! What is refused, and that a refusal changes nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};

use goodarm_core::cost::CostError;
use goodarm_core::problem::{ARMS_MAX, ATTRIBUTES_MAX, SCORE_ABS_MAX, SIGMA_MIN, ScoreError};
use goodarm_core::{
    ArmId, AttributeId, Books, CountedFailure, Failure, Guarantee, Problem, ProblemSpec,
    ScoreModel, SettleError, SpecError, Target, Ticket,
};

use super::{FIRST, SUB_GAUSSIAN, UNIT, answer, books, feed, picture, send, spec};

use crate::doors::Doors;

const BINARY: &[ScoreModel] = &[ScoreModel::Binary, ScoreModel::Binary];

/// Spoils a sound problem, and expects one error.
fn check_flaw(spoil: impl Fn(&mut ProblemSpec), expected: &SpecError) {
    let mut flawed = spec(3, Guarantee::Holm, BINARY);
    assert!(Problem::new(flawed.clone()).is_ok());
    spoil(&mut flawed);
    assert_eq!(Problem::new(flawed).as_ref(), Err(expected));
}

#[test]
fn the_size_of_a_problem_is_checked() {
    check_flaw(|spec| spec.arms = 0, &SpecError::Arms(0));
    check_flaw(|spec| spec.arms = ARMS_MAX + 1, &SpecError::Arms(ARMS_MAX + 1));
    check_flaw(|spec| spec.attributes.clear(), &SpecError::Attributes(0));
    let many = |spec: &mut ProblemSpec| {
        spec.attributes = vec![spec.attributes[0].clone(); ATTRIBUTES_MAX + 1];
    };
    check_flaw(many, &SpecError::Attributes(ATTRIBUTES_MAX + 1));
    let taken = SpecError::NameTaken { attribute: 1, name: "attribute 0".into() };
    check_flaw(|spec| spec.attributes[1].name = "attribute 0".into(), &taken);
}

#[test]
fn money_is_checked() {
    let price = |reason| SpecError::Price { attribute: 1, reason };
    let not_an_amount = price(CostError::NotAnAmount(-1.0));
    check_flaw(|spec| spec.attributes[1].price = -1.0, &not_an_amount);
    let infinite = price(CostError::NotAnAmount(f64::INFINITY));
    check_flaw(|spec| spec.attributes[1].price = f64::INFINITY, &infinite);
    check_flaw(|spec| spec.attributes[1].price = 2e15, &price(CostError::TooLarge(2e15)));
    let zero = SpecError::PriceZero { attribute: 1 };
    check_flaw(|spec| spec.attributes[1].price = 0.0, &zero);
    let negative = SpecError::Budget(CostError::NotAnAmount(-0.5));
    check_flaw(|spec| spec.budget = -0.5, &negative);
    check_flaw(|spec| spec.budget = 0.0, &SpecError::BudgetZero);
    // Digits beyond the twelfth decimal are cut from a budget.
    check_flaw(|spec| spec.budget = 1e-13, &SpecError::BudgetZero);
}

/// Condition 1: ξ lies strictly between 0 and 1, σ is declared and positive, and so is δ.
#[test]
fn thresholds_sigmas_and_delta_are_checked() {
    for value in [0.0, 1.0, -0.1, 1.5, f64::INFINITY] {
        let error = SpecError::Threshold { attribute: 1, value, lowest: 0.0, highest: 1.0 };
        check_flaw(|spec| spec.attributes[1].threshold = value, &error);
        check_flaw(|spec| spec.delta = value, &SpecError::Delta(value));
    }
    for sigma in [0.0, -1.0, 0.5 * SIGMA_MIN, 2.0 * SCORE_ABS_MAX, f64::INFINITY] {
        let scores = ScoreModel::SubGaussian { sigma, lowest: None };
        let error = SpecError::Sigma { attribute: 1, value: sigma };
        check_flaw(|spec| spec.attributes[1].scores = scores, &error);
    }
    // A failed call must not count in favour.
    for lowest in [0.5, 0.7, -2.0 * SCORE_ABS_MAX, f64::NEG_INFINITY] {
        let scores = ScoreModel::SubGaussian { sigma: 1.0, lowest: Some(lowest) };
        let error = SpecError::Lowest { attribute: 1, value: lowest };
        check_flaw(|spec| spec.attributes[1].scores = scores, &error);
    }
}

#[test]
fn a_range_goes_from_one_number_to_a_higher_one_with_the_threshold_inside() {
    let within = |lowest, highest| ScoreModel::Bounded { lowest, highest };
    for (lowest, highest) in [(1.0, 0.0), (0.3, 0.3), (0.0, 1e10), (f64::NEG_INFINITY, 1.0)] {
        let error = SpecError::Range { attribute: 1, lowest, highest };
        check_flaw(|spec| spec.attributes[1].scores = within(lowest, highest), &error);
    }
    for (lowest, highest) in [(0.5, 1.0), (0.0, 0.5), (1.0, 5.0)] {
        let error = SpecError::Threshold { attribute: 1, value: 0.5, lowest, highest };
        check_flaw(|spec| spec.attributes[1].scores = within(lowest, highest), &error);
    }
    let mut stars = spec(3, Guarantee::Holm, &[within(1.0, 5.0)]);
    stars.attributes[0].threshold = 3.5;
    let stars = Problem::new(stars).expect("stars from 1 to 5");
    let stars = stars.attribute(FIRST);
    assert_eq!(stars.checked_score(5.5), Ok(5.0), "too high claims less when clipped");
    assert_eq!(stars.checked_score(0.9), Err(ScoreError::BelowLowest(1.0)));
    assert_eq!(stars.lowest_score(), Some(1.0));
}

#[test]
fn nan_is_refused_everywhere() {
    let nan = f64::NAN;
    let spoilt = |spoil: &dyn Fn(&mut ProblemSpec)| {
        let mut flawed = spec(3, Guarantee::Holm, BINARY);
        spoil(&mut flawed);
        Problem::new(flawed).expect_err("NaN is not a parameter")
    };
    let sigma = ScoreModel::SubGaussian { sigma: nan, lowest: None };
    let lowest = ScoreModel::SubGaussian { sigma: 1.0, lowest: Some(nan) };
    assert!(matches!(spoilt(&|spec| spec.delta = nan), SpecError::Delta(_)));
    assert!(matches!(spoilt(&|spec| spec.budget = nan), SpecError::Budget(_)));
    let price = spoilt(&|spec| spec.attributes[1].price = nan);
    assert!(matches!(price, SpecError::Price { attribute: 1, .. }));
    let threshold = spoilt(&|spec| spec.attributes[1].threshold = nan);
    assert!(matches!(threshold, SpecError::Threshold { attribute: 1, .. }));
    let sigma = spoilt(&|spec| spec.attributes[1].scores = sigma);
    assert!(matches!(sigma, SpecError::Sigma { attribute: 1, .. }));
    let lowest = spoilt(&|spec| spec.attributes[1].scores = lowest);
    assert!(matches!(lowest, SpecError::Lowest { attribute: 1, .. }));
}

/// Tells a score that must be refused, and gives back why.
fn refused(books: &mut Books, score: f64) -> SettleError {
    let pull = send(books, 0, FIRST);
    let before = picture(books);
    let error = books.tell(pull.ticket, score, UNIT).expect_err("the score is not sound");
    assert_eq!(picture(books), before, "a refusal changes nothing");
    assert!(books.outstanding().any(|ticket| ticket == pull.ticket), "the call stays in flight");
    let failure = Failure::Counted(CountedFailure::Unreadable);
    books.fail(pull.ticket, failure, UNIT).expect("the call is still in flight");
    error
}

/// Condition 13: NaN, infinities and negative scores are refused, not clipped up.
#[test]
fn scores_that_a_model_does_not_allow_are_refused() {
    let floored = ScoreModel::SubGaussian { sigma: 1.0, lowest: Some(-2.0) };
    for model in [ScoreModel::Binary, ScoreModel::UNIT, ScoreModel::Exact, SUB_GAUSSIAN, floored] {
        for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.0 * SCORE_ABS_MAX] {
            let error = refused(&mut books(2, Guarantee::Holm, &[model]), score);
            assert!(
                matches!(
                    error,
                    SettleError::Score { attribute: FIRST, reason: ScoreError::NotANumber, .. }
                ),
                "{error}"
            );
        }
    }
    let below = |score, lowest| SettleError::Score {
        score,
        attribute: FIRST,
        reason: ScoreError::BelowLowest(lowest),
    };
    let of = |model| books(2, Guarantee::Holm, &[model]);
    assert_eq!(refused(&mut of(ScoreModel::UNIT), -1e-9), below(-1e-9, 0.0));
    assert_eq!(refused(&mut of(floored), -2.1), below(-2.1, -2.0));
    let not_binary =
        |score| SettleError::Score { score, attribute: FIRST, reason: ScoreError::NotBinary };
    for score in [0.5, 2.0, -1.0] {
        assert_eq!(refused(&mut of(ScoreModel::Binary), score), not_binary(score));
    }
}

/// What counts as the lowest score would be clipped up; who promises no lowest one breaks no promise.
#[test]
fn a_score_below_the_lowest_is_told_from_other_wrong_ones() {
    let floored = ScoreModel::SubGaussian { sigma: 1.0, lowest: Some(-2.0) };
    for (model, below, others) in [
        (ScoreModel::Binary, &[-1.0, -1e-9, -1e9, f64::NEG_INFINITY][..], &[0.0, 0.5, 2.0][..]),
        (ScoreModel::UNIT, &[-1e-300, f64::NEG_INFINITY], &[0.0, -0.0, 9.0, f64::NAN]),
        (floored, &[-2.1, -1e300], &[-2.0, f64::NAN, 1e300]),
        (ScoreModel::Exact, &[], &[-1.0]),
        (SUB_GAUSSIAN, &[], &[-1e300, f64::NEG_INFINITY]),
    ] {
        let problem = super::problem(spec(1, Guarantee::Holm, &[model]));
        let is_below = |score: &f64| problem.attribute(FIRST).is_below_lowest(*score);
        assert!(below.iter().all(is_below), "{model:?}");
        assert!(!others.iter().any(is_below), "{model:?}");
    }
}

/// Like an index out of range: no answer is better than that of another pair.
#[test]
fn unknown_ids_do_not_read_another_pair() {
    for guarantee in super::GUARANTEES {
        let mut books = books(3, guarantee, BINARY);
        feed(&mut books, 1, FIRST, &[1.0; 3]);
        for (arm, attribute) in [(0, 2), (1, 7), (3, 0), (3, 1), (u32::MAX, 0), (0, u32::MAX)] {
            let (arm, attribute) = (ArmId(arm), AttributeId(attribute));
            let accessors: [&dyn Fn(&Books) -> String; 6] = [
                &|books| books.tally(arm, attribute).sum.to_string(),
                &|books| books.evidence(arm, attribute).to_string(),
                &|books| books.evidence_count(arm, attribute).to_string(),
                &|books| books.level(arm, attribute).to_string(),
                &|books| books.is_resolved(arm, attribute).to_string(),
                &|books| books.is_open(arm, attribute).to_string(),
            ];
            for (index, ask) in accessors.iter().enumerate() {
                let answered = catch_unwind(AssertUnwindSafe(|| ask(&books)));
                assert!(answered.is_err(), "accessor {index} of {arm} {attribute}, {guarantee:?}");
            }
            assert!(books.dispatch(Target::Arm(arm, attribute)).is_err());
        }
        for arm in [3, u32::MAX] {
            assert!(catch_unwind(AssertUnwindSafe(|| books.status(ArmId(arm)))).is_err());
            assert!(catch_unwind(AssertUnwindSafe(|| books.is_active(ArmId(arm)))).is_err());
        }
    }
}

#[test]
fn scores_above_one_count_as_one() {
    for guarantee in super::GUARANTEES {
        let (mut clipped, mut plain) =
            (books(2, guarantee, &[ScoreModel::UNIT]), books(2, guarantee, &[ScoreModel::UNIT]));
        feed(&mut clipped, 0, FIRST, &[1.5, 0.3, 7.0, 1.0]);
        feed(&mut plain, 0, FIRST, &[1.0, 0.3, 1.0, 1.0]);
        assert_eq!(picture(&clipped), picture(&plain));
    }
}

#[test]
fn tickets_that_are_not_outstanding_are_refused() {
    let mut books = books(2, Guarantee::Holm, &[ScoreModel::Binary]);
    let answered = send(&mut books, 0, FIRST);
    answer(&mut books, &answered, 1.0);
    send(&mut books, 1, FIRST);
    let before = picture(&books);
    let failure = Failure::Counted(CountedFailure::TimedOut);
    for ticket in [answered.ticket, Ticket(2), Ticket(u64::MAX)] {
        let error = Err(SettleError::NotOutstanding(ticket));
        assert_eq!(books.tell(ticket, 1.0, UNIT), error);
        assert_eq!(books.fail(ticket, failure, UNIT), error);
    }
    assert_eq!(picture(&books), before);
    assert_eq!(books.tally(ArmId(0), FIRST).returned_count, 1);
}
