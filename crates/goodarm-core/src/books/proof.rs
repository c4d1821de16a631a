//! What the scores prove: evidence in dispatch order, certificates, rejections.

use crate::books::{ArmStatus, AttributeState, Books, Change};
use crate::call::Target;
use crate::evidence::{Process, Rule};
use crate::guarantee::Certificate;
use crate::problem::{Guarantee, Problem};
use crate::units::{ArmId, AttributeId};

impl Books {
    pub(super) fn absorb(&mut self, arm: ArmId, attribute: AttributeId, score: f64) {
        let rule = Rule {
            floor: self.certifier.level(arm) - self.floor_below_level,
            floor_against: self.rejection_level.of(arm, attribute),
            ..rule(&self.problem, &self.attributes, attribute)
        };
        let (pair, wealths) = self.pairs.with_wealths(arm, attribute);
        pair.evidence.absorb(rule, wealths, score);
        let rejects = pair.evidence.against > self.rejection_level.of(arm, attribute);
        // Whether an exact verifier has spoken, or merely failed, is known elsewhere.
        let is_exact = self.problem.attribute(attribute).is_exact();
        if rejects && !is_exact && self.arms[arm.index()].status == ArmStatus::Undecided {
            self.arms[arm.index()].status = ArmStatus::Rejected;
        }
    }

    /// A score of one attribute is in: only if that is enough for some certificate can the arm be.
    pub(super) fn reconsider_after(&mut self, arm: ArmId, attribute: AttributeId) {
        let margin = self.held(arm, attribute) - self.base(attribute);
        let enough = match self.problem.guarantee() {
            Guarantee::Paper => margin >= 0.0,
            // No level is ever below ln(1/δ).
            Guarantee::Union | Guarantee::Holm | Guarantee::Lent => {
                margin >= self.problem.delta().ln_inverse()
            }
            // A falling value matters too.
            Guarantee::FalseDiscovery => true,
            Guarantee::Nothing => false,
        };
        if enough {
            self.reconsider(arm);
        }
    }

    /// An arm's evidence may have changed: certify what can be certified.
    pub(super) fn reconsider(&mut self, arm: ArmId) {
        if !self.is_active(arm) {
            return;
        }
        let smallest = |evidence: &dyn Fn(AttributeId) -> f64| {
            let margin = |attribute| evidence(attribute) - self.base(attribute);
            self.problem.attributes().map(margin).fold(f64::INFINITY, f64::min)
        };
        let mut evidence = smallest(&|attribute| self.held(arm, attribute));
        // Looking closer costs time, and no level is ever below ln(1/δ).
        if self.problem.guarantee() == Guarantee::FalseDiscovery
            && evidence >= self.problem.delta().ln_inverse()
        {
            evidence = smallest(&|attribute| self.imputed(arm, attribute));
        }
        for certificate in self.certifier.update(arm, evidence) {
            self.certify(certificate);
        }
    }

    /// `is_said` is false for a failure that merely counts as 0: it is not the verifier's word, so it frees no
    /// other arm's δ.
    pub(super) fn reconsider_exact(&mut self, arm: ArmId, attribute: AttributeId, is_said: bool) {
        if !self.is_failed(arm, attribute) {
            return;
        }
        if is_said && self.status(arm) == ArmStatus::Undecided {
            self.arms[arm.index()].status = ArmStatus::Rejected;
        }
        if !self.is_active(arm) || self.problem.guarantee() == Guarantee::Nothing {
            return;
        }
        self.leave(arm);
        if is_said {
            for certificate in self.certifier.exclude_exactly_bad(arm) {
                self.certify(certificate);
            }
        }
    }

    /// Whether an exact verifier has failed the arm.
    pub(super) fn is_failed(&self, arm: ArmId, attribute: AttributeId) -> bool {
        self.problem.attribute(attribute).is_exact()
            && !self.is_resolved(arm, attribute)
            && self.evidence_count(arm, attribute) > 0
    }

    fn certify(&mut self, Certificate { arm, level }: Certificate) {
        assert!(self.is_active(arm), "an arm is certified once, and never after it failed");
        self.arms[arm.index()].status = ArmStatus::Certified;
        self.certified.push(arm);
        self.certified_levels.insert(arm, level);
        self.leave(arm);
        self.close_question_of(arm);
    }

    pub(super) fn leave(&mut self, arm: ArmId) {
        self.arms[arm.index()].left = true;
        self.arms_left_count += 1;
        self.certifier.leave(arm);
        self.drop_owed(|target| matches!(target, Target::Arm(of, _) if of == arm));
        if let Some(questions) = self.problem.questions() {
            self.drop_useless_retries(questions.of(arm));
        }
        self.changes.push(Change::Left(arm));
    }

    /// A pair's present evidence, not its maximum, with every call that is not back counted as its
    /// lowest score. "Not back" tells something about a score, so for expected values it must not be
    /// an excuse.
    pub(super) fn imputed(&self, arm: ArmId, attribute: AttributeId) -> f64 {
        let pair = self.pair(arm, attribute);
        let stream_len = self.stream_len(arm, attribute);
        let drained = stream_len == pair.evidence.count;
        if drained && self.problem.guarantee() == Guarantee::FalseDiscovery {
            return pair.evidence.held;
        }
        let lowest = match self.problem.attribute(attribute).lowest_score() {
            // A score that no number can stand for is among those that are missing.
            _ if self.is_blocked(arm, attribute) => return f64::NEG_INFINITY,
            Some(lowest) => lowest,
            None if drained => 0.0,
            None => return f64::NEG_INFINITY,
        };
        let rule = Rule { keeps_maximum: false, ..self.rule(attribute) };
        let mut evidence = pair.evidence;
        let mut wealths = self.wealths(arm, attribute).copied();
        for order in evidence.count..stream_len {
            let Some(score) = self.early_score(arm, attribute, order).unwrap_or(Some(lowest))
            else {
                return f64::NEG_INFINITY;
            };
            evidence.absorb(rule, wealths.as_mut(), score);
        }
        evidence.present(rule, wealths.as_ref())
    }

    pub(super) fn rule(&self, attribute: AttributeId) -> Rule<'_> {
        rule(&self.problem, &self.attributes, attribute)
    }

    /// What the evidence of an attribute is measured from: ξ where it is the paper's L.
    #[inline]
    pub(crate) fn base(&self, attribute: AttributeId) -> f64 {
        match self.attributes[attribute.index()].process {
            Process::Paper(_) => self.problem.attribute(attribute).threshold(),
            _ => 0.0,
        }
    }
}

fn rule<'a>(
    problem: &Problem,
    attributes: &'a [AttributeState],
    attribute: AttributeId,
) -> Rule<'a> {
    let state = &attributes[attribute.index()];
    Rule {
        process: &state.process,
        weights: &state.weights,
        threshold: problem.attribute(attribute).threshold(),
        floor: f64::NEG_INFINITY,
        floor_against: f64::NEG_INFINITY,
        keeps_maximum: problem.guarantee() != Guarantee::FalseDiscovery,
    }
}
