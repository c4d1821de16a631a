//! Files of labels from people and other tools.

use goodarm_record::card_queue::labels_file;
use goodarm_record::card_queue::{
    Card, CardQueue, CardQueueError, CardReply, CardStatus, QueueProgress, ReplyForm,
};

use crate::folder;

/// Reads a file of this name. A refused file changes nothing, and taken labels are known the second time.
pub(crate) fn read(name: &str, bytes: &[u8]) {
    let path = folder::file(name, bytes);
    let mut queue = ThreeCards::default();
    match labels_file::take(&mut queue, "me", &path) {
        Ok(imported) => {
            assert_eq!(imported.taken, queue.said.len(), "{imported:?}");
            let again = labels_file::take(&mut queue, "me", &path).expect("it was read before");
            assert_eq!((again.taken, again.known), (0, imported.taken), "{again:?}");
        }
        Err(CardQueueError::Folder(error)) => {
            assert!(!error.is_empty());
            assert!(queue.said.is_empty(), "{error}");
        }
        Err(error) => panic!("only valid labels are taken: {error}"),
    }
}

/// A card of each kind, in a fixed order, for any labeller.
#[derive(Default)]
struct ThreeCards {
    said: Vec<(String, CardReply)>,
}

impl ThreeCards {
    /// The next card and all later ones.
    fn rest(&self) -> impl Iterator<Item = (&'static str, ReplyForm)> {
        CARDS.into_iter().skip(self.said.len())
    }
}

impl CardQueue for ThreeCards {
    fn preview(&mut self, _: &str, most: usize) -> Result<Vec<Card>, CardQueueError> {
        let card = |(id, wanted): (&str, ReplyForm)| Card {
            key: id.to_owned(),
            id: id.to_owned(),
            asks: String::new(),
            wanted,
            fields: Vec::new(),
            evidence: Vec::new(),
        };
        Ok(self.rest().take(most).map(card).collect())
    }

    fn statuses(&mut self, labeller: &str) -> Result<Vec<CardStatus>, CardQueueError> {
        let place = |(index, (id, wanted)): (usize, (&str, ReplyForm))| {
            let said = self.said.get(index).filter(|(by, _)| by == labeller);
            CardStatus {
                key: id.to_owned(),
                id: id.to_owned(),
                wanted,
                said: said.map(|(_, said)| said.clone()),
                waits: index >= self.said.len(),
            }
        };
        Ok(CARDS.into_iter().enumerate().map(place).collect())
    }

    fn is_of_run(&self, _: &str) -> bool {
        false
    }

    fn submit_all(
        &mut self,
        labeller: &str,
        said: Vec<(String, CardReply)>,
    ) -> Result<(), CardQueueError> {
        let next: Vec<&str> = self.rest().map(|(id, _)| id).collect();
        for (place, (key, _)) in said.iter().enumerate() {
            if next.get(place) != Some(&key.as_str()) {
                let next = next.first().copied().unwrap_or_default().to_owned();
                return Err(CardQueueError::OutOfOrder { key: key.clone(), next });
            }
        }
        self.said.extend(said.into_iter().map(|(_, said)| (labeller.to_owned(), said)));
        Ok(())
    }

    fn can_undo(&self, _: &str) -> bool {
        false
    }

    fn undo(&mut self, _: &str) -> Result<Option<Card>, CardQueueError> {
        Ok(None)
    }

    fn progress(&mut self) -> Result<QueueProgress, CardQueueError> {
        Ok(QueueProgress::default())
    }
}

const CARDS: [(&str, ReplyForm); 3] = [
    ("a", ReplyForm::Verdict),
    ("-b", ReplyForm::Score { lowest: 0.0, highest: 5.0 }),
    ("c", ReplyForm::Answer),
];
