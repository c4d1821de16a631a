//! P(any certificate is wrong) ≤ δ, with shares of δ that are lent to arms and come back.
//!
//! There is a pool, at first all of δ. An arm is lent α = δ × share from it. It is certified when E, the
//! exponential of its evidence *since the loan*, reaches 1/α for every attribute; then α returns. A loan may also
//! be released: then α min(1, E) returns, with the smallest E of its attributes.
//!
//! Why this is allowed: let m be an attribute that a bad arm fails, E that of m, and V the pool + Σ α over good
//! arms + Σ α E over bad arms. Up to the first wrong certificate nothing raises V in expectation: a call does not,
//! a loan and a good arm's certificate leave V as it is, and a bad arm's release returns at most α E. So V is a
//! supermartingale that starts at δ. A wrong certificate needs α E ≥ 1, so V ≥ 1. By Ville's inequality the
//! probability of that is at most δ. Arms may be added at any time.

use alloc::vec;
use alloc::vec::Vec;

use crate::guarantee::Certificate;
use crate::problem::Problem;
use crate::units::{ArmId, ErrorRate, Share};

/// The loans of all arms, and the pool.
#[derive(Clone, Debug)]
pub struct Lending {
    delta: ErrorRate,
    pool: Share,
    loans: Vec<Loan>,
    /// Shares that are lent, and neither returned nor released.
    out_count: usize,
    /// Released shares of which less than half came back.
    lost_count: usize,
    /// Arms that take pulls and have no share.
    idle_count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Loan {
    share: Share,
    /// ln(1/(δ share)): what every attribute's evidence must reach.
    level: f64,
}

impl Loan {
    const IDLE: Self = Self { share: Share::NONE, level: f64::INFINITY };
}

impl Lending {
    pub(crate) fn new(problem: &Problem) -> Self {
        Self {
            delta: problem.delta(),
            pool: Share::WHOLE,
            loans: vec![Loan::IDLE; problem.arm_count()],
            out_count: 0,
            lost_count: 0,
            idle_count: problem.arm_count(),
        }
    }

    /// The part of δ that is left to lend.
    pub const fn pool(&self) -> Share {
        self.pool
    }

    /// The number of shares that are lent, and neither returned nor released.
    pub const fn out_count(&self) -> usize {
        self.out_count
    }

    pub(crate) const fn lost_count(&self) -> usize {
        self.lost_count
    }

    /// An equal part of the pool for every arm that takes pulls and has no share; `None` if that is
    /// nothing.
    pub fn equal_share(&self) -> Option<Share> {
        Some(self.pool.divided(self.idle_count)).filter(|share| *share > Share::NONE)
    }

    /// The arm's share, or the one it had when it was certified.
    pub fn share(&self, arm: ArmId) -> Option<Share> {
        let share = self.loans[arm.index()].share;
        (share > Share::NONE).then_some(share)
    }

    /// What the arm's evidence must reach; infinite without a share.
    pub(crate) fn level(&self, arm: ArmId) -> f64 {
        self.loans[arm.index()].level
    }

    /// Lends a share to an arm. The arm must have none, and the pool must hold this one.
    pub(crate) fn lend(&mut self, arm: ArmId, share: Share) {
        self.pool = self.pool.minus(share);
        self.loans[arm.index()] = Loan { share, level: self.delta.level_of(share) };
        self.out_count += 1;
        self.idle_count -= 1;
    }

    /// Returns α min(1, E) to the pool; the rest is lost. E is the smallest of the arm's attributes, with each call
    /// in flight counted as the lowest score.
    pub(crate) fn release(&mut self, arm: ArmId, log_e_min: f64) {
        let Loan { share, .. } = core::mem::replace(&mut self.loans[arm.index()], Loan::IDLE);
        let kept = libm::exp(log_e_min.min(0.0)) * ROUND_DOWN;
        self.lost_count += usize::from(kept < 0.5);
        self.pool = self.pool.plus(Share::of(share.fraction() * kept).min(share));
        self.out_count -= 1;
        self.idle_count += 1;
    }

    pub(crate) fn update(&mut self, arm: ArmId, evidence: f64) -> Vec<Certificate> {
        let level = self.level(arm);
        match self.share(arm) {
            Some(_) if evidence >= level => self.return_all(arm),
            // All verifiers are exact: the certificate is certain, so it needs no share.
            None if evidence == f64::INFINITY => {}
            _ => return Vec::new(),
        }
        vec![Certificate { arm, level }]
    }

    /// An arm that an exact verifier failed is never certified. V may count it like a good arm, so all of α returns.
    pub(crate) fn exclude_exactly_bad(&mut self, arm: ArmId) {
        if self.share(arm).is_some() {
            self.return_all(arm);
            self.loans[arm.index()] = Loan::IDLE;
        }
    }

    pub(crate) fn add_arms(&mut self, count: usize) {
        self.loans.resize(self.loans.len() + count, Loan::IDLE);
        self.idle_count += count;
    }

    /// An arm takes no more pulls, so it will not borrow. Must be called before [`Self::exclude_exactly_bad`].
    pub(crate) fn leave(&mut self, arm: ArmId) {
        if self.share(arm).is_none() {
            self.idle_count -= 1;
        }
    }

    fn return_all(&mut self, arm: ArmId) {
        self.pool = self.pool.plus(self.loans[arm.index()].share);
        self.out_count -= 1;
    }
}

const ROUND_DOWN: f64 = 1.0 - 1e-12;
