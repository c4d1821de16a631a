//! Recorded draws: how they are drawn, and the lines of pools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How recorded outcomes are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Draws {
    /// Independent draws: certifies the mean of the recording.
    #[default]
    WithReplacement,
    /// Each outcome once: certifies the verifier's mean. A pair ends where its outcomes do.
    InOrder,
}

/// One line of a file of pools: a question with its recorded answers. Other fields are ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct PoolLine {
    /// The question's name.
    pub id: Value,
    /// Its right answer; for figures only.
    #[serde(default)]
    pub gold: Option<String>,
    /// The answer that is asked about; for figures only.
    #[serde(default)]
    pub candidate: Option<PoolAnswer>,
    /// The recorded answers, in the order in which they were given.
    pub solutions: Vec<PoolAnswer>,
}

/// One recorded answer. Other fields are ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct PoolAnswer {
    /// All of it; the final answer alone if that is all there is.
    #[serde(default)]
    pub text: Option<Value>,
    /// The final answer.
    #[serde(default)]
    pub answer: Value,
    /// What it cost.
    #[serde(default)]
    pub cost: Option<f64>,
    /// The same, where money is tokens.
    #[serde(default)]
    pub tokens: Option<f64>,
}
