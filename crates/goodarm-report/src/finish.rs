//! What every front end does around a run: messages about an earlier process, the files at the end of a run, and
//! the messages about its end.

use std::path::PathBuf;

use goodarm_record::ending::{Ending, NeverScored};
use goodarm_record::finish::{self, Recovery};
use goodarm_record::outputs::{OutputError, RunState};
use goodarm_record::view::Overview;

use crate::report::{Report, ReportError};
use crate::words::{counted, printable_note, were};

/// A run that has ended.
#[derive(Debug)]
pub struct FinishedRun {
    /// Its totals, as in `summary.json`.
    pub overview: Overview,
    /// Whether its page, `report.html`, was written.
    pub page: PageOutcome,
}

/// Whether the page of a run was written.
#[derive(Debug)]
pub enum PageOutcome {
    /// Written to this file.
    Written(PathBuf),
    /// Not written: making the page of a run of this size takes longer than a person waits.
    TooLarge,
    /// The page could not be written. The run itself is complete.
    Failed(ReportError),
}

/// Writes all files of a run that has ended, including the page.
///
/// # Errors
///
/// A file other than the page cannot be written.
pub fn finish_run(run: &RunState<'_>, ending: &Ending) -> Result<FinishedRun, OutputError> {
    let overview = finish::write(run, ending)?;
    let page = if overview.calls > CALLS_MAX || overview.candidates > CANDIDATES_MAX {
        PageOutcome::TooLarge
    } else {
        let report = Report::read_for_page(run.folder.path());
        let written = report.and_then(|report| report.write_page(None));
        written.map_or_else(PageOutcome::Failed, PageOutcome::Written)
    };
    Ok(FinishedRun { overview, page })
}

/// What a resumed run found, one sentence for each finding.
pub fn report_recovery(recovery: &Recovery) -> Vec<String> {
    let &Recovery { bytes_cut: cut, added, lost } = recovery;
    let texts = [
        (cut > 0).then(|| {
            format!("cut {} of an unfinished write from the journal", counted(cut, "byte"))
        }),
        (added > 0).then(|| format!("{} added", were(added, "candidate"))),
        (lost > 0).then(|| {
            format!(
                "{} in flight when the last process died: lost calls count as spent and as the lowest score",
                were(lost, "call")
            )
        }),
    ];
    texts.into_iter().flatten().collect()
}

/// The full message why a run was stopped; `None` if it is done, has used up its calls or waits for people.
pub fn why_stopped(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Done(_) | Ending::CallsUsedUp { .. } | Ending::WaitsForPeople { .. } => None,
        Ending::Stopped { at_once: false } => Some("stopped, and everything is saved".to_owned()),
        Ending::Stopped { at_once: true } => Some(
            "left; calls in flight, but for those of people, count as spent and as the lowest score"
                .to_owned(),
        ),
        Ending::VerifierDown { verifier, reason } => Some(format!(
            "{} is down ({}), and everything is saved",
            printable_note(verifier),
            printable_note(reason)
        )),
        Ending::NeverScored(failed) => Some(never_scored(failed)),
        Ending::Mistrusted { verifier, reason } => Some(format!(
            "{}: {}.\nIts earlier scores may belong to other answers, so the run has stopped: do not rely on its certificates.",
            printable_note(verifier),
            printable_note(reason)
        )),
    }
}

/// The message about a service that has never given a score or an answer: its request, the reason and its reply.
fn never_scored(failed: &NeverScored) -> String {
    let NeverScored { verifier, lacks, id, request, reason, reply } = failed;
    let short = lacks.split(' ').next_back().unwrap_or(lacks);
    let mut text = format!(
        "{} has never given {lacks}, so the run has stopped; no answer is rejected because of it.\n\
         asked about {}:\n{}why there is no {short}:\n{}",
        printable_note(verifier),
        printable_note(id),
        indented(request),
        indented(reason),
    );
    if !reply.is_empty() && !reason.contains(reply.trim()) {
        text += &format!("it replied:\n{}", indented(reply));
    }
    text.truncate(text.trim_end().len());
    text
}

fn indented(text: &str) -> String {
    let lines = text.lines().take(SHOWN_LINES_MAX);
    let shown = |line: &str| {
        let kept: String = line.chars().take(SHOWN_CHARS_MAX).collect();
        let more = if kept.len() < line.len() { " …" } else { "" };
        format!("    {}{more}\n", printable_note(&kept))
    };
    lines.map(shown).collect()
}

/// A run with more calls or candidates ends without a page.
const CALLS_MAX: u64 = 2_000_000;
const CANDIDATES_MAX: usize = 200_000;
const SHOWN_LINES_MAX: usize = 40;
/// The characters that are shown of each line.
const SHOWN_CHARS_MAX: usize = 2000;
