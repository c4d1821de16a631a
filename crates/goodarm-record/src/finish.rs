//! Writing a run's files at its end, and what a resumed run found.

use crate::ending::Ending;
use crate::labels;
use crate::outputs::{self, OutputError, RunState};
use crate::view::Overview;

/// Writes calls, findings, answers and the summary, which has the claim of the labels, and returns the summary.
pub fn write(standing: &RunState<'_>, ending: &Ending) -> Result<Overview, OutputError> {
    let &RunState { folder, terms, books, candidates, .. } = standing;
    let mut overview = outputs::write(standing, ending)?;
    let certified: Vec<&str> = books.certified().iter().map(|&arm| candidates.id(arm)).collect();
    let claim = labels::claim(folder, terms, &certified);
    let claim = claim.map(|claim| overview.claim = claim);
    outputs::write_summary(folder, &overview)?;
    // Wrong labels do not fail the run.
    overview.notes.extend(claim.err().map(|error| error.to_string()));
    Ok(overview)
}

/// What a resumed run found after the last process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Bytes of an unfinished write that were cut from the journal.
    pub bytes_cut: u64,
    /// Candidates that the job has gained since.
    pub added: usize,
    /// Calls that were in flight when the process died, and are charged their ceiling.
    pub lost: u64,
}
