//! The claim that so many answers of a set are right. Each answer is right or wrong, and the truth is one below
//! what is claimed, so that every claim is an error; whoever labels looks after each label, and one error is
//! enough. The wrong twins draw, stop or count as they should not.
//!
//! Sets of up to 40 answers are gone through exactly, order by order: `claim/tests.rs`.

use goodarm_core::Claim;
use goodarm_core::units::ErrorRate;
use goodarm_sim::random::Random;

use super::limit::{check_broken, check_valid};

/// Sets that are labelled for each size, share and δ.
const TRIALS: u32 = 500;

/// A set of which one answer too few is right.
#[derive(Clone, Copy, Debug)]
struct Set {
    size: usize,
    /// So many are claimed to be right, at some time.
    claimed: usize,
    delta: f64,
    seed: u64,
}

impl Set {
    fn new(size: usize, percent: usize, delta: f64) -> Self {
        let claimed = (size * percent).div_ceil(100).max(1);
        Self { size, claimed, delta, seed: (size * 100 + percent) as u64 }
    }

    fn claim(self) -> Claim {
        Claim::new(self.size, ErrorRate::new(self.delta).expect("a probability"))
    }

    /// The truth about the answers, in a random order.
    fn labels(self, trial: u32) -> Vec<bool> {
        let mut random = Random::at(self.seed, &[u64::from(trial)]);
        let mut labels: Vec<bool> = (0..self.size).map(|place| place + 1 < self.claimed).collect();
        for last in (1..labels.len()).rev() {
            let other = random.below(last as u64 + 1);
            labels.swap(last, usize::try_from(other).expect("an index"));
        }
        labels
    }

    /// In how many trials a false claim is ever made.
    fn errors(self, trials: u32, is_ever_false: impl Fn(Self, u32) -> bool) -> u32 {
        (0..trials).map(|trial| u32::from(is_ever_false(self, trial))).sum()
    }

    /// Whether labels, in the order in which they come, ever lead to a false claim.
    fn is_misled_by(self, labels: impl Iterator<Item = bool>) -> bool {
        let mut claim = self.claim();
        labels.take(self.size).any(|label| {
            claim.take(label).expect("no more labels than answers");
            claim.bound() >= self.claimed
        })
    }
}

/// As it should be.
fn labelled(set: Set, trial: u32) -> bool {
    set.is_misled_by(set.labels(trial).into_iter())
}

/// Smallest and largest sets, bad and good ones, at every δ.
fn every_set() -> impl Iterator<Item = Set> {
    let sets = [(1, 100), (2, 100), (10, 50), (10, 100), (50, 90), (50, 95), (100, 10), (100, 95)]
        .into_iter()
        .chain([(412, 90), (412, 95), (412, 99), (2000, 50), (2000, 95)]);
    sets.flat_map(|(size, percent)| {
        [0.01, 0.05, 0.1, 0.3].map(|delta| Set::new(size, percent, delta))
    })
}

#[test]
fn a_claim_is_ever_false_with_probability_delta_at_most() {
    for delta in [0.01, 0.05, 0.1, 0.3] {
        let (mut errors, mut trials) = (0, 0);
        for set in every_set().filter(|set| set.delta.total_cmp(&delta).is_eq()) {
            let found = set.errors(TRIALS, labelled);
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
    let set = Set::new(100_000, 95, 0.3);
    check_valid("large", set.errors(20, labelled), 20, set.delta);
}

/// The same sets with a wrong way to label them or to count: it is seen to break δ in each of them.
fn check_twin(what: &str, sets: &[Set], twin: impl Fn(Set, u32) -> bool) {
    for set in sets {
        check_valid(what, set.errors(TRIALS, labelled), TRIALS, set.delta);
        check_broken(&format!("{what}: {set:?}"), set.errors(TRIALS, &twin), TRIALS, set.delta);
    }
}

fn small_and_large() -> [Set; 3] {
    [Set::new(50, 90, 0.05), Set::new(412, 95, 0.05), Set::new(412, 90, 0.1)]
}

#[test]
fn right_ones_first_break_it() {
    check_twin("a chosen order", &small_and_large(), |set, trial| {
        let mut labels = set.labels(trial);
        labels.sort_by_key(|is_right| !is_right);
        set.is_misled_by(labels.into_iter())
    });
}

/// Whoever labels sees the next three cards and takes the one that looks best.
#[test]
fn the_best_of_three_cards_first_breaks_it() {
    check_twin("a chosen card", &small_and_large(), |set, trial| {
        let (mut waiting, mut shown) = (set.labels(trial).into_iter(), Vec::new());
        let chosen = std::iter::from_fn(|| {
            shown.extend(waiting.by_ref().take(3 - shown.len()));
            let best = shown.iter().position(|is_right| *is_right).unwrap_or(0);
            (!shown.is_empty()).then(|| shown.remove(best))
        });
        set.is_misled_by(chosen)
    });
}

/// Cards are put back, so that an answer may be labelled twice and counts twice.
#[test]
fn draws_with_replacement_break_it() {
    let sets = [Set::new(50, 90, 0.05), Set::new(100, 95, 0.05), Set::new(412, 95, 0.05)];
    check_twin("replacement", &sets, |set, trial| {
        let labels = set.labels(trial);
        let mut random = Random::at(set.seed, &[u64::from(trial), 1]);
        let draw = || labels[usize::try_from(random.below(set.size as u64)).expect("an index")];
        set.is_misled_by(std::iter::repeat_with(draw))
    });
}

/// The formula for a population without end holds on a finite set and claims less: it does not know that
/// the wrong answers run out.
#[test]
fn the_formula_for_draws_with_replacement_only_claims_less() {
    for set in every_set().filter(|set| (2..=100).contains(&set.size) && set.delta > 0.04) {
        let line = f64::from(u32::try_from(set.claimed - 1).expect("small"))
            / f64::from(u32::try_from(set.size).expect("small"));
        let found = set.errors(TRIALS / 2, |set, trial| {
            let (mut right, mut wrong) = (0, 0);
            set.labels(trial).into_iter().any(|label| {
                if label {
                    right += 1
                } else {
                    wrong += 1
                }
                let log_e = goodarm_core::claim::log_evidence_of_precision(right, wrong, line);
                log_e >= -set.delta.ln()
            })
        });
        check_valid(&format!("endless: {set:?}"), found, TRIALS / 2, set.delta);
    }
}

/// P[Binomial(labels, rate) ≥ right], for the interval of Clopper and Pearson.
fn upper_tail(labels: u32, right: u32, rate: f64) -> f64 {
    let (mut term, mut tail) = (rate.powi(labels.cast_signed()), 0.0);
    for wrong in 0..=labels - right {
        tail += term;
        term *= f64::from(labels - wrong) / f64::from(wrong + 1) * (1.0 - rate) / rate;
    }
    tail
}

/// An interval for one number of labels, looked at after every label.
#[test]
fn a_fixed_interval_that_is_peeked_at_breaks_it() {
    let sets = [Set::new(2000, 90, 0.05), Set::new(2000, 80, 0.1)];
    check_twin("Clopper-Pearson", &sets, |set, trial| {
        let line = f64::from(u32::try_from(set.claimed).expect("small"))
            / f64::from(u32::try_from(set.size).expect("small"));
        let (mut right, mut count) = (0, 0);
        set.labels(trial).into_iter().take(300).any(|label| {
            count += 1;
            right += u32::from(label);
            upper_tail(count, right, line) <= set.delta
        })
    });
}

/// Someone who cannot tell, mostly where the answer is wrong.
fn can_tell(set: Set, trial: u32) -> impl FnMut(&bool) -> bool {
    let mut random = Random::at(set.seed, &[u64::from(trial), 2]);
    move |is_right| random.uniform() > if *is_right { 0.02 } else { 0.5 }
}

#[test]
fn skips_that_are_left_out_break_it() {
    let sets = [Set::new(412, 90, 0.05), Set::new(2000, 95, 0.05), Set::new(2000, 90, 0.1)];
    check_twin("skips left out", &sets, |set, trial| {
        set.is_misled_by(set.labels(trial).into_iter().filter(can_tell(set, trial)))
    });
    // Counted as wrong, they do no harm.
    for set in sets {
        let found = set.errors(TRIALS, |set, trial| {
            let mut can_tell = can_tell(set, trial);
            set.is_misled_by(set.labels(trial).into_iter().map(|label| label && can_tell(&label)))
        });
        check_valid(&format!("skips: {set:?}"), found, TRIALS, set.delta);
    }
}

/// A claim that goes badly is given up, and another order is drawn at the same δ.
#[test]
fn a_second_try_at_the_same_level_breaks_it() {
    let sets = [Set::new(50, 90, 0.05), Set::new(412, 95, 0.05), Set::new(2000, 90, 0.1)];
    check_twin("tried again", &sets, |set, trial| {
        (0..4).any(|attempt| {
            let again = Set { seed: set.seed + 1000 * attempt, ..set };
            again.is_misled_by(again.labels(trial).into_iter())
        })
    });
}
