//! A TOML table with the lines of its keys, so that all its problems can be reported at once, with their lines.

use std::collections::BTreeSet;
use std::ops::Range;

use goodarm_data::problem::{KeyProblem, ProblemKind};
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Deserializer};

use super::key_names;

/// A table and the text that it is part of.
pub struct JobTable<'a> {
    text: &'a str,
    span: Range<usize>,
    entries: DeTable<'a>,
}

impl<'a> JobTable<'a> {
    /// The table of a whole text.
    pub fn parse(text: &'a str) -> Result<Self, toml::de::Error> {
        let table = DeTable::parse(text).map_err(|mut error| {
            error.set_input(Some(text));
            error
        })?;
        Ok(Self { text, span: table.span(), entries: table.into_inner() })
    }

    /// The tables in the array `key`; empty if it is something else.
    pub fn tables(&self, key: &str) -> Vec<Self> {
        let array = self.entries.get(key).and_then(|value| value.get_ref().as_array());
        array.into_iter().flatten().filter_map(|value| self.inside(value)).collect()
    }

    /// The table at `key`; `None` for another kind of value.
    pub fn table(&self, key: &str) -> Option<Self> {
        self.inside(self.entries.get(key)?)
    }

    fn inside(&self, value: &Spanned<DeValue<'a>>) -> Option<Self> {
        let entries = value.get_ref().as_table()?.clone();
        Some(Self { text: self.text, span: value.span(), entries })
    }

    /// The whole number at a key, if that is one.
    pub fn number_of(&self, key: &str) -> Option<i64> {
        let number = self.entries.get(key)?.get_ref().as_integer()?;
        i64::from_str_radix(number.as_str(), number.radix()).ok()
    }

    /// The text at a key, if that is a text.
    pub fn text_of(&self, key: &str) -> Option<&str> {
        self.entries.get(key)?.get_ref().as_str()
    }

    /// The names of all keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(|key| key.get_ref().as_ref())
    }

    /// The same table with some of its keys only.
    pub fn with_keys(&self, names: &BTreeSet<String>) -> Self {
        let is_wanted = |key: &Spanned<DeString<'_>>| names.contains(key.get_ref().as_ref());
        let entries = self.entries.clone().into_iter().filter(|(key, _)| is_wanted(key)).collect();
        Self { text: self.text, span: self.span.clone(), entries }
    }

    /// The same table with a text at a key that it does not have.
    pub fn with_default(&self, key: &'static str, text: &'static str) -> Self {
        let mut entries = self.entries.clone();
        if !self.has(key) {
            let key = Spanned::new(self.span.clone(), DeString::from(key));
            let text = DeValue::String(DeString::from(text));
            entries.insert(key, Spanned::new(self.span.clone(), text));
        }
        Self { text: self.text, span: self.span.clone(), entries }
    }

    /// The table as a `T`, or all its problems: missing keys, and values that cannot be read.
    pub fn read<T>(&self, problems: &mut Vec<KeyProblem>) -> Option<T>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let schema = T::json_schema(&mut SchemaGenerator::default());
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let missing = required.filter_map(Value::as_str).filter(|key| !self.has(key));
        let before = problems.len();
        problems.extend(missing.map(|key| KeyProblem::missing(key, "this key is needed")));
        let mut known = self.with_keys(&key_names(&schema));
        loop {
            let error = match T::deserialize(known.deserializer()) {
                Ok(value) if problems.len() == before => return Some(value),
                Ok(_) => return None,
                Err(error) => error,
            };
            // A problem of the whole table, such as a missing key, is not in any of its keys.
            let place = error.span().filter(|place| *place != self.span);
            // Without this key, the parser finds the next problem.
            match place.and_then(|place| known.take_key_at(&place)) {
                Some(path) => {
                    let message = message(&error);
                    let key = path.rsplit('.').next().unwrap_or_default();
                    // Some messages begin with the key.
                    let rest = message.strip_prefix(key).and_then(|it| it.strip_prefix(": "));
                    problems.push(KeyProblem::new(&path, rest.unwrap_or(&message)));
                }
                None if problems.len() == before => {
                    problems.push(KeyProblem::new("", message(&error)));
                    return None;
                }
                None => return None,
            }
        }
    }

    /// The line of a key, counted from 1, or of the table if it has no such key. The key may be in a table of an array,
    /// with the number of the table: `criteria[3].name`.
    pub fn line_of(&self, key: &str) -> usize {
        if let Some((table, rest)) = self.element(key) {
            return table.line_of(rest);
        }
        let found = self.entries.iter().find(|(name, _)| name.get_ref() == key);
        self.line_at(found.map_or(self.span.start, |(name, _)| name.span().start))
    }

    /// For a key such as `criteria[3].name`: the third table of `criteria`, and the rest of the key.
    fn element<'k>(&self, key: &'k str) -> Option<(Self, &'k str)> {
        let (array, rest) = key.split_once('[')?;
        let (number, rest) = rest.split_once(']')?;
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        let table = self.tables(array).into_iter().nth(index)?;
        Some((table, rest.trim_start_matches('.')))
    }

    /// The first line on which a value contains `word`, or the line of the table if no value does.
    pub fn line_with(&self, word: &str) -> usize {
        let at = self.entries.iter().filter_map(|(_, value)| {
            let span = value.span();
            Some(span.start + self.text.get(span)?.find(word)?)
        });
        self.line_at(at.min().unwrap_or(self.span.start))
    }

    /// Whether there is such a key.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    fn deserializer(&self) -> Deserializer<'a> {
        Spanned::new(self.span.clone(), self.entries.clone()).into()
    }

    /// Removes the key whose name or value contains `place`, and returns where that is, as in `criteria[3].name`.
    fn take_key_at(&mut self, place: &Range<usize>) -> Option<String> {
        let key = self.key_at(place)?;
        let path = self.path_in(&key, place);
        self.entries.remove(key.as_str());
        Some(path)
    }

    /// The key whose name or value contains `place`.
    fn key_at(&self, place: &Range<usize>) -> Option<String> {
        let mut entries = self.entries.iter();
        let (key, _) =
            entries.find(|(key, value)| holds(&key.span(), place) || is_in(place, value))?;
        Some(key.get_ref().to_string())
    }

    /// The key, with the number of a table and a key in it if its value is an array of tables and one of them contains
    /// `place`.
    fn path_in(&self, key: &str, place: &Range<usize>) -> String {
        let tables = self.tables(key).into_iter().enumerate();
        let mut inner = tables.map(|(index, table)| (index + 1, table.key_at(place), table.span));
        match inner.find(|(_, inside, span)| inside.is_some() || holds(span, place)) {
            Some((number, Some(inside), _)) => format!("{key}[{number}].{inside}"),
            Some((number, None, _)) => format!("{key}[{number}]"),
            None => key.to_owned(),
        }
    }

    fn line_at(&self, offset: usize) -> usize {
        1 + self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
    }
}

fn holds(outer: &Range<usize>, place: &Range<usize>) -> bool {
    outer.start <= place.start && place.end <= outer.end
}

/// Whether a place is in a value. The span of a table with a header is only the header, so its keys are searched.
fn is_in(place: &Range<usize>, value: &Spanned<DeValue<'_>>) -> bool {
    holds(&value.span(), place)
        || match value.get_ref() {
            DeValue::Table(table) => {
                table.iter().any(|(key, value)| holds(&key.span(), place) || is_in(place, value))
            }
            DeValue::Array(values) => values.iter().any(|value| is_in(place, value)),
            _ => false,
        }
}

/// A problem for each key that is not `known`, with the name that was probably meant, or with all known names.
pub fn unknown_keys<'a>(
    table: &'a JobTable<'_>,
    known: &'a BTreeSet<String>,
) -> impl Iterator<Item = KeyProblem> + 'a {
    table.keys().filter(|key| !known.contains(*key)).map(|key| {
        let message = goodarm_files::no_such_key(key, known.iter().map(String::as_str));
        KeyProblem { kind: ProblemKind::UnknownKey, ..KeyProblem::new(key, message) }
    })
}

/// The parser's message, reworded.
fn message(error: &toml::de::Error) -> String {
    goodarm_files::plain_message(error.message().trim_end())
}
