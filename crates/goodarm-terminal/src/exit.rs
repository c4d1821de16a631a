//! Exit codes; scripts rely on these numbers.

use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or the reader of the output has closed the pipe.
    Success = 0,
    /// goodarm broke its own rules: please report it.
    Bug = 1,
    /// The command line or a file's content is wrong, or a file cannot be read or written. The
    /// argument parser ends with the same code.
    WrongInput = 2,
    /// A verifier was down for longer than the job's patience; the run can be resumed.
    VerifierDown = 3,
    /// An audit found something wrong.
    AuditFailed = 4,
    /// Labels do not prove the wanted share.
    NotShown = 5,
    /// A run ended, and bills were above their ceilings: it may have spent more than its budget.
    Overrun = 6,
    /// Stopped by Ctrl-C; finished work is kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
