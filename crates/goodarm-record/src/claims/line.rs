//! The lines of a run's `labels.jsonl`.

use serde::{Deserialize, Serialize};

use crate::card_queue::CardReply;
use crate::journal::Mark;

/// One line; its first key is its kind.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LabelLine {
    #[serde(rename = "begun")]
    Started(ClaimStarted),
    #[serde(rename = "given")]
    Added(LabelsAdded),
    Undone(LabelUndone),
}

/// A claim begins: its answers and their order. Written before the first label.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimStarted {
    /// Its number, counted from 1.
    pub(crate) claim: usize,
    /// The largest probability that it is ever false.
    pub(crate) delta: f64,
    pub(crate) labels_per_card: usize,
    /// The journal when the claim began: the claim is about what was certified then.
    pub(crate) journal: Mark,
    /// Random digits, drawn when the claim began: the order depends on them.
    pub(crate) draw: String,
    /// The ids of the claim's answers, in the order in which they are labelled.
    pub(crate) order: Vec<String>,
    pub(crate) unix_millis: u64,
}

/// Labels that one person gave at once.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelsAdded {
    pub(crate) by: String,
    pub(crate) unix_millis: u64,
    pub(crate) labels: Vec<CardLabel>,
}

/// The label of one answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardLabel {
    /// The answer's id.
    pub(crate) key: String,
    pub(crate) said: CardReply,
}

/// A person undoes the last of their valid labels.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelUndone {
    pub(crate) by: String,
    pub(crate) unix_millis: u64,
    /// The answer's id.
    pub(crate) key: String,
}
