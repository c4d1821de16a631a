//! From evidence to certificates and rejections.

use alloc::vec::Vec;

use crate::books::{Books, Change};
use crate::call::Target;
use crate::guarantee::Certificate;
use crate::problem::Guarantee;
use crate::units::{ArmId, AttributeId};

impl Books {
    pub(super) fn absorb(&mut self, arm: ArmId, attribute: AttributeId, score: f64) {
        let floors = self.arms.floors(arm, attribute);
        if self.pairs.absorb((arm, attribute), floors, score) {
            self.arms.reject(arm);
        }
    }

    /// Certifies what can be certified after a score of one attribute, if that attribute's evidence is
    /// enough for any certificate.
    pub(super) fn reconsider_after(&mut self, arm: ArmId, attribute: AttributeId) {
        let margin = self.pairs.margin(arm, attribute);
        let enough = match self.problem.guarantee() {
            Guarantee::Paper => margin >= 0.0,
            // No level is ever below ln(1/δ).
            Guarantee::Union | Guarantee::Holm | Guarantee::Lent => {
                margin >= self.problem.delta().ln_inverse()
            }
            // A falling value matters as well.
            Guarantee::FalseDiscovery => true,
            Guarantee::Nothing => false,
        };
        if enough {
            self.reconsider(arm);
        }
    }

    /// Certifies what can be certified after the evidence of an arm may have changed.
    pub(super) fn reconsider(&mut self, arm: ArmId) {
        if !self.is_active(arm) {
            return;
        }
        let attributes = || self.problem.attributes();
        let mut evidence = attributes()
            .map(|attribute| self.pairs.margin(arm, attribute))
            .fold(f64::INFINITY, f64::min);
        // Imputed scores are expensive, and no level is ever below ln(1/δ).
        if self.problem.guarantee() == Guarantee::FalseDiscovery
            && evidence >= self.problem.delta().ln_inverse()
        {
            evidence = attributes()
                .map(|attribute| self.imputed(arm, attribute) - self.pairs.base(attribute))
                .fold(f64::INFINITY, f64::min);
        }
        let certificates = self.arms.certifier.update(arm, evidence);
        self.certify(certificates);
    }

    fn certify(&mut self, certificates: Vec<Certificate>) {
        for certificate in certificates {
            self.arms.certify(certificate);
            self.leave(certificate.arm);
            self.close_question_of(certificate.arm);
        }
    }

    /// Retires an arm that did not pass an exact verifier. `is_scored` is false for a failed call that counts as 0:
    /// the verifier did not judge the arm, so it is not rejected, and no other arm gets its part of δ.
    pub(super) fn reconsider_exact(&mut self, arm: ArmId, attribute: AttributeId, is_scored: bool) {
        if !self.problem.attribute(attribute).is_exact()
            || self.is_resolved(arm, attribute)
            || self.evidence_count(arm, attribute) == 0
        {
            return;
        }
        if is_scored {
            self.arms.reject(arm);
        }
        if !self.is_active(arm) || self.problem.guarantee() == Guarantee::Nothing {
            return;
        }
        self.leave(arm);
        if is_scored {
            let certificates = self.arms.certifier.exclude_exactly_bad(arm);
            self.certify(certificates);
        }
    }

    /// The arm takes no more calls.
    pub(super) fn leave(&mut self, arm: ArmId) {
        self.arms.leave(arm);
        self.drop_retries(|target| matches!(target, Target::Arm(of, _) if of == arm));
        if let Some(questions) = self.problem.questions() {
            self.drop_useless_retries(questions.of(arm));
        }
        self.changes.push(Change::Retired(arm));
    }

    /// A pair's present evidence, not its maximum, with every call that is not back counted as its lowest score.
    /// Whether a call is back may depend on its score, so an expected value must include the calls that are not.
    pub(super) fn imputed(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        let evidence = &self.pairs.get(arm, attribute).evidence;
        let missing = evidence.count..self.stream_len(arm, attribute);
        if missing.is_empty() && self.problem.guarantee() == Guarantee::FalseDiscovery {
            return evidence.value;
        }
        // A score that no number can replace is among the missing ones.
        if self.is_blocked(arm, attribute) {
            return f64::NEG_INFINITY;
        }
        let lowest = self.problem.attribute(attribute).lowest_score();
        let scores = missing.map(|order| self.early_score(arm, attribute, order).unwrap_or(lowest));
        self.pairs.present_after((arm, attribute), scores)
    }
}
