//! The requests of the labelling page: get the next card, keep a reply, take back the last reply.

use std::sync::{Arc, Mutex};

use goodarm_record::card_queue::{
    Card, CardQueue, CardQueueError, CardReply, Field, QueueProgress, ReplyForm,
};
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};

use super::LabelPageInfo;
use crate::markup::PageTemplate;
use crate::report::rows::json;
use crate::report::{beginning, plain_script};
use crate::site::{Site, SitePage, SiteRequest};

pub(super) fn page() -> SitePage {
    SitePage::new(&PageTemplate::LABEL, OWN_STYLE, plain_script(&SCRIPTS))
}

/// Answers the requests from a queue of cards.
pub(super) struct LabelSite {
    about: LabelPageInfo,
    /// `None` when the page is closed.
    queue: Mutex<Option<Box<dyn CardQueue + Send>>>,
}

impl LabelSite {
    pub(super) fn new(queue: Box<dyn CardQueue + Send>, about: LabelPageInfo) -> Self {
        Self { about, queue: Mutex::new(Some(queue)) }
    }

    pub(super) fn close(&self) -> Option<Box<dyn CardQueue + Send>> {
        self.queue.lock().ok()?.take()
    }

    /// Handles a request; `None` if the body is not one that our page sends.
    fn handle(&self, route: LabelRoute, body: &[u8]) -> Option<String> {
        let LabelRequest { by, key, said } = serde_json::from_slice(body).ok()?;
        // A queue that panicked is not used again.
        let mut queue = self.queue.lock().ok();
        let queue = queue.as_mut().and_then(|queue| queue.as_mut());
        let Some(queue) = queue else { return Some(self.failed("the page has been closed")) };
        let mut reply = LabelReply {
            about: &self.about,
            standing: QueueProgress::default(),
            terms: Vec::new(),
            card: None,
            can_undo: false,
            last: None,
            refused: None,
        };
        let done = match (route, by.as_deref(), key, said) {
            (LabelRoute::State, ..) => Ok(()),
            (LabelRoute::Begin, Some(_), ..) => queue.begin(),
            (LabelRoute::Say, Some(by), Some(key), Some(said)) => {
                reply.submit(&mut **queue, by, &key, said)
            }
            (LabelRoute::Undo, Some(by), ..) => reply.undo(&mut **queue, by),
            _ => return None,
        };
        let looked = match done {
            Ok(()) => reply.look(&mut **queue, by.as_deref()),
            Err(error @ (CardQueueError::File(_) | CardQueueError::Folder(_))) => Err(error),
            Err(refusal) => {
                reply.refused = Some(refusal.to_string());
                reply.look(&mut **queue, by.as_deref())
            }
        };
        Some(match looked {
            Ok(()) => json(&reply),
            Err(error) => self.failed(&error.to_string()),
        })
    }

    /// The response to a request that failed: the reason, and that nothing was kept.
    fn failed(&self, why: &str) -> String {
        serde_json::json!({"failed": why, "command": self.about.command}).to_string()
    }
}

/// A request of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LabelRoute {
    /// The next card, and the progress.
    State,
    /// Accept the terms: fix the order of the cards.
    Begin,
    /// Keep a reply.
    Say,
    /// Take back the last reply.
    Undo,
}

impl Site for LabelSite {
    type Route = LabelRoute;

    fn route(request: &SiteRequest<'_>) -> Option<LabelRoute> {
        match (request.may_change, request.path, request.query) {
            (true, "state", None) => Some(LabelRoute::State),
            (true, "begin", None) => Some(LabelRoute::Begin),
            (true, "say", None) => Some(LabelRoute::Say),
            (true, "undo", None) => Some(LabelRoute::Undo),
            _ => None,
        }
    }

    fn body_bytes_max(route: &LabelRoute) -> usize {
        match route {
            LabelRoute::Say => SAY_BYTES_MAX,
            LabelRoute::State | LabelRoute::Begin | LabelRoute::Undo => BODY_BYTES_MAX,
        }
    }

    async fn answer(self: Arc<Self>, route: LabelRoute, body: Bytes) -> Option<String> {
        // Another thread waits for the disk.
        tokio::task::spawn_blocking(move || self.handle(route, &body)).await.ok()?
    }
}

/// The body of a request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelRequest {
    /// `None` before the person has given a name.
    by: Option<String>,
    key: Option<String>,
    said: Option<CardReply>,
}

/// The response.
#[derive(Serialize)]
struct LabelReply<'a> {
    #[serde(flatten)]
    about: &'a LabelPageInfo,
    standing: QueueProgress,
    /// What the person should know before the first card; then there is no card yet.
    terms: Vec<String>,
    card: Option<CardView>,
    can_undo: bool,
    /// The card that this request has labelled.
    last: Option<LastLabel>,
    /// Why the request was refused; the queue is intact.
    refused: Option<String>,
}

/// A card without its evidence, which would bias the person.
#[derive(Serialize)]
struct CardView {
    key: String,
    id: String,
    asks: String,
    wanted: ReplyForm,
    fields: Vec<FieldView>,
}

#[derive(Serialize)]
struct FieldView {
    name: String,
    text: String,
    /// The number of bytes that are not sent.
    left_out: usize,
}

#[derive(Serialize)]
struct LastLabel {
    id: String,
    said: CardReply,
    evidence: Vec<FieldView>,
}

impl LabelReply<'_> {
    fn submit(
        &mut self,
        queue: &mut dyn CardQueue,
        by: &str,
        key: &str,
        said: CardReply,
    ) -> Result<(), CardQueueError> {
        let shown = match &said {
            CardReply::Answer(text) if text.len() > ANSWER_BYTES_MAX => {
                return Err(CardQueueError::Unfit("an answer may have 1 MiB at most".into()));
            }
            CardReply::Answer(text) => {
                CardReply::Answer(beginning(text, SHOWN_BYTES_MAX).to_owned())
            }
            said => said.clone(),
        };
        if queue.terms_to_accept().is_some() {
            return Err(CardQueueError::Unfit("the terms come before the first card".into()));
        }
        let card = queue.next(by)?.filter(|card| card.key == key);
        queue.submit(by, key, said)?;
        self.last = card.map(|card| LastLabel {
            id: card.id,
            said: shown,
            evidence: views(card.evidence, SHOWN_BYTES_MAX),
        });
        Ok(())
    }

    fn undo(&mut self, queue: &mut dyn CardQueue, by: &str) -> Result<(), CardQueueError> {
        match queue.undo(by)? {
            Some(_) => Ok(()),
            None => Err(CardQueueError::Unfit("there is nothing that could be taken back".into())),
        }
    }

    fn look(&mut self, queue: &mut dyn CardQueue, by: Option<&str>) -> Result<(), CardQueueError> {
        self.standing = queue.progress()?;
        self.terms = queue.terms_to_accept().unwrap_or_default();
        let Some(by) = by.filter(|_| self.terms.is_empty()) else { return Ok(()) };
        self.card = queue.next(by)?.map(CardView::from);
        self.can_undo = queue.can_undo(by);
        Ok(())
    }
}

impl From<Card> for CardView {
    fn from(Card { key, id, asks, wanted, fields, .. }: Card) -> Self {
        Self { key, id, asks, wanted, fields: views(fields, FIELD_BYTES_MAX) }
    }
}

fn views(fields: Vec<Field>, bytes_max: usize) -> Vec<FieldView> {
    let view = |Field { name, text }: Field| {
        let kept = beginning(&text, bytes_max);
        let left_out = text.len() - kept.len();
        FieldView { name, text: kept.to_owned(), left_out }
    };
    fields.into_iter().take(FIELDS_MAX).map(view).collect()
}

const OWN_STYLE: &str = include_str!("../../web/label/style.css");
const SCRIPTS: [&str; 3] = [
    include_str!("../../web/label/card.js"),
    include_str!("../../web/label/actions.js"),
    include_str!("../../web/label/start.js"),
];

/// Room for the largest answer, escaped as JSON, and the key of its card.
const SAY_BYTES_MAX: usize = 4 << 20;
const BODY_BYTES_MAX: usize = 16 << 10;
const ANSWER_BYTES_MAX: usize = 1 << 20;
const FIELD_BYTES_MAX: usize = 2 << 20;
const SHOWN_BYTES_MAX: usize = 20_000;
const FIELDS_MAX: usize = 200;

#[cfg(test)]
mod tests;
