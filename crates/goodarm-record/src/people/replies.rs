//! People's replies: `replies.jsonl` in a run's folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use goodarm_core::Ticket;
use serde::{Deserialize, Serialize};

use crate::card_queue::CardReply;
use crate::sealed_lines::{SealedError, SealedReader};

/// One line: the replies that a person submitted at once.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct ReplyLine {
    /// The person.
    pub(crate) by: String,
    /// When, in milliseconds since 1970.
    pub(crate) unix_millis: u64,
    pub(crate) replies: Vec<LoggedReply>,
}

/// The reply to one call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct LoggedReply {
    /// The call's number.
    pub(crate) call: u64,
    /// The service; `id` is the id of the answer or question. After a power cut has removed a call from the journal,
    /// another call may get its number: service and id tell them apart.
    pub(crate) verifier: String,
    pub(crate) id: String,
    pub(crate) said: CardReply,
}

/// A person's reply to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct HumanReply {
    /// The person.
    pub by: String,
    /// The reply.
    pub said: CardReply,
}

/// All replies, by their calls. Of several replies to one call, the first counts.
#[derive(Debug)]
pub struct Replies {
    reader: SealedReader<ReplyLine>,
    heard: BTreeMap<u64, Vec<(LoggedReply, String)>>,
}

impl Replies {
    /// Replies in the file at a path, which need not exist; nothing is read yet.
    pub fn new(path: &Path) -> Self {
        Self { reader: SealedReader::new(path), heard: BTreeMap::new() }
    }

    /// Reads new lines; returns whether there were any.
    pub fn read_on(&mut self) -> Result<bool, SealedError> {
        let lines = self.reader.read_on()?;
        let is_any = !lines.is_empty();
        for ReplyLine { by, replies, .. } in lines {
            for reply in replies {
                self.heard.entry(reply.call).or_default().push((reply, by.clone()));
            }
        }
        Ok(is_any)
    }

    /// The reply to a call of `verifier` about `id`.
    pub fn get(&self, call: Ticket, verifier: &str, id: &str) -> Option<HumanReply> {
        let mut own = self.heard.get(&call.0)?.iter();
        let (reply, by) = own.find(|(reply, _)| reply.verifier == verifier && reply.id == id)?;
        Some(HumanReply { by: by.clone(), said: reply.said.clone() })
    }

    /// Keeps only replies to calls for which `is_kept` is true.
    pub fn retain(&mut self, is_kept: impl Fn(Ticket) -> bool) {
        self.heard.retain(|call, _| is_kept(Ticket(*call)));
    }

    /// All replies, with who gave them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&LoggedReply, &str)> {
        self.heard.values().flatten().map(|(reply, by)| (reply, by.as_str()))
    }
}

/// Syncs the file at a path that was just read: its writer may not have synced it yet, and the journal's records of
/// these replies must not outlive them.
#[cfg(unix)]
pub fn make_durable(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_data()
}

/// Elsewhere a file that is open to be read cannot be made durable; its writer does it within a moment.
#[cfg(not(unix))]
pub fn make_durable(path: &Path) -> std::io::Result<()> {
    File::open(path).map(drop)
}
