//! The lines of a run's `labels.jsonl`.

use serde::{Deserialize, Serialize};

use super::Rule;
use crate::journal::Mark;

/// One line. Which it is, its first key says.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub(crate) enum Line {
    Begun(Begun),
    Given(Given),
    Undone(Undone),
}

/// A claim begins: what it is about, and in which order. Written before the first label is seen.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Begun {
    /// Its number, counted from 1.
    pub(crate) claim: usize,
    /// The probability with which it is ever false, at most.
    pub(crate) delta: f64,
    pub(crate) rule: Rule,
    pub(crate) labels_per_card: usize,
    /// How much of the journal there was: the claim is about what was certified then.
    pub(crate) journal: Mark,
    /// Random digits of the moment in which the claim began: the order depends on them.
    pub(crate) draw: String,
    /// The ids of all of these answers, in the order in which they are labelled.
    pub(crate) order: Vec<String>,
    pub(crate) unix_millis: u64,
}

/// Labels that one person gave at once.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    pub(crate) by: String,
    pub(crate) unix_millis: u64,
    pub(crate) labels: Vec<GivenLabel>,
}

/// What was said about one answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenLabel {
    /// The answer's id.
    pub(crate) key: String,
    pub(crate) said: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    Right,
    Wrong,
    /// The person cannot tell.
    Skip,
}

/// A person takes back the last of their labels that stands.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undone {
    pub(crate) by: String,
    pub(crate) unix_millis: u64,
    /// The answer's id.
    pub(crate) key: String,
}

/// A line as it is written.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun: Option<Begun>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<Given>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    undone: Option<Undone>,
    /// Whoever seals the line writes it and looks at it.
    #[serde(default, rename = "crc", skip_serializing)]
    _crc: String,
}

impl TryFrom<Written> for Line {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match written {
            Written { begun: Some(begun), given: None, undone: None, .. } => Ok(Self::Begun(begun)),
            Written { begun: None, given: Some(given), undone: None, .. } => Ok(Self::Given(given)),
            Written { begun: None, given: None, undone: Some(undone), .. } => {
                Ok(Self::Undone(undone))
            }
            _ => Err("expected one of the keys begun, given and undone"),
        }
    }
}

impl From<Line> for Written {
    fn from(line: Line) -> Self {
        match line {
            Line::Begun(begun) => Self { begun: Some(begun), ..Self::default() },
            Line::Given(given) => Self { given: Some(given), ..Self::default() },
            Line::Undone(undone) => Self { undone: Some(undone), ..Self::default() },
        }
    }
}
