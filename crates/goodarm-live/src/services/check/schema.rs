//! Validates answers by a JSON Schema, with a limit of steps.

use std::path::Path;

use goodarm_data::pattern::Pattern;
use goodarm_data::problem::KeyProblem;
use goodarm_data::steps::{JSON_BYTES_MAX, Limit};
use goodarm_record::fingerprint::Fingerprint;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::CheckKeys;
use super::counted_json::{Counted, CountedJson, Counter, Prices};
use goodarm_files::words::in_short;

#[derive(Debug)]
pub(super) struct Schema {
    validator: Validator<CountedJson>,
    prices: Prices,
}

impl Schema {
    /// A schema from a file or from the job file itself. References to other files are not followed.
    pub(super) fn new(
        keys: &CheckKeys,
        folder: &Path,
        file: &mut Option<Fingerprint>,
    ) -> Result<Self, KeyProblem> {
        let wrong = |message: String| KeyProblem::new("schema", message);
        let loaded;
        let schema = match &keys.schema {
            None => {
                let needed = "a JSON Schema is needed: a path, or a table";
                return Err(KeyProblem::missing("schema", needed));
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
        let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS_MAX);
        let options = jsonschema::options_for::<CountedJson>();
        let validator = options.offline().with_pattern_options(patterns).build(schema);
        let validator = validator.map_err(|error| wrong(error.to_string()))?;
        let mut prices = Prices::default();
        set_prices(schema, &mut prices);
        Ok(Self { validator, prices })
    }

    /// Whether an answer is accepted, and why not.
    pub(super) fn judge(&self, value: &Value, steps: u64) -> Result<(bool, String), Limit> {
        let parsed;
        let value = match value {
            Value::String(text) if text.len() > JSON_BYTES_MAX => return Err(Limit::JsonBytes),
            Value::String(text) => match serde_json::from_str(text) {
                Ok(value) => {
                    parsed = value;
                    &parsed
                }
                Err(error) if error.to_string().starts_with(TOO_DEEP) => return Err(Limit::Depth),
                Err(error) => return Ok((false, format!("not JSON: {error}"))),
            },
            other if text_bytes(other) > JSON_BYTES_MAX => return Err(Limit::JsonBytes),
            other => other,
        };
        let counter = Counter::new(steps, self.prices);
        let is_valid = self.validator.is_valid(Counted::new(value, &counter));
        match counter.limit() {
            Some(limit) => Err(limit),
            None if is_valid => Ok((true, "accepted by the schema".into())),
            None => Ok((false, self.reason(value))),
        }
    }

    /// Why it is not accepted. Errors of nested branches may take many more steps than the validation: then the
    /// reason has no details.
    fn reason(&self, value: &Value) -> String {
        let counter = Counter::new(STEPS_FOR_REASON, self.prices);
        let node = Counted::new(value, &counter);
        let error = if text_bytes(value) > REASON_BYTES_MAX {
            None
        } else {
            self.validator.validate(node).err().filter(|_| counter.limit().is_none())
        };
        match error {
            Some(error) => in_short(&format!("{}: {error}", error.instance_path())),
            None => "not accepted by the schema".into(),
        }
    }
}

/// The approximate length of a value as text.
pub(super) fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(|value| 2 + text_bytes(value)).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| 4 + name.len() + text_bytes(value)).sum()
        }
        _ => 4,
    }
}

/// Finds keywords that take more than one pass over a text, such as a pattern with a look-ahead, and keywords that
/// divide. A word that only looks like a keyword may increase the price, and never lower it.
fn set_prices(schema: &Value, prices: &mut Prices) {
    let mut match_against = |pattern: &str| match Pattern::new(pattern) {
        Ok(pattern) => prices.slowness = prices.slowness.max(pattern.slowness()),
        Err(_) => prices.text = STEPS_PER_HARD_TEXT,
    };
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("pattern", Value::String(pattern)) => match_against(pattern),
                    ("patternProperties", Value::Object(patterns)) => {
                        patterns.keys().for_each(|pattern| match_against(pattern));
                    }
                    _ => {}
                }
            }
            if members.contains_key("multipleOf") {
                prices.number = STEPS_PER_DIVISION;
            }
            members.values().for_each(|value| set_prices(value, prices));
        }
        Value::Array(values) => values.iter().for_each(|value| set_prices(value, prices)),
        _ => {}
    }
}

/// The beginning of the message of `serde_json`.
const TOO_DEEP: &str = "recursion limit exceeded";
/// The most backtracks of a pattern with a look-ahead or a back-reference; beyond that it does not match.
const BACKTRACKS_MAX: usize = 10_000;
const STEPS_PER_HARD_TEXT: u64 = 1000;
/// `1e308` has hundreds of digits.
const STEPS_PER_DIVISION: u64 = 200;
const STEPS_FOR_REASON: u64 = 5000;
const REASON_BYTES_MAX: usize = 64 << 10;
