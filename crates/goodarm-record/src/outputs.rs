//! The files that a run writes for people and programs. All are made from the journal and the books, so they can be
//! written again at any time.

pub mod calls;
pub mod flat;
pub mod page;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use goodarm_core::{ArmId, ArmStatus, Books};
use goodarm_data::candidates::{Candidates, KEY};

use crate::account::Account;
use crate::ending::{Ending, EndingView};
use crate::folder::Folder;
use crate::outputs::calls::CallLine;
use crate::questions::RunQuestions;
use crate::replay::{JournalError, Replay};
use crate::terms::RunTerms;
use crate::view::questions::QuestionOutcome;
use crate::view::{AnswerView, Overview, VerifierView};

/// Why outputs cannot be written. The journal is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// A file cannot be written.
    #[error("{}: {error}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Replay(#[from] JournalError),
}

/// What a run's files are made from, in addition to its journal.
#[derive(Clone, Copy, Debug)]
pub struct RunState<'a> {
    /// The run's folder, which the files are in.
    pub folder: &'a Folder,
    /// The run's terms.
    pub terms: &'a RunTerms,
    /// Its books.
    pub books: &'a Books,
    /// Its account.
    pub account: &'a Account,
    /// All candidates, including those made during the run.
    pub candidates: &'a Candidates,
    /// The questions that they answer, if there are any.
    pub questions: Option<&'a RunQuestions>,
}

/// Writes calls, findings and answers, and returns the summary, which is not written yet. Only for a run that has
/// ended: after an error, part of the journal may not be durable, and a summary must not be made from that part.
pub fn write(state: &RunState<'_>, ending: &Ending) -> Result<Overview, OutputError> {
    let &RunState { folder, terms, books, account, candidates, .. } = state;
    let replay = write_calls(state)?;
    let mut overview = Overview::in_full(terms, books, account);
    write_findings(state, &overview.verifiers)?;
    if let Some(questions) = state.questions {
        replace(&folder.answers(), |file| {
            outcomes(books, questions, candidates).try_for_each(|line| writeln!(file, "{line}"))
        })?;
    }
    overview.set_span(replay.history.span_millis());
    overview.journal = Some(replay.mark()?);
    overview.ending = Some(EndingView::new(ending.clone(), state.questions.is_some()));
    Ok(overview)
}

/// Writes the summary.
pub fn write_summary(folder: &Folder, overview: &Overview) -> Result<(), OutputError> {
    replace(&folder.summary(), |file| file.write_all(summary_text(overview)?.as_bytes()))
}

/// The text of the summary.
pub(crate) fn summary_text(overview: &Overview) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(overview)? + "\n")
}

/// Writes every call of the journal; returns the replay, at the end of the journal.
fn write_calls(state: &RunState<'_>) -> Result<Replay<()>, OutputError> {
    let &RunState { folder, candidates, questions, .. } = state;
    let mut replay = Replay::open(&folder.journal())?;
    let terms = replay.history.terms.clone();
    replace(&folder.calls(), |file| {
        while let Some(entry) = replay.step().map_err(io::Error::other)? {
            let name = |arm| candidates.id(arm);
            let asked = |id| questions.map_or("", |asked| asked.id(id));
            if let Some(line) = CallLine::new(&entry, name, asked, &terms) {
                serde_json::to_writer(&mut *file, &line)?;
                file.write_all(b"\n")?;
            }
        }
        Ok(())
    })?;
    Ok(replay)
}

fn write_findings(state: &RunState<'_>, verifiers: &[VerifierView]) -> Result<(), OutputError> {
    let &RunState { folder, books, account, candidates, .. } = state;
    for (path, status) in folder.findings() {
        replace(&path, |file| {
            let mut write = |arm: ArmId, rank: Option<usize>| -> io::Result<()> {
                let answer = AnswerView::new(books, account, arm, rank);
                let finding = serde_json::to_string(&answer.finding(verifiers))?;
                writeln!(file, "{}", with_finding(candidates.json(arm), &finding))
            };
            if status == ArmStatus::Certified {
                let mut certified = books.certified().iter().zip(1..);
                return certified.try_for_each(|(&arm, rank)| write(arm, Some(rank)));
            }
            let mut arms = books.problem().arms().filter(|&arm| books.status(arm) == status);
            arms.try_for_each(|arm| write(arm, None))
        })?;
    }
    Ok(())
}

/// The outcome of each question: its line, with the certified answer and all answers that were tried.
pub(crate) fn outcomes<'a>(
    books: &'a Books,
    questions: &'a RunQuestions,
    candidates: &'a Candidates,
) -> impl Iterator<Item = String> + 'a {
    let ids = books.problem().questions().map(|questions| questions.ids());
    ids.into_iter().flatten().map(|question| {
        let outcome = QuestionOutcome::new(books, candidates, question);
        let outcome = serde_json::to_string(&outcome).expect("plain data with text keys");
        with_finding(questions.list.json(ArmId(question.0)), &outcome)
    })
}

/// Writes the candidates or the questions of a run into its folder, when it begins or is resumed.
pub fn write_candidates(path: &Path, candidates: &Candidates) -> Result<(), OutputError> {
    replace(path, |file| {
        candidates.arms().try_for_each(|arm| writeln!(file, "{}", candidates.json(arm)))
    })
}

/// A candidate's line with one more key, its own fields untouched.
pub(crate) fn with_finding(json: &str, finding: &str) -> String {
    let open = json.trim_end().strip_suffix('}').unwrap_or(json).trim_end();
    let comma = if open.ends_with('{') { "" } else { "," };
    format!("{open}{comma}\"{KEY}\":{finding}}}")
}

/// Writes a temporary file and renames it when it is complete: readers never see half a file.
pub fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), OutputError> {
    let attempt = || -> io::Result<()> {
        let beside = path.with_extension("part");
        let mut file = BufWriter::with_capacity(1 << 18, File::create(&beside)?);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        fs::rename(&beside, path)
    };
    attempt().map_err(|error| OutputError::File { path: path.to_owned(), error })
}
