//! Validates answers by a JSON Schema. The work is counted in looks: one part of the schema looks at one JSON
//! value. A schema whose work could grow faster than the answer is refused when the job is read.

use std::path::Path;

use goodarm_data::pattern::Pattern;
use goodarm_data::problem::KeyProblem;
use goodarm_data::steps::{JSON_BYTES_MAX, Limit, Steps, text_steps};
use goodarm_record::fingerprint::Fingerprint;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use super::CheckKeys;
use goodarm_files::words::in_short;

#[derive(Debug)]
pub(super) struct Schema {
    validator: Validator,
    /// The number of JSON values in the schema, each reference replaced by its target.
    size: u64,
    /// More looks at each value of an answer, for keywords whose work is more than one look.
    extra_looks: u64,
    /// More looks for each 256 bytes of an answer, for patterns that are searched state by state.
    state_looks: u64,
    /// How often it compares all elements of an array.
    unique_count: u64,
    /// The length of its longest text, which may be in each error.
    longest_text: u64,
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
        let mut survey = Survey {
            root: schema,
            is_draft_4: schema["$schema"].as_str().is_some_and(|it| it.contains("draft-04")),
            references: Vec::new(),
            size: 0,
            extra_looks: 0,
            state_looks: 0,
            unique_count: 0,
            longest_text: 0,
        };
        survey.visit(schema, 0).map_err(wrong)?;
        // Without look-around and back-references, a search is one pass.
        let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES_MAX);
        let options = jsonschema::options().offline().with_pattern_options(patterns);
        let validator = options.build(schema).map_err(|error| {
            let hint = match error.to_string() {
                text if text.ends_with("is not a \"regex\"") => PATTERN_HINT,
                _ => "",
            };
            wrong(format!("{error}{hint}"))
        })?;
        Ok(Self {
            validator,
            size: survey.size,
            extra_looks: survey.extra_looks,
            state_looks: survey.state_looks,
            unique_count: survey.unique_count,
            longest_text: survey.longest_text,
        })
    }

    /// Whether the schema accepts an answer, and a text for people that gives the reason.
    pub(super) fn judge(&self, value: &Value, steps: &Steps) -> Result<(bool, String), Limit> {
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
        // Each part of the schema looks at a value at most once.
        let compared = match self.unique_count {
            0 => 0,
            count => count.saturating_mul(longest_array(value)),
        };
        let value_steps = value_steps(value);
        let by_value = value_steps.saturating_mul(self.size + self.extra_looks + compared);
        let by_state = text_steps(text_bytes(value)).saturating_mul(self.state_looks);
        let looks = by_value.saturating_add(by_state);
        steps.take(looks / LOOKS_PER_STEP)?;
        if self.validator.is_valid(value) {
            return Ok((true, "accepted by the schema".into()));
        }
        // Each failed look may create an error in memory, with the path of its value and a text of the schema.
        let texts = text_bytes(value) as u64 + self.longest_text;
        let error_bytes = (value_steps * self.size).saturating_mul(ERROR_BYTES + texts);
        let error = if error_bytes > ERRORS_BYTES_MAX {
            None
        } else {
            self.validator.validate(value).err()
        };
        let reason = match error {
            Some(error) => in_short(&format!("{}: {error}", error.instance_path())),
            None => "not accepted by the schema".into(),
        };
        Ok((false, reason))
    }
}

/// Goes through a schema as if every reference were replaced by its target.
struct Survey<'a> {
    root: &'a Value,
    /// In draft 4, `id` is what `$id` is in later drafts.
    is_draft_4: bool,
    /// The references that were followed to the present place.
    references: Vec<&'a str>,
    size: u64,
    /// For keywords whose work is more than one look.
    extra_looks: u64,
    state_looks: u64,
    unique_count: u64,
    longest_text: u64,
}

impl<'a> Survey<'a> {
    fn visit(&mut self, schema: &'a Value, depth: usize) -> Result<(), String> {
        self.size += 1;
        if self.size > SIZE_MAX || depth > DEPTH_MAX {
            return Err(format!(
                "too large: with each $ref replaced by its target, it may have {SIZE_MAX} values and {DEPTH_MAX} levels"
            ));
        }
        match schema {
            Value::Object(members) => {
                for (name, value) in members {
                    self.visit_member(name, value, depth)?;
                }
            }
            Value::Array(values) => {
                for value in values {
                    self.visit(value, depth + 1)?;
                }
            }
            Value::String(text) => self.longest_text = self.longest_text.max(text.len() as u64),
            _ => {}
        }
        Ok(())
    }

    fn visit_member(
        &mut self,
        name: &'a str,
        value: &'a Value,
        depth: usize,
    ) -> Result<(), String> {
        match (name, value) {
            ("$ref", Value::String(reference)) => return self.follow(reference, depth),
            ("$id" | "$schema", Value::String(_)) if depth > 0 => {
                return Err(format!("{name} is possible at the top only"));
            }
            ("id", Value::String(_)) if depth > 0 && self.is_draft_4 => {
                return Err("id is possible at the top only".into());
            }
            ("format", Value::String(format)) if format == "regex" => {
                return Err("the format regex is not possible: to compile a pattern of an answer may take too long".into());
            }
            ("$dynamicRef" | "$recursiveRef", Value::String(_))
            | ("unevaluatedItems" | "unevaluatedProperties", Value::Bool(_) | Value::Object(_)) => {
                return Err(format!(
                    "{name} is not possible: the work for an answer could not be limited"
                ));
            }
            ("uniqueItems", Value::Bool(true)) => self.unique_count += 1,
            ("multipleOf", Value::Number(_)) => self.extra_looks += DIVISION_LOOKS,
            ("format", Value::String(_)) => self.extra_looks += FORMAT_LOOKS,
            ("contentMediaType" | "contentEncoding", Value::String(_)) => {
                self.extra_looks += CONTENT_LOOKS;
            }
            ("pattern", Value::String(pattern)) => self.take_pattern(pattern),
            ("patternProperties", Value::Object(patterns)) => {
                patterns.keys().for_each(|pattern| self.take_pattern(pattern));
            }
            _ => {}
        }
        self.visit(value, depth + 1)
    }

    /// Alternatives are compared one by one, and an automaton that grows too large is searched state by state.
    fn take_pattern(&mut self, pattern: &str) {
        let states = Pattern::new(pattern).map_or(0, |pattern| pattern.repeated_states());
        self.extra_looks += (pattern.len() / PATTERN_BYTES_PER_LOOK) as u64;
        self.state_looks += (states * LOOKS_PER_STATE) as u64;
    }

    fn follow(&mut self, reference: &'a str, depth: usize) -> Result<(), String> {
        if self.references.contains(&reference) {
            return Err(format!("it contains itself, by $ref {reference:?}: no schema may"));
        }
        let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'));
        let Some(target) = pointer.and_then(|pointer| self.root.pointer(pointer)) else {
            return Err(format!(
                "$ref {reference:?} leads nowhere: it must be a place in this schema, such as \"#/$defs/name\", without %"
            ));
        };
        self.references.push(reference);
        self.visit(target, depth + 1)?;
        self.references.pop();
        Ok(())
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

/// The steps of one look at a value, and at all values and names in it.
fn value_steps(value: &Value) -> u64 {
    match value {
        Value::String(text) => text_steps(text.len()),
        Value::Array(values) => 1 + values.iter().map(value_steps).sum::<u64>(),
        Value::Object(members) => {
            let steps =
                members.iter().map(|(name, value)| text_steps(name.len()) + value_steps(value));
            1 + steps.sum::<u64>()
        }
        _ => 1,
    }
}

/// The length of the longest array in a value. If elements have equal hashes, which an answer may have on purpose,
/// `uniqueItems` compares each element with all others.
fn longest_array(value: &Value) -> u64 {
    match value {
        Value::Array(values) => {
            let inner = values.iter().map(longest_array).max();
            inner.unwrap_or(0).max(values.len() as u64)
        }
        Value::Object(members) => members.values().map(longest_array).max().unwrap_or(0),
        _ => 0,
    }
}

/// The beginning of the message of `serde_json` about values that are nested too deeply.
const TOO_DEEP: &str = "recursion limit exceeded";
/// The largest compiled pattern. The search for a larger one may go state by state, which is slow.
const PATTERN_BYTES_MAX: usize = 256 << 10;
const PATTERN_HINT: &str = ": a pattern without look-around and back-references, and of fewer states (maxLength limits a length)";
const SIZE_MAX: u64 = 10_000;
const DEPTH_MAX: usize = 256;
/// The looks that one step pays for: most parts of a schema never look at most values.
const LOOKS_PER_STEP: u64 = 32;
/// The looks that a `multipleOf` costs. Division by a number such as 0.0000001 is exact: it uses integers of a
/// thousand bits.
const DIVISION_LOOKS: u64 = 3000;
const FORMAT_LOOKS: u64 = 50;
/// The text is decoded and parsed.
const CONTENT_LOOKS: u64 = 1000;
const PATTERN_BYTES_PER_LOOK: usize = 8;
/// For 256 bytes.
const LOOKS_PER_STATE: usize = 64;
const ERROR_BYTES: u64 = 500;
const ERRORS_BYTES_MAX: u64 = 128 << 20;
