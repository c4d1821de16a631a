//! Replies to cards as people type them.

use goodarm_files::did_you_mean;

use super::{CardReply, ReplyForm};

impl CardReply {
    /// Parses a typed reply; `None` if it is blank. The error names the expected words.
    pub fn read(text: &str, wanted: ReplyForm) -> Result<Option<Self>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let word = text.to_lowercase();
        let is_in = |words: &[&str]| words.contains(&word.as_str());
        let said = match wanted {
            ReplyForm::Answer if word == "skip" => Self::Skip,
            ReplyForm::Answer => Self::Answer(text.to_owned()),
            _ if is_in(&SKIP) => Self::Skip,
            ReplyForm::Score { lowest, highest } => {
                let score: Option<f64> = word.parse().ok();
                let score = score.filter(|score| (lowest..=highest).contains(score));
                Self::Score(score.ok_or_else(|| {
                    format!("expected a number from {lowest} to {highest}, or skip; found {text:?}")
                })?)
            }
            ReplyForm::Verdict if is_in(&RIGHT) => Self::Right,
            ReplyForm::Verdict if is_in(&WRONG) => Self::Wrong,
            ReplyForm::Verdict => {
                // A short word is near to every typing error, so only long ones are suggested.
                let names = [&RIGHT[..], &WRONG, &SKIP].concat();
                let names = names.into_iter().filter(|name| name.len() > 3);
                let hint = did_you_mean(&word, names);
                return Err(format!("expected right, wrong or skip; found {text:?}{hint}"));
            }
        };
        Ok(Some(said))
    }

    /// The reply as a person would type it.
    pub fn words(&self) -> String {
        match self {
            Self::Right => RIGHT[0].to_owned(),
            Self::Wrong => WRONG[0].to_owned(),
            Self::Skip => SKIP[0].to_owned(),
            Self::Score(score) => score.to_string(),
            Self::Answer(text) => text.clone(),
        }
    }
}

const RIGHT: [&str; 9] = ["right", "r", "correct", "good", "true", "yes", "y", "1", "1.0"];
const WRONG: [&str; 9] = ["wrong", "w", "incorrect", "bad", "false", "no", "n", "0", "0.0"];
const SKIP: [&str; 7] = ["skip", "s", "skipped", "unsure", "unknown", "n/a", "?"];
