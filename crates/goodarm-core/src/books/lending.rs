//! Shares of δ that arms are lent, and arms that join; only where the guarantee is
//! [`Guarantee::Lent`](crate::Guarantee::Lent).

use thiserror::Error;

use crate::books::{Arm, Books, Change};
use crate::call::{Loan, Target};
use crate::evidence::Evidence;
use crate::guarantee::Certifier;
use crate::guarantee::lent::Lent;
use crate::problem::ARMS_MAX;
use crate::units::{ArmId, AttributeId, Share};

/// Why nothing can be lent or given back. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LendError {
    /// Another guarantee shares δ in another way.
    #[error("only the guarantee Lent lends shares of δ")]
    NotLending,
    /// There is no such arm.
    #[error("there is no arm {0}")]
    NoSuchArm(ArmId),
    /// The arm is certified, or can never be.
    #[error("arm {0} takes no more pulls")]
    ArmLeft(ArmId),
    /// A second loan would need evidence of its own.
    #[error("arm {0} has a share already")]
    AlreadyLent(ArmId),
    /// It has nothing to give back.
    #[error("arm {0} has no share")]
    NothingLent(ArmId),
    /// A share is more than nothing and at most what the pool holds.
    #[error("a share of {} is not more than 0 and at most {}, which is what is left", asked.fraction(), pool.fraction())]
    NotInPool {
        /// What was asked for.
        asked: Share,
        /// What there is.
        pool: Share,
    },
}

/// Why arms cannot join. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AddArmsError {
    /// The other guarantees divide δ among a number of arms that is fixed before the first call.
    #[error("arms can be added only where the guarantee is Lent or Nothing")]
    NotLending,
    /// Which question would they answer?
    #[error("an answer to a question is added by asking for one")]
    Questions,
    /// There would be more than [`ARMS_MAX`] arms.
    #[error("there can be at most {ARMS_MAX} arms")]
    Full,
}

impl Books {
    /// What is left of δ to lend; none where δ is not lent.
    pub fn pool(&self) -> Option<Share> {
        self.certifier.lent().map(Lent::pool)
    }

    /// What the arm has been lent, or had when it was certified.
    pub fn share(&self, arm: ArmId) -> Option<Share> {
        self.certifier.lent()?.share(arm)
    }

    /// How many shares are out: lent, and neither returned nor released.
    pub fn shares_out_count(&self) -> usize {
        self.certifier.lent().map_or(0, Lent::out_count)
    }

    /// How many shares were taken back without much of them being left.
    pub(crate) fn shares_lost_count(&self) -> usize {
        self.certifier.lent().map_or(0, Lent::lost_count)
    }

    /// How many of a pair's scores prove nothing, because their calls came before the arm's loan.
    pub fn look_count(&self, arm: ArmId, attribute: AttributeId) -> u64 {
        let pair = self.pair(arm, attribute);
        pair.evidence.begins_at.min(pair.tally.returned_count)
    }

    /// An equal part of the pool for every arm that takes pulls and has no share; nothing where δ
    /// is not lent.
    pub fn equal_share(&self) -> Share {
        self.certifier.lent().map_or(Share::NONE, |lent| lent.pool().divided(lent.idle_count()))
    }

    /// Lends an arm a share of δ. Its evidence begins here: only calls dispatched from now on count,
    /// with weights that may have been learned from everything before.
    pub fn lend(&mut self, arm: ArmId, share: Share) -> Result<Loan, LendError> {
        let lent = self.lending(arm)?;
        if lent.share(arm).is_some() {
            return Err(LendError::AlreadyLent(arm));
        }
        if share == Share::NONE || share > lent.pool() {
            return Err(LendError::NotInPool { asked: share, pool: lent.pool() });
        }
        self.changes.clear();
        self.certifier.lent_mut().ok_or(LendError::NotLending)?.lend(arm, share);
        let mut weights = FINGERPRINT_START;
        for attribute in self.problem.inexact() {
            let belief = self.belief(arm, attribute);
            let stream_len = self.stream_len(arm, attribute);
            let (pair, wealths) = self.pairs.with_wealths(arm, attribute);
            let state = &mut self.attributes[attribute.index()];
            let before = pair.evidence.weights;
            let row = state.weights.freeze_for(&state.process, belief.into(), before);
            pair.evidence.weights = row;
            pair.evidence.begin_after(stream_len, wealths);
            for weight in state.weights.row(row) {
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
        if self.lending(arm)?.share(arm).is_none() {
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
        let lent = self.certifier.lent_mut().expect("a share was lent");
        lent.release(arm, log_e_min);
        for attribute in inexact {
            let evidence = &mut self.pairs.get_mut(arm, attribute).evidence;
            evidence.begins_at = Evidence::NEVER;
            evidence.held = 0.0;
        }
        self.changes.push(Change::Released(arm));
    }

    /// More arms, which can be asked about and certified as if they had been there from the start:
    /// nothing of δ was set aside for those that were.
    pub fn add_arms(&mut self, count: usize) -> Result<(), AddArmsError> {
        if self.problem.questions().is_some() {
            return Err(AddArmsError::Questions);
        }
        let arm_count = self.problem.arm_count().saturating_add(count);
        let is_full = arm_count > ARMS_MAX;
        match (&mut self.certifier, is_full) {
            (Certifier::Lent(_) | Certifier::Nothing, true) => return Err(AddArmsError::Full),
            (Certifier::Lent(lent), false) => lent.add_arms(count),
            (Certifier::Nothing, false) => {}
            _ => return Err(AddArmsError::NotLending),
        }
        self.changes.clear();
        self.problem.add_arms(count);
        self.arms.resize(arm_count, Arm::START);
        self.pairs.add_arms(count, &self.attributes, self.problem.guarantee());
        Ok(())
    }

    /// A loan before a call is to the arm of the call, or to an answer of its question.
    pub(crate) fn check_borrower(&self, arm: ArmId, target: Target) -> Result<(), LendError> {
        let belongs = match target {
            Target::Arm(of, _) => of == arm,
            Target::Question(question, _) => {
                let questions = self.problem.questions();
                arm.index() < self.arms.len() && questions.is_some_and(|it| it.of(arm) == question)
            }
        };
        if belongs { Ok(()) } else { Err(LendError::NoSuchArm(arm)) }
    }

    fn lending(&self, arm: ArmId) -> Result<&Lent, LendError> {
        let lent = self.certifier.lent().ok_or(LendError::NotLending)?;
        if arm.index() >= self.arms.len() {
            Err(LendError::NoSuchArm(arm))
        } else if !self.is_active(arm) {
            Err(LendError::ArmLeft(arm))
        } else {
            Ok(lent)
        }
    }
}

// FNV-1a, 64 bits at a time: it tells accidents apart, not forgeries.
const FINGERPRINT_START: u64 = 0xcbf2_9ce4_8422_2325;
const FINGERPRINT_FACTOR: u64 = 0x0000_0100_0000_01b3;
