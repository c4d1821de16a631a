//! Why a command did not end well.

use std::fmt;
use std::io;
use std::path::Path;

use crate::{Exit, say};

/// What is said on standard error, and the exit code.
#[derive(Debug)]
pub struct CommandError {
    message: String,
    exit: Exit,
}

impl CommandError {
    /// A file or an argument is wrong.
    pub fn wrong_input(message: impl fmt::Display) -> Self {
        Self::with_exit(Exit::WrongInput, message)
    }

    /// A file cannot be read or written.
    pub fn file(path: &Path, error: &io::Error) -> Self {
        Self::wrong_input(format!("{}: {error}", path.display()))
    }

    /// Something that has an exit code of its own.
    pub fn with_exit(exit: Exit, message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), exit }
    }

    /// The person pressed Ctrl-C; what was done is kept.
    pub fn interrupted(message: impl fmt::Display) -> Self {
        Self::with_exit(Exit::Interrupted, message)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

/// Says what went wrong in a command of this program.
pub fn finish(program: &str, outcome: Result<(), CommandError>) -> Exit {
    match outcome {
        Ok(()) => Exit::Success,
        Err(failure) => {
            say(&format!("{program}: {failure}"));
            failure.exit
        }
    }
}
