//! The report of a run: a self-contained page, text, JSON and plots. Everything is made from the journal, so
//! a run in progress or a killed one has a report as well.

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

/// Why a report cannot be made.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The journal cannot be read, or has an impossible event.
    #[error(transparent)]
    Replay(#[from] JournalError),
    /// The labels cannot be used, or the summary with their claim cannot be written.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// The page cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Writes the claim from people's labels into the summary of a run that has ended, and into its page if there is
/// one; both files are replaced atomically. During the run it does nothing and returns `None`: the run writes the
/// claim when it ends. The journal is read once.
pub fn publish_claim(folder: &Folder) -> Result<Option<Overview>, ReportError> {
    let has_page = folder.report().exists();
    let calls = if has_page { KeptCalls::for_page() } else { KeptCalls::none() };
    let published = labels::publish(folder, |balance| Gatherer::new(balance, calls))?;
    let Some(PublishedClaim { overview, replay }) = published else { return Ok(None) };
    if has_page {
        Report::new(folder, replay, None)?.write_page(None)?;
    }
    Ok(Some(overview))
}

/// The results of a run, read from its folder.
pub struct Report {
    pub(crate) folder: Folder,
    /// The totals, and every answer with its evidence.
    pub(crate) data: ReportData,
    /// The answers' fields, and their questions. `None` if their file cannot be read or holds other answers.
    pub(crate) subjects: Option<Subjects>,
    /// The name of the field with an answer's id.
    id_field: String,
    reply_lengths: cut::LengthCounts,
    /// The calls that were kept for the page.
    calls: KeptCalls,
    /// The number of entries that were read from the journal.
    entry_count: u64,
}

impl Report {
    /// Reads a run's folder.
    pub fn read(folder: &Path) -> Result<Self, ReportError> {
        Self::read_with(folder, KeptCalls::none())
    }

    /// Reads a run's folder for a page: the calls are kept, so that the journal is read only once.
    pub fn read_for_page(folder: &Path) -> Result<Self, ReportError> {
        Self::read_with(folder, KeptCalls::for_page())
    }

    fn read_with(folder: &Path, calls: KeptCalls) -> Result<Self, ReportError> {
        let folder = Folder::new(folder);
        let replay = Replay::open(&folder.journal())?;
        let books = Books::new(replay.problem()?);
        // The journal is opened first, so that the candidates include all of its answers.
        let kept = Subjects::kept(&folder, &replay.history.terms);
        let (subjects, trouble) = match kept {
            Ok(subjects) => (Some(subjects), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let balance = Balance::opening(books).with(subjects);
        let mut replay = replay.followed_by(Gatherer::new(balance, calls));
        replay.run()?;
        Self::new(&folder, replay, trouble)
    }

    /// Makes the report from a journal that was read to its end; `trouble` is why the file of answers could not be
    /// read.
    fn new(
        folder: &Folder,
        replay: Replay<Gatherer>,
        trouble: Option<String>,
    ) -> Result<Self, ReportError> {
        let mark = replay.mark()?;
        let Replay { history, mut follower, .. } = replay;
        let mut data = follower.data(&history, mark, folder);
        let Gatherer { balance, added, reply_lengths, calls, entry_count, .. } = follower;
        let terms = &history.terms;
        let id_field = terms.id_field.clone();
        let path = folder.candidates();
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
        let note = |problem| format!("The answers' texts are not shown: {problem}");
        let subjects = found.map_err(|problem| data.overview.notes.push(note(problem))).ok();
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

    /// Writes the page to `out`, or into the run's folder, and returns its path. The file is replaced atomically.
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
        rows::json(&self.data)
    }

    /// Every plot, with the name of its file.
    pub fn figures(&self) -> [(&'static str, Figure); 3] {
        plots::figures(&self.data)
    }

    /// Whether the run has questions.
    const fn has_questions(&self) -> bool {
        self.data.overview.questions.is_some()
    }

    /// The run as a whole.
    pub const fn overview(&self) -> &Overview {
        &self.data.overview
    }

    /// Notes for the reader.
    pub fn notes(&self) -> &[String] {
        &self.data.overview.notes
    }
}
