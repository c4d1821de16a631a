//! A problem file: JSON in, a problem with its policy and scores out, or what is wrong and where.

mod json;
mod observations;

use std::fmt;

use goodarm_core::policy::{self, Parameters, Policy, PolicyError};
use goodarm_core::problem::{ARMS_MAX, ATTRIBUTES_MAX, PRIOR_WEIGHT_MAX, SCORE_ABS_MAX, SIGMA_MIN};
use goodarm_core::{
    AttributeSpec, Guarantee, Options, Problem, ProblemSpec, ScoreModel, SpecError,
};

use crate::problem_file::json::{FieldError, Fields, Json};
pub(crate) use crate::problem_file::observations::Observations;

/// Everything that a trace needs.
pub(crate) struct ProblemFile {
    pub(crate) problem: Problem,
    pub(crate) policy: Box<dyn Policy + Send>,
    pub(crate) options: Options,
    pub(crate) observations: Observations,
    pub(crate) pulls_max: Option<u64>,
}

/// What is wrong with a file.
#[derive(Debug)]
pub(crate) enum ProblemFileError {
    /// It is not JSON.
    Syntax(serde_json::Error),
    /// It is JSON, but not a problem.
    Field(FieldError),
}

impl ProblemFile {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, ProblemFileError> {
        let value: Json = serde_json::from_slice(bytes).map_err(ProblemFileError::Syntax)?;
        Self::new(value).map_err(ProblemFileError::Field)
    }

    fn new(value: Json) -> Result<Self, FieldError> {
        let mut fields = Fields::new(value, &FIELDS)?;
        let problem = problem(&mut fields)?;
        let policy = policy(&mut fields, &problem)?;
        let stop_when_hopeless = fields.optional("stop_when_hopeless", json::flag)?;
        let options = Options {
            stop_when_hopeless: stop_when_hopeless.unwrap_or(false),
            ..Options::default()
        };
        let pulls_max = fields.optional("pulls_max", json::whole_number)?;
        let observations =
            fields.required("observations", |value| Observations::new(value, &problem))?;
        Ok(Self { problem, policy, options, observations, pulls_max })
    }
}

fn problem(fields: &mut Fields) -> Result<Problem, FieldError> {
    let arms = fields.required("arms", arm_count)?;
    let attributes = attributes(fields)?;
    let budget = fields.required("budget", json::number)?;
    let delta = fields.required("delta", json::number)?;
    let guarantee = guarantee(fields)?;
    let prior_weights = fields.optional("prior_weights", json::numbers)?;
    let spec = ProblemSpec { arms, attributes, budget, delta, guarantee, prior_weights };
    Problem::new(spec).map_err(|error| in_file_terms(&error))
}

fn arm_count(value: Json) -> Result<usize, FieldError> {
    let arms = json::whole_number(value)?;
    usize::try_from(arms).map_err(|_| FieldError::new(arms_fault(arms)))
}

fn attributes(fields: &mut Fields) -> Result<Vec<AttributeSpec>, FieldError> {
    let costs = fields.required("costs", json::numbers)?;
    let count = costs.len();
    let each = |found: usize| json::check_count(found, count, "as many as there are costs");
    let thresholds = fields.required("thresholds", |value| {
        let thresholds = json::list(value, json::number)?;
        each(thresholds.len()).map(|()| thresholds)
    })?;
    let names = fields.optional("names", |value| {
        let names = json::list(value, json::text)?;
        each(names.len()).map(|()| names)
    })?;
    let scores = fields.optional("scores", |value| {
        let scores = json::list(value, score_model)?;
        each(scores.len()).map(|()| scores)
    })?;
    let names = names.unwrap_or_else(|| (0..count).map(|index| index.to_string()).collect());
    let scores = scores.unwrap_or_else(|| vec![SCORES_OF_THE_PAPER; count]);
    let parts = costs.into_iter().zip(thresholds).zip(names).zip(scores);
    Ok(parts
        .map(|(((price, threshold), name), scores)| AttributeSpec {
            name,
            price,
            threshold,
            scores,
        })
        .collect())
}

fn score_model(value: Json) -> Result<ScoreModel, FieldError> {
    if matches!(value, Json::Object(_)) {
        let mut fields = Fields::new(value, &["sub-gaussian"])?;
        return fields.required("sub-gaussian", sub_gaussian);
    }
    if !matches!(value, Json::Text(_)) {
        return Err(FieldError::expected("a name or {\"sub-gaussian\": {...}}", &value));
    }
    Ok(match json::word(value, &["sub-gaussian", "bounded", "binary", "exact"])? {
        "bounded" => ScoreModel::Bounded,
        "binary" => ScoreModel::Binary,
        "exact" => ScoreModel::Exact,
        _ => SCORES_OF_THE_PAPER,
    })
}

fn sub_gaussian(value: Json) -> Result<ScoreModel, FieldError> {
    let mut fields = Fields::new(value, &["sigma", "lowest"])?;
    let sigma = fields.optional("sigma", json::number)?.unwrap_or(1.0);
    let lowest = fields.optional("lowest", json::number)?;
    Ok(ScoreModel::SubGaussian { sigma, lowest })
}

fn guarantee(fields: &mut Fields) -> Result<Guarantee, FieldError> {
    let certificate =
        fields.optional("certificate", |value| json::word(value, &["tight", "paper"]))?;
    let guarantee =
        fields.optional("guarantee", |value| json::word(value, &["holm", "union", "fdr"]))?;
    match (certificate, guarantee) {
        (Some("paper"), None) => Ok(Guarantee::Paper),
        (Some("paper"), Some(_)) => {
            let fault = "the certificate paper has its own; leave this field out";
            Err(FieldError::new(fault).under("guarantee"))
        }
        (_, Some("union")) => Ok(Guarantee::Union),
        (_, Some("fdr")) => Ok(Guarantee::FalseDiscovery),
        _ => Ok(Guarantee::Holm),
    }
}

fn policy(fields: &mut Fields, problem: &Problem) -> Result<Box<dyn Policy + Send>, FieldError> {
    let name = fields.optional("policy", |value| json::word(value, &policy::NAMES))?;
    let name = name.unwrap_or(policy::NAMES[0]);
    let only_for = |takers: &[&str]| {
        let fault = || format!("only for {}, but the policy is {name}", takers.join(", "));
        if takers.contains(&name) { Ok(()) } else { Err(FieldError::new(fault())) }
    };
    let allocation_constant = fields.optional("allocation_constant", |value| {
        only_for(&["bma-gai", "cb-gai"])?;
        json::number(value)
    })?;
    let unresolved_only = fields.optional("unresolved_only", |value| {
        let chosen = json::flag(value)?;
        if chosen {
            only_for(&["bma-gai", "cb-gai", "uniform", "round-robin"])?;
        }
        Ok(chosen)
    })?;
    let means = fields.optional("means", |value| means(value, problem))?;
    let unresolved_only = unresolved_only.unwrap_or(false);
    let parameters = Parameters { allocation_constant, unresolved_only, means };
    policy::by_name(name, &parameters).map_err(|error| {
        FieldError::new(error.to_string()).under(match error {
            PolicyError::AllocationConstant(_) => "allocation_constant",
            PolicyError::MeansMissing => "means",
            _ => "policy",
        })
    })
}

/// Any policy's file may state them, so that one file serves to compare policies with the oracle.
fn means(value: Json, problem: &Problem) -> Result<Vec<Vec<f64>>, FieldError> {
    let rows = json::list(value, |row| {
        let row = json::numbers(row)?;
        let wanted = problem.attribute_count();
        json::check_count(row.len(), wanted, "a mean for each attribute").map(|()| row)
    })?;
    json::check_count(rows.len(), problem.arm_count(), "a row for each arm").map(|()| rows)
}

/// The core speaks of attributes and their prices; the file has its own names for them.
fn in_file_terms(error: &SpecError) -> FieldError {
    let not_inside = |value: f64| format!("{value} is not strictly between 0 and 1");
    let each = |key: &str, index: usize, fault: String| FieldError::new(fault).at(index).under(key);
    let noise = |key: &str, index: usize, fault: String| {
        FieldError::new(fault).under(key).under("sub-gaussian").at(index).under("scores")
    };
    match error {
        SpecError::Arms(arms) => FieldError::new(arms_fault(arms)).under("arms"),
        SpecError::Attributes(count) => {
            let fault = format!("expected 1 to {ATTRIBUTES_MAX} prices, found {count}");
            FieldError::new(fault).under("costs")
        }
        SpecError::NameTaken { attribute, name } => {
            each("names", *attribute, format!("{name:?} is taken by an earlier attribute"))
        }
        SpecError::Price { attribute, reason } => each("costs", *attribute, reason.to_string()),
        SpecError::PriceZero { attribute } => {
            each("costs", *attribute, "a price must be more than 0".into())
        }
        SpecError::Threshold { attribute, value } => {
            each("thresholds", *attribute, not_inside(*value))
        }
        SpecError::Sigma { attribute, value } => {
            let fault = format!("{value} is not between {SIGMA_MIN:e} and {SCORE_ABS_MAX:e}");
            noise("sigma", *attribute, fault)
        }
        SpecError::Lowest { attribute, value } => {
            let fault = format!("{value} is not from -{SCORE_ABS_MAX:e} to below the threshold");
            noise("lowest", *attribute, fault)
        }
        SpecError::Delta(value) => FieldError::new(not_inside(*value)).under("delta"),
        SpecError::Budget(reason) => FieldError::new(reason.to_string()).under("budget"),
        SpecError::BudgetZero => FieldError::new("a budget must be more than 0").under("budget"),
        SpecError::WeightCount { given, arms } => {
            let fault = format!("expected a weight for each arm, which is {arms}, found {given}");
            FieldError::new(fault).under("prior_weights")
        }
        SpecError::Weight { arm, value } => {
            let fault =
                format!("{value} is not between 1/{PRIOR_WEIGHT_MAX:e} and {PRIOR_WEIGHT_MAX:e}");
            each("prior_weights", *arm, fault)
        }
        SpecError::WeightsUnused(_) => {
            FieldError::new("only with the guarantees holm and union").under("prior_weights")
        }
        _ => FieldError::new(error.to_string()),
    }
}

fn arms_fault(arms: impl fmt::Display) -> String {
    format!("{arms} is not between 1 and {ARMS_MAX}")
}

impl fmt::Display for ProblemFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => {
                let (line, column) = (error.line(), error.column());
                let text = error.to_string();
                let place = format!(" at line {line} column {column}");
                let fault = text.strip_suffix(&place).unwrap_or(&text);
                write!(f, "line {line}, column {column}: {fault}")
            }
            Self::Field(error) => error.fmt(f),
        }
    }
}

const FIELDS: [&str; 17] = [
    "arms",
    "costs",
    "thresholds",
    "budget",
    "delta",
    "observations",
    "policy",
    "certificate",
    "guarantee",
    "scores",
    "names",
    "prior_weights",
    "means",
    "allocation_constant",
    "unresolved_only",
    "stop_when_hopeless",
    "pulls_max",
];

const SCORES_OF_THE_PAPER: ScoreModel = ScoreModel::SubGaussian { sigma: 1.0, lowest: None };
