//! Reads a problem file: a problem in JSON, with its policy and scores.

mod observations;

use goodarm_core::policy::{self, Parameters, Policy, PolicyError};
use goodarm_core::{AttributeSpec, Guarantee, Options, Problem, ProblemSpec, SpecError};
use goodarm_files::json_text;
use goodarm_files::{GuaranteeName, Scores};
use goodarm_lab::lab_error::LabError;
use serde::{Deserialize, Deserializer, de};

pub(crate) use crate::problem_file::observations::Observations;

/// The content of a problem file, checked.
pub(crate) struct ProblemFile {
    pub(crate) problem: Problem,
    pub(crate) policy: Box<dyn Policy + Send>,
    pub(crate) options: Options,
    pub(crate) observations: Observations,
    pub(crate) pulls_max: Option<u64>,
}

/// Checks the length of a list; `what` is for example "a list for each arm".
pub(crate) fn check_count(
    path: &str,
    found: usize,
    wanted: usize,
    what: &str,
) -> Result<(), LabError> {
    if found == wanted {
        return Ok(());
    }
    Err(LabError::about(path, format!("expected {what}, which is {wanted}, found {found}")))
}

/// The keys as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct Keys {
    arms: usize,
    verifiers: Vec<VerifierFile>,
    budget: f64,
    delta: f64,
    observations: Vec<Vec<Vec<f64>>>,
    #[serde(default)]
    policy: PolicyName,
    guarantee: Option<GuaranteeName>,
    means: Option<Vec<Vec<f64>>>,
    allocation_constant: Option<f64>,
    #[serde(default)]
    unresolved_only: bool,
    #[serde(default)]
    stop_when_hopeless: bool,
    pulls_max: Option<u64>,
}

/// One verifier.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
struct VerifierFile {
    name: String,
    price: f64,
    threshold: f64,
    #[serde(default = "scores_of_the_paper")]
    scores: Scores,
}

const fn scores_of_the_paper() -> Scores {
    Scores::OF_THE_PAPER
}

impl From<VerifierFile> for AttributeSpec {
    fn from(file: VerifierFile) -> Self {
        let VerifierFile { name, price, threshold, scores } = file;
        Self { name, price, expected: None, threshold, scores: scores.into() }
    }
}

/// One of the built-in policies.
struct PolicyName(&'static str);

impl Default for PolicyName {
    fn default() -> Self {
        Self(policy::NAMES[0])
    }
}

impl<'de> Deserialize<'de> for PolicyName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = policy::NAMES.into_iter().find(|known| *known == name);
        known.map(Self).ok_or_else(|| de::Error::unknown_variant(&name, &policy::NAMES))
    }
}

impl ProblemFile {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, LabError> {
        json_text::parse::<Keys>(bytes).map_err(|error| LabError(error.to_string()))?.checked()
    }
}

impl Keys {
    fn checked(mut self) -> Result<ProblemFile, LabError> {
        let guarantee = self.guarantee();
        let spec = ProblemSpec {
            arms: self.arms,
            attributes: self.verifiers.drain(..).map(Into::into).collect(),
            budget: self.budget,
            delta: self.delta,
            guarantee,
        };
        let problem = Problem::new(spec).map_err(|error| in_file_terms(&error))?;
        let observations = Observations::new(std::mem::take(&mut self.observations), &problem)?;
        let options = Options { stop_when_hopeless: self.stop_when_hopeless, ..Options::default() };
        let pulls_max = self.pulls_max;
        let policy = self.policy(&problem)?;
        Ok(ProblemFile { problem, policy, options, observations, pulls_max })
    }

    fn guarantee(&self) -> Guarantee {
        match self.guarantee {
            Some(guarantee) => guarantee.into(),
            None => policy::natural_guarantee(self.policy.0),
        }
    }

    fn policy(self, problem: &Problem) -> Result<Box<dyn Policy + Send>, LabError> {
        let name = self.policy.0;
        let only_for = |key: &str, takers: &[&str]| {
            let fault = || format!("only for {}, but the policy is {name}", takers.join(", "));
            if takers.contains(&name) { Ok(()) } else { Err(LabError::about(key, fault())) }
        };
        if self.allocation_constant.is_some() {
            only_for("allocation_constant", &["bma-gai", "cb-gai"])?;
        }
        if self.unresolved_only {
            only_for("unresolved_only", &["bma-gai", "cb-gai", "uniform", "round-robin"])?;
        }
        // Allowed with any policy, so that one file can compare policies with the oracle.
        if let Some(means) = &self.means {
            check_count("means", means.len(), problem.arm_count(), "a row for each arm")?;
            for (arm, row) in means.iter().enumerate() {
                let (path, wanted) = (format!("means[{arm}]"), problem.attribute_count());
                check_count(&path, row.len(), wanted, "a mean for each attribute")?;
            }
        }
        let parameters = Parameters {
            allocation_constant: self.allocation_constant,
            unresolved_only: self.unresolved_only,
            means: self.means,
            ..Parameters::default()
        };
        policy::by_name(name, &parameters).map_err(|error| {
            let path = match error {
                PolicyError::AllocationConstant(_) => "allocation_constant",
                PolicyError::MeansMissing => "means",
                _ => "policy",
            };
            LabError::about(path, error)
        })
    }
}

/// The same error with the path of the value in the file, instead of the core's name for it.
fn in_file_terms(error: &SpecError) -> LabError {
    let each = |key: &str, index: usize| format!("verifiers[{index}].{key}");
    let text = error.to_string();
    let path = match *error {
        SpecError::Arms(_) => "arms".to_owned(),
        SpecError::Attributes(_) => "verifiers".to_owned(),
        SpecError::NameTaken { attribute, .. } => each("name", attribute),
        SpecError::Price { attribute, .. } | SpecError::PriceZero { attribute } => {
            each("price", attribute)
        }
        SpecError::Threshold { attribute, .. } => each("threshold", attribute),
        SpecError::Range { attribute, .. } => each("scores.bounded.range", attribute),
        SpecError::Sigma { attribute, .. } => each("scores.sub-gaussian.sigma", attribute),
        SpecError::Lowest { attribute, .. } => each("scores.sub-gaussian.lowest", attribute),
        SpecError::Delta(_) => "delta".to_owned(),
        SpecError::Budget(_) | SpecError::BudgetZero => "budget".to_owned(),
        _ => return LabError::about("the problem", text),
    };
    // The core's message is "name: fault".
    let fault = text.split_once(": ").map_or(&*text, |(_, fault)| fault);
    LabError::about(path, fault)
}
