//! What labels by people prove: how many answers of a set are right, at least and at most, and whether the precision of
//! a population is above a limit. All bounds hold at all times at once, so that people may look at them after
//! every label and stop at any time.
//!
//! The answers of a set are labelled in a random order that was fixed before the first label. "Cannot tell"
//! counts as "wrong" in the lower bound, and as "right" in the upper one.

use thiserror::Error;

use crate::num::{EPSILON, log_sum_exp, real, real_size};
use crate::units::ErrorRate;

/// How many of n answers are right, at least: a lower confidence bound that holds at all times at once.
///
/// After s labels "right" and f labels "wrong", the evidence against H(r), "r of them are right", is the
/// ratio of likelihoods under R > r right ones and under r, averaged over R (draws without replacement,
/// (a)_k = a(a-1)…(a-k+1)):
///
/// Λ(R) = (R)_s (n-R)_f / ((r)_s (n-r)_f),   E_r = ½ Λ(n) + ½ mean of Λ over r+1…n.
///
/// E_r is a martingale from 1 under H(r), so it ever reaches 1/δ with probability at most δ (Ville). The
/// bound is the first r that was not rejected when its turn came. It exceeds the truth only if H(truth) was
/// rejected: with probability at most δ, over all times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    size: usize,
    error_rate: ErrorRate,
    right_count: usize,
    wrong_count: usize,
    bound: usize,
}

/// Every answer of the set has its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("all {0} answers are labelled")]
pub struct AllLabelled(pub usize);

impl Claim {
    /// A claim about a set of `size` answers, without labels yet. It is ever wrong with probability at most
    /// `error_rate`.
    pub const fn new(size: usize, error_rate: ErrorRate) -> Self {
        Self { size, error_rate, right_count: 0, wrong_count: 0, bound: 0 }
    }

    /// Takes the label of the next answer in the order that was fixed.
    pub fn take(&mut self, is_right: bool) -> Result<(), AllLabelled> {
        if self.label_count() == self.size {
            return Err(AllLabelled(self.size));
        }
        if is_right {
            self.right_count += 1;
        } else {
            self.wrong_count += 1;
        }
        self.bound = self.bound_now();
        Ok(())
    }

    /// At least this many answers are right. It falls only where labels show that it was too high.
    pub const fn bound(&self) -> usize {
        self.bound
    }

    /// How many answers there are.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The probability with which the bound is ever too high, at most.
    pub const fn error_rate(&self) -> ErrorRate {
        self.error_rate
    }

    /// The number of labels so far.
    pub const fn label_count(&self) -> usize {
        self.right_count + self.wrong_count
    }

    /// The number of labels "right".
    pub const fn right_count(&self) -> usize {
        self.right_count
    }

    /// The number of further labels until the bound is `wanted`, if all of them are "right"; `None` if it
    /// cannot be reached any more.
    pub fn labels_to_go(&self, wanted: usize) -> Option<usize> {
        if wanted > self.size - self.wrong_count {
            return None;
        }
        // A label "right" raises every E_r, so the first count that reaches `wanted` can be found by bisection.
        let reaches = |count: usize| {
            Self { right_count: self.right_count + count, ..*self }.bound_now() >= wanted
        };
        Some(first(0, self.size - self.label_count(), reaches))
    }

    /// The first r from the bound on that is not rejected.
    fn bound_now(&self) -> usize {
        // The number of answers not labelled "wrong". A higher bound was too high.
        let highest = self.size - self.wrong_count;
        // H(r) is disproved if more than r are labelled "right".
        let lowest = self.bound.max(self.right_count);
        if lowest >= highest {
            return highest;
        }
        // Most labels do not move the bound.
        if !self.rejects(lowest) {
            return lowest;
        }
        // E_r falls as r rises up to `end`, so every r below a rejected one is rejected there. No r after `end` is
        // tested.
        let end = first(lowest, highest, |allowed| !self.falls_after(allowed));
        first(lowest, end + usize::from(end < highest), |allowed| !self.rejects(allowed))
    }

    /// Whether E_{r+1} ≤ E_r for sure. With h(R) = (R)_s (n-R)_f:
    ///
    /// - Without a wrong label each Λ falls as r rises and R - r stays, and the largest is left out of the mean.
    /// - Otherwise Λ(n) = 0, and Σ h over R > r falls with r, so (n-r) h(r) ≤ (n-r-1) h(r+1) is enough. This
    ///   holds for all r up to one, and for none after it: ln h is concave.
    fn falls_after(&self, allowed: usize) -> bool {
        let (right, wrong) = (real_size(self.right_count), real_size(self.wrong_count));
        let (next, above) = (real_size(allowed) + 1.0, real_size(self.size - allowed));
        self.wrong_count == 0
            || next * (above - wrong) * (above - 1.0) >= (next - right) * above * above
    }

    /// Whether E_r reaches 1/δ, for s ≤ r < n - f.
    ///
    /// Σ over R > r of Λ(R) = Σ over j = s…0 of C(r+1, j) C(n-r, s+f+1-j) / (C(r, s) C(n-r, f)): both count the
    /// ways to draw s+f+1 of n+1 in a row, at most s of them from the first r+1. The second sum has few terms that
    /// matter, all of them positive, and leaving some out makes E_r smaller.
    fn rejects(&self, allowed: usize) -> bool {
        let labels = real_size(self.label_count());
        let (right, wrong) = (real_size(self.right_count), real_size(self.wrong_count));
        let (below, above) = (real_size(allowed) + 1.0, real_size(self.size - allowed));
        let half = 0.5 * self.error_rate.get();
        let needed = 1.0 + ROUNDINGS * EPSILON * (labels + 1.0);
        let mut sum = if self.wrong_count == 0 { self.all_right(allowed, half) } else { 0.0 };
        let mut term = half / above * (below / (below - right)) * ((above - wrong) / (wrong + 1.0));
        let mut drawn = right;
        loop {
            sum += term;
            if sum >= needed {
                return true;
            }
            let left = above - (labels + 1.0 - drawn);
            let ratio = drawn * left / ((below + 1.0 - drawn) * (labels + 2.0 - drawn));
            term *= ratio;
            // The ratios fall, so all terms that are left add up to no more than a geometric series.
            if ratio < 1.0 && term < (1.0 - ratio) * (needed - sum) {
                return false;
            }
            drawn -= 1.0;
        }
    }

    /// `part` times Λ(n) if no label is "wrong", where Λ(n) = (n)_s / (r)_s is the product of k/(k-s) over
    /// r < k ≤ n, or of (n-i)/(r-i) over i < s, whichever is shorter. The product ends early once it is large
    /// enough to reject.
    fn all_right(&self, allowed: usize, part: f64) -> f64 {
        let mut product = part;
        for index in 0..self.right_count.min(self.size - allowed) {
            if product >= 2.0 {
                break;
            }
            let of_all = self.size - index;
            let of_allowed = match self.right_count <= self.size - allowed {
                true => allowed - index,
                false => of_all - self.right_count,
            };
            product *= real_size(of_all) / real_size(of_allowed);
        }
        product
    }
}

/// How many of n answers are right, at most: an upper confidence bound that holds at all times at once.
///
/// It is n minus a [`Claim`] about the number of wrong answers, with the labels "right" and "wrong" exchanged: under
/// "w are wrong" the same E_w is a martingale from 1. So it is ever below the truth with probability at most δ. This
/// error is not that of the lower bound: at δ each, both hold together with probability 1 - 2δ at least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpperClaim(Claim);

impl UpperClaim {
    /// A claim about a set of `size` answers, without labels yet. It is ever wrong with probability at most
    /// `error_rate`.
    pub const fn new(size: usize, error_rate: ErrorRate) -> Self {
        Self(Claim::new(size, error_rate))
    }

    /// Takes the label of the next answer in the order that was fixed. "Cannot tell" is not "wrong": the answer may be
    /// right.
    pub fn take(&mut self, is_wrong: bool) -> Result<(), AllLabelled> {
        self.0.take(is_wrong)
    }

    /// At most this many answers are right. It rises only where labels show that it was too low.
    pub const fn bound(&self) -> usize {
        self.0.size - self.0.bound
    }
}

/// The first number from `low` on for which `holds` is true, or `high` if none below it is. Where `holds` is true
/// once, it must be true for all later numbers.
fn first(mut low: usize, mut high: usize, holds: impl Fn(usize) -> bool) -> usize {
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// ln of the evidence that more than `precision` of a population are right, from labels of a random sample
/// of it:
///
/// E = ½ c^-s [f = 0] + ½ mean of (p/c)^s ((1-p)/(1-c))^f over 64 rates p in (c, 1).
///
/// Each term is a supermartingale if at most c are right, so E reaches 1/δ with probability at most δ at
/// any number of labels. There is no evidence for a precision outside of (0, 1).
pub fn log_evidence_of_precision(right_count: u64, wrong_count: u64, precision: f64) -> f64 {
    if !(precision > 0.0 && precision < 1.0) {
        return f64::NEG_INFINITY;
    }
    let (right, wrong) = (real(right_count), real(wrong_count));
    let room = 1.0 - precision;
    let mut terms = [f64::NEG_INFINITY; RATES + 1];
    for (place, term) in terms.iter_mut().take(RATES).enumerate() {
        let rise = (real_size(place) + 0.5) / real_size(RATES);
        let of_right = right * libm::log1p(rise * room / precision);
        *term = of_right + wrong * libm::log1p(-rise) - libm::log(2.0 * real_size(RATES));
    }
    if wrong_count == 0 {
        terms[RATES] = -right * libm::log(precision) - core::f64::consts::LN_2;
    }
    // A label adds no more than this to ln E.
    let largest = libm::fmax(LOG_RATE_MAX, -libm::log(precision));
    log_sum_exp(&terms) - ROUNDINGS * EPSILON * (1.0 + largest * (right + wrong))
}

/// Each factor of E, and each part of ln E, was rounded a few times.
const ROUNDINGS: f64 = 16.0;
/// How many rates a claim about a population bets on.
const RATES: usize = 64;
/// More than -ln of the least (1-p)/(1-c), which is 1/128.
const LOG_RATE_MAX: f64 = 5.0;

#[cfg(test)]
mod tests;
