//! Why a run cannot begin or continue.

use std::io;
use std::path::{Path, PathBuf};

use goodarm_core::{AskError, Cost};

use crate::folder::{Folder, OlderJournal};
use crate::history::HistoryError;
use crate::journal::LockError;
use crate::labels::LabelError;
use crate::outputs::OutputError;
use crate::sealed_lines::SealedError;
use crate::terms::TermsError;

/// Why a run cannot begin or continue. Nothing is lost: what is in the journal stays.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The folder holds a run.
    #[error("{} holds a run already", .0.display())]
    AlreadyBegun(PathBuf),
    /// The folder is a file.
    #[error("{} is a file, and the output must be a folder, which is made if it is not there (output = \"run\")", .0.display())]
    OutputIsFile(PathBuf),
    /// A file of a run whose journal is gone, or of something else.
    #[error("{} is in the way, and the journal it belongs to is gone: choose another output, or move it away", .0.display())]
    InTheWay(PathBuf),
    /// The folder holds no run.
    #[error("{} holds no run to resume", .0.display())]
    NothingToResume(PathBuf),
    /// Another process uses the folder.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// A file or folder cannot be used.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// The journal cannot be read.
    #[error("{}: {error}", path.display())]
    Journal {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        error: HistoryError,
    },
    /// The journal cannot be written.
    #[error(
        "the journal cannot be written ({0}), so no more calls are made; calls in flight count as lost: put that right (a full disk: make room)"
    )]
    NotDurable(io::Error),
    /// People's replies cannot be read.
    #[error(transparent)]
    Replies(#[from] SealedError),
    /// The labels of the run's answers are damaged, or some are gone.
    #[error(transparent)]
    Labels(Box<LabelError>),
    /// The run terms in the journal cannot be used.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// A file cannot be written into the run's folder.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The journal is older than what was made from it.
    #[error(transparent)]
    OlderJournal(#[from] OlderJournal),
    /// The job has changed.
    #[error("the job has changed since the run began (what may change: the budget, upwards; calls_max; the pace: concurrency, rate, patience; more candidates, if the guarantee is lent):\n{}", changes.join("\n"))]
    Changed {
        /// A line for each change.
        changes: Vec<String>,
        /// The least budget, if the job has a lower one.
        budget_min: Option<Cost>,
    },
    /// The session refuses an event of the journal.
    #[error("the journal cannot be replayed: {0}")]
    Diverged(String),
    /// The policy named a call that may not be made.
    #[error(transparent)]
    Policy(#[from] AskError),
}

impl RunError {
    /// The error of a job that has changed in other things than its budget.
    pub const fn changed(changes: Vec<String>) -> Self {
        Self::Changed { changes, budget_min: None }
    }

    /// The error of a file or folder.
    pub fn file(path: &Path, error: io::Error) -> Self {
        Self::File { path: path.to_owned(), error }
    }

    /// The error if the journal cannot be opened for writing: [`LockError::Held`] if another process has it open.
    pub fn journal(folder: &Folder, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::ResourceBusy {
            return LockError::Held { folder: folder.path().to_owned() }.into();
        }
        Self::file(&folder.journal(), error)
    }
}
