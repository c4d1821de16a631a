//! Built-in checks, which this process makes: exact, so one evaluation is enough. The work of a check is limited, and
//! a check that takes longer than about a millisecond does not run on the run's thread.

mod schema;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use goodarm_core::Cost;
use goodarm_data::answer::{ExtractName, Extractor, checked_pattern, same_number};
use goodarm_data::candidates::{Candidate, text_of};
use goodarm_data::pattern::Pattern;
use goodarm_data::problem::{KeyProblem, collect};
use goodarm_data::steps::{BYTES_AT_ONCE, Limit, STEPS_AT_ONCE, STEPS_MAX, Steps};
use goodarm_files::words::in_short;
use goodarm_record::fingerprint::Fingerprint;
use goodarm_record::job_file::Scores;
use goodarm_record::reply::{Reply, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::schema::{Schema, text_bytes};
use super::kind::problems_of;
use super::{KindKeys, ServiceContext};
use crate::pricing::Pricing;
use crate::service::{CallContext, CallTask, Dispatch, Local, Manifest, Service};

/// A check that this program makes itself: exact, and next to free.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckKeys {
    /// What is checked.
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

/// What a built-in check tests.
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
    fn build(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>> {
        let check = Check::new(self, context.folder)?;
        Ok(Service::local(check.manifest(), check))
    }
}

/// A check that this program makes itself.
#[derive(Clone, Debug)]
pub struct Check {
    /// The candidate's field that is looked at.
    field: String,
    rule: Arc<Rule>,
    /// The fingerprint of the file that has the schema; `None` if there is no such file.
    file: Option<Fingerprint>,
}

#[derive(Debug)]
enum Rule {
    FinalAnswer(Extractor),
    Regex(Pattern),
    JsonSchema(Box<Schema>),
    Equals { with: String },
    NumberEquals { with: String, extractor: Extractor },
}

impl Check {
    /// A check; paths are relative to `folder`.
    pub fn new(keys: &CheckKeys, folder: &Path) -> Result<Self, Vec<KeyProblem>> {
        let Some(name) = keys.check else {
            let names = "final-answer, regex, json-schema, equals or number-equals";
            return Err(vec![KeyProblem::missing("check", format!("one is needed: {names}"))]);
        };
        let mut problems = superfluous(keys, name);
        let mut file = None;
        let rule = Rule::new(keys, folder, name, &mut file, &mut problems);
        match rule {
            Some(rule) if problems.is_empty() => {
                let field = keys.field.clone().unwrap_or_else(|| "answer".into());
                Ok(Self { field, rule: Arc::new(rule), file })
            }
            _ => Err(problems),
        }
    }

    /// Scores a candidate with 1 or 0; the text of the reply is the reason. A candidate whose check is beyond a limit
    /// gets 0.
    pub fn check(&self, candidate: &Candidate) -> Reply {
        reply(self.judge(candidate, STEPS_MAX).unwrap_or_else(|limit| (false, limit.to_string())))
    }

    /// Like [`Self::check`]; `None` if the check would take longer than about a millisecond.
    fn check_at_once(&self, candidate: &Candidate) -> Option<Reply> {
        let read = self.fields().filter_map(|field| candidate.field(field));
        if read.map(text_bytes).sum::<usize>() > BYTES_AT_ONCE {
            return None;
        }
        self.judge(candidate, STEPS_AT_ONCE).ok().map(reply)
    }

    fn manifest(&self) -> Manifest {
        Manifest {
            fields: self.fields().cloned().collect(),
            scores: Scores::Exact,
            threshold: Some(0.5),
            price: Some(Pricing::Fixed(PRICE)),
            files: self.file.iter().cloned().collect(),
            ..Manifest::default()
        }
    }

    fn judge(&self, candidate: &Candidate, steps: u64) -> Result<(bool, String), Limit> {
        match candidate.field(&self.field) {
            Some(value) => self.rule.judge(value, candidate, steps),
            None => Ok((false, format!("no field {}", self.field))),
        }
    }

    /// The fields of a candidate that the check reads.
    fn fields(&self) -> impl Iterator<Item = &String> {
        let with = match &*self.rule {
            Rule::Equals { with } | Rule::NumberEquals { with, .. } => Some(with),
            _ => None,
        };
        with.into_iter().chain([&self.field])
    }
}

fn reply((is_good, text): (bool, String)) -> Reply {
    Reply { text, usage: Usage::default(), ..Reply::score(f64::from(u8::from(is_good))) }
}

impl Local for Check {
    fn preview(&self) -> String {
        "checked here, once for each answer".into()
    }

    fn answer(&self, call: CallContext<'_>) -> Dispatch {
        match self.check_at_once(&call.candidate()) {
            Some(reply) => Dispatch::Now(reply),
            None => {
                let check = self.clone();
                Dispatch::Later(CallTask::Local(Arc::new(move |it| check.check(it))))
            }
        }
    }
}

impl Rule {
    fn new(
        keys: &CheckKeys,
        folder: &Path,
        name: CheckName,
        file: &mut Option<Fingerprint>,
        problems: &mut Vec<KeyProblem>,
    ) -> Option<Self> {
        let extractor = || {
            let (pattern, pointer) = (keys.pattern.as_deref(), keys.pointer.as_deref());
            Extractor::new(keys.extract.unwrap_or_default(), pattern, pointer)
        };
        let with = || {
            let needed = "the name of a field to compare with is needed";
            keys.with.clone().ok_or_else(|| KeyProblem::missing("with", needed))
        };
        match name {
            CheckName::FinalAnswer => collect(extractor(), problems).map(Self::FinalAnswer),
            CheckName::Regex => {
                collect(checked_pattern(keys.pattern.as_deref()), problems).map(Self::Regex)
            }
            CheckName::JsonSchema => collect(Schema::new(keys, folder, file), problems)
                .map(|schema| Self::JsonSchema(Box::new(schema))),
            CheckName::Equals => collect(with(), problems).map(|with| Self::Equals { with }),
            CheckName::NumberEquals => {
                let with = collect(with(), problems);
                let extractor = collect(extractor(), problems);
                with.zip(extractor).map(|(with, extractor)| Self::NumberEquals { with, extractor })
            }
        }
    }

    fn judge(
        &self,
        value: &Value,
        candidate: &Candidate,
        step_count: u64,
    ) -> Result<(bool, String), Limit> {
        let text = match self {
            // The schema reads the value itself.
            Self::JsonSchema(_) => Cow::Borrowed(""),
            _ => text_of(value),
        };
        let steps = Steps::new(step_count);
        steps.take_text(text.len())?;
        let with_other = |with: &str| match candidate.field(with) {
            Some(other) => Ok(text_of(other)),
            None => Err(format!("no field {with}")),
        };
        Ok(match self {
            Self::JsonSchema(schema) => schema.judge(value, &steps)?,
            Self::FinalAnswer(extractor) => match extractor.extract_within(&text, &steps)? {
                Some(answer) => (true, in_short(&answer)),
                None => (false, format!("{} in the answer", extractor.absence())),
            },
            Self::Regex(pattern) => {
                steps.take_text(pattern.bytes_like(&text))?;
                match pattern.regex.find(&text) {
                    Some(found) => (true, in_short(found.as_str())),
                    None => (false, "no match of the pattern".into()),
                }
            }
            Self::Equals { with } => match with_other(with) {
                Ok(other) if text.trim() == other.trim() => (true, "equal".into()),
                Ok(_) => (false, format!("not equal to the field {with}")),
                Err(missing) => (false, missing),
            },
            Self::NumberEquals { with, extractor } => match with_other(with) {
                Ok(other) => compare(extractor, [&text, &other], &steps)?,
                Err(missing) => (false, missing),
            },
        })
    }
}

/// Compares the final answers of two texts as exact numbers. If the extractor finds none in `other`, all of `other`
/// is the number: it needs no mark such as `####`.
fn compare(
    extractor: &Extractor,
    [text, other]: [&str; 2],
    steps: &Steps,
) -> Result<(bool, String), Limit> {
    let Some(answer) = extractor.extract_within(text, steps)? else {
        return Ok((false, format!("{} in the answer", extractor.absence())));
    };
    let expected = extractor.extract_within(other, steps)?;
    let expected = expected.unwrap_or_else(|| other.trim().to_owned());
    let (answer, expected) = (answer.as_str(), expected.as_str());
    Ok(match same_number(answer, expected) {
        Some(true) => (true, format!("{} = {}", in_short(answer), in_short(expected))),
        Some(false) => (false, format!("{} is not {}", in_short(answer), in_short(expected))),
        None => (false, format!("{} or {} is not a number", in_short(answer), in_short(expected))),
    })
}

/// Problems for keys that this check would otherwise silently ignore.
fn superfluous(keys: &CheckKeys, name: CheckName) -> Vec<KeyProblem> {
    let extracts = matches!(name, CheckName::FinalAnswer | CheckName::NumberEquals);
    let compares = matches!(name, CheckName::Equals | CheckName::NumberEquals);
    let pattern = name == CheckName::Regex || extracts;
    problems_of([
        ("with", keys.with.is_some() && !compares, "only equals and number-equals compare"),
        ("schema", keys.schema.is_some() && name != CheckName::JsonSchema, "for json-schema only"),
        ("extract", keys.extract.is_some() && !extracts, "for final-answer and number-equals only"),
        ("pattern", keys.pattern.is_some() && !pattern, "this check has no pattern"),
        ("pointer", keys.pointer.is_some() && !extracts, "this check has no pointer"),
    ])
}

/// The price of a check: negligible, but a price must be more than 0.
const PRICE: Cost = Cost::from_picos(1000);

#[cfg(test)]
mod tests;
