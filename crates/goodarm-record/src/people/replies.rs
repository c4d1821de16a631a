//! What people have said: `replies.jsonl` in a run's folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use goodarm_core::Ticket;
use serde::{Deserialize, Serialize};

use crate::card_queue::CardReply;
use crate::sealed_lines::{SealedError, SealedReader};

/// One line: what a person said at once.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct ReplyLine {
    /// Who said it.
    pub(crate) by: String,
    /// When, in milliseconds since 1970.
    pub(crate) unix_millis: u64,
    pub(crate) replies: Vec<LoggedReply>,
}

/// What was said to one call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct LoggedReply {
    /// The call's number.
    pub(crate) call: u64,
    /// Who was called, and about which answer or question. A power cut may take the end of a journal, and
    /// with it a call whose card was seen already: its number is given to another one then.
    pub(crate) verifier: String,
    pub(crate) id: String,
    pub(crate) said: CardReply,
}

/// What a call was answered with.
#[derive(Clone, Debug, PartialEq)]
pub struct HumanReply {
    /// By whom.
    pub by: String,
    pub(crate) unix_millis: u64,
    /// What was said.
    pub said: CardReply,
}

/// All replies, by the calls that they belong to. Of several to one call the first counts.
#[derive(Debug)]
pub struct Replies {
    reader: SealedReader<ReplyLine>,
    heard: BTreeMap<u64, Vec<(LoggedReply, String, u64)>>,
}

impl Replies {
    /// Those in the file at a path, which need not exist; nothing is read yet.
    pub fn new(path: &Path) -> Self {
        Self { reader: SealedReader::new(path), heard: BTreeMap::new() }
    }

    /// Reads what is new; says whether anything is.
    pub fn read_on(&mut self) -> Result<bool, SealedError> {
        let lines = self.reader.read_on()?;
        let is_any = !lines.is_empty();
        for ReplyLine { by, unix_millis, replies } in lines {
            for reply in replies {
                self.heard.entry(reply.call).or_default().push((reply, by.clone(), unix_millis));
            }
        }
        Ok(is_any)
    }

    /// The reply to a call of `verifier` about `id`.
    pub fn get(&self, call: Ticket, verifier: &str, id: &str) -> Option<HumanReply> {
        let mut own = self.heard.get(&call.0)?.iter();
        let (reply, by, unix_millis) =
            own.find(|(reply, ..)| reply.verifier == verifier && reply.id == id)?;
        let (by, unix_millis, said) = (by.clone(), *unix_millis, reply.said.clone());
        Some(HumanReply { by, unix_millis, said })
    }

    /// Keeps only replies to such calls.
    pub fn retain(&mut self, is_kept: impl Fn(Ticket) -> bool) {
        self.heard.retain(|call, _| is_kept(Ticket(*call)));
    }

    /// All replies, with who gave them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&LoggedReply, &str)> {
        self.heard.values().flatten().map(|(reply, by, _)| (reply, by.as_str()))
    }
}

/// Makes sure that what was read at a path is on the disk: whoever wrote it may not have got there, and what
/// follows from it must not outlive it.
#[cfg(unix)]
pub fn make_durable(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_data()
}

/// Elsewhere a file that is open to be read cannot be made durable; its writer does it within a moment.
#[cfg(not(unix))]
pub fn make_durable(path: &Path) -> std::io::Result<()> {
    File::open(path).map(drop)
}
