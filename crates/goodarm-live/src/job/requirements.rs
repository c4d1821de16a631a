//! What a verifier requires of an answer: a mean score that the answer must reach, or one for each criterion.

use std::collections::BTreeSet;

use goodarm_core::problem::SIGMA_MIN;
use goodarm_data::problem::KeyProblem;
use goodarm_record::job_file::Scores;

use super::{CriterionSpec, ServiceSpec};
use crate::services::rubric::criterion_key;

/// One mean score that an answer must reach.
pub(super) struct Requirement {
    pub(super) criterion: Option<String>,
    pub(super) threshold: f64,
    pub(super) scores: Scores,
}

/// All requirements of a verifier; `None` if the threshold is missing, or the criteria have problems.
pub(super) fn of(spec: &ServiceSpec, problems: &mut Vec<KeyProblem>) -> Option<Vec<Requirement>> {
    if !spec.criteria.is_empty() || spec.service.manifest.criteria_count > 0 {
        return criteria(spec, problems);
    }
    let threshold = spec.threshold.or(spec.service.manifest.threshold);
    let scores = spec.scores.unwrap_or(spec.service.manifest.scores);
    problems.extend(threshold_problem(threshold, scores));
    Some(vec![Requirement { criterion: None, threshold: threshold?, scores }])
}

/// The requirements of a verifier with criteria; `None` if there are problems.
fn criteria(spec: &ServiceSpec, problems: &mut Vec<KeyProblem>) -> Option<Vec<Requirement>> {
    let before = problems.len();
    let mut wrong = |message: String| problems.push(KeyProblem::new("criteria", message));
    if spec.service.manifest.criteria_count != spec.criteria.len() {
        wrong(match spec.service.manifest.criteria_count {
            0 => "its calls have one score each; criteria need a command, an http server or an llm judge that replies in JSON".into(),
            count => format!("its replies have {count} scores"),
        });
    }
    if spec.threshold.is_some() {
        wrong("not together with a threshold of the verifier: each criterion has its own".into());
    }
    let scores = spec.scores.unwrap_or(spec.service.manifest.scores);
    let mut names = BTreeSet::new();
    for (index, CriterionSpec { name, threshold, scores: own }) in spec.criteria.iter().enumerate()
    {
        let mut wrong = |key: &str, message: String| {
            problems.push(KeyProblem::new(criterion_key(index, key), message));
        };
        if name.is_empty() {
            wrong("name", "each needs a name".into());
        }
        if !names.insert(name) {
            wrong("name", format!("{name:?} is there twice"));
        }
        if own.is_some_and(|own| (own == Scores::Exact) != (scores == Scores::Exact)) {
            let message = "one call scores all criteria: set scores = \"exact\" for the verifier, or for no criterion";
            wrong("scores", message.into());
        }
        if let Some(problem) = threshold_problem(Some(*threshold), own.unwrap_or(scores)) {
            wrong(&problem.key, problem.message);
        }
    }
    let requirement = |it: &CriterionSpec| Requirement {
        criterion: Some(it.name.clone()),
        threshold: it.threshold,
        scores: it.scores.unwrap_or(scores),
    };
    (problems.len() == before).then(|| spec.criteria.iter().map(requirement).collect())
}

/// The problem with the range of these scores or with the threshold, if there is one.
fn threshold_problem(threshold: Option<f64>, scores: Scores) -> Option<KeyProblem> {
    let [lowest, highest] = scores.range();
    match threshold {
        // In reports, the axis of scores goes from 0 to 1.
        _ if !(lowest >= 0.0 && highest <= 1.0 && highest - lowest >= SIGMA_MIN) => {
            let message = format!("{lowest} to {highest} is not a range from 0 to 1 or within it");
            Some(KeyProblem::new("scores", message))
        }
        Some(threshold) if threshold > lowest && threshold < highest => None,
        Some(threshold) => Some(KeyProblem::new(
            "threshold",
            format!("{threshold} is not strictly between {lowest} and {highest}"),
        )),
        None => Some(KeyProblem::missing(
            "threshold",
            "the mean score to be reached is needed, such as 0.7",
        )),
    }
}

/// The name of a criterion in reports.
pub(super) fn criterion_name(verifier: &str, criterion: &str) -> String {
    format!("{verifier}/{criterion}")
}
