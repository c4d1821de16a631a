//! Rubrics: lists of criteria. One reply has a score for each criterion.

use goodarm_core::CountedFailure;
use goodarm_data::problem::KeyProblem;
use goodarm_record::job_file::{CriterionKeys, ServiceKeys};
use goodarm_record::reply::Verdict;
use serde_json::Value;

/// The criteria, with JSON pointers to their scores.
#[derive(Clone, Debug)]
pub(crate) struct Rubric {
    criteria: Vec<CriterionKeys>,
}

impl Rubric {
    /// The rubric of a verifier, if it has criteria. [`problems`] checks them.
    pub(crate) fn of(keys: &ServiceKeys) -> Option<Self> {
        keys.criteria.clone().map(|criteria| Self { criteria })
    }

    /// The number of scores of a reply.
    pub(crate) const fn count(&self) -> usize {
        self.criteria.len()
    }

    /// The scores in a reply. A missing score does not affect the others; a reply without any score is unreadable.
    pub(crate) fn verdict(
        &self,
        reply: &Value,
        score_of: impl Fn(&Value) -> Result<f64, String>,
    ) -> Verdict {
        let score = |criterion: &CriterionKeys| {
            let CriterionKeys { name, pointer, .. } = criterion;
            let found = reply
                .pointer(pointer)
                .ok_or_else(|| format!("{name}: nothing at {pointer} of the reply"))?;
            score_of(found).map_err(|reason| format!("{name}: {reason}"))
        };
        let scores: Vec<Result<f64, String>> = self.criteria.iter().map(score).collect();
        if scores.iter().any(Result::is_ok) {
            return Verdict::Scores(scores);
        }
        let reasons: Vec<String> = scores.into_iter().filter_map(Result::err).collect();
        Verdict::Failed(CountedFailure::Unreadable, reasons.join("; "))
    }
}

/// All problems with the criteria of a verifier.
pub(crate) fn problems(keys: &ServiceKeys) -> Vec<KeyProblem> {
    let Some(criteria) = &keys.criteria else { return Vec::new() };
    let mut problems = Vec::new();
    if criteria.is_empty() {
        problems.push(KeyProblem::new("criteria", "at least one is needed"));
    }
    for (index, CriterionKeys { pointer, .. }) in criteria.iter().enumerate() {
        if !pointer.starts_with('/') {
            let message = format!("a JSON pointer begins with /: \"/{pointer}\"?");
            problems.push(KeyProblem::new(criterion_key(index, "pointer"), message));
        }
    }
    problems
}

/// A key of the criterion with this index, as it is in messages: the first is `criteria[1]`.
pub(crate) fn criterion_key(index: usize, key: &str) -> String {
    format!("criteria[{}].{key}", index + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::services::score::score_at;

    fn rubric() -> Rubric {
        let criterion = |name: &str, pointer: &str| CriterionKeys {
            name: name.to_owned(),
            threshold: 0.5,
            pointer: pointer.to_owned(),
            scores: None,
        };
        Rubric { criteria: vec![criterion("clear", "/clear"), criterion("true", "/is/true")] }
    }

    #[test]
    fn what_a_reply_lacks_is_missing_alone() {
        let found = rubric().verdict(&json!({"clear": 0.5, "is": {"true": true}}), score_at);
        assert_eq!(found, Verdict::Scores(vec![Ok(0.5), Ok(1.0)]));
        let found = rubric().verdict(&json!({"clear": "very", "is": {"true": 0}}), score_at);
        let Verdict::Scores(scores) = found else { panic!("{found:?}") };
        assert_eq!(scores[1], Ok(0.0));
        assert!(scores[0].as_ref().is_err_and(|reason| reason.starts_with("clear: ")));
    }

    #[test]
    fn a_reply_without_any_is_unreadable() {
        for reply in [json!({}), json!(0.9), json!({"clear": null}), json!([])] {
            let found = rubric().verdict(&reply, score_at);
            assert!(
                matches!(found, Verdict::Failed(CountedFailure::Unreadable, _)),
                "{reply}: {found:?}"
            );
        }
    }
}
