//! Cards for people. A card asks whether an answer is right, or for its score, or for an answer to a question. The
//! label page, the terminal and label files use only this interface, for claims and for calls that wait for people.

pub mod cards_file;
pub mod gold;
pub mod hidden;
pub mod label_rows;
pub mod labels_file;
#[cfg(test)]
mod tests;
mod words;

use goodarm_data::answer::Extractor;
use serde::{Deserialize, Serialize};

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Identifies the card in its queue.
    pub key: String,
    /// The id of the answer or the question.
    pub id: String,
    /// The question, a sentence.
    pub asks: String,
    /// The form of reply that is expected.
    pub wanted: ReplyForm,
    /// The fields that are shown, in order.
    pub fields: Vec<Field>,
    /// Results of the verifiers, shown only after the reply: before, they would bias it.
    pub evidence: Vec<Field>,
}

/// A name and a text. The text is untrusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The form of reply to a card. A person may also skip it.
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

/// A person's reply to a card.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CardReply {
    /// The answer is right.
    Right,
    /// The answer is wrong.
    Wrong,
    /// The person cannot tell. Counts as wrong in a claim, and as a failed call in a run.
    Skip,
    /// A score.
    Score(f64),
    /// An answer to the question.
    Answer(String),
}

/// A card, with one person's reply to it.
#[derive(Clone, Debug, PartialEq)]
pub struct CardStatus {
    /// The card's key.
    pub key: String,
    /// The id of the answer or the question.
    pub id: String,
    /// The form of reply that is expected.
    pub wanted: ReplyForm,
    /// The person's reply; `None` without a reply, or if it was undone.
    pub said: Option<CardReply>,
    /// Whether the card waits for the person.
    pub waits: bool,
}

/// The progress of a queue, in words for the person who labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueProgress {
    /// The result so far, a sentence.
    pub statement: String,
    /// What remains to be done, a sentence; empty if nothing is.
    pub outlook: String,
    /// Cards that have all their labels.
    pub done: usize,
    /// All cards, as far as they are known.
    pub all: usize,
    /// The lower bound of a claim on the number of right answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<usize>,
    /// Its upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<usize>,
}

/// Cards that wait for people. Replies are on the disk when a method returns.
pub trait CardQueue {
    /// The first card that waits for this person.
    fn next(&mut self, labeller: &str) -> Result<Option<Card>, CardQueueError> {
        Ok(self.upcoming(labeller, 1)?.pop())
    }

    /// The first cards that wait for this person, at most `most`, in order. They may be shown.
    fn upcoming(&mut self, labeller: &str, most: usize) -> Result<Vec<Card>, CardQueueError> {
        self.begin()?;
        self.preview(labeller, most)
    }

    /// Fixes the order of the cards, if it is not yet. Called before anyone sees a card or anything else that depends
    /// on the order, so that nobody can look at an order and draw another.
    fn begin(&mut self) -> Result<(), CardQueueError> {
        Ok(())
    }

    /// What a person should know before the order of the cards is fixed, a sentence each; `None` if it is.
    fn terms_to_accept(&self) -> Option<Vec<String>> {
        None
    }

    /// Like [`CardQueue::upcoming`], for checks that do not depend on the order. The cards must not be shown before
    /// [`CardQueue::begin`].
    fn preview(&mut self, labeller: &str, most: usize) -> Result<Vec<Card>, CardQueueError>;

    /// The status of all cards for this person, in order, without their texts; like [`CardQueue::preview`].
    fn statuses(&mut self, labeller: &str) -> Result<Vec<CardStatus>, CardQueueError>;

    /// Whether the run has an answer or a question with this id, with or without a card.
    fn is_of_run(&self, id: &str) -> bool;

    /// Stores a person's replies to cards, by their keys, in the queue's order: all or none.
    fn submit_all(
        &mut self,
        labeller: &str,
        said: Vec<(String, CardReply)>,
    ) -> Result<(), CardQueueError>;

    /// Stores a person's reply to a card.
    fn submit(&mut self, labeller: &str, key: &str, said: CardReply) -> Result<(), CardQueueError> {
        self.submit_all(labeller, vec![(key.to_owned(), said)])
    }

    /// Whether this person has a reply that can be undone.
    fn can_undo(&self, labeller: &str) -> bool;

    /// Finds final answers in a field as the run does; `None` if it does not.
    fn extractor(&self, field: &str) -> Option<Extractor> {
        let _ = field;
        None
    }

    /// Undoes this person's last reply and returns its card; `None` if there is nothing to undo.
    fn undo(&mut self, labeller: &str) -> Result<Option<Card>, CardQueueError>;

    /// The progress so far.
    fn progress(&mut self) -> Result<QueueProgress, CardQueueError>;
}

/// Why a queue refuses a request. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CardQueueError {
    /// There is no such card.
    #[error("there is no card {0:?}")]
    Unknown(String),
    /// The card has a reply already.
    #[error("{by:?} has said something about {key:?} already")]
    Doubled {
        /// The card's key.
        key: String,
        /// Who replied.
        by: String,
    },
    /// Another card comes first: the order is fixed, so that people cannot choose.
    #[error("{key:?} is not next: {next:?} is")]
    OutOfOrder {
        /// The card that was named.
        key: String,
        /// The next card.
        next: String,
    },
    /// The reply does not fit the card.
    #[error("{0}")]
    Unfit(String),
    /// A file or the run's folder cannot be used.
    #[error("{0}")]
    Folder(String),
    /// The run's journal cannot be read.
    #[error(transparent)]
    Replay(#[from] crate::replay::JournalError),
    /// The file of replies or labels cannot be read or written.
    #[error(transparent)]
    File(#[from] crate::sealed_lines::SealedError),
}
