//! A problem file: JSON in, a problem with its policy and scores out, or what is wrong and where.

mod observations;
mod verifiers;

use goodarm_core::policy::{self, Parameters, Policy, PolicyError};
use goodarm_core::problem::{ARMS_MAX, ATTRIBUTES_MAX, PRIOR_WEIGHT_MAX, SCORE_ABS_MAX, SIGMA_MIN};
use goodarm_core::{Guarantee, Options, Problem, ProblemSpec, SpecError};
use goodarm_files::GuaranteeName;
use goodarm_files::json_text::{self, JsonError};
use serde::{Deserialize, Deserializer, de};
use thiserror::Error;

pub(crate) use crate::problem_file::observations::Observations;
use crate::problem_file::verifiers::VerifierFile;

/// Everything that a trace needs.
pub(crate) struct ProblemFile {
    pub(crate) problem: Problem,
    pub(crate) policy: Box<dyn Policy + Send>,
    pub(crate) options: Options,
    pub(crate) observations: Observations,
    pub(crate) pulls_max: Option<u64>,
}

/// What is wrong with a file.
#[derive(Debug, Error)]
pub(crate) enum ProblemFileError {
    /// It is not JSON, or not the keys and values of a problem.
    #[error(transparent)]
    Json(JsonError),
    /// Its values do not fit each other, or are out of range.
    #[error(transparent)]
    Field(FieldError),
}

/// A value that cannot be what its field needs.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{path}: {fault}")]
pub(crate) struct FieldError {
    path: String,
    fault: String,
}

impl FieldError {
    pub(crate) fn new(path: impl Into<String>, fault: impl Into<String>) -> Self {
        Self { path: path.into(), fault: fault.into() }
    }
}

/// `what` is for example "a list for each arm".
pub(crate) fn check_count(
    path: &str,
    found: usize,
    wanted: usize,
    what: &str,
) -> Result<(), FieldError> {
    if found == wanted {
        return Ok(());
    }
    Err(FieldError::new(path, format!("expected {what}, which is {wanted}, found {found}")))
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
    prior_weights: Option<Vec<f64>>,
    means: Option<Vec<Vec<f64>>>,
    allocation_constant: Option<f64>,
    #[serde(default)]
    unresolved_only: bool,
    #[serde(default)]
    stop_when_hopeless: bool,
    pulls_max: Option<u64>,
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
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ProblemFileError> {
        let keys: Keys = json_text::parse(bytes).map_err(ProblemFileError::Json)?;
        keys.checked().map_err(ProblemFileError::Field)
    }
}

impl Keys {
    fn checked(mut self) -> Result<ProblemFile, FieldError> {
        let guarantee = self.guarantee();
        let spec = ProblemSpec {
            arms: self.arms,
            attributes: self.verifiers.drain(..).map(Into::into).collect(),
            budget: self.budget,
            delta: self.delta,
            guarantee,
            prior_weights: self.prior_weights.take(),
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
            None if self.prior_weights.is_some() => Guarantee::Holm,
            None => policy::natural_guarantee(self.policy.0),
        }
    }

    fn policy(self, problem: &Problem) -> Result<Box<dyn Policy + Send>, FieldError> {
        let name = self.policy.0;
        let only_for = |key: &str, takers: &[&str]| {
            let fault = || format!("only for {}, but the policy is {name}", takers.join(", "));
            if takers.contains(&name) { Ok(()) } else { Err(FieldError::new(key, fault())) }
        };
        if self.allocation_constant.is_some() {
            only_for("allocation_constant", &["bma-gai", "cb-gai"])?;
        }
        if self.unresolved_only {
            only_for("unresolved_only", &["bma-gai", "cb-gai", "uniform", "round-robin"])?;
        }
        // Any policy's file may state them, so that one file serves to compare policies with the
        // oracle.
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
            FieldError::new(path, error.to_string())
        })
    }
}

/// The core speaks of attributes and their prices; the file has its own names for them.
fn in_file_terms(error: &SpecError) -> FieldError {
    let not_inside = |value: f64| format!("{value} is not strictly between 0 and 1");
    let each = |key: &str, index: usize, fault: String| {
        FieldError::new(format!("verifiers[{index}].{key}"), fault)
    };
    match error {
        SpecError::Arms(arms) => {
            FieldError::new("arms", format!("{arms} is not between 1 and {ARMS_MAX}"))
        }
        SpecError::Attributes(count) => {
            let fault = format!("expected 1 to {ATTRIBUTES_MAX} attributes, found {count}");
            FieldError::new("verifiers", fault)
        }
        SpecError::NameTaken { attribute, name } => {
            each("name", *attribute, format!("{name:?} is taken by an earlier attribute"))
        }
        SpecError::Price { attribute, reason } => each("price", *attribute, reason.to_string()),
        SpecError::PriceZero { attribute } => {
            each("price", *attribute, "a price must be more than 0".into())
        }
        SpecError::Threshold { attribute, value, lowest, highest } => {
            let fault = format!("{value} is not strictly between {lowest} and {highest}");
            each("threshold", *attribute, fault)
        }
        SpecError::Range { attribute, lowest, highest } => {
            let fault = format!("{highest} is not above {lowest}, or a number is too large");
            each("scores.bounded.range", *attribute, fault)
        }
        SpecError::Sigma { attribute, value } => {
            let fault = format!("{value} is not between {SIGMA_MIN:e} and {SCORE_ABS_MAX:e}");
            each("scores.sub-gaussian.sigma", *attribute, fault)
        }
        SpecError::Lowest { attribute, value } => {
            let fault = format!("{value} is not from -{SCORE_ABS_MAX:e} to below the threshold");
            each("scores.sub-gaussian.lowest", *attribute, fault)
        }
        SpecError::Delta(value) => FieldError::new("delta", not_inside(*value)),
        SpecError::Budget(reason) => FieldError::new("budget", reason.to_string()),
        SpecError::BudgetZero => FieldError::new("budget", "a budget must be more than 0"),
        SpecError::WeightCount { given, arms } => {
            let fault = format!("expected a weight for each arm, which is {arms}, found {given}");
            FieldError::new("prior_weights", fault)
        }
        SpecError::Weight { arm, value } => {
            let fault =
                format!("{value} is not between 1/{PRIOR_WEIGHT_MAX:e} and {PRIOR_WEIGHT_MAX:e}");
            FieldError::new(format!("prior_weights[{arm}]"), fault)
        }
        SpecError::WeightsUnused(_) => {
            FieldError::new("prior_weights", "only with the guarantees holm and union")
        }
        _ => FieldError::new("the problem", error.to_string()),
    }
}
