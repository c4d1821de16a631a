//! Recorded draws: how they are drawn, and the lines of files of pools.

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
    /// Each outcome once: certifies the verifier's mean. A pair is over when its outcomes are used up.
    InOrder,
}

/// One line of a file of pools: a question with its recorded answers. Other fields are ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct PoolLine {
    /// The question's id.
    pub id: Value,
    /// The right answer; for figures only.
    #[serde(default)]
    pub gold: Option<String>,
    /// The answer to be checked; for figures only.
    #[serde(default)]
    pub candidate: Option<PoolAnswer>,
    /// The recorded answers, in the order of their calls.
    pub solutions: Vec<PoolAnswer>,
}

/// One recorded answer. Other fields are ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct PoolAnswer {
    /// The whole text; `None` if only the final answer was recorded.
    #[serde(default)]
    pub text: Option<Value>,
    /// The final answer.
    #[serde(default)]
    pub answer: Value,
    /// The cost of the call.
    #[serde(default)]
    pub cost: Option<f64>,
    /// The tokens of the call; its cost if `cost` is missing.
    #[serde(default)]
    pub tokens: Option<f64>,
}
