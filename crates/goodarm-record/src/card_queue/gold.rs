//! Labels where the right answers are known: a card is right if two of its fields have the same final answer.

use goodarm_data::answer::Extractor;
use goodarm_data::candidates::lookup;
use goodarm_files::{hint, nearest};
use serde_json::{Map, Value};

use super::{Card, CardQueue, CardQueueError, CardReply, CardStatus, ReplyForm};
use crate::reference::Comparison;

/// The labels that follow from a comparison of the cards that wait for a person. Nothing is written yet.
pub struct GoldLabels {
    said: Vec<(String, CardReply)>,
    /// Three of the compared pairs, a line each. They do not depend on the order of the cards.
    pub examples: String,
}

/// Why cards cannot be labelled by a comparison. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum GoldError {
    /// No answer is the same as its reference, with examples.
    #[error("{0}")]
    NothingAgrees(String),
    /// The queue refuses it, or a card lacks a field.
    #[error(transparent)]
    Queue(#[from] CardQueueError),
}

/// Compares two fields of all cards that wait for `labeller`, by their final answers: as `extractor` finds them, or as
/// the run does. Refused if none is right and none was before.
pub fn compare(
    queue: &mut dyn CardQueue,
    labeller: &str,
    [field, equals]: [&str; 2],
    extractor: Option<&Extractor>,
) -> Result<GoldLabels, GoldError> {
    let own = queue.extractor(equals);
    let comparison = Comparison { fields: [field, equals], extractor: extractor.or(own.as_ref()) };
    // All of them are checked, so that an error does not depend on the order.
    let cards = queue.preview(labeller, usize::MAX)?;
    let (mut said, mut pairs) = (Vec::with_capacity(cards.len()), Vec::new());
    for card in cards {
        if card.wanted != ReplyForm::Verdict {
            let text = format!("{:?} does not ask whether an answer is right", card.id);
            return Err(CardQueueError::Unfit(text).into());
        }
        let pair = comparison.compare(&card.id, [&text(&card, field)?, &text(&card, equals)?]);
        said.push((card.key, if pair.is_same { CardReply::Right } else { CardReply::Wrong }));
        pairs.push(pair);
    }
    let is_right = |it: &CardStatus| it.said == Some(CardReply::Right);
    if !queue.statuses(labeller)?.iter().any(is_right) {
        comparison.check(&pairs).map_err(GoldError::NothingAgrees)?;
    }
    Ok(GoldLabels { said, examples: comparison.examples(&pairs) })
}

impl GoldLabels {
    /// Labels up to `most` cards. Returns the number of cards labelled right, and the number of all labelled cards.
    pub fn submit(
        mut self,
        queue: &mut dyn CardQueue,
        labeller: &str,
        most: usize,
    ) -> Result<(usize, usize), CardQueueError> {
        self.said.truncate(most);
        let is_right = |it: &&(String, CardReply)| it.1 == CardReply::Right;
        let (all, right) = (self.said.len(), self.said.iter().filter(is_right).count());
        if all > 0 {
            queue.submit_all(labeller, self.said)?;
        }
        Ok((right, all))
    }
}

/// The text of a card's field, which may be nested, as in `meta.gold`.
fn text(card: &Card, path: &str) -> Result<String, CardQueueError> {
    if let Some(field) = card.fields.iter().find(|field| field.name == path) {
        return Ok(field.text.clone());
    }
    let outer = path.split('.').next().unwrap_or(path);
    let fields = card.fields.iter().filter(|field| field.name == outer);
    let fields: Map<String, Value> = fields
        .filter_map(|field| Some((field.name.clone(), serde_json::from_str(&field.text).ok()?)))
        .collect();
    match lookup(&fields, path) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value) => Ok(value.to_string()),
        None => {
            let meant = nearest(path, card.fields.iter().map(|field| field.name.as_str()));
            Err(CardQueueError::Unfit(format!(
                "{:?} has no field {path:?}{}",
                card.id,
                hint(meant)
            )))
        }
    }
}
