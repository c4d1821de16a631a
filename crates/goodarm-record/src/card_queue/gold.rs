//! Labels where the right answers are known: a card is right if two of its fields are equal.

use goodarm_data::answer::same;
use goodarm_data::candidates::lookup;
use goodarm_files::{hint, nearest};
use serde_json::{Map, Value};

use super::{Card, CardQueue, CardQueueError, CardReply, ReplyForm};

/// Labels up to `most` cards that wait for `labeller`: right where the two fields are equal, else wrong. Returns the
/// number of cards labelled right, and the number of all labelled cards.
pub fn label(
    queue: &mut dyn CardQueue,
    labeller: &str,
    [field, equals]: [&str; 2],
    most: usize,
) -> Result<(usize, usize), CardQueueError> {
    // All of them are checked, so that an error does not depend on the order.
    let cards = queue.preview(labeller, usize::MAX)?;
    let mut said = Vec::with_capacity(cards.len());
    for card in cards {
        if card.wanted != ReplyForm::Verdict {
            let text = format!("{:?} does not ask whether an answer is right", card.id);
            return Err(CardQueueError::Unfit(text));
        }
        let is_right = same(&text(&card, field)?, &text(&card, equals)?);
        said.push((card.key, if is_right { CardReply::Right } else { CardReply::Wrong }));
    }
    said.truncate(most);
    let (all, right) = (said.len(), said.iter().filter(|(_, it)| *it == CardReply::Right).count());
    if all > 0 {
        queue.submit_all(labeller, said)?;
    }
    Ok((right, all))
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
