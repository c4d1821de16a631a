//! The fields of a JSON object in the order of the text.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

/// The fields of an object in the order of the text; empty if the text is not an object.
pub fn in_order(json: &str) -> Vec<(String, Value)> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let fields = deserialize(&mut deserializer, "an object");
    fields.and_then(|fields| deserializer.end().map(|()| fields)).unwrap_or_default()
}

/// Reads the fields of an object in the order of the text. The error for any other value says `expected`.
pub fn deserialize<'de, D, V>(
    deserializer: D,
    expected: &'static str,
) -> Result<Vec<(String, V)>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct InOrder<V>(&'static str, PhantomData<V>);
    impl<'de, V: Deserialize<'de>> Visitor<'de> for InOrder<V> {
        type Value = Vec<(String, V)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut fields = Vec::new();
            while let Some(field) = map.next_entry()? {
                fields.push(field);
            }
            Ok(fields)
        }
    }
    deserializer.deserialize_map(InOrder(expected, PhantomData))
}
