//! The claim that a number of the answers of a set are right. The truth is one below the claim, so that every claim
//! is an error; the claim is read after each label, and one error is enough. The wrong twins draw, stop or
//! count as they should not; the laboratory has them as [`Way`]s to label.
//!
//! Sets of up to 40 answers are gone through exactly, order by order: `claim/tests.rs`.

use goodarm_core::claim::{Claim, UpperClaim};
use goodarm_core::units::ErrorRate;
use goodarm_sim::labels::Way;
use goodarm_sim::random::Random;

use super::limit::{check_broken, check_valid};

/// How often a set is labelled, for each size, share and δ.
const TRIALS: u32 = 500;

/// A set of which one answer too few is right.
#[derive(Clone, Copy, Debug)]
struct Set {
    size: usize,
    /// The number that is claimed to be right, if any.
    claimed: usize,
    delta: f64,
}

impl Set {
    fn new(size: usize, percent: usize, delta: f64) -> Self {
        Self { size, claimed: (size * percent).div_ceil(100).max(1), delta }
    }

    /// In how many trials the false claim is ever made.
    fn errors(self, way: Way, trials: u32) -> u32 {
        let truth: Vec<bool> = (0..self.size).map(|place| place + 1 < self.claimed).collect();
        let delta = ErrorRate::new(self.delta).expect("a probability");
        let is_made = |trial: &u32| {
            let path = [self.size as u64, self.claimed as u64, u64::from(*trial)];
            way.claimed_after(&truth, self.claimed, delta, Random::at(7, &path)).is_some()
        };
        u32::try_from((0..trials).filter(is_made).count()).expect("a count of trials")
    }

    fn check_valid(self, way: Way, trials: u32) {
        check_valid(&format!("{way:?}, {self:?}"), self.errors(way, trials), trials, self.delta);
    }
}

/// Smallest and largest sets, bad and good ones.
fn every_set(delta: f64) -> impl Iterator<Item = Set> {
    let sets = [(1, 100), (2, 100), (10, 50), (10, 100), (50, 90), (50, 95), (100, 10), (100, 95)]
        .into_iter()
        .chain([(412, 90), (412, 95), (412, 99), (2000, 50), (2000, 95)]);
    sets.map(move |(size, percent)| Set::new(size, percent, delta))
}

#[test]
fn a_claim_is_ever_false_with_probability_delta_at_most() {
    for delta in [0.01, 0.05, 0.1, 0.3] {
        let (mut errors, mut trials) = (0, 0);
        for set in every_set(delta) {
            let found = set.errors(Way::Claim, TRIALS);
            check_valid(&format!("{set:?}"), found, TRIALS, delta);
            errors += found;
            trials += TRIALS;
        }
        check_valid(&format!("all sets at {delta}"), errors, trials, delta);
        // Without this it would also hold for claims that are never made.
        let enough = 0.4 * delta * f64::from(trials);
        assert!(f64::from(errors) > enough, "{delta}: {errors} of {trials} are too few");
    }
}

/// However large: all labels of a set of a hundred thousand, looked at one by one.
#[test]
fn a_claim_about_a_large_set_holds_to_the_last_label() {
    Set::new(100_000, 95, 0.3).check_valid(Way::Claim, 20);
}

#[test]
fn skips_that_count_as_wrong_do_no_harm() {
    for set in large() {
        set.check_valid(Way::SkipsWrong, TRIALS);
    }
}

/// The formula for a population without end does not know that the wrong answers run out.
#[test]
fn the_formula_for_draws_with_replacement_only_claims_less() {
    for delta in [0.05, 0.3] {
        for set in every_set(delta).filter(|set| (2..=100).contains(&set.size)) {
            set.check_valid(Way::Endless, TRIALS / 2);
            assert!(set.errors(Way::Endless, TRIALS / 2) <= set.errors(Way::Claim, TRIALS / 2));
        }
    }
}

fn small_and_large() -> [Set; 3] {
    [Set::new(50, 90, 0.05), Set::new(412, 95, 0.05), Set::new(412, 90, 0.1)]
}

fn large() -> [Set; 3] {
    [Set::new(412, 90, 0.05), Set::new(2000, 95, 0.05), Set::new(2000, 90, 0.1)]
}

/// It is seen to break δ in each of the sets, in which a claim does not.
fn check_twin(way: Way, sets: &[Set]) {
    for set in sets {
        set.check_valid(Way::Claim, TRIALS);
        let what = format!("{way:?}, {set:?}");
        check_broken(&what, set.errors(way, TRIALS), TRIALS, set.delta);
    }
}

#[test]
fn right_ones_first_break_it() {
    check_twin(Way::RightFirst, &small_and_large());
}

#[test]
fn the_best_of_three_cards_first_breaks_it() {
    check_twin(Way::BestOfThree, &small_and_large());
}

#[test]
fn cards_that_are_put_back_break_it() {
    check_twin(Way::PutBack, &small_and_large());
}

#[test]
fn a_fixed_interval_that_is_peeked_at_breaks_it() {
    check_twin(Way::Peeked, &[Set::new(2000, 90, 0.05), Set::new(2000, 80, 0.1)]);
}

#[test]
fn skips_that_are_left_out_break_it() {
    check_twin(Way::SkipsLeftOut, &large());
}

#[test]
fn another_try_at_the_same_level_breaks_it() {
    check_twin(Way::TriedAgain, &small_and_large());
}

/// A way to label for the upper bound.
#[derive(Clone, Copy, Debug)]
enum Ceiling {
    /// Right: a random order; what people cannot tell counts as right.
    Right,
    /// Right: the same, and people can tell all.
    AllTold,
    /// Wrong: the labeller takes the wrong answers first.
    WrongFirst,
    /// Wrong: what people cannot tell counts as wrong.
    SkipsWrong,
    /// Wrong: both bounds as one interval of confidence 1 - δ.
    OneInterval,
}

/// In how many trials the upper bound is ever below the truth, of which one answer too many is right.
fn ceilings_too_low(set: Set, way: Ceiling, trials: u32) -> u32 {
    let right_count = set.size - set.claimed + 1;
    let delta = ErrorRate::new(set.delta).expect("a probability");
    let is_too_low = |trial: &u32| {
        let path = [set.size as u64, set.claimed as u64, u64::from(*trial), 1];
        let mut random = Random::at(7, &path);
        let mut truth: Vec<bool> = (0..set.size).map(|place| place < right_count).collect();
        truth.sort_by_cached_key(|_| random.uniform().to_bits());
        if matches!(way, Ceiling::WrongFirst) {
            truth.sort_unstable();
        }
        let mut upper = UpperClaim::new(set.size, delta);
        let mut lower = Claim::new(set.size, delta);
        truth.into_iter().any(|is_right| {
            let is_told = random.uniform() > 0.1;
            let is_wrong = match way {
                Ceiling::SkipsWrong => !is_right || !is_told,
                Ceiling::Right => !is_right && is_told,
                _ => !is_right,
            };
            upper.take(is_wrong).expect("each answer once");
            lower.take(is_right).expect("each answer once");
            upper.bound() < right_count
                || matches!(way, Ceiling::OneInterval) && lower.bound() > right_count
        })
    };
    u32::try_from((0..trials).filter(is_too_low).count()).expect("a count of trials")
}

#[test]
fn an_upper_bound_is_ever_too_low_with_probability_delta_at_most() {
    for delta in [0.01, 0.05, 0.1, 0.3] {
        let (mut errors, mut trials) = (0, 0);
        for set in every_set(delta) {
            let found = ceilings_too_low(set, Ceiling::Right, TRIALS);
            check_valid(&format!("{set:?}"), found, TRIALS, delta);
            let told = ceilings_too_low(set, Ceiling::AllTold, TRIALS);
            check_valid(&format!("{set:?}, all told"), told, TRIALS, delta);
            errors += told;
            trials += TRIALS;
        }
        check_valid(&format!("all sets at {delta}"), errors, trials, delta);
        let enough = 0.4 * delta * f64::from(trials);
        assert!(f64::from(errors) > enough, "{delta}: {errors} of {trials} are too few");
    }
}

#[test]
fn wrong_ones_first_and_skips_as_wrong_break_the_upper_bound() {
    for set in small_and_large() {
        for way in [Ceiling::WrongFirst, Ceiling::SkipsWrong] {
            let what = format!("{way:?}, {set:?}");
            check_broken(&what, ceilings_too_low(set, way, TRIALS), TRIALS, set.delta);
        }
    }
}

/// Each bound has the confidence 1 - δ on its own: both together have 1 - 2δ.
#[test]
fn both_bounds_are_not_one_interval_of_the_same_confidence() {
    let (set, trials) = (Set::new(100, 50, 0.3), 10 * TRIALS);
    let errors = ceilings_too_low(set, Ceiling::OneInterval, trials);
    check_broken("one interval", errors, trials, set.delta);
    check_valid("two statements", errors, trials, 2.0 * set.delta);
}
