//! P(any certificate is wrong) ≤ δ, with shares of δ that are lent to arms and come back.
//!
//! There is a pool, at first all of δ. An arm is lent a share α of it, and is certified when every
//! attribute's evidence *since then* reaches 1/α; its share then returns. Why that is allowed: let
//! m be an attribute that a bad arm fails, E its evidence since the loan, and V the pool + the
//! shares of good arms + Σ α E over bad arms. Up to the first wrong certificate a call cannot be
//! expected to raise V, a loan leaves it as it is, so does a good arm's certificate, and a release
//! returns at most α E. So V is a supermartingale that starts at δ, and a wrong certificate needs
//! α E ≥ 1 at some time, which makes V ≥ 1. No set of arms is fixed: they may be added at any time.

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
    /// Shares that are lent, to arms that are neither certified nor exactly bad.
    out_count: usize,
    /// Shares that came back as less than half.
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

    /// Infinite for an arm without a share, which has no evidence.
    pub(crate) fn level(&self, arm: ArmId) -> f64 {
        self.loans[arm.index()].level
    }

    /// The arm is idle, and the share is in the pool.
    pub(crate) fn lend(&mut self, arm: ArmId, share: Share) {
        self.pool = self.pool.minus(share);
        self.loans[arm.index()] = Loan { share, level: self.delta.level_of(share) };
        self.out_count += 1;
        self.idle_count -= 1;
    }

    /// Takes back α min(1, E), E the arm's smallest present evidence with calls in flight counted as
    /// their lowest score; the rest of the share is lost.
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
            // Only exact verifiers: certain, so nothing need be lent.
            None if evidence == f64::INFINITY => {}
            _ => return Vec::new(),
        }
        vec![Certificate { arm, level }]
    }

    /// An arm that an exact verifier failed could never be certified: V counts its share in full.
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

    /// An arm takes no more pulls, so it will not borrow.
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
