//! What is decided about each arm: certificates, rejections, and whether it still takes calls.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::books::lending::LendError;
use crate::call::Source;
use crate::guarantee::lending::Lending;
use crate::guarantee::{Certificate, Certifier, RejectionLevel};
use crate::problem::{Guarantee, Problem};
use crate::tally::Tally;
use crate::units::{ArmId, AttributeId};

/// What is known about an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmStatus {
    /// Neither certified nor rejected.
    Undecided,
    /// Every attribute's evidence is enough. Final.
    Certified,
    /// Some attribute's evidence is against the arm, or an exact verifier failed it. This status is for reports and
    /// policies: unless an exact verifier failed it, the arm may still be certified.
    Rejected,
}

impl ArmStatus {
    /// Every status, in the order in which reports show them.
    pub const ALL: [Self; 3] = [Self::Certified, Self::Undecided, Self::Rejected];

    /// Its name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Certified => "certified",
            Self::Undecided => "undecided",
            Self::Rejected => "rejected",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Arm {
    status: ArmStatus,
    left: bool,
    /// Whether a call about the arm was ever dispatched; with a million arms, most have none.
    touched: bool,
    /// The source of an answer that was made or proposed during the run; `None` for an answer that was given.
    origin: Option<Source>,
}

impl Arm {
    const START: Self =
        Self { status: ArmStatus::Undecided, left: false, touched: false, origin: None };
}

/// The state of all arms, and the guarantee that certifies them.
#[derive(Clone, Debug)]
pub(crate) struct Arms {
    list: Vec<Arm>,
    left_count: usize,
    pub(super) certified: Vec<ArmId>,
    certified_levels: BTreeMap<ArmId, f64>,
    pub(super) certifier: Certifier,
    rejection_level: RejectionLevel,
    /// Evidence is computed only if it may be higher than its level minus this.
    floor_below_level: f64,
}

/// Evidence below these values need not be computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Floors {
    pub(super) of_evidence: f64,
    /// The floor of evidence against the arm; above it, this evidence rejects the arm.
    pub(super) against: f64,
}

impl Arms {
    pub(super) fn new(problem: &Problem) -> Self {
        Self {
            list: vec![Arm::START; problem.arm_count()],
            left_count: 0,
            certified: Vec::new(),
            certified_levels: BTreeMap::new(),
            certifier: Certifier::new(problem),
            rejection_level: RejectionLevel::new(problem),
            // Under other guarantees levels may fall, so a maximum slightly below the level must be known as well.
            floor_below_level: if problem.guarantee() == Guarantee::Lent { 0.0 } else { 1.0 },
        }
    }

    pub(super) fn add(&mut self, count: usize) {
        self.list.resize(self.list.len() + count, Arm::START);
        self.certifier.add_arms(count);
    }

    pub(super) fn add_answer(&mut self, origin: Source) {
        self.list.push(Arm { origin: Some(origin), ..Arm::START });
        self.certifier.add_arms(1);
    }

    /// The loans, if this arm may be lent a share or release one.
    pub(super) fn lending_to(&self, arm: ArmId) -> Result<&Lending, LendError> {
        let lending = self.certifier.lending().ok_or(LendError::NotLending)?;
        if arm.index() >= self.list.len() {
            Err(LendError::NoSuchArm(arm))
        } else if !self.is_active(arm) {
            Err(LendError::ArmLeft(arm))
        } else {
            Ok(lending)
        }
    }

    pub(super) const fn active_count(&self) -> usize {
        self.list.len() - self.left_count
    }

    pub(super) fn status(&self, arm: ArmId) -> ArmStatus {
        self.list[arm.index()].status
    }

    pub(super) fn is_active(&self, arm: ArmId) -> bool {
        !self.list[arm.index()].left
    }

    /// Whether a call about the arm was ever dispatched.
    pub(crate) fn is_touched(&self, arm: ArmId) -> bool {
        self.list[arm.index()].touched
    }

    pub(super) fn touch(&mut self, arm: ArmId) {
        self.list[arm.index()].touched = true;
    }

    pub(super) fn touched(&self) -> impl Iterator<Item = ArmId> + Clone + '_ {
        let touched = self.list.iter().enumerate().filter(|(_, arm)| arm.touched);
        touched.map(|(index, _)| ArmId::at(index))
    }

    pub(super) fn origin(&self, arm: ArmId) -> Option<Source> {
        self.list[arm.index()].origin
    }

    /// A tally without the vote that proposed the arm: that vote is always for it.
    pub(crate) fn without_proposing_vote(
        &self,
        arm: ArmId,
        attribute: AttributeId,
        tally: &Tally,
    ) -> Tally {
        let mut tally = *tally;
        if self.origin(arm) == Some(Source::Votes(attribute)) && tally.returned_count > 0 {
            tally.returned_count -= 1;
            tally.sum -= 1.0;
        }
        tally
    }

    /// How far above its base (0, or ξ with the paper's certificate) the evidence of every attribute must be.
    #[inline]
    pub(crate) fn level(&self, arm: ArmId) -> f64 {
        match self.list[arm.index()].status {
            ArmStatus::Certified => self.certified_levels[&arm],
            ArmStatus::Undecided | ArmStatus::Rejected => self.certifier.level(arm),
        }
    }

    /// The level for an answer that does not exist yet, where nothing is lent.
    pub(crate) fn level_of_fresh(&self) -> f64 {
        // Without loans, all answers to questions have the same level.
        self.certifier.level(ArmId(0))
    }

    pub(super) fn floors(&self, arm: ArmId, attribute: AttributeId) -> Floors {
        Floors {
            of_evidence: self.certifier.level(arm) - self.floor_below_level,
            against: self.rejection_level.of(arm, attribute),
        }
    }

    /// Rejects an arm that is undecided.
    pub(super) fn reject(&mut self, arm: ArmId) {
        let status = &mut self.list[arm.index()].status;
        if *status == ArmStatus::Undecided {
            *status = ArmStatus::Rejected;
        }
    }

    pub(super) fn certify(&mut self, Certificate { arm, level }: Certificate) {
        assert!(self.is_active(arm), "an arm is certified once, and never after it failed");
        self.list[arm.index()].status = ArmStatus::Certified;
        self.certified.push(arm);
        self.certified_levels.insert(arm, level);
    }

    /// The arm takes no more calls.
    pub(super) fn leave(&mut self, arm: ArmId) {
        self.list[arm.index()].left = true;
        self.left_count += 1;
        self.certifier.leave(arm);
    }
}
