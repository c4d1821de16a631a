//! Calls that are paid for and not in the recording yet: a journal beside it, in the bytes of a run's
//! journal. No call starts before its intent is in it, and whoever takes up a recording begins by
//! writing down what is here, so that each call is paid once and recorded once however often a process
//! is killed.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use goodarm_core::{ArmId, AttributeId, Cost, DECISIONS, Event, Failure};
use goodarm_record::journal::{
    self, FileStorage, FolderLock, Header, Journal, Opened, Reader, Record, VERSION, beside,
};
use goodarm_record::recording::Outcomes;
use serde::{Deserialize, Serialize};

use crate::record::RecordError;

/// What the journal begins with: all that is needed to write its calls into the recording.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct Terms {
    /// How long the recording was; none if there is nothing to be written into it.
    pub(super) recording_bytes: Option<u64>,
    /// Its first line.
    pub(super) heading: String,
    /// The names of the candidates.
    pub(super) ids: Vec<String>,
    pub(super) verifiers: Vec<VerifierTerms>,
    /// What was paid for calls that no row tells of, by the name of their verifier.
    pub(super) beyond: BTreeMap<String, Amount>,
}

/// What is to be known of a verifier.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct VerifierTerms {
    pub(super) name: String,
    pub(super) ceiling: Amount,
    /// It would say the same again.
    pub(super) is_exact: bool,
    /// Each call brings a final answer.
    pub(super) is_solver: bool,
    /// The recording has a score of it.
    pub(super) has_scored: bool,
}

/// Written exactly.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct Amount(#[serde(with = "goodarm_files::money::exact")] pub(super) Cost);

/// What becomes of the failed calls of verifiers that never gave a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unscored {
    /// Whoever stops a recording, or kills it, has not called its verifiers broken.
    Kept,
    /// They say nothing about answers and would stand in the way of a mended job.
    LeftOut,
}

/// What was done about calls that were pending.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// Calls whose outcome nobody knows.
    pub(super) lost_count: u64,
    /// What was paid for calls that no row tells of.
    pub(super) beyond: BTreeMap<String, Amount>,
}

/// The pending calls of one recording, in the hands of one process.
pub(super) struct Pending {
    recording: PathBuf,
    journal: PathBuf,
    _lock: FolderLock,
}

impl Pending {
    pub(super) fn take(recording: &Path) -> Result<Self, RecordError> {
        let lock = FolderLock::beside(recording)?;
        let journal = beside(recording, ".journal");
        Ok(Self { recording: recording.to_owned(), journal, _lock: lock })
    }

    /// Begins a journal in the place of one whose calls are all in the recording.
    pub(super) fn begin(&self, terms: &Terms) -> Result<Journal<FileStorage>, RecordError> {
        let new = beside(&self.journal, ".new");
        let journal = || {
            if new.exists() {
                fs::remove_file(&new)?;
            }
            let header = Header {
                version: VERSION.to_owned(),
                decisions: DECISIONS,
                charter: serde_json::to_string(terms)?,
                candidates: [0; 32],
                arm_count: terms.ids.len() as u64,
                attribute_count: terms.verifiers.len() as u64,
            };
            drop(Journal::create(FileStorage::create(&new)?, &header)?);
            fs::rename(&new, &self.journal)?;
            // Opened by the name that it has now: a journal that is moved is not written to.
            let storage = FileStorage::open(&self.journal)?;
            let Opened::Begun(reader) = journal::open(&self.journal).map_err(io::Error::other)?
            else {
                return Err(io::Error::other("it is not what was just written"));
            };
            Journal::resume(storage, reader.finish().map_err(io::Error::other)?)
        };
        journal().map_err(|error| RecordError::file(&self.journal, error))
    }

    /// Writes the calls of the journal into the recording, whatever is there of them already.
    pub(super) fn merge(&self, unscored: Unscored) -> Result<Merged, RecordError> {
        let read = Calls::read(&self.journal);
        let calls = read.map_err(|error| RecordError::file(&self.journal, error))?;
        let Some(Calls { terms, rows, lost_count, mut beyond }) = calls else {
            return Ok(Merged::default());
        };
        let Some(recording_bytes) = terms.recording_bytes else {
            return Ok(Merged { lost_count, beyond });
        };
        let file_error = |error| RecordError::file(&self.recording, error);
        let tail = self.tail(recording_bytes).map_err(file_error)?;
        // An earlier process may have begun to write either text.
        let mut texts = [true, false].map(|is_all| {
            let is_in = |row: &&Row| is_all || row.has_scored;
            let (rows, left_out): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(is_in);
            (terms.text(&rows), left_out)
        });
        if unscored == Unscored::LeftOut {
            texts.reverse();
        }
        let fits = |text: &str| tail.as_ref().is_some_and(|tail| text.as_bytes().starts_with(tail));
        let Some((text, left_out)) = texts.into_iter().find(|(text, _)| fits(text)) else {
            let (recording, journal) = (self.recording.clone(), self.journal.clone());
            return Err(RecordError::Changed { recording, journal });
        };
        let written_bytes = tail.map_or(0, |tail| tail.len());
        self.append(&text.as_bytes()[written_bytes..]).map_err(file_error)?;
        for Outcomes { verifier, costs, .. } in left_out.into_iter().map(|row| &row.outcomes) {
            costs.iter().for_each(|cost| pay(&mut beyond, verifier, *cost));
        }
        if beyond.is_empty() {
            fs::remove_file(&self.journal)
                .map_err(|error| RecordError::file(&self.journal, error))?;
        } else {
            let beyond = beyond.clone();
            self.begin(&Terms { beyond, ..Terms::default() })?;
        }
        Ok(Merged { lost_count, beyond })
    }

    /// What the recording has behind so many bytes; none if it has fewer.
    fn tail(&self, recording_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let mut file = match File::open(&self.recording) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((recording_bytes == 0).then(Vec::new));
            }
            file => file?,
        };
        if file.metadata()?.len() < recording_bytes {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(recording_bytes))?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail)?;
        Ok(Some(tail))
    }

    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.recording)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        journal::sync_folder_of(&self.recording)
    }
}

impl Terms {
    /// What is to be written into the recording.
    fn text(&self, rows: &[&Row]) -> String {
        let is_new = self.recording_bytes == Some(0);
        let heading = is_new.then(|| self.heading.clone());
        let rows = rows.iter().map(|row| {
            serde_json::to_string(&row.outcomes).expect("a row is plain data with text keys")
        });
        heading.into_iter().chain(rows).map(|line| line + "\n").collect()
    }
}

/// The calls of a journal.
struct Calls {
    terms: Terms,
    /// One for each pair, its outcomes in the order in which they were asked for.
    rows: Vec<Row>,
    lost_count: u64,
    beyond: BTreeMap<String, Amount>,
}

struct Row {
    outcomes: Outcomes,
    /// Its verifier has, on whatever candidate.
    has_scored: bool,
}

/// What became of a call.
enum Fate {
    /// Nobody knows: it was in flight when the process ended.
    Lost,
    Back {
        score: Option<f64>,
        cost: Cost,
        answer: String,
    },
    /// It is no outcome.
    Unmade {
        cost: Cost,
    },
}

impl Calls {
    fn read(path: &Path) -> io::Result<Option<Self>> {
        let reader = match journal::open(path) {
            Ok(Opened::Begun(reader)) => reader,
            Ok(Opened::NeverBegun { .. }) => return Ok(None),
            Err(journal::OpenError::Read(error)) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(io::Error::other(error)),
        };
        let Header { charter, arm_count, attribute_count, .. } = reader.header();
        let terms: Terms = serde_json::from_str(charter)?;
        if [terms.ids.len() as u64, terms.verifiers.len() as u64] != [*arm_count, *attribute_count]
        {
            return Err(io::Error::other("its header does not agree with itself"));
        }
        let fates = fates(reader)?;
        Ok(Some(Self::new(terms, fates)))
    }

    fn new(mut terms: Terms, fates: Vec<(ArmId, AttributeId, Fate)>) -> Self {
        let mut beyond = std::mem::take(&mut terms.beyond);
        let mut lost_count = 0;
        let mut rows: BTreeMap<(ArmId, AttributeId), Outcomes> = BTreeMap::new();
        for (arm, attribute, fate) in fates {
            let verifier = &mut terms.verifiers[attribute.index()];
            lost_count += u64::from(matches!(fate, Fate::Lost));
            let (score, cost, answer) = match fate {
                Fate::Back { score, cost, answer } => (score, cost, answer),
                // As in a run: whether it was lost may depend on the answer, so that a second try
                // would be a second chance. An exact verifier takes no chances.
                Fate::Lost if !verifier.is_exact => (None, verifier.ceiling.0, String::new()),
                Fate::Lost => {
                    pay(&mut beyond, &verifier.name, verifier.ceiling.0);
                    continue;
                }
                Fate::Unmade { cost } => {
                    pay(&mut beyond, &verifier.name, cost);
                    continue;
                }
            };
            verifier.has_scored |= score.is_some();
            let row = rows
                .entry((arm, attribute))
                .or_insert_with(|| Outcomes::none(&terms.ids[arm.index()], &verifier.name));
            row.scores.push(score);
            row.costs.push(cost);
            if verifier.is_solver {
                row.answers.push(answer);
            }
        }
        let rows = rows.into_iter().map(|((_, attribute), outcomes)| {
            let has_scored = terms.verifiers[attribute.index()].has_scored;
            Row { outcomes, has_scored }
        });
        Self { rows: rows.collect(), terms, lost_count, beyond }
    }
}

/// What became of each call, in the order in which they were asked for.
fn fates(mut reader: Reader) -> io::Result<Vec<(ArmId, AttributeId, Fate)>> {
    let mut fates = Vec::new();
    let mut places = BTreeMap::new();
    while let Some((_, Record { event, note })) = reader.next_record().map_err(io::Error::other)? {
        let (ticket, fate) = match event {
            Event::Asked { ticket, arm, attribute, .. } => {
                places.insert(ticket, fates.len());
                fates.push((arm, attribute, Fate::Lost));
                continue;
            }
            Event::Told { ticket, score, cost } => {
                let answer = note.reply.into_owned();
                (ticket, Fate::Back { score: Some(score), cost, answer })
            }
            Event::Failed { ticket, failure: Failure::Counted(_), cost } => {
                let answer = note.reply.into_owned();
                (ticket, Fate::Back { score: None, cost, answer })
            }
            Event::Failed { ticket, cost, .. } => (ticket, Fate::Unmade { cost }),
            _ => return Err(io::Error::other("it is not the journal of a recording")),
        };
        let never_asked = || io::Error::other(format!("call {} was never asked", ticket.0));
        let place = places.remove(&ticket).ok_or_else(never_asked)?;
        fates[place].2 = fate;
    }
    Ok(fates)
}

fn pay(beyond: &mut BTreeMap<String, Amount>, verifier: &str, cost: Cost) {
    if cost > Cost::ZERO {
        let Amount(sum) = beyond.entry(verifier.to_owned()).or_default();
        *sum = sum.saturating_add(cost);
    }
}

#[cfg(test)]
mod tests;
