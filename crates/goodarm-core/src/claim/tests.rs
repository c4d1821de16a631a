use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use goodarm_sim::random::Random;

use super::*;

fn claim(size: usize) -> Claim {
    claim_at(size, 0.05)
}

fn claim_at(size: usize, delta: f64) -> Claim {
    Claim::new(size, ErrorRate::new(delta).unwrap())
}

/// Labels until the bound reaches a share of the set, if all say "right".
fn labels_until(size: usize, share: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let wanted = libm::ceil(share * real_size(size)) as usize;
    let mut claim = claim(size);
    let to_go = claim.labels_to_go(wanted).unwrap();
    while claim.bound() < wanted {
        claim.take(true).unwrap();
    }
    assert_eq!(to_go, claim.label_count());
    to_go
}

#[test]
fn a_clean_set_is_cheap() {
    // Of another program: 21/33, 26/42, 31/61, 33/66 for shares of .90 and .95.
    for (size, at_90, at_95) in [(50, 21, 33), (100, 26, 42), (412, 31, 61), (2000, 33, 66)] {
        assert_eq!((labels_until(size, 0.9), labels_until(size, 0.95)), (at_90, at_95), "{size}");
    }
    assert!(labels_until(100_000, 0.95) <= 75);
    assert!(labels_until(1_000_000, 0.95) <= 75);
}

/// Sets of all kinds, labelled in a random order, or the right ones or the wrong ones first.
fn every_course(mut check: impl FnMut(Claim, &[bool])) {
    let mut random = Random::new(7);
    for size in [0, 1, 2, 3, 7, 40, 100] {
        for delta in [0.0497, 0.01, 0.3, 0.999, 1e-12, f64::MIN_POSITIVE] {
            for share in [0.0, 0.5, 0.9, 0.97, 1.0] {
                let mut labels: Vec<bool> = (0..size).map(|_| random.uniform() < share).collect();
                check(claim_at(size, delta), &labels);
                labels.sort_unstable();
                check(claim_at(size, delta), &labels);
                labels.reverse();
                check(claim_at(size, delta), &labels);
            }
        }
    }
}

#[test]
fn the_bound_rises_until_labels_show_it_to_be_too_high_and_ends_as_the_truth() {
    every_course(|mut claim, labels| {
        let (mut before, mut wrong_count) = (claim.bound(), 0);
        for &label in labels {
            claim.take(label).unwrap();
            wrong_count += usize::from(!label);
            let highest = claim.size() - wrong_count;
            assert!(claim.bound() >= before.min(highest), "it fell");
            assert!((claim.right_count()..=highest).contains(&claim.bound()), "{claim:?}");
            before = claim.bound();
        }
        assert_eq!(claim.bound(), claim.size() - wrong_count);
        assert_eq!(claim.take(true), Err(AllLabelled(labels.len())));
    });
}

/// H(0), H(1), … rejected in turn, each by the sum over all alternatives as it is written.
#[test]
fn the_bound_is_that_of_the_plain_formula() {
    every_course(|mut claim, labels| {
        let (size, needed) = (labels.len(), claim.error_rate().ln_inverse());
        let (mut right, mut wrong, mut plain) = (0, 0, 0);
        for &label in labels {
            claim.take(label).unwrap();
            if label {
                right += 1
            } else {
                wrong += 1
            }
            plain = plain.max(right);
            while plain < size - wrong && plain_log_e([size, right, wrong], plain) >= needed {
                plain += 1;
            }
            plain = plain.min(size - wrong);
            assert!(claim.bound() <= plain, "{claim:?} {plain}");
            // At a δ near 1 the formula may reject behind its peak, where nothing is claimed.
            if needed > 1.0 {
                assert_eq!(claim.bound(), plain, "{claim:?}");
            }
        }
    });
}

/// ln E_r with factorials, term by term.
fn plain_log_e([size, right, wrong]: [usize; 3], allowed: usize) -> f64 {
    let falling = |number: usize, count: usize| -> f64 {
        (number - count + 1..=number).map(|factor| libm::log(real_size(factor))).sum()
    };
    let log_h = |all: usize| match all >= right && size - all >= wrong {
        true => falling(all, right) + falling(size - all, wrong),
        false => f64::NEG_INFINITY,
    };
    let terms: Vec<f64> = (allowed + 1..=size).map(log_h).collect();
    let mean = log_sum_exp(&terms) - libm::log(real_size(size - allowed));
    log_sum_exp(&[log_h(size), mean]) - core::f64::consts::LN_2 - log_h(allowed)
}

#[test]
fn labels_to_go_is_the_number_that_reaches_the_bound() {
    every_course(|mut claim, labels| {
        for label in labels.iter().chain([&true]) {
            for wanted in [0, 1, claim.size() / 2, claim.size() * 19 / 20, claim.size()] {
                let Some(to_go) = claim.labels_to_go(wanted) else {
                    assert!(wanted > claim.size() - (claim.label_count() - claim.right_count()));
                    continue;
                };
                let mut then = claim;
                for count in 0..to_go {
                    assert!(then.bound() < wanted, "{count} of {to_go} suffice: {claim:?}");
                    then.take(true).unwrap();
                }
                assert!(then.bound() >= wanted, "{to_go} do not suffice: {claim:?}");
            }
            if claim.label_count() == labels.len() || claim.label_count() > 60 {
                break;
            }
            claim.take(*label).unwrap();
        }
        assert_eq!(claim.labels_to_go(claim.size() + 1), None);
    });
}

/// The proof needs it, for every set: nothing is skipped when the bound is bisected for.
#[test]
fn falls_after_holds_only_where_the_evidence_falls() {
    for size in [2, 3, 10, 41] {
        for (right, wrong) in
            (0..=size).flat_map(|right| (0..=size - right).map(move |wrong| (right, wrong)))
        {
            let claim = Claim { right_count: right, wrong_count: wrong, ..claim(size) };
            for allowed in right..(size - wrong).saturating_sub(1) {
                let log_e = |allowed| plain_log_e([size, right, wrong], allowed);
                let falls = log_e(allowed + 1) <= log_e(allowed) + 1e-12;
                assert!(falls || !claim.falls_after(allowed), "{claim:?} {allowed}");
            }
        }
    }
}

/// Each order of the labels is as likely as any other: the probability that the bound is ever too high, exactly.
fn ever_too_high(size: usize, right_count: usize, delta: f64) -> f64 {
    let mut states = BTreeMap::from([((0, 0), (claim_at(size, delta), 1.0))]);
    let mut too_high = 0.0;
    for label_count in 0..size {
        let mut next = BTreeMap::new();
        for (claim, probability) in states.into_values() {
            let right_left = real_size(right_count - claim.right_count());
            let of_right = right_left / real_size(size - label_count);
            for (label, chance) in [(true, of_right), (false, 1.0 - of_right)] {
                let mut claim = claim;
                claim.take(label).unwrap();
                if chance <= 0.0 {
                } else if claim.bound() > right_count {
                    too_high += probability * chance;
                } else {
                    let key = (claim.right_count(), claim.bound());
                    next.entry(key).or_insert((claim, 0.0)).1 += probability * chance;
                }
            }
        }
        states = next;
    }
    too_high
}

#[test]
fn the_bound_is_ever_too_high_with_probability_delta_at_most_in_every_small_set() {
    let mut largest = 0.0_f64;
    for delta in [0.01, 0.05, 0.1, 0.3, 0.7] {
        for size in (1..=24).chain([40]) {
            for right_count in 0..=size {
                let too_high = ever_too_high(size, right_count, delta);
                assert!(
                    too_high <= delta * (1.0 + 1e-12),
                    "{size} {right_count} {delta}: {too_high}"
                );
                largest = largest.max(too_high / delta);
            }
        }
    }
    assert!(largest > 0.99, "nothing is lost at {largest}");
}

/// The probability that the upper bound is ever too low, exactly. Of the right answers, `skipped_count` are labelled
/// "cannot tell", which counts as wrong if `skips_are_wrong`.
fn ever_too_low(
    size: usize,
    [right_count, skipped_count]: [usize; 2],
    delta: f64,
    skips_are_wrong: bool,
) -> f64 {
    let wrong_count = size - right_count + if skips_are_wrong { skipped_count } else { 0 };
    let start = UpperClaim::new(size, ErrorRate::new(delta).unwrap());
    let mut states = BTreeMap::from([((0, 0), (start, 1.0))]);
    let mut too_low = 0.0;
    for label_count in 0..size {
        let mut next = BTreeMap::new();
        for ((wrong, _), (claim, probability)) in states {
            let of_wrong = real_size(wrong_count - wrong) / real_size(size - label_count);
            for (label, chance) in [(true, of_wrong), (false, 1.0 - of_wrong)] {
                let mut claim = claim;
                claim.take(label).unwrap();
                if chance <= 0.0 {
                } else if claim.bound() < right_count {
                    too_low += probability * chance;
                } else {
                    let key = (wrong + usize::from(label), claim.bound());
                    next.entry(key).or_insert((claim, 0.0)).1 += probability * chance;
                }
            }
        }
        states = next;
    }
    too_low
}

#[test]
fn the_upper_bound_is_ever_too_low_with_probability_delta_at_most_in_every_small_set() {
    let mut largest = 0.0_f64;
    for delta in [0.01, 0.05, 0.1, 0.3, 0.7] {
        for size in (1..=24).chain([40]) {
            for right_count in 0..=size {
                let too_low = ever_too_low(size, [right_count, 0], delta, false);
                assert!(
                    too_low <= delta * (1.0 + 1e-12),
                    "{size} {right_count} {delta}: {too_low}"
                );
                largest = largest.max(too_low / delta);
            }
        }
    }
    assert!(largest > 0.99, "nothing is lost at {largest}");
}

/// The wrong twin: a skipped answer may be right.
#[test]
fn skips_that_count_as_wrong_break_the_upper_bound() {
    for delta in [0.05, 0.3] {
        assert!(ever_too_low(40, [30, 6], delta, false) <= delta);
        assert!(ever_too_low(40, [30, 6], delta, true) > 0.99, "the last label shows it");
    }
}

#[test]
fn the_upper_bound_falls_with_wrong_labels_and_ends_as_the_truth() {
    let after = |size: usize, labels: &[bool]| {
        let mut claim = UpperClaim::new(size, ErrorRate::new(0.05).unwrap());
        for is_right in labels {
            claim.take(!is_right).unwrap();
        }
        claim.bound()
    };
    assert_eq!(after(440, &[]), 440);
    assert_eq!(after(440, &[true; 100]), 440);
    // As many as show that 90 % and 95 % are right.
    assert_eq!((after(412, &[false; 31]), after(412, &[false; 61])), (41, 20));
    assert_eq!(after(38, &[false; 38]), 0);
    assert_eq!(after(3, &[true, false, true]), 2);
}

/// The probability that labels of a population of which exactly c are right ever reach 1/δ, up to `labels`.
fn ever_evident(precision: f64, delta: f64, labels: u64) -> f64 {
    let (needed, mut evident) = (-libm::log(delta), 0.0);
    let mut by_right = BTreeMap::from([(0, 1.0)]);
    for label_count in 1..=labels {
        let mut next = BTreeMap::new();
        for (right, probability) in by_right {
            for (right, chance) in [(right + 1, precision), (right, 1.0 - precision)] {
                if log_evidence_of_precision(right, label_count - right, precision) >= needed {
                    evident += probability * chance;
                } else {
                    *next.entry(right).or_insert(0.0) += probability * chance;
                }
            }
        }
        by_right = next;
    }
    evident
}

#[test]
fn a_population_is_ever_claimed_to_be_better_than_it_is_with_probability_delta_at_most() {
    for precision in [0.01, 0.5, 0.9, 0.95, 0.99] {
        for delta in [0.01, 0.05, 0.3] {
            let evident = ever_evident(precision, delta, 300);
            assert!(evident <= delta, "{precision} {delta}: {evident}");
        }
    }
    assert!(ever_evident(0.9, 0.05, 300) > 0.02, "it is not given away");
    assert!(ever_evident(0.9 + 0.05, 0.05, 59) < 0.05);
}

#[test]
fn no_precision_is_evident_where_there_is_none() {
    for precision in [0.0, 1.0, -1.0, 2.0, f64::NAN, f64::INFINITY] {
        assert!(log_evidence_of_precision(100, 0, precision) < 0.0, "{precision}");
    }
    assert!(log_evidence_of_precision(0, 0, 0.9) <= 0.0);
    assert!(log_evidence_of_precision(0, 1 << 50, 0.9).is_finite());
    assert!(log_evidence_of_precision(1 << 50, 1 << 40, 0.9).is_finite());
    let evident = |count: &u64| log_evidence_of_precision(*count, 0, 0.95) >= libm::log(20.0);
    // .95^-59 = 20.6: half of the bet is on a population without a wrong one.
    assert_eq!((59..75).find(evident), Some(68));
}
