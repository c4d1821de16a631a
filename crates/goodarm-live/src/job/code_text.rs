//! Writes a job that was defined in code in the form of a job file.

use std::fmt::Write as _;

use serde::Serialize;

use super::spec::{CriterionSpec, JobSpec};

/// A text in the form of a job file. So the jobs of all runs can be compared and shown in the same way.
pub(super) fn text_of(spec: &JobSpec) -> String {
    let JobSpec { settings, verifiers, questions, .. } = spec;
    let mut text = format!(
        "# A job made in code.\ncandidates = \"(in memory)\"\nid_field = {}\nbudget = {}\nunit = {}\n\
         delta = {}\nguarantee = {}\npolicy = {}\nseed = {}\nstop_when_hopeless = {}\n",
        toml_of(&settings.id_field),
        settings.budget,
        toml_of(&settings.unit),
        settings.delta,
        toml_of(&settings.guarantee),
        toml_of(&settings.policy),
        settings.seed,
        settings.stop_when_hopeless,
    );
    if let Some(calls) = settings.calls_per_pair {
        let _ = writeln!(text, "calls_per_pair = {calls}");
    }
    if let Some(questions) = questions {
        let _ = writeln!(
            text,
            "questions = \"(in memory)\"\nquestion_field = {}\nanswer_field = {}",
            toml_of(&questions.question_field),
            toml_of(&questions.answer_field)
        );
    }
    let generators = questions.iter().flat_map(|questions| &questions.generators);
    let generators = generators.map(|generator| ("generators", generator));
    for (list, verifier) in generators.chain(verifiers.iter().map(|it| ("verifiers", it))) {
        let _ = writeln!(text, "\n[[{list}]]");
        let lines = [
            Some(format!("name = {}", toml_of(&verifier.name))),
            Some(format!("kind = {}", toml_of(&verifier.kind))),
            Some(format!("identity = {}", toml_of(&verifier.identity))),
            verifier.threshold.map(|threshold| format!("threshold = {threshold}")),
            verifier.scores.map(|scores| format!("scores = {}", toml_of(&scores))),
            verifier.pricing.map(|pricing| pricing.to_string()),
            verifier.failed.map(|failed| format!("failed = {}", toml_of(&failed))),
            verifier.retries.map(|retries| format!("retries = {retries}")),
        ];
        for line in lines.into_iter().flatten() {
            let _ = writeln!(text, "{line}");
        }
        for CriterionSpec { name, threshold, scores } in &verifier.criteria {
            let _ = writeln!(text, "\n[[verifiers.criteria]]\nname = {}", toml_of(name));
            let _ = writeln!(text, "threshold = {threshold}");
            if let Some(scores) = scores {
                let _ = writeln!(text, "scores = {}", toml_of(scores));
            }
        }
    }
    text
}

fn toml_of(value: &impl Serialize) -> String {
    toml::Value::try_from(value).map_or_else(|_| "\"\"".into(), |value| value.to_string())
}
