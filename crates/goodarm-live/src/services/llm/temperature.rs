//! The temperature of a request: a number, or the model's default.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The temperature of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Temperature {
    /// This temperature.
    Degrees(f64),
    /// The model's default: no temperature is sent. The user asserts that replies are fresh samples.
    Default,
}

impl Default for Temperature {
    fn default() -> Self {
        Self::Degrees(1.0)
    }
}

impl Temperature {
    /// Whether it is 0, so that all replies are the same.
    pub(super) fn is_cold(self) -> bool {
        matches!(self, Self::Degrees(degrees) if degrees.abs() <= 0.0)
    }
}

impl Serialize for Temperature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Degrees(degrees) => serializer.serialize_f64(*degrees),
            Self::Default => serializer.serialize_str(WORD),
        }
    }
}

impl<'de> Deserialize<'de> for Temperature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TemperatureVisitor)
    }
}

struct TemperatureVisitor;

impl Visitor<'_> for TemperatureVisitor {
    type Value = Temperature;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number or {WORD:?}")
    }

    fn visit_f64<E: de::Error>(self, degrees: f64) -> Result<Temperature, E> {
        Ok(Temperature::Degrees(degrees))
    }

    #[expect(clippy::cast_precision_loss, reason = "no temperature is as large")]
    fn visit_i64<E: de::Error>(self, degrees: i64) -> Result<Temperature, E> {
        self.visit_f64(degrees as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "no temperature is as large")]
    fn visit_u64<E: de::Error>(self, degrees: u64) -> Result<Temperature, E> {
        self.visit_f64(degrees as f64)
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Temperature, E> {
        if word == WORD {
            return Ok(Temperature::Default);
        }
        Err(E::invalid_value(de::Unexpected::Str(word), &self))
    }
}

impl JsonSchema for Temperature {
    fn schema_name() -> Cow<'static, str> {
        "Temperature".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "number" }, { "const": WORD }] })
    }
}

const WORD: &str = "default";
