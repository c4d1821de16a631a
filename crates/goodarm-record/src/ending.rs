//! How a run ends, or why it cannot begin or go on.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use goodarm_core::{AskError, StopReason};

use crate::folder::{Folder, OlderJournal};
use crate::history::HistoryError;
use crate::journal::LockError;
use crate::labels::LabelError;
use crate::outputs::OutputError;
use crate::sealed_lines::SealedError;
use crate::terms::TermsError;
use crate::view::{DoneReason, EarlyReason, EndingFacts, EndingView};

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// There is nothing more to do.
    Done(StopReason),
    /// Others have made as many calls as the job allows; to be resumed with a larger `calls_max`.
    CallsSpent {
        /// How many that is.
        calls_max: u64,
    },
    /// Someone asked to stop; no call is in flight, but for those that wait for people.
    Interrupted,
    /// Nothing is left to do until people have answered; to be resumed then.
    WaitsForPeople {
        /// So many answers and questions.
        count: usize,
    },
    /// Someone asked to leave at once; calls in flight count as lost, but for those of people.
    Left,
    /// A verifier was down for longer than the job's patience, or cannot be started any more.
    VerifierDown {
        /// Which.
        verifier: String,
        /// What went wrong last.
        reason: String,
    },
    /// A verifier failed again and again and has never given a score: it says nothing about answers,
    /// and the job is to be mended.
    NeverScored(Box<NeverScored>),
    /// A verifier said something that it was not asked, so that nobody knows what its scores belong to:
    /// it is to be mended, and the run begun again.
    Mistrusted {
        /// Which.
        verifier: String,
        /// What it did.
        reason: String,
    },
}

/// The first failure of a verifier that never gave a score, in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeverScored {
    /// Which verifier, or which generator.
    pub verifier: String,
    /// What it never gave: a score, or an answer.
    pub lacks: &'static str,
    /// The candidate's name, or the question's.
    pub id: String,
    /// What was asked.
    pub request: String,
    /// What went wrong.
    pub reason: String,
    /// What was answered, if anything was.
    pub reply: String,
}

/// Why a run cannot begin or go on. Nothing is lost: what is in the journal stays.
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
    /// Another process is at it.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// A file or folder.
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
    /// What people have said cannot be read.
    #[error(transparent)]
    Replies(#[from] SealedError),
    /// The labels of the run's answers are damaged, or some are gone.
    #[error(transparent)]
    Labels(Box<LabelError>),
    /// The terms of the run in its journal.
    #[error(transparent)]
    Charter(#[from] TermsError),
    /// The candidates cannot be kept in the run's folder.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The journal is older than what was made from it.
    #[error(transparent)]
    OlderJournal(#[from] OlderJournal),
    /// The job is not what it was.
    #[error("the job has changed since the run began (what may change: the budget, upwards; calls_max; the pace: concurrency, rate, patience; more candidates, if the guarantee is lent):\n{}", .0.join("\n"))]
    Changed(Vec<String>),
    /// The record and the session disagree.
    #[error("the journal cannot be replayed: {0}")]
    Diverged(String),
    /// The policy named a call that may not be made.
    #[error(transparent)]
    Policy(#[from] AskError),
}

impl RunError {
    /// A file or folder, and what happened.
    pub fn file(path: &Path, error: io::Error) -> Self {
        Self::File { path: path.to_owned(), error }
    }

    /// The journal cannot be opened to be written: another process may be at it.
    pub fn journal(folder: &Folder, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::ResourceBusy {
            return LockError::Held { folder: folder.path().to_owned() }.into();
        }
        Self::file(&folder.journal(), error)
    }
}

impl From<&Ending> for EndingFacts {
    fn from(ending: &Ending) -> Self {
        match ending {
            Ending::Done(reason) => match reason {
                StopReason::AllCertified => Self::Done { reason: DoneReason::AllCertified },
                StopReason::AllDecided => Self::Done { reason: DoneReason::AllDecided },
                StopReason::AllCallsMade => Self::Done { reason: DoneReason::AllCallsMade },
                StopReason::BudgetSpent => Self::BudgetUsedUp,
                StopReason::NothingWorthwhile => {
                    Self::FinishedEarly { reason: EarlyReason::NothingWorthwhile }
                }
                StopReason::Hopeless => Self::FinishedEarly { reason: EarlyReason::Hopeless },
            },
            &Ending::CallsSpent { calls_max } => Self::CallsUsedUp { calls_max },
            Ending::Interrupted => Self::Stopped { at_once: false },
            Ending::Left => Self::Stopped { at_once: true },
            &Ending::WaitsForPeople { count } => Self::WaitsForPeople { count },
            Ending::VerifierDown { verifier, .. } => {
                Self::VerifierDown { verifier: verifier.clone() }
            }
            Ending::NeverScored(failed) => Self::NeverWorked {
                verifier: failed.verifier.clone(),
                lacks: failed.lacks.to_owned(),
            },
            Ending::Mistrusted { verifier, .. } => Self::Mistrusted { verifier: verifier.clone() },
        }
    }
}

/// In words about answers, for people.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&EndingView::new(self, false).sentence)
    }
}
