//! Majorities that single draws imply.
//!
//! A draw agrees with probability p, each by itself. The majority of k draws, k odd, then agrees with
//! probability P(Bin(k, p) > k/2), which grows with p. So if p reaches the right threshold, every majority
//! does, and majorities are never asked for.

/// A majority has no more draws than this.
pub(crate) const DRAWS_MAX: u32 = 99;

/// The problem of these sizes of majorities, if any.
pub(super) fn problem(sizes: &[u32]) -> Option<String> {
    let is_wrong = |size: &u32| size.is_multiple_of(2) || *size > DRAWS_MAX;
    match sizes.iter().find(|size| is_wrong(size)) {
        _ if sizes.is_empty() => Some("at least one size is needed, such as [1, 5]".into()),
        Some(size) => Some(format!("{size} is not an odd number from 1 to {DRAWS_MAX}")),
        None => None,
    }
}

/// The least probability of a single draw, or a little more, for which the majorities of all these sizes agree
/// with at least the probability `wanted`.
pub(super) fn single_draw(sizes: &[u32], wanted: f64) -> f64 {
    sizes.iter().map(|&size| single_draw_of(size, wanted)).fold(0.0, f64::max)
}

fn single_draw_of(size: u32, wanted: f64) -> f64 {
    // Trivial cases: size 1, and p = 0.5, where every majority also has probability 0.5.
    #[expect(clippy::float_cmp, reason = "it holds for this number alone")]
    if size == 1 || wanted == 0.5 {
        return wanted;
    }
    // The condition always holds at the upper end, so rounding can only claim less.
    let (mut below, mut enough) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(below, enough);
        if majority(size, middle) * (1.0 - ROUNDING) >= wanted {
            enough = middle;
        } else {
            below = middle;
        }
    }
    // Fewer digits for people, and not one too low.
    ((enough * DIGITS).ceil() / DIGITS).max(enough)
}

/// P(Bin(size, p) > size / 2) for an odd size, up to a relative error of [`ROUNDING`].
fn majority(size: u32, p: f64) -> f64 {
    let mut ways = 1.0;
    let mut sum = 0.0;
    // From all draws that agree down to the smallest majority: C(size, others) ways with `others` that do not.
    for others in 0..=size / 2 {
        let agreeing = size - others;
        sum += ways * p.powi(agreeing.cast_signed()) * (1.0 - p).powi(others.cast_signed());
        ways *= f64::from(agreeing) / f64::from(others + 1);
    }
    sum
}

const HALVINGS: u32 = 80;
/// Far more than the rounding error of a hundred products and sums.
const ROUNDING: f64 = 1e-11;
const DIGITS: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.5 by symmetry, and p = 0.6 of three draws: 0.216 + 3 × 0.36 × 0.4 = 0.648.
    #[test]
    fn majorities_are_those_of_the_binomial_law() {
        for size in (1..=DRAWS_MAX).step_by(2) {
            assert!((majority(size, 0.5) - 0.5).abs() < 1e-12, "{size}");
            assert!((majority(size, 0.3) + majority(size, 0.7) - 1.0).abs() < 1e-12, "{size}");
        }
        assert!((majority(3, 0.6) - 0.648).abs() < 1e-15);
        // 0.8^5 + 5 × 0.8^4 × 0.2 + 10 × 0.8^3 × 0.04.
        assert!((majority(5, 0.8) - 0.94208).abs() < 1e-12);
    }

    /// At the threshold every majority is as likely as was claimed, and a little below one is not.
    #[test]
    fn the_threshold_is_enough_and_hardly_more() {
        for size in [1, 3, 5, 21, 99] {
            for wanted in [0.01, 0.3, 0.5, 0.501, 0.7, 0.9, 0.999] {
                let p = single_draw(&[size], wanted);
                assert!(majority(size, p) >= wanted - 1e-12, "{size}, {wanted}: {p}");
                assert!(majority(size, p - 3e-6) < wanted, "{size}, {wanted}: {p} is too much");
            }
        }
    }

    #[test]
    fn the_hardest_of_several_sizes_decides() {
        for wanted in [0.2, 0.5, 0.8] {
            let of = |sizes: &[u32]| single_draw(sizes, wanted);
            assert!((of(&[1, 5]) - of(&[1]).max(of(&[5]))).abs() < 1e-15);
        }
        // Above a half one draw is harder than the majority of five, below it is easier.
        assert!((single_draw(&[1, 5], 0.8) - 0.8).abs() < 1e-15);
        assert!(single_draw(&[1, 5], 0.2) > 0.28);
        assert!((single_draw(&[1, 5], 0.5) - 0.5).abs() < 1e-15);
    }

    #[test]
    fn sizes_are_odd_and_not_too_large() {
        assert_eq!(problem(&[1, 5, 99]), None);
        for sizes in [&[][..], &[0], &[2], &[1, 4], &[101]] {
            assert!(problem(sizes).is_some(), "{sizes:?}");
        }
    }
}
