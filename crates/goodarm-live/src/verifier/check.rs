//! Built-in checks: exact, free of calls, and one look tells all.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use goodarm_core::Cost;
use jsonschema::Validator;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::problem::{Problem, collect};
use super::score::in_short;
use super::{Called, KindKeys, Place, Reply, Setting, Usage, Verifier};
use crate::answer::{Extractor, checked_pattern, same_number};
use crate::candidates::Candidate;
use crate::fingerprint::Fingerprint;
use crate::job_file::{ExtractName, Scores, Unit};
use crate::pricing::Pricing;
use crate::throttle::Throttle;

/// A check that this program makes itself: exact, and next to free.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckKeys {
    /// What is asked for.
    pub check: Option<CheckName>,
    /// The candidate's field that is looked at; answer if not given.
    pub field: Option<String>,
    /// The field to compare with.
    pub with: Option<String>,
    /// A JSON Schema: a path, or a table.
    pub schema: Option<Value>,
    /// Where the final answer is; last-number if not given.
    pub extract: Option<ExtractName>,
    /// A regular expression.
    pub pattern: Option<String>,
    /// A JSON pointer to the final answer.
    pub pointer: Option<String>,
}

/// What a built-in check asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckName {
    /// A final answer can be found by `extract`.
    FinalAnswer,
    /// The regular expression `pattern` matches somewhere.
    Regex,
    /// It is JSON that `schema` accepts.
    JsonSchema,
    /// It is the same text as the field `with`, white space at the ends aside.
    Equals,
    /// Its final answer, by `extract`, is the same number as the field `with`'s.
    NumberEquals,
}

impl KindKeys for CheckKeys {
    fn build(&self, setting: &Setting<'_>) -> Result<Box<dyn Verifier>, Vec<Problem>> {
        Ok(Box::new(Check::new(self, setting.folder)?))
    }
}

/// A check that this program makes itself.
#[derive(Debug)]
pub struct Check {
    /// The candidate's field that is looked at.
    field: String,
    rule: Rule,
    /// The schema's, if it is in one of its own.
    file: Option<Fingerprint>,
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
    /// A check; paths start from `folder`.
    pub fn new(keys: &CheckKeys, folder: &Path) -> Result<Self, Vec<Problem>> {
        let Some(name) = keys.check else {
            let names = "final-answer, regex, json-schema, equals or number-equals";
            return Err(vec![Problem::missing("check", format!("one is needed: {names}"))]);
        };
        let mut problems = superfluous(keys, name);
        let mut file = None;
        let rule = Rule::new(keys, folder, name, (&mut file, &mut problems));
        match rule {
            Some(rule) if problems.is_empty() => {
                let field = keys.field.clone().unwrap_or_else(|| "answer".into());
                Ok(Self { field, rule, file })
            }
            _ => Err(problems),
        }
    }

    /// Scores a candidate: 1 or 0, and why.
    pub fn check(&self, candidate: &Candidate) -> Reply {
        let (is_good, text) = match candidate.field(&self.field) {
            Some(value) => self.rule.judge(value, candidate),
            None => (false, format!("no field {}", self.field)),
        };
        Reply { text, usage: Usage::default(), ..Reply::score(f64::from(u8::from(is_good))) }
    }
}

impl Verifier for Check {
    fn preview(&self, _: &Candidate) -> String {
        "checked here, once for each candidate".into()
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, _: &'a Throttle) -> Called<'a> {
        Box::pin(std::future::ready(self.check(candidate)))
    }

    fn fields(&self) -> BTreeSet<String> {
        let with = match &self.rule {
            Rule::Equals { with } | Rule::NumberEquals { with, .. } => Some(with.clone()),
            _ => None,
        };
        with.into_iter().chain([self.field.clone()]).collect()
    }

    fn default_scores(&self) -> Scores {
        Scores::Exact
    }

    fn default_threshold(&self) -> Option<f64> {
        Some(0.5)
    }

    fn default_pricing(&self, _: Unit) -> Option<Pricing> {
        Some(Pricing::Fixed(PRICE))
    }

    fn is_reproducible(&self) -> bool {
        true
    }

    fn files(&self) -> Vec<Fingerprint> {
        self.file.iter().cloned().collect()
    }

    fn answer_here(&self, place: Place<'_>) -> Option<Reply> {
        Some(self.check(&place.candidate()))
    }
}

impl Rule {
    fn new(
        keys: &CheckKeys,
        folder: &Path,
        name: CheckName,
        (file, problems): (&mut Option<Fingerprint>, &mut Vec<Problem>),
    ) -> Option<Self> {
        let extractor = || {
            let (pattern, pointer) = (keys.pattern.as_deref(), keys.pointer.as_deref());
            Extractor::new(keys.extract.unwrap_or_default(), pattern, pointer)
        };
        let with = || {
            let needed = "the name of a field to compare with is needed";
            keys.with.clone().ok_or_else(|| Problem::missing("with", needed))
        };
        match name {
            CheckName::FinalAnswer => collect(extractor(), problems).map(Self::FinalAnswer),
            CheckName::Regex => {
                collect(checked_pattern(keys.pattern.as_deref()), problems).map(Self::Regex)
            }
            CheckName::JsonSchema => collect(validator(keys, folder, file), problems)
                .map(|validator| Self::JsonSchema(Box::new(validator))),
            CheckName::Equals => collect(with(), problems).map(|with| Self::Equals { with }),
            CheckName::NumberEquals => {
                let with = collect(with(), problems);
                let extractor = collect(extractor(), problems);
                with.zip(extractor).map(|(with, extractor)| Self::NumberEquals { with, extractor })
            }
        }
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
            Self::Equals { with } => match candidate.field(with) {
                Some(other) if text.trim() == text_of(other).trim() => (true, "equal".into()),
                Some(_) => (false, format!("not equal to the field {with}")),
                None => (false, format!("no field {with}")),
            },
            Self::NumberEquals { with, extractor } => match candidate.field(with) {
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
        None => (false, format!("{} or {} is not a number", in_short(answer), in_short(expected))),
    }
}

/// A schema from a file or from the job file itself. References to other places are not followed.
fn validator(
    keys: &CheckKeys,
    folder: &Path,
    file: &mut Option<Fingerprint>,
) -> Result<Validator, Problem> {
    let wrong = |message: String| Problem::new("schema", message);
    let loaded;
    let schema = match &keys.schema {
        None => {
            let needed = "a JSON Schema is needed: a path, or a table";
            return Err(Problem::missing("schema", needed));
        }
        Some(Value::String(named)) => {
            let path = folder.join(named);
            let text = std::fs::read_to_string(&path)
                .map_err(|error| wrong(format!("{}: {error}", path.display())))?;
            *file = Some(Fingerprint::of(named, text.as_bytes()));
            loaded = serde_json::from_str(&text)
                .map_err(|error| wrong(format!("{}: {error}", path.display())))?;
            &loaded
        }
        Some(table) => table,
    };
    jsonschema::options().offline().build(schema).map_err(|error| wrong(error.to_string()))
}

/// Keys that this check would silently ignore.
fn superfluous(keys: &CheckKeys, name: CheckName) -> Vec<Problem> {
    let extracts = matches!(name, CheckName::FinalAnswer | CheckName::NumberEquals);
    let compares = matches!(name, CheckName::Equals | CheckName::NumberEquals);
    let pattern = name == CheckName::Regex || extracts;
    [
        ("with", keys.with.is_some() && !compares, "only equals and number-equals compare"),
        ("schema", keys.schema.is_some() && name != CheckName::JsonSchema, "for json-schema only"),
        ("extract", keys.extract.is_some() && !extracts, "for final-answer and number-equals only"),
        ("pattern", keys.pattern.is_some() && !pattern, "this check has no pattern"),
        ("pointer", keys.pointer.is_some() && !extracts, "this check has no pointer"),
    ]
    .into_iter()
    .filter(|(_, is_wrong, _)| *is_wrong)
    .map(|(key, _, message)| Problem::new(key, message))
    .collect()
}

/// Text as it is, nothing of what is not there; anything else as JSON.
pub(crate) fn text_of(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

/// It runs here and costs nothing worth counting, but a price must be more than 0.
const PRICE: Cost = Cost::from_picos(1000);

#[cfg(test)]
mod tests;
