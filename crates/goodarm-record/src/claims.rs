//! The claims of a run: the lines of its file of labels, their result, and the order of labelling.

pub(crate) mod labelled;
pub(crate) mod line;
pub(crate) mod order;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What makes an answer right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consensus {
    /// The one person who labels it says so.
    One,
    /// More than half of its labels say so.
    Majority,
    /// All of its labels say so.
    All,
}

impl Consensus {
    /// The one that claims least.
    pub(crate) const fn natural(labels_per_card: usize) -> Self {
        if labels_per_card > 1 { Self::All } else { Self::One }
    }

    /// What files call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Majority => "majority",
            Self::All => "all",
        }
    }
}

impl FromStr for Consensus {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Self::One, Self::Majority, Self::All];
        all.into_iter()
            .find(|rule| rule.name() == name)
            .ok_or_else(|| format!("rule {}", goodarm_files::none_of(name, &all.map(Self::name))))
    }
}

/// More names than this are an error in the file.
const LABELLERS_MAX: usize = 1000;
const LABELS_PER_CARD_MAX: usize = 9;
pub(crate) const NAME_BYTES_MAX: usize = 200;
