use super::*;

fn claim(size: usize) -> Claim {
    Claim::new(size, ErrorRate::new(0.05).unwrap())
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
    // STATISTICS: 21/33, 26/42, 31/61, 33/66 for shares of .90 and .95.
    for (size, at_90, at_95) in [(50, 21, 33), (100, 26, 42), (412, 31, 61), (2000, 33, 66)] {
        assert_eq!((labels_until(size, 0.9), labels_until(size, 0.95)), (at_90, at_95), "{size}");
    }
    assert!(labels_until(100_000, 0.95) <= 75);
}

#[test]
fn when_all_are_labelled_the_bound_is_the_truth() {
    for size in [1, 2, 7, 40] {
        for wrong_count in 0..=size {
            let mut claim = claim(size);
            for place in 0..size {
                claim.take(place >= wrong_count).unwrap();
                assert!(claim.bound() <= size - wrong_count);
            }
            assert_eq!(claim.bound(), size - wrong_count);
            assert_eq!(claim.take(true), Err(AllLabelled(size)));
        }
    }
}

#[test]
fn labels_that_say_the_same_may_be_taken_at_once() {
    for (size, seed) in [(50, 1_u64), (412, 2), (5000, 3)] {
        let (mut one_by_one, mut at_once) = (claim(size), claim(size));
        let mut state = seed;
        while at_once.label_count() < size {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (count, is_right) = ((state >> 33) as usize % 40 + 1, state >> 61 > 0);
            let count = (if is_right { count } else { 1 }).min(size - at_once.label_count());
            at_once.take_alike(is_right, count).unwrap();
            (0..count).for_each(|_| one_by_one.take(is_right).unwrap());
            assert_eq!(one_by_one.bound(), at_once.bound(), "after {}", at_once.label_count());
        }
        assert_eq!(at_once.take_alike(true, 1), Err(AllLabelled(size)));
    }
}

#[test]
fn a_bound_that_labels_disprove_is_not_kept() {
    let mut claim = claim(100);
    claim.take_alike(true, 42).unwrap();
    assert_eq!(claim.bound(), 95);
    claim.take_alike(false, 8).unwrap();
    assert_eq!(claim.bound(), 92);
    claim.take_alike(true, 50).unwrap();
    assert_eq!(claim.bound(), 92);
}
