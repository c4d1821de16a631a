//! Built-in checks: exact, free of calls, and one look tells all.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use jsonschema::Validator;
use regex::Regex;
use serde_json::Value;

use super::score::{NOTHING, in_short};
use super::wrong::{Wrong, sort_out};
use super::{Reply, Verdict};
use crate::answer::{Extractor, checked_pattern, same_number};
use crate::candidates::Candidate;
use crate::job_file::{CheckName, ScoresFile, VerifierFile};

/// A check that this program makes itself.
#[derive(Debug)]
pub struct Check {
    /// The candidate's field that is looked at.
    field: String,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    FinalAnswer(Extractor),
    Regex(Regex),
    JsonSchema(Box<Validator>),
    Equals { with: String },
    NumberEquals { with: String, extractor: Extractor },
}

impl Check {
    /// Keys of this kind, beyond those of every kind.
    pub const KEYS: &[&str] =
        &["check", "field", "with", "schema", "extract", "pattern", "pointer"];

    /// A check; `folder` is the job file's.
    pub fn new(file: &VerifierFile, folder: &Path) -> Result<Self, Vec<Wrong>> {
        let Some(name) = file.check else {
            let names = "final-answer, regex, json-schema, equals or number-equals";
            return Err(vec![Wrong::new("check", format!("one is needed: {names}"))]);
        };
        let mut wrongs = superfluous(file, name);
        let rule = Rule::new(file, folder, name).map_err(|more| wrongs.extend(more)).ok();
        match rule {
            Some(rule) if wrongs.is_empty() => {
                Ok(Self { field: file.field.clone().unwrap_or_else(|| "answer".into()), rule })
            }
            _ => Err(wrongs),
        }
    }

    /// What is known of the scores if the job file says nothing.
    pub const fn default_scores(&self) -> ScoresFile {
        ScoresFile::Exact
    }

    /// The candidate's fields that are looked at.
    pub fn fields(&self) -> BTreeSet<String> {
        let with = match &self.rule {
            Rule::Equals { with } | Rule::NumberEquals { with, .. } => Some(with.clone()),
            _ => None,
        };
        with.into_iter().chain([self.field.clone()]).collect()
    }

    /// Scores a candidate: 1 or 0, and why.
    pub fn check(&self, candidate: &Candidate) -> Reply {
        let (is_good, text) = match candidate.fields().get(&self.field) {
            Some(value) => self.rule.judge(value, candidate),
            None => (false, format!("no field {}", self.field)),
        };
        Reply { verdict: Verdict::Score(f64::from(u8::from(is_good))), usage: NOTHING, text }
    }
}

impl Rule {
    fn new(file: &VerifierFile, folder: &Path, name: CheckName) -> Result<Self, Vec<Wrong>> {
        let mut wrongs = Vec::new();
        let extractor = || {
            let (pattern, pointer) = (file.pattern.as_deref(), file.pointer.as_deref());
            Extractor::new(file.extract.unwrap_or_default(), pattern, pointer)
        };
        let with = || {
            file.with
                .clone()
                .ok_or_else(|| Wrong::new("with", "the name of a field to compare with is needed"))
        };
        let rule = match name {
            CheckName::FinalAnswer => sort_out(extractor(), &mut wrongs).map(Self::FinalAnswer),
            CheckName::Regex => {
                sort_out(checked_pattern(file.pattern.as_deref()), &mut wrongs).map(Self::Regex)
            }
            CheckName::JsonSchema => sort_out(validator(file, folder), &mut wrongs)
                .map(|validator| Self::JsonSchema(Box::new(validator))),
            CheckName::Equals => sort_out(with(), &mut wrongs).map(|with| Self::Equals { with }),
            CheckName::NumberEquals => {
                let with = sort_out(with(), &mut wrongs);
                let extractor = sort_out(extractor(), &mut wrongs);
                with.zip(extractor).map(|(with, extractor)| Self::NumberEquals { with, extractor })
            }
        };
        rule.ok_or(wrongs)
    }

    fn judge(&self, value: &Value, candidate: &Candidate) -> (bool, String) {
        let text = text_of(value);
        match self {
            Self::FinalAnswer(extractor) => match extractor.extract(&text) {
                Some(answer) => (true, in_short(&answer)),
                None => (false, format!("{} in the answer", extractor.absence())),
            },
            Self::Regex(regex) => match regex.find(&text) {
                Some(found) => (true, in_short(found.as_str())),
                None => (false, "no match of the pattern".into()),
            },
            Self::JsonSchema(validator) => accepts(validator, value),
            Self::Equals { with } => match candidate.fields().get(with) {
                Some(other) if text.trim() == text_of(other).trim() => (true, "equal".into()),
                Some(_) => (false, format!("not equal to the field {with}")),
                None => (false, format!("no field {with}")),
            },
            Self::NumberEquals { with, extractor } => match candidate.fields().get(with) {
                Some(other) => compare(extractor, &text, &text_of(other)),
                None => (false, format!("no field {with}")),
            },
        }
    }
}

fn accepts(validator: &Validator, value: &Value) -> (bool, String) {
    let parsed;
    let value = match value {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(value) => {
                parsed = value;
                &parsed
            }
            Err(error) => return (false, format!("not JSON: {error}")),
        },
        other => other,
    };
    match validator.validate(value) {
        Ok(()) => (true, "accepted by the schema".into()),
        Err(error) => {
            let place = error.instance_path().to_string();
            (false, in_short(&format!("{place}: {error}")))
        }
    }
}

/// Final answers as exact numbers. A field that is nothing but the number needs no `####` around it.
fn compare(extractor: &Extractor, text: &str, other: &str) -> (bool, String) {
    let Some(answer) = extractor.extract(text) else {
        return (false, format!("{} in the answer", extractor.absence()));
    };
    let expected = extractor.extract(other).unwrap_or_else(|| other.trim().to_owned());
    let (answer, expected) = (answer.as_str(), expected.as_str());
    match same_number(answer, expected) {
        Some(true) => (true, format!("{} = {}", in_short(answer), in_short(expected))),
        Some(false) => (false, format!("{} is not {}", in_short(answer), in_short(expected))),
        None => (false, format!("{} or {} is no number", in_short(answer), in_short(expected))),
    }
}

/// A schema from a file or from the job file itself. References to other places are not followed.
fn validator(file: &VerifierFile, folder: &Path) -> Result<Validator, Wrong> {
    let wrong = |problem: String| Wrong::new("schema", problem);
    let loaded;
    let schema = match &file.schema {
        None => return Err(wrong("a JSON Schema is needed: a path, or a table".into())),
        Some(Value::String(path)) => {
            let path = folder.join(path);
            let text = std::fs::read_to_string(&path)
                .map_err(|error| wrong(format!("{}: {error}", path.display())))?;
            loaded = serde_json::from_str(&text)
                .map_err(|error| wrong(format!("{}: {error}", path.display())))?;
            &loaded
        }
        Some(table) => table,
    };
    jsonschema::options().offline().build(schema).map_err(|error| wrong(error.to_string()))
}

/// Keys that this check would silently ignore.
fn superfluous(file: &VerifierFile, name: CheckName) -> Vec<Wrong> {
    let extracts = matches!(name, CheckName::FinalAnswer | CheckName::NumberEquals);
    let compares = matches!(name, CheckName::Equals | CheckName::NumberEquals);
    let pattern = name == CheckName::Regex || extracts;
    [
        ("with", file.with.is_some() && !compares, "only equals and number-equals compare"),
        ("schema", file.schema.is_some() && name != CheckName::JsonSchema, "for json-schema only"),
        ("extract", file.extract.is_some() && !extracts, "for final-answer and number-equals only"),
        ("pattern", file.pattern.is_some() && !pattern, "this check has no pattern"),
        ("pointer", file.pointer.is_some() && !extracts, "this check has no pointer"),
    ]
    .into_iter()
    .filter(|(_, is_wrong, _)| *is_wrong)
    .map(|(key, _, problem)| Wrong::new(key, problem))
    .collect()
}

/// Text as it is; anything else as JSON.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
