//! Labels where the right answers are known: a card is right if two of its fields say the same.

use goodarm_data::answer::same;
use goodarm_data::candidates::lookup;
use goodarm_files::{hint, nearest};
use serde_json::{Map, Value};

use super::{Card, Deck, DeckError, Said, Wanted};

/// Why cards cannot be labelled by their fields. Nothing was labelled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GoldError {
    /// A card has no such field.
    #[error("{id:?} has no field {field:?}{}", hint(nearest.as_deref()))]
    NoField {
        /// The answer's id.
        id: String,
        /// The field.
        field: String,
        /// The one that is spelled most like it.
        nearest: Option<String>,
    },
    /// A card asks for something else than right or wrong.
    #[error("{0:?} does not ask whether an answer is right")]
    NoVerdict(String),
    /// The deck.
    #[error(transparent)]
    Deck(#[from] DeckError),
}

/// Labels up to `most` cards that wait for `labeller`: right where the two fields say the same, else wrong. How
/// many are right, and how many there were.
pub fn label(
    deck: &mut dyn Deck,
    labeller: &str,
    [field, equals]: [&str; 2],
    most: usize,
) -> Result<(usize, usize), GoldError> {
    let cards = deck.upcoming(labeller, most)?;
    let mut said = Vec::with_capacity(cards.len());
    for card in cards {
        if card.wanted != Wanted::Verdict {
            return Err(GoldError::NoVerdict(card.id));
        }
        let is_right = same(&text(&card, field)?, &text(&card, equals)?);
        said.push((card.key, if is_right { Said::Right } else { Said::Wrong }));
    }
    let (all, right) = (said.len(), said.iter().filter(|(_, it)| *it == Said::Right).count());
    if all > 0 {
        deck.say_all(labeller, said)?;
    }
    Ok((right, all))
}

/// What a card's field says. It may be within another, as in `meta.gold`.
fn text(card: &Card, path: &str) -> Result<String, GoldError> {
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
        None => Err(GoldError::NoField {
            id: card.id.clone(),
            field: path.to_owned(),
            nearest: nearest(path, card.fields.iter().map(|field| field.name.as_str()))
                .map(str::to_owned),
        }),
    }
}
