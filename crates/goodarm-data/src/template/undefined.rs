//! Fields that a template uses and candidates lack, found before anything is spent.

use serde_json::Value;

use super::{NAME, Template, TemplateError};
use crate::candidates::{Candidate, Candidates};
use crate::problem::{KeyProblem, ProblemKind};

impl Template {
    /// The problem of a job file's template with the first candidate that lacks something inside a field.
    /// Candidates that lack a whole field are found elsewhere.
    pub fn missing_field_problem(&self, key: &str, candidates: &Candidates) -> Option<KeyProblem> {
        let fields = self.fields();
        // If the template does not look inside fields, one candidate stands for all candidates that have the
        // fields.
        let count = if self.looks_inside { candidates.len() } else { 1 };
        candidates.arms().map(|arm| candidates.get(arm)).take(count).find_map(|candidate| {
            if !fields.iter().all(|field| candidate.fields().contains_key(field)) {
                return None;
            }
            match self.render(&candidate) {
                Err(TemplateError::Unknown(line, problem)) => {
                    let text = self.line(line);
                    // The template may test other paths before it uses them.
                    let mut used = self.paths.iter().filter(|path| text.contains(path.as_str()));
                    let missing = used.find_map(|path| missing(path, &candidate));
                    Some(missing.unwrap_or_else(|| {
                        let id = &candidate.id;
                        let place = format!("line {line} of the template: {problem}");
                        KeyProblem::new(key, format!("{place} (candidate {id:?})"))
                    }))
                }
                _ => None,
            }
        })
    }

    fn line(&self, number: usize) -> String {
        let template = self.environment.get_template(NAME).ok();
        let line = template.and_then(|template| {
            template.source().lines().nth(number.saturating_sub(1)).map(str::to_owned)
        });
        line.unwrap_or_default()
    }
}

/// The first part of a path that a candidate lacks.
fn missing(path: &str, candidate: &Candidate) -> Option<KeyProblem> {
    let mut parts = path.split('.');
    let first = parts.next()?;
    let whole;
    let mut value = match candidate.fields().get(first) {
        Some(value) => value,
        None => {
            whole = Value::Object(candidate.fields().clone());
            &whole
        }
    };
    let mut within = first.to_owned();
    for part in parts {
        match value.get(part) {
            Some(inner) => value = inner,
            None => return Some(lacking(&within, part, value, candidate)),
        }
        within = format!("{within}.{part}");
    }
    None
}

fn lacking(within: &str, part: &str, value: &Value, candidate: &Candidate) -> KeyProblem {
    let known = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let meant = goodarm_files::nearest(part, known).map(|name| format!("{within}.{name}"));
    let meant = goodarm_files::hint(meant.as_deref());
    let (id, field) = (&candidate.id, format!("{within}.{part}"));
    let message = format!("uses the field {field:?}, which candidate {id:?} lacks{meant}");
    KeyProblem { kind: ProblemKind::UnknownField(field), ..KeyProblem::new("", message) }
}
