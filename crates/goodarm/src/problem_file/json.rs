//! JSON whose errors say where they are: `observations[2][1]: expected a list, found null`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// A value as written. A key that is given twice is refused, where other readers keep the last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

/// A value that is not what its field needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    path: String,
    fault: String,
}

impl FieldError {
    /// The fault of the value at hand; whoever took it out of its place adds the place.
    pub(crate) fn new(fault: impl Into<String>) -> Self {
        Self { path: String::new(), fault: fault.into() }
    }

    pub(crate) fn expected(what: &str, found: &Json) -> Self {
        Self::new(format!("expected {what}, found {}", found.described()))
    }

    pub(crate) fn at(self, index: usize) -> Self {
        self.inside(&format!("[{index}]"))
    }

    pub(crate) fn under(self, key: &str) -> Self {
        self.inside(&shortened(key))
    }

    fn inside(mut self, place: &str) -> Self {
        let joint = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{place}{joint}{}", self.path);
        self
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joint = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{}{joint}{}", self.path, self.fault)
    }
}

/// The fields of an object, all of them known.
#[derive(Debug)]
pub(crate) struct Fields(BTreeMap<String, Json>);

impl Fields {
    pub(crate) fn new(value: Json, known: &[&str]) -> Result<Self, FieldError> {
        let Json::Object(fields) = value else {
            return Err(FieldError::expected("an object", &value));
        };
        match fields.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(unknown("no such field", key, known).under(key)),
            None => Ok(Self(fields)),
        }
    }

    /// Takes a field out, if it is there.
    pub(crate) fn optional<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(Json) -> Result<T, FieldError>,
    ) -> Result<Option<T>, FieldError> {
        let value = self.0.remove(key);
        value.map(read).transpose().map_err(|error| error.under(key))
    }

    /// Takes a field out that must be there.
    pub(crate) fn required<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(Json) -> Result<T, FieldError>,
    ) -> Result<T, FieldError> {
        self.optional(key, read)?.ok_or_else(|| FieldError::new("this field is missing").under(key))
    }
}

pub(crate) fn number(value: Json) -> Result<f64, FieldError> {
    match &value {
        Json::Number(number) => number.as_f64(),
        _ => None,
    }
    .ok_or_else(|| FieldError::expected("a number", &value))
}

pub(crate) fn whole_number(value: Json) -> Result<u64, FieldError> {
    match &value {
        Json::Number(number) => number.as_u64(),
        _ => None,
    }
    .ok_or_else(|| FieldError::expected("a whole number", &value))
}

pub(crate) fn flag(value: Json) -> Result<bool, FieldError> {
    match value {
        Json::Flag(flag) => Ok(flag),
        _ => Err(FieldError::expected("true or false", &value)),
    }
}

pub(crate) fn text(value: Json) -> Result<String, FieldError> {
    match value {
        Json::Text(text) => Ok(text),
        _ => Err(FieldError::expected("a text", &value)),
    }
}

/// One of a few words.
pub(crate) fn word(value: Json, known: &[&'static str]) -> Result<&'static str, FieldError> {
    let written = text(value)?;
    let found = known.iter().copied().find(|&word| word == written);
    let fault = || format!("\"{}\" is not known", shortened(&written));
    found.ok_or_else(|| unknown(&fault(), &written, known))
}

pub(crate) fn list<T>(
    value: Json,
    mut item: impl FnMut(Json) -> Result<T, FieldError>,
) -> Result<Vec<T>, FieldError> {
    let Json::List(values) = value else {
        return Err(FieldError::expected("a list", &value));
    };
    let read = |(index, value)| item(value).map_err(|error| error.at(index));
    values.into_iter().enumerate().map(read).collect()
}

pub(crate) fn numbers(value: Json) -> Result<Vec<f64>, FieldError> {
    list(value, number)
}

/// `what` is for example "one number for each arm".
pub(crate) fn check_count(found: usize, wanted: usize, what: &str) -> Result<(), FieldError> {
    if found == wanted {
        return Ok(());
    }
    Err(FieldError::new(format!("expected {what}, which is {wanted}, found {found}")))
}

/// Names the nearest right spelling, or all there are.
fn unknown(fault: &str, written: &str, known: &[&str]) -> FieldError {
    let plain = |word: &str| word.to_lowercase().replace(['_', ' '], "-");
    let written: String = written.chars().take(SPELLING_CHARS_MAX).collect();
    let likeness = |word: &str| strsim::jaro_winkler(&plain(&written), &plain(word));
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest {
        Some(word) if likeness(word) >= LIKENESS_MIN => {
            FieldError::new(format!("{fault}; did you mean {word}?"))
        }
        _ => FieldError::new(format!("{fault}; there are {}", known.join(", "))),
    }
}

fn shortened(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    let dots = if cut.len() < text.len() { "..." } else { "" };
    format!("{}{dots}", cut.escape_debug())
}

impl Json {
    fn described(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Flag(flag) => flag.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("\"{}\"", shortened(text)),
            Self::List(_) => "a list".into(),
            Self::Object(_) => "an object".into(),
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Flag(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json, E> {
        Number::from_f64(value).map(Json::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = BTreeMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                let fault = format!("the field {} is given twice", shortened(&key));
                return Err(de::Error::custom(fault));
            }
            object.insert(key, entries.next_value()?);
        }
        Ok(Json::Object(object))
    }
}

/// Jaro-Winkler: misspelt field names lie above this, any two different ones below.
const LIKENESS_MIN: f64 = 0.8;
/// Comparing spellings takes time that grows with the square of their length.
const SPELLING_CHARS_MAX: usize = 100;
const SHOWN_CHARS_MAX: usize = 60;
