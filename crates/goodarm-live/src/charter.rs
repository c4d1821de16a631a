//! What a run was promised to be: written into its journal first, never changed after, but for a
//! budget that is raised. Everything that a certificate depends on is in it.

use goodarm_core::{AttributeSpec, Guarantee, Problem, ProblemSpec, ScoreModel, SpecError};
use serde::{Deserialize, Serialize};

use crate::job_file::{GuaranteeName, JobFile, Kind, ScoresFile, Unit};
use crate::toml_text;

/// The terms of a run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Charter {
    /// What money counts.
    pub unit: Unit,
    /// The budget at the start.
    pub budget: f64,
    /// The error probability.
    pub delta: f64,
    /// What it bounds.
    pub guarantee: GuaranteeName,
    /// Who chooses the calls.
    pub policy: String,
    /// Stop when there is no realistic chance left.
    pub stop_when_hopeless: bool,
    /// How many candidates there are.
    pub candidate_count: usize,
    /// The verifiers, in order.
    pub verifiers: Vec<Clause>,
    /// The job file, as text.
    pub job: String,
}

/// The terms of one verifier.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Clause {
    /// What reports call it.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The mean score to be reached.
    pub threshold: f64,
    /// What is known of its scores.
    pub scores: ScoresFile,
    /// The most that a call may cost.
    pub ceiling: f64,
    /// Whether calls may cost less.
    pub metered: bool,
}

/// Why a recorded charter is none.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CharterError {
    /// Not what this version writes.
    #[error("the charter cannot be read: {0}")]
    Unreadable(String),
    /// It states no problem.
    #[error("the charter states no problem: {0}")]
    Problem(#[from] SpecError),
}

impl Charter {
    /// From the text in a journal.
    pub fn read(text: &str) -> Result<Self, CharterError> {
        serde_json::from_str(text).map_err(|error| CharterError::Unreadable(error.to_string()))
    }

    /// For a journal.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("a charter is plain data with text keys")
    }

    /// The field that names a candidate, or why it is not known.
    pub fn id_field(&self) -> Result<String, String> {
        Ok(toml_text::parse::<JobFile>(&self.job)?.id_field)
    }

    /// The problem that the run solves.
    pub fn problem(&self) -> Result<Problem, CharterError> {
        let spec = ProblemSpec {
            arms: self.candidate_count,
            attributes: self.verifiers.iter().map(Clause::spec).collect(),
            budget: self.budget,
            delta: self.delta,
            guarantee: self.guarantee.into(),
            prior_weights: None,
        };
        Ok(Problem::new(spec)?)
    }
}

impl Clause {
    fn spec(&self) -> AttributeSpec {
        AttributeSpec {
            name: self.name.clone(),
            price: self.ceiling,
            threshold: self.threshold,
            scores: self.scores.into(),
        }
    }
}

impl From<GuaranteeName> for Guarantee {
    fn from(name: GuaranteeName) -> Self {
        match name {
            GuaranteeName::Holm => Self::Holm,
            GuaranteeName::Union => Self::Union,
            GuaranteeName::Fdr => Self::FalseDiscovery,
            GuaranteeName::Paper => Self::Paper,
        }
    }
}

impl From<ScoresFile> for ScoreModel {
    fn from(scores: ScoresFile) -> Self {
        match scores {
            ScoresFile::Binary => Self::Binary,
            ScoresFile::Bounded => Self::Bounded,
            ScoresFile::Exact => Self::Exact,
            ScoresFile::SubGaussian { sigma, lowest } => Self::SubGaussian { sigma, lowest },
        }
    }
}
