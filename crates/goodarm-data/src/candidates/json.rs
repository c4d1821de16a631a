//! Scans JSON objects without building them: their fields, and whether they are valid.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The result of a scan.
#[derive(Debug, PartialEq)]
pub(super) struct Scanned<'a> {
    pub(super) is_object: bool,
    /// The names of the object's fields.
    pub(super) fields: BTreeSet<Cow<'a, str>>,
    /// The value of the field for the id.
    pub(super) id: Option<Id<'a>>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Id<'a> {
    Text(Cow<'a, str>),
    Other,
}

/// Reads one JSON text to its end, as strictly as a parser that builds it.
pub(super) fn scan<'a>(text: &'a str, id_field: &str) -> Result<Scanned<'a>, serde_json::Error> {
    let mut scanned = Scanned { is_object: false, fields: BTreeSet::new(), id: None };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let look = Look { keep: false, outermost: Some((id_field, &mut scanned)) };
    deserializer.deserialize_any(look)?;
    deserializer.end()?;
    Ok(scanned)
}

/// Appends a text as a JSON string.
pub(super) fn push_text(json: &mut String, text: &str) {
    json.push_str(&serde_json::to_string(text).expect("a text is plain data"));
}

/// Appends the name of an object's next field, with a comma before all but the first.
pub(super) fn push_name(json: &mut String, name: &str) {
    if !json.ends_with('{') {
        json.push(',');
    }
    push_text(json, name);
    json.push(':');
}

/// The same text with null instead of the non-finite numbers that Python writes and JSON does not allow.
pub(super) fn without_nan(text: &str) -> Cow<'_, str> {
    if !text.contains("NaN") && !text.contains("Infinity") {
        return text.into();
    }
    let (mut repaired, mut copied, mut index) = (String::with_capacity(text.len()), 0, 0);
    let (mut is_text, mut is_escaped) = (false, false);
    while let Some(&byte) = text.as_bytes().get(index) {
        let rest = &text.as_bytes()[index..];
        let word = NO_NUMBERS.iter().find(|word| !is_text && rest.starts_with(word.as_bytes()));
        if let Some(word) = word {
            repaired.push_str(&text[copied..index]);
            repaired.push_str("null");
            index += word.len();
            copied = index;
            continue;
        }
        is_text ^= byte == b'"' && !is_escaped;
        is_escaped = is_text && byte == b'\\' && !is_escaped;
        index += 1;
    }
    repaired.push_str(&text[copied..]);
    repaired.into()
}

/// The same as [`without_nan`] for a text that cannot be parsed; `None` if the text has no non-finite numbers.
pub(super) fn repaired(text: &str) -> Option<String> {
    Some(without_nan(text).into_owned()).filter(|repaired| repaired != text)
}

const NO_NUMBERS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];

/// Visits a value, and returns it if it is wanted and a text or a whole number. For the outermost value it
/// also notes the fields and the id.
struct Look<'s, 'a> {
    keep: bool,
    outermost: Option<(&'s str, &'s mut Scanned<'a>)>,
}

impl Look<'_, '_> {
    const fn inside(keep: bool) -> Self {
        Self { keep, outermost: None }
    }
}

impl<'a> DeserializeSeed<'a> for Look<'_, 'a> {
    type Value = Id<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Id<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Look<'_, 'a> {
    type Value = Id<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Id<'a>, A::Error> {
        let Some((id_field, scanned)) = self.outermost else {
            let mut names = BTreeSet::new();
            while let Some(Name(name)) = map.next_key()? {
                insert(&mut names, name)?;
                map.next_value_seed(Self::inside(false))?;
            }
            return Ok(Id::Other);
        };
        scanned.is_object = true;
        while let Some(Name(name)) = map.next_key()? {
            let is_id = name == id_field;
            insert(&mut scanned.fields, name)?;
            let value = map.next_value_seed(Self::inside(is_id))?;
            if is_id {
                scanned.id = Some(value);
            }
        }
        Ok(Id::Other)
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<Id<'a>, A::Error> {
        while seq.next_element_seed(Self::inside(false))?.is_some() {}
        Ok(Id::Other)
    }

    fn visit_unit<E>(self) -> Result<Id<'a>, E> {
        Ok(Id::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Id<'a>, E> {
        Ok(Id::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Id<'a>, E> {
        Ok(Id::Other)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Id<'a>, E> {
        Ok(if self.keep { Id::Text(number.to_string().into()) } else { Id::Other })
    }

    fn visit_i64<E>(self, number: i64) -> Result<Id<'a>, E> {
        Ok(if self.keep { Id::Text(number.to_string().into()) } else { Id::Other })
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Id<'a>, E> {
        Ok(Id::Text(text.into()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Id<'a>, E> {
        Ok(if self.keep { Id::Text(text.to_owned().into()) } else { Id::Other })
    }
}

/// Rejects a repeated field: some readers would use the first value, and others the last.
fn insert<'a, E: Error>(names: &mut BTreeSet<Cow<'a, str>>, name: Cow<'a, str>) -> Result<(), E> {
    if let Some(twice) = names.get(&name) {
        return Err(E::custom(format_args!("field {twice:?} appears twice in one object")));
    }
    names.insert(name);
    Ok(())
}

/// The name of a field, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);
