//! The only way to the terminal. Answers, replies, names and file names are written by others, who must
//! not be able to do anything to it: whatever could is shown as an escape.
//!
//! Nothing here panics when no one listens, unlike `print!`.

//! Beside it: what else all binaries of goodarm share.

#![expect(clippy::disallowed_methods, reason = "nobody else may")]

pub mod completions;
mod exit;
mod failure;
mod progress;

use std::borrow::Cow;
use std::io::{self, Write};

use clap::Parser;
use goodarm_files::visible;

pub use exit::Exit;
pub use failure::{CommandError, finish};
pub use progress::ProgressDisplay;

/// What was typed, or how the process ends: help was asked for, or it cannot be understood.
pub fn typed<Arguments: Parser>() -> Result<Arguments, Exit> {
    Arguments::try_parse().map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        // It repeats what was typed, such as the name of a file that a shell filled in.
        say(error.render().to_string().trim_end());
        Exit::WrongInput
    })
}

/// To standard output. What this process writes there, a person or a program may read.
pub fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(visible(text).as_bytes());
    // What asks for something ends without a line.
    let _ = out.flush();
}

/// A line to standard output.
pub fn print_line(line: &str) {
    print(&format!("{line}\n"));
}

/// A line to standard error.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(line));
}

/// Standard output for text of which no word is anyone else's.
pub fn own_text() -> impl Write {
    io::stdout().lock()
}

/// Whether people see standard error.
pub fn is_seen() -> bool {
    io::IsTerminal::is_terminal(&io::stderr())
}

/// What a bar may show.
pub fn message(text: &str) -> Cow<'_, str> {
    visible(text)
}
