//! What a run found, for people: one self-contained page, the same as text and as JSON, and its
//! plots. Everything is made from the journal, so a run that still goes on, or was killed, has a
//! report too.

mod by_question;
mod calls;
mod cut;
pub(crate) mod data;
mod details;
mod gather;
mod html;
mod plots;
pub(crate) mod rows;
mod spending;
mod text;
mod trail;

use std::path::{Path, PathBuf};

use goodarm_core::{ArmId, Books, QuestionId};
use goodarm_plot::Figure;
use goodarm_record::folder::Folder;
use goodarm_record::labels::{self, LabelError, PublishedClaim};
use goodarm_record::outputs::page::Sealing;
use goodarm_record::outputs::{self, OutputError};
use goodarm_record::replay::{Balance, JournalError, Replay};
use goodarm_record::subjects::Subjects;
use goodarm_record::view::Overview;
use thiserror::Error;

pub(crate) use cut::beginning;
pub(crate) use data::{ReportAnswer, ReportData};
pub(crate) use html::{STYLE, plain_script, policy, script};
pub(crate) use trail::Trail;

use calls::KeptCalls;
use gather::Gatherer;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The journal.
    #[error(transparent)]
    Replay(#[from] JournalError),
    /// The file of candidates that was named is missing, or holds other answers.
    #[error("{0}")]
    Candidates(String),
    /// The labels, or the summary that they are written into.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// The page cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Writes what people's labels prove into the summary of a run that has ended, and into its page if there
/// is one; both are replaced at once. Nothing is done, and none is returned, while the run goes on: it
/// writes the claim itself when it ends. The journal is read once.
pub fn publish_claim(folder: &Folder) -> Result<Option<Overview>, ReportError> {
    let has_page = folder.report().exists();
    let calls = if has_page { KeptCalls::wanted() } else { KeptCalls::unwanted() };
    let published = labels::publish(folder, |balance| Gatherer::new(balance, calls))?;
    let Some(PublishedClaim { overview, replay }) = published else { return Ok(None) };
    if has_page {
        Report::new(folder, replay, None, None)?.write_page(None)?;
    }
    Ok(Some(overview))
}

/// A run's folder, read: what happened, and to which answers.
pub struct Report {
    pub(crate) folder: Folder,
    /// The totals, and every answer with its evidence.
    pub(crate) data: ReportData,
    /// The answers' own fields, and their questions; none if they cannot be found.
    pub(crate) subjects: Option<Subjects>,
    /// Which of them is the id.
    id_field: String,
    reply_lengths: cut::LengthCounts,
    /// Those that the page shows, if a page is wanted.
    calls: KeptCalls,
    /// How many entries of the journal were read.
    entry_count: u64,
}

impl Report {
    /// Reads a run's folder; `candidates` is the file of answers, for a folder that has lost its
    /// copy.
    pub fn read(folder: &Path, candidates: Option<&Path>) -> Result<Self, ReportError> {
        Self::read_with(folder, candidates, KeptCalls::unwanted())
    }

    /// The same, for a page: its calls are kept, so that the journal is read once.
    pub fn read_for_page(folder: &Path, candidates: Option<&Path>) -> Result<Self, ReportError> {
        Self::read_with(folder, candidates, KeptCalls::wanted())
    }

    fn read_with(
        folder: &Path,
        candidates: Option<&Path>,
        calls: KeptCalls,
    ) -> Result<Self, ReportError> {
        let folder = Folder::new(folder);
        let replay = Replay::open(&folder.journal())?;
        let books = Books::new(replay.problem()?);
        // The journal was opened before: nobody is in it whom the candidates lack.
        let kept = Subjects::kept(&folder, &replay.history.terms, candidates);
        let (subjects, trouble) = match kept {
            Ok(subjects) => (Some(subjects), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let balance = Balance::opening(books).with(subjects);
        let mut replay = replay.followed_by(Gatherer::new(balance, calls));
        replay.run()?;
        Self::new(&folder, replay, candidates, trouble)
    }

    /// From a journal at its end; `trouble` is why the file of answers could not be read.
    fn new(
        folder: &Folder,
        replay: Replay<Gatherer>,
        candidates: Option<&Path>,
        trouble: Option<String>,
    ) -> Result<Self, ReportError> {
        let mark = replay.mark()?;
        let Replay { history, mut follower, .. } = replay;
        let mut data = follower.data(&history, mark, folder);
        let Gatherer { balance, added, reply_lengths, calls, entry_count, .. } = follower;
        let terms = &history.terms;
        let id_field = terms.id_field();
        let path = candidates.map_or_else(|| folder.candidates(), Path::to_owned);
        let count = data.answers.len();
        let fits = |found: &Subjects| {
            let found = &found.candidates;
            found.len() >= count
                && found.begin_with(terms.candidate_count, &history.header().candidates)
                && added.iter().all(|(count, fingerprint)| found.begin_with(*count, fingerprint))
        };
        let other =
            || format!("{} does not hold the answers that the run is about.", path.display());
        let found = balance.subjects.filter(fits).ok_or_else(|| trouble.unwrap_or_else(other));
        // What someone named must be right; what is merely not there is worth a note.
        let subjects = match found {
            Ok(found) => Some(found),
            Err(problem) if candidates.is_some() => return Err(ReportError::Candidates(problem)),
            Err(problem) => {
                data.overview.notes.push(format!(
                    "The answers' texts are not shown: {problem} Name the file that has them."
                ));
                None
            }
        };
        if let Some(subjects) = &subjects {
            let certified = balance.books.certified().iter();
            let certified: Vec<&str> = certified.map(|&arm| subjects.id(arm)).collect();
            match labels::claim(folder, terms, &certified) {
                Ok(claim) => data.overview.claim = claim,
                Err(error) => data.overview.notes.push(error.to_string()),
            }
        }
        for (answer, arm) in data.answers.iter_mut().zip(0..) {
            answer.id = subjects.as_ref().map_or_else(
                || format!("answer {arm}"),
                |subjects| subjects.id(ArmId(arm)).to_owned(),
            );
        }
        for (question, place) in data.by_question.iter_mut().zip(0..) {
            question.id = subjects.as_ref().map_or_else(
                || format!("question {place}"),
                |subjects| subjects.question_id(QuestionId(place)).to_owned(),
            );
        }
        let folder = folder.clone();
        Ok(Self { folder, data, subjects, id_field, reply_lengths, calls, entry_count })
    }

    /// Writes the page, into the run's folder unless `out` names another place, and returns its path.
    /// The file is replaced at once: no one sees half a page.
    pub fn write_page(&self, out: Option<&Path>) -> Result<PathBuf, ReportError> {
        let page = out.map_or_else(|| self.folder.report(), Path::to_owned);
        let details = details::Details::new(self)?;
        let mark = self.data.overview.journal.as_ref();
        outputs::replace(&page, |file| {
            let mut sealing = Sealing::new(file);
            html::write(self, &details, &mut sealing)?;
            mark.map_or(Ok(()), |mark| sealing.finish(mark))
        })?;
        Ok(page)
    }

    /// The whole report, for a terminal.
    pub fn text(&self) -> String {
        text::text(&self.data)
    }

    /// The whole report for programs, in one line; `docs/report.md` describes the keys.
    pub fn json(&self) -> String {
        serde_json::to_string(&self.data).expect("plain data with text keys")
    }

    /// Every plot with the name of its file.
    pub fn figures(&self) -> [(&'static str, Figure); 3] {
        plots::figures(&self.data)
    }

    /// Whether the file with the answers' texts is needed, since the run's folder has none that fits.
    pub const fn lacks_texts(&self) -> bool {
        self.subjects.is_none()
    }

    /// Whether answers belong to questions, of which one each is certified.
    const fn has_questions(&self) -> bool {
        self.data.overview.questions.is_some()
    }

    /// The run as a whole.
    pub const fn overview(&self) -> &Overview {
        &self.data.overview
    }

    /// What a reader should know about this report.
    pub fn notes(&self) -> &[String] {
        &self.data.overview.notes
    }
}
