//! What labels by people prove: how many answers of a set are right, and whether the precision of a
//! population is above a line. Both bounds hold at every moment at once, so that whoever labels may look at
//! them and stop whenever they like.
//!
//! The answers of a set are labelled in a random order that was fixed before the first label. Someone who
//! cannot tell counts as "wrong".

use alloc::vec::Vec;
use core::ops::Range;

use thiserror::Error;

use crate::num::{EPSILON, Sum, log_sum_exp, real, real_size};
use crate::units::ErrorRate;

/// How many of n answers are right, at least: a lower confidence bound that holds at all times at once.
///
/// For H(r), "at most r are right", a right label speaks against H(r) as the ratio of likelihoods under
/// R' > r right ones and under r (draws without replacement, (a)_k = a(a-1)…(a-k+1)):
///
/// Λ(R') = (R')_s (n-R')_f / ((r)_s (n-r)_f),   E_r = ½ Λ(n) + ½ mean of Λ over r+1…n.
///
/// E_r is a supermartingale under H(r), so it ever reaches 1/δ with probability at most δ (Ville). The
/// bound is the first r that was not rejected when its turn came. It exceeds the truth R only if H(R)
/// was rejected: with probability at most δ, over all times.
#[derive(Clone, Debug)]
pub struct Claim {
    size: usize,
    error_rate: ErrorRate,
    right_count: usize,
    wrong_count: usize,
    bound: usize,
    /// ln 0!, …, ln n!
    log_factorials: Vec<f64>,
}

/// Every answer of the set has its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("all {0} answers are labelled")]
pub struct AllLabelled(pub usize);

impl Claim {
    /// About a set of `size` answers, wrong with probability at most `error_rate`.
    pub fn new(size: usize, error_rate: ErrorRate) -> Self {
        let mut sum = Sum::ZERO;
        let log_factorials = (0..=size).map(|number| {
            sum.add(libm::log(real_size(number.max(1))));
            sum.get()
        });
        let log_factorials = log_factorials.collect();
        Self { size, error_rate, right_count: 0, wrong_count: 0, bound: 0, log_factorials }
    }

    /// Takes the label of the next answer in the order that was fixed.
    pub fn take(&mut self, is_right: bool) -> Result<(), AllLabelled> {
        self.take_alike(is_right, 1)
    }

    /// Takes the labels of the next answers, which all say the same: the same bound as one by one, in the
    /// time of one.
    pub fn take_alike(&mut self, is_right: bool, count: usize) -> Result<(), AllLabelled> {
        if count > self.size - self.label_count() {
            return Err(AllLabelled(self.size));
        }
        if is_right {
            // Each right label raises every E_r, so what is rejected after one is rejected after all.
            self.right_count += count;
            self.advance();
        } else {
            // A wrong one lowers every E_r, and rejects nothing.
            self.wrong_count += count;
        }
        Ok(())
    }

    /// So many answers are right, at least. It never falls, unless labels show that it was too high.
    pub fn bound(&self) -> usize {
        self.bound.min(self.size - self.wrong_count)
    }

    /// How many answers there are.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The probability with which the bound is ever too high, at most.
    pub const fn error_rate(&self) -> ErrorRate {
        self.error_rate
    }

    /// How many labels were taken.
    pub const fn label_count(&self) -> usize {
        self.right_count + self.wrong_count
    }

    /// How many of them said "right".
    pub const fn right_count(&self) -> usize {
        self.right_count
    }

    /// How many more labels it takes until the bound is `wanted`, if all of them say "right"; none if it
    /// cannot be reached any more.
    pub fn labels_to_go(&self, wanted: usize) -> Option<usize> {
        if wanted > self.size - self.wrong_count {
            return None;
        }
        // The bound grows with every right label, so the first count that reaches it can be bisected for.
        let reaches = |count: usize| {
            let mut then = self.clone();
            then.right_count += count;
            then.advance();
            then.bound() >= wanted
        };
        Some(first(0..self.size - self.label_count(), reaches))
    }

    /// Rejects H(bound), H(bound + 1), … for as long as the evidence reaches 1/δ. What falls out of turn is
    /// looked at again when its turn comes, which can only claim less.
    fn advance(&mut self) {
        // More right answers were seen than H(r) allows.
        self.bound = self.bound.max(self.right_count);
        let highest = self.size - self.wrong_count;
        if self.bound >= highest {
            return;
        }
        // ln h is concave in R', so what matters of Σ h is one stretch around its peak. What is left out
        // only makes E smaller.
        let height = |right: usize| self.log_likelihood(right);
        let peak = first(self.bound..highest, |right| height(right + 1) <= height(right));
        let largest = height(peak);
        let matters = |right: usize| height(right) >= largest - NEGLIGIBLE;
        let low = first(self.bound..peak, matters);
        let high = first(peak + 1..highest + 1, |right| !matters(right)) - 1;
        // Tails of Σ exp(ln h), scaled by the largest term, from the top down.
        let mut tails = Vec::with_capacity(high + 1 - low);
        let mut tail = 0.0;
        for right in (low..=high).rev() {
            tails.push(tail);
            tail += libm::exp(height(right) - largest);
        }
        // Λ(n) is 0 once a label has said "wrong".
        let all_right = match self.wrong_count {
            0 => libm::exp(height(self.size) - largest),
            _ => 0.0,
        };
        let needed = self.error_rate.ln_inverse() + self.rounding();
        let log_e = (self.bound..=high).map(|allowed| {
            let above = if allowed < low { tail } else { tails[high - allowed] };
            let mean = above / real_size(self.size - allowed);
            libm::log(0.5 * all_right + 0.5 * mean) + largest - height(allowed)
        });
        self.bound += log_e.take_while(|log_e| *log_e >= needed).count();
    }

    /// ln of (R)_s (n-R)_f, for s ≤ R ≤ n-f.
    fn log_likelihood(&self, right: usize) -> f64 {
        let wrong = self.size - right;
        let falling = |number: usize, count: usize| {
            self.log_factorials[number] - self.log_factorials[number - count]
        };
        falling(right, self.right_count) + falling(wrong, self.wrong_count)
    }

    /// More than rounding can have added to ln E.
    fn rounding(&self) -> f64 {
        ROUNDINGS * EPSILON * (self.log_factorials[self.size] + real_size(self.size) + 1.0)
    }
}

/// ln of the evidence that more than `precision` of a population are right, from labels of a random sample
/// of it:
///
/// E = ½ c^-s [f = 0] + ½ mean of (p/c)^s ((1-p)/(1-c))^f over rates p in (c, 1).
///
/// Each term is a supermartingale if at most c are right, so E reaches 1/δ with probability at most δ at
/// whatever number of labels one stops.
pub fn log_evidence_of_precision(right_count: u64, wrong_count: u64, precision: f64) -> f64 {
    let (right, wrong) = (real(right_count), real(wrong_count));
    let room = 1.0 - precision;
    let mut terms = [f64::NEG_INFINITY; RATES + 1];
    for (place, term) in terms.iter_mut().take(RATES).enumerate() {
        let rise = room * (real_size(place) + 0.5) / real_size(RATES);
        let of_right = right * libm::log1p(rise / precision);
        *term = of_right + wrong * libm::log1p(-rise / room) - libm::log(2.0 * real_size(RATES));
    }
    if wrong_count == 0 {
        terms[RATES] = -right * libm::log(precision) - core::f64::consts::LN_2;
    }
    let size = 1.0 + right + wrong;
    log_sum_exp(&terms) - ROUNDINGS * EPSILON * size
}

/// The first number of a range for which something holds that holds from then on, or the range's end.
fn first(range: Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let Range { mut start, mut end } = range;
    while start < end {
        let middle = start.midpoint(end);
        if holds(middle) { end = middle } else { start = middle + 1 }
    }
    end
}

/// e^-50 of the largest term, however many such there are.
const NEGLIGIBLE: f64 = 50.0;
/// Each number in ln E was rounded a few times.
const ROUNDINGS: f64 = 16.0;
/// How many rates a claim about a population bets on.
const RATES: usize = 64;

#[cfg(test)]
mod tests;
