//! The temperature of a request: a number, or the model's default.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The temperature of a request.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "a number or \"default\"")]
#[schemars(inline)]
pub enum Temperature {
    /// This temperature.
    Degrees(f64),
    /// No temperature is sent.
    Word(TemperatureWord),
}

/// A temperature that is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TemperatureWord {
    /// The model's default. The user asserts that replies are fresh samples.
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
