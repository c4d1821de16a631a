//! People's replies: `replies.jsonl` in a run's folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use goodarm_core::Ticket;
use goodarm_files::person;
use serde::{Deserialize, Serialize};

use crate::card_queue::CardReply;
use crate::folder::Folder;
use crate::journal::Mark;
use crate::sealed_lines::{SealedError, SealedReader};

/// One line.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum ReplyLine {
    Opened(RepliesOpened),
    Given(RepliesGiven),
}

/// The first line: whose replies they are. The same job has the same calls in another run, so without it the replies
/// of one run would fit the other.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RepliesOpened {
    /// The first frame of the journal, which no crash removes; it has the time when the run began.
    pub(crate) journal: Mark,
}

/// The replies that a person submitted at once.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct RepliesGiven {
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

/// A reply, and who gave it.
#[derive(Clone, Debug)]
pub(crate) struct HeardReply {
    pub(crate) reply: LoggedReply,
    /// The name as it was written.
    pub(crate) by: String,
    /// The form of the name that identifies the person.
    pub(crate) person: String,
}

/// All replies, by their calls. Of several replies to one call, the first counts.
#[derive(Debug)]
pub struct Replies {
    reader: SealedReader<ReplyLine>,
    folder: Folder,
    line_count: u64,
    heard: BTreeMap<u64, Vec<HeardReply>>,
}

impl Replies {
    /// The replies in the folder of a run. Their file need not exist; nothing is read yet.
    pub fn new(folder: &Folder) -> Self {
        let reader = SealedReader::new(&folder.replies());
        Self { reader, folder: folder.clone(), line_count: 0, heard: BTreeMap::new() }
    }

    /// Reads new lines; returns whether there were any. Replies to another run are refused.
    pub fn read_on(&mut self) -> Result<bool, SealedError> {
        let lines = self.reader.read_on()?;
        let is_any = !lines.is_empty();
        for line in lines {
            self.line_count += 1;
            let damaged = |reason: &str| SealedError::Damaged {
                path: self.folder.replies(),
                line: self.line_count,
                reason: reason.to_owned(),
            };
            match (line, self.line_count) {
                (ReplyLine::Opened(RepliesOpened { journal }), 1) => {
                    if !journal.begins(&self.folder.journal()).unwrap_or(false) {
                        return Err(damaged("it belongs to the journal of another run"));
                    }
                }
                (ReplyLine::Opened(_), _) | (ReplyLine::Given(_), 1) => {
                    return Err(damaged("the first line, and no other, names the journal"));
                }
                (ReplyLine::Given(given), _) => self.hear(given),
            }
        }
        Ok(is_any)
    }

    fn hear(&mut self, RepliesGiven { by, replies, .. }: RepliesGiven) {
        for reply in replies {
            let (by, person) = (by.clone(), person(&by));
            self.heard.entry(reply.call).or_default().push(HeardReply { reply, by, person });
        }
    }

    /// The reply to a call of `verifier` about `id`.
    pub fn get(&self, call: Ticket, verifier: &str, id: &str) -> Option<HumanReply> {
        let mut own = self.heard.get(&call.0)?.iter();
        let found = own.find(|it| it.reply.verifier == verifier && it.reply.id == id)?;
        Some(HumanReply { by: found.by.clone(), said: found.reply.said.clone() })
    }

    /// Keeps only replies to calls for which `is_kept` is true.
    pub fn retain(&mut self, is_kept: impl Fn(Ticket) -> bool) {
        self.heard.retain(|call, _| is_kept(Ticket(*call)));
    }

    /// All replies.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &HeardReply> {
        self.heard.values().flatten()
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
