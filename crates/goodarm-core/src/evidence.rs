//! What a pair's scores prove, under any policy.
//!
//! For each (arm, attribute) the evidence is a non-negative process that starts at one and cannot
//! be expected to grow while the mean is at most ξ. By Ville's inequality it reaches 1/α with
//! probability at most α, at any time, under any sampling method. Nothing here depends on policies.

pub(crate) mod binary;
pub(crate) mod bounded;
pub(crate) mod grid;
pub(crate) mod half_normal;
pub(crate) mod paper;
pub(crate) mod rates;
pub(crate) mod sub_gaussian;
pub(crate) mod weights;

use crate::evidence::binary::Binary;
use crate::evidence::bounded::{Bounded, Wealths};
use crate::evidence::grid::{BETS, BETS_AGAINST};
use crate::evidence::paper::PaperRadius;
use crate::evidence::sub_gaussian::SubGaussian;
use crate::evidence::weights::{Weights, WeightsId};
use crate::num::{Sum, real};
use crate::problem::{Guarantee, Problem, ScoreModel};
use crate::tally::Tally;
use crate::units::AttributeId;

/// The logs of six equal weights, -ln 6.
pub(crate) const UNIFORM_AGAINST: [f64; BETS_AGAINST] = [-1.791_759_469_228_055; BETS_AGAINST];

/// How an attribute's scores become evidence.
#[derive(Clone, Debug)]
pub(crate) enum Process {
    Paper(PaperRadius),
    SubGaussian(SubGaussian),
    Bounded(Bounded),
    Binary(Binary),
    Exact,
}

impl Process {
    pub(crate) fn new(problem: &Problem, attribute: AttributeId) -> Self {
        let declared = problem.attribute(attribute);
        let threshold = declared.threshold.max(THRESHOLD_MIN);
        let paper = |sigma: f64| {
            let log_inverse_delta = problem.delta().ln_inverse();
            PaperRadius::new(declared.threshold, sigma, problem.pair_count(), log_inverse_delta)
        };
        let is_paper = problem.guarantee() == Guarantee::Paper;
        match declared.scores {
            ScoreModel::Exact => Self::Exact,
            ScoreModel::SubGaussian { sigma, .. } if is_paper => Self::Paper(paper(sigma)),
            ScoreModel::Bounded { .. } | ScoreModel::Binary if is_paper => {
                Self::Paper(paper(declared.width()))
            }
            ScoreModel::SubGaussian { sigma, .. } => {
                Self::SubGaussian(SubGaussian::new(threshold, sigma))
            }
            ScoreModel::Bounded { lowest, highest } => {
                Self::Bounded(Bounded::new(declared.threshold, (lowest, highest)))
            }
            ScoreModel::Binary => Self::Binary(Binary::new(threshold)),
        }
    }

    /// The gaps that the bets of this process are for; `None` if it has no weights to learn.
    pub(crate) fn gaps(&self) -> Option<[f64; BETS]> {
        match self {
            Self::SubGaussian(process) => Some(process.gaps()),
            Self::Binary(process) => Some(process.gaps()),
            Self::Bounded(process) => Some(process.gaps()),
            Self::Paper(_) | Self::Exact => None,
        }
    }
}

/// The evidence of one pair, from its scores in dispatch order without gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Evidence {
    /// How many scores went in.
    pub(crate) count: u64,
    /// Σx for binary scores and the paper, Σ(x - ξ) for sub-Gaussian ones.
    sum: Sum,
    /// The number of scores before those that may prove something: 0, unless δ is lent.
    pub(crate) begins_at: u64,
    /// `sum` over the scores before `begins_at`.
    sum_before: Sum,
    /// The evidence as last computed: ln E, or the paper's L. It is the running maximum, or for false discovery
    /// the present value.
    pub(crate) value: f64,
    /// ln of the strongest evidence seen against a mean of at least ξ.
    pub(crate) against: f64,
    pub(crate) weights: WeightsId,
    /// With fewer successes than this, binary evidence cannot be enough.
    quiet_below: u32,
    /// No more calls: exact and asked, or blocked by a failure that has no safe score.
    pub(crate) closed: bool,
}

/// The tally and the evidence of an arm and an attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) tally: Tally,
    pub(crate) evidence: Evidence,
}

/// How the evidence of an attribute's pairs is computed.
#[derive(Clone, Copy)]
pub(crate) struct EvidenceMethod<'a> {
    pub(crate) process: &'a Process,
    pub(crate) weights: &'a Weights,
    pub(crate) threshold: f64,
    /// Evidence below this need not be computed, and evidence against the arm below `floor_against`.
    pub(crate) floor: f64,
    pub(crate) floor_against: f64,
    /// Whether the running maximum counts: then evidence that cannot raise it need not be computed. False
    /// for false discovery.
    pub(crate) keeps_maximum: bool,
}

impl Evidence {
    /// The evidence before any score: L = 0 with the paper's certificate, or -∞ if 0 reaches the threshold; -∞ for
    /// an exact attribute; otherwise ln E = 0.
    pub(crate) fn start(process: &Process, guarantee: Guarantee) -> Self {
        let value = match process {
            Process::Exact => f64::NEG_INFINITY,
            Process::Paper(paper) => paper.start(),
            _ => 0.0,
        };
        // Exact scores are not random, so they need no loan.
        let later = matches!(guarantee, Guarantee::Lent | Guarantee::Nothing)
            && !matches!(process, Process::Exact);
        let begins_at = if later { Self::NEVER } else { 0 };
        Self {
            count: 0,
            sum: Sum::ZERO,
            begins_at,
            sum_before: Sum::ZERO,
            value,
            against: 0.0,
            weights: WeightsId::UNSET,
            quiet_below: 0,
            closed: false,
        }
    }

    /// `begins_at` of a pair whose arm has no share of δ: no score proves anything.
    pub(crate) const NEVER: u64 = u64::MAX;

    /// Begins the evidence with the next call: the `stream_len` calls dispatched so far prove nothing.
    pub(crate) fn begin_after(&mut self, stream_len: u64, wealths: Option<&mut Wealths>) {
        self.begins_at = stream_len;
        self.value = 0.0;
        self.quiet_below = 0;
        self.is_before(wealths);
    }

    /// Takes the call at this position, which is not in the evidence yet, out of the stream.
    pub(crate) fn forget(&mut self, order: u64, wealths: Option<&mut Wealths>) {
        if order < self.begins_at && self.begins_at != Self::NEVER {
            self.begins_at -= 1;
            self.is_before(wealths);
        }
    }

    /// Passes over the next call of the stream, because this pair is blocked. The other pairs of the stream
    /// continue.
    pub(crate) fn skip(&mut self, wealths: Option<&mut Wealths>) {
        self.count += 1;
        self.is_before(wealths);
    }

    /// Whether none of the scores so far may prove something. If the next score is the first that may, remembers
    /// the sum so far and resets the gamblers.
    fn is_before(&mut self, wealths: Option<&mut Wealths>) -> bool {
        if self.count == self.begins_at {
            self.sum_before = self.sum;
            if let Some(wealths) = wealths {
                wealths.begin();
            }
        }
        self.count <= self.begins_at
    }

    /// How many scores may prove something.
    pub(crate) const fn count_since(&self) -> u64 {
        self.count.saturating_sub(self.begins_at)
    }

    /// Σx over the scores that may prove something; Σ(x - ξ) for sub-Gaussian scores.
    pub(crate) fn sum_since(&self) -> f64 {
        if self.count <= self.begins_at { 0.0 } else { self.sum.since(self.sum_before) }
    }

    /// Σ(x - ξ) over the scores that may prove something.
    pub(crate) fn excess_since(&self, process: &Process, threshold: f64) -> f64 {
        match process {
            Process::SubGaussian(_) => self.sum_since(),
            _ => self.sum_since() - threshold * real(self.count_since()),
        }
    }

    /// Takes the next score of the pair's stream.
    pub(crate) fn absorb(
        &mut self,
        method: EvidenceMethod<'_>,
        mut wealths: Option<&mut Wealths>,
        score: f64,
    ) {
        self.count += 1;
        match method.process {
            Process::Exact => {
                self.sum.add(score);
                let passes = score >= method.threshold;
                self.against = if passes { f64::NEG_INFINITY } else { f64::INFINITY };
                self.value = if passes { f64::INFINITY } else { f64::NEG_INFINITY };
                return;
            }
            Process::Paper(paper) => {
                self.sum.add(score);
                let mean = self.sum.get() / real(self.count);
                paper.raise(self.count, mean, &mut self.value, &mut self.against);
                return;
            }
            Process::SubGaussian(process) => {
                self.sum.add(score - method.threshold);
                let excess = self.sum.get();
                if excess < 0.0
                    && process.log_e_against_max(self.count, excess) >= method.floor_against
                {
                    self.against = self.against.max(process.log_e_against(self.count, excess));
                }
            }
            Process::Binary(process) => {
                self.sum.add(score);
                let successes = self.sum.get();
                if successes < method.threshold * real(self.count)
                    && process.log_e_against_max(self.count, successes) >= method.floor_against
                {
                    self.against = self.against.max(process.log_e_against(self.count, successes));
                }
            }
            Process::Bounded(process) => {
                let wealths = wealths.as_deref_mut().expect("a bounded attribute has gamblers");
                self.sum.add(score);
                process.absorb(wealths, score);
                if self.sum.get() < method.threshold * real(self.count)
                    && Bounded::may_reach_against(method.floor_against, wealths)
                {
                    self.against = self.against.max(process.log_e_against(wealths));
                }
            }
        }
        if self.is_before(wealths.as_deref_mut()) {
            return;
        }
        if !method.keeps_maximum {
            self.value = self.present(method, wealths.as_deref());
        } else if let Process::Binary(process) = method.process {
            self.look_at_binary(process, method);
        } else if self.excess_since(method.process, method.threshold) > 0.0
            && self.may_reach(method, wealths.as_deref())
        {
            self.value = self.value.max(self.present(method, wealths.as_deref()));
        }
    }

    /// Binary evidence is computed only when there are enough successes for it to be enough.
    fn look_at_binary(&mut self, process: &Binary, method: EvidenceMethod<'_>) {
        let (count, successes) = (self.count_since(), self.sum_since());
        if successes < f64::from(self.quiet_below) || successes <= method.threshold * real(count) {
            return;
        }
        let mut log_e = process.log_e_max(count, successes);
        if log_e >= method.floor {
            log_e = process.log_e(method.weights.row(self.weights), count, successes);
            self.value = self.value.max(log_e);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let quiet_below = (successes + (method.floor - log_e) / process.gain_max()) as u32;
        self.quiet_below = quiet_below;
    }

    /// Whether the evidence can be at least the floor: a quick test that errs on the side of yes.
    fn may_reach(&self, method: EvidenceMethod<'_>, wealths: Option<&Wealths>) -> bool {
        let (count, sum) = (self.count_since(), self.sum_since());
        match method.process {
            Process::Exact | Process::Paper(_) | Process::Binary(_) => true,
            Process::SubGaussian(process) => process.log_e_max(count, sum) >= method.floor,
            Process::Bounded(_) => {
                wealths.is_some_and(|wealths| Bounded::may_reach(method.floor, wealths))
            }
        }
    }

    /// ln E as it is now, from the scores that may prove something.
    pub(crate) fn present(&self, method: EvidenceMethod<'_>, wealths: Option<&Wealths>) -> f64 {
        if self.count_since() == 0 {
            return 0.0;
        }
        let weights = || method.weights.row(self.weights);
        let present = match method.process {
            Process::Exact | Process::Paper(_) => self.value,
            Process::SubGaussian(process) => {
                process.log_e(weights(), self.count_since(), self.sum_since())
            }
            Process::Binary(process) => {
                process.log_e(weights(), self.count_since(), self.sum_since())
            }
            Process::Bounded(process) => {
                process.log_e(weights(), wealths.expect("a bounded attribute has gamblers"))
            }
        };
        assert!(!present.is_nan(), "evidence is a number");
        present
    }
}

/// Below this 1/ξ² overflows. A mean that exceeds a higher threshold exceeds the declared one.
const THRESHOLD_MIN: f64 = 1e-140;

#[cfg(test)]
mod tests;
