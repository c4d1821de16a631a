//! The error of a command.

use std::fmt;
use std::io;
use std::path::Path;

use crate::{Exit, say};

/// A message for standard error, and an exit code.
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

    /// An error with another exit code.
    pub fn with_exit(exit: Exit, message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), exit }
    }

    /// Stopped by Ctrl-C; finished work is kept.
    pub fn interrupted(message: impl fmt::Display) -> Self {
        Self::with_exit(Exit::Interrupted, message)
    }
}

/// An error without an exit code of its own is about the input.
impl<E: std::error::Error> From<E> for CommandError {
    fn from(error: E) -> Self {
        Self::wrong_input(error)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

/// Prints the error of a command, if any, and returns the exit code.
pub fn finish(program: &str, outcome: Result<(), CommandError>) -> Exit {
    match outcome {
        Ok(()) => Exit::Success,
        Err(error) => {
            say(&format!("{program}: {error}"));
            error.exit
        }
    }
}
