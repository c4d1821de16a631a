//! An instance: the declared problem, the truth, and the verifiers.

use std::sync::Arc;

use goodarm_core::{ArmId, AttributeSpec, ScoredBy};

use crate::questions::world::QuestionWorld;
use crate::theory::{Complexity, Test};
use crate::world::{ScoreLaw, Verifiers};

/// One instance of the problem, without budget and δ.
#[derive(Clone)]
pub struct Instance {
    /// Prices, thresholds, score models.
    pub attributes: Vec<AttributeSpec>,
    /// The average cost of a call of each attribute.
    pub costs: Vec<f64>,
    /// The law of each attribute's scores.
    pub laws: Vec<ScoreLaw>,
    /// `means[arm][attribute]`.
    pub means: Vec<Vec<f64>>,
    /// The kind of each arm, as an index into `type_names`.
    pub types: Vec<usize>,
    /// Names of the kinds of arms.
    pub type_names: Vec<String>,
    /// Whether each arm's answer is right, if that is known; only for use after the run.
    pub right: Option<Vec<bool>>,
    /// The verifiers that are called.
    pub verifiers: Arc<dyn Verifiers + Send + Sync>,
    /// Which calls score each attribute; if empty, each attribute has its own calls.
    pub scored_by: Vec<ScoredBy>,
    /// Questions, instead of arms with means: `means` is empty then.
    pub questions: Option<Arc<QuestionWorld>>,
}

impl Instance {
    /// The complexities h, T* and K(b).
    pub fn complexity(&self) -> Complexity {
        let lead = |(index, by): (usize, &ScoredBy)| match by {
            ScoredBy::CallsOf(lead) => *lead,
            ScoredBy::OwnCalls | ScoredBy::Votes { .. } => index,
        };
        let leads: Vec<usize> = self.scored_by.iter().enumerate().map(lead).collect();
        match leads.is_empty() {
            true => Complexity::new(&self.means, &self.tests()),
            false => Complexity::shared(&self.means, &self.tests(), &leads),
        }
    }

    /// Price, threshold and law of each attribute.
    pub fn tests(&self) -> Vec<Test> {
        self.attributes
            .iter()
            .zip(self.costs.iter().zip(&self.laws))
            .map(|(attribute, (&price, &law))| Test { price, threshold: attribute.threshold, law })
            .collect()
    }

    /// Whether every mean of the arm reaches its threshold.
    pub fn is_good(&self, arm: ArmId) -> bool {
        let tests = self.attributes.iter();
        self.means[arm.index()].iter().zip(tests).all(|(mean, test)| *mean >= test.threshold)
    }
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance")
            .field("attributes", &self.attributes)
            .field("arms", &self.means.len())
            .finish_non_exhaustive()
    }
}
