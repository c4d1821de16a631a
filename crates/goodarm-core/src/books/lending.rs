//! Shares of δ that are lent to arms, where the guarantee is [`Guarantee::Lent`](crate::Guarantee::Lent), and arms
//! that are added.

use thiserror::Error;

use crate::books::{Books, Change};
use crate::call::Loan;
use crate::guarantee::lending::Lending;
use crate::problem::{ARMS_MAX, Guarantee};
use crate::units::{ArmId, AttributeId, Share};

/// Why a share cannot be lent or released. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LendError {
    /// Other guarantees share δ in another way.
    #[error("only the guarantee Lent lends shares of δ")]
    NotLending,
    /// There is no such arm.
    #[error("there is no arm {0}")]
    NoSuchArm(ArmId),
    /// The arm is certified, or can never be.
    #[error("arm {0} takes no more pulls")]
    ArmLeft(ArmId),
    /// The arm has a share, and a second loan would need evidence of its own.
    #[error("arm {0} has a share already")]
    AlreadyLent(ArmId),
    /// There is no share to release.
    #[error("arm {0} has no share")]
    NothingLent(ArmId),
    /// A share must be positive, and at most the pool.
    #[error("a share of {} is not more than 0 and at most {}, which is what is left", asked.fraction(), pool.fraction())]
    NotInPool {
        /// The share that was asked for.
        asked: Share,
        /// The share that is left.
        pool: Share,
    },
}

/// Why arms cannot be added. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddArmsError {
    /// The other guarantees divide δ among a number of arms that is fixed before the first call.
    #[error("arms can be added only where the guarantee is Lent or Nothing")]
    NotLending,
    /// The question of a new arm would be unknown.
    #[error("an answer to a question is added by asking for one")]
    Questions,
    /// There would be more than [`ARMS_MAX`] arms.
    #[error("there can be at most {ARMS_MAX} arms")]
    Full,
}

impl Books {
    /// The loans and the pool; `None` if δ is not lent.
    pub const fn lending(&self) -> Option<&Lending> {
        self.arms.certifier.lending()
    }

    /// The part of δ that is left to lend; `None` if δ is not lent.
    pub fn pool(&self) -> Option<Share> {
        self.lending().map(Lending::pool)
    }

    /// The arm's share, or the one it had when it was certified.
    pub fn share(&self, arm: ArmId) -> Option<Share> {
        self.lending()?.share(arm)
    }

    /// The number of a pair's scores that prove nothing, because their calls came before the arm's loan.
    pub fn look_count(&self, arm: ArmId, attribute: AttributeId) -> u64 {
        let pair = self.pairs.get(arm, attribute);
        pair.evidence.begins_at.min(pair.tally.returned_count)
    }

    /// Lends an arm a share of δ. Its evidence begins here: only calls dispatched from now on count,
    /// with weights that may have been learned from everything before.
    pub fn lend(&mut self, arm: ArmId, share: Share) -> Result<Loan, LendError> {
        let lending = self.arms.lending_to(arm)?;
        if lending.share(arm).is_some() {
            return Err(LendError::AlreadyLent(arm));
        }
        if share == Share::NONE || share > lending.pool() {
            return Err(LendError::NotInPool { asked: share, pool: lending.pool() });
        }
        self.changes.clear();
        self.arms.certifier.lending_mut().ok_or(LendError::NotLending)?.lend(arm, share);
        let mut weights = FINGERPRINT_START;
        for attribute in self.problem.inexact() {
            let belief = self.belief(arm, attribute);
            let stream_len = self.stream_len(arm, attribute);
            for weight in self.pairs.begin_evidence((arm, attribute), belief, stream_len) {
                weights = (weights ^ weight.to_bits()).wrapping_mul(FINGERPRINT_FACTOR);
            }
        }
        self.changes.push(Change::Lent(arm));
        Ok(Loan { share, weights })
    }

    /// Takes the share of an arm back, as far as its evidence allows: α min(1, E), E the smallest
    /// present evidence of its attributes, with calls in flight counted as their lowest score. The
    /// arm may be lent another share later, and its evidence then begins again.
    pub fn release(&mut self, arm: ArmId) -> Result<(), LendError> {
        if self.arms.lending_to(arm)?.share(arm).is_none() {
            return Err(LendError::NothingLent(arm));
        }
        self.changes.clear();
        self.take_share_back(arm);
        Ok(())
    }

    pub(super) fn take_share_back(&mut self, arm: ArmId) {
        let inexact = self.problem.inexact();
        let log_e_min = (inexact.iter())
            .map(|&attribute| self.imputed(arm, attribute))
            .fold(f64::INFINITY, f64::min);
        let lending = self.arms.certifier.lending_mut().expect("a share was lent");
        lending.release(arm, log_e_min);
        for attribute in inexact {
            self.pairs.end_evidence(arm, attribute);
        }
        self.changes.push(Change::Released(arm));
    }

    /// Adds arms. They can be called and certified like the first arms, since δ was not divided among those in
    /// advance.
    pub fn add_arms(&mut self, count: usize) -> Result<(), AddArmsError> {
        if self.problem.questions().is_some() {
            return Err(AddArmsError::Questions);
        }
        if !matches!(self.problem.guarantee(), Guarantee::Lent | Guarantee::Nothing) {
            return Err(AddArmsError::NotLending);
        }
        if self.problem.arm_count().saturating_add(count) > ARMS_MAX {
            return Err(AddArmsError::Full);
        }
        self.changes.clear();
        self.problem.add_arms(count);
        self.arms.add(count);
        self.pairs.add_arms(count);
        Ok(())
    }
}

// FNV-1a, 64 bits at a time: it detects accidents, not forgeries.
const FINGERPRINT_START: u64 = 0xcbf2_9ce4_8422_2325;
const FINGERPRINT_FACTOR: u64 = 0x0000_0100_0000_01b3;
