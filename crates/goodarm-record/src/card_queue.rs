//! Cards for people: what a person is asked about one answer or one question, and what they may say. The
//! page, the terminal and the files of `goodarm label` know nothing else, whoever wants to know it.

pub mod cards_file;
pub mod gold;
pub mod labels_file;
#[cfg(test)]
mod tests;
mod words;

use serde::{Deserialize, Serialize};

/// Something that a person is asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Names the card in its queue.
    pub key: String,
    /// The id of the answer or the question.
    pub id: String,
    /// What is asked, in a sentence.
    pub asks: String,
    /// What may be said.
    pub wanted: ReplyForm,
    /// What there is to see: the answer's fields, in order.
    pub fields: Vec<Field>,
    /// What the verifiers say, for whoever has said what they think; shown before, it would lead.
    pub evidence: Vec<Field>,
}

/// A name and a text. The text is untrusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// What it is called.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// What may be said about a card, beside that one cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplyForm {
    /// Right or wrong.
    Verdict,
    /// A score between two numbers.
    Score {
        /// The lowest.
        lowest: f64,
        /// The highest.
        highest: f64,
    },
    /// An answer to a question.
    Answer,
}

/// What a person says about a card.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CardReply {
    /// The answer is right.
    Right,
    /// It is wrong.
    Wrong,
    /// The person cannot tell. Counts like "wrong", or as a failed call.
    Skip,
    /// A score.
    Score(f64),
    /// An answer to the question.
    Answer(String),
}

/// A card's place in its queue, and what one person has said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct CardStatus {
    /// The card's key.
    pub key: String,
    /// The id of the answer or the question.
    pub id: String,
    /// What may be said.
    pub wanted: ReplyForm,
    /// What the person said, if it stands.
    pub said: Option<CardReply>,
    /// Whether the card waits for the person.
    pub waits: bool,
}

/// How far a queue is, in words for the person who labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueProgress {
    /// What is known by now, in a sentence.
    pub statement: String,
    /// What is still to come, in a sentence; empty if nothing is.
    pub outlook: String,
    /// Cards that have all their labels.
    pub done: usize,
    /// All cards, as far as they are known.
    pub all: usize,
}

/// Cards that wait for people. Everything that was said is on the disk when a method returns.
pub trait CardQueue {
    /// The first card that this person has not seen to, if one waits for them.
    fn next(&mut self, labeller: &str) -> Result<Option<Card>, CardQueueError> {
        Ok(self.upcoming(labeller, 1)?.pop())
    }

    /// Up to `most` cards from the first that this person has not seen to, in order.
    fn upcoming(&mut self, labeller: &str, most: usize) -> Result<Vec<Card>, CardQueueError>;

    /// The places of all cards, in order, for this person. The texts of the cards are not in them.
    fn statuses(&mut self, labeller: &str) -> Result<Vec<CardStatus>, CardQueueError>;

    /// Takes what a person says about cards, by their keys, in the queue's order: all of it or nothing.
    fn submit_all(
        &mut self,
        labeller: &str,
        said: Vec<(String, CardReply)>,
    ) -> Result<(), CardQueueError>;

    /// Takes what a person says about a card.
    fn submit(&mut self, labeller: &str, key: &str, said: CardReply) -> Result<(), CardQueueError> {
        self.submit_all(labeller, vec![(key.to_owned(), said)])
    }

    /// Takes back the last thing that this person said, and returns the card; none if there is nothing that
    /// can still be taken back.
    fn undo(&mut self, labeller: &str) -> Result<Option<Card>, CardQueueError>;

    /// How far it is.
    fn progress(&mut self) -> Result<QueueProgress, CardQueueError>;
}

/// Why a queue does not do as it is told. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CardQueueError {
    /// There is no such card.
    #[error("there is no card {0:?}")]
    Unknown(String),
    /// The card has what was asked for.
    #[error("{by:?} has said something about {key:?} already")]
    Doubled {
        /// Its key.
        key: String,
        /// By whom.
        by: String,
    },
    /// Another card comes first: the order was fixed so that nobody can choose.
    #[error("{key:?} is not next: {next:?} is")]
    OutOfOrder {
        /// The card that was named.
        key: String,
        /// The card whose turn it is.
        next: String,
    },
    /// It does not fit the card.
    #[error("{0}")]
    Unfit(String),
    /// The file, or the run's folder.
    #[error("{0}")]
    Folder(String),
    /// The run's journal.
    #[error(transparent)]
    Replay(#[from] crate::replay::JournalError),
    /// The file of what was said.
    #[error(transparent)]
    File(#[from] crate::sealed_lines::SealedError),
}
