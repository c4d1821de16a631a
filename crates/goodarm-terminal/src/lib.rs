//! All output to the terminal. Answers, replies, names and file names are written by others; control characters
//! in them are shown as escapes. Unlike `print!`, nothing here panics if the output is closed.
//!
//! Also exit codes, errors, progress and completions, which all programs of goodarm share.

#![expect(clippy::disallowed_methods, reason = "the only crate that may print")]

pub mod completions;
mod error;
mod exit;
mod progress;

use std::io::{self, Write};

use goodarm_files::visible;

pub use error::{CommandError, finish};
pub use exit::Exit;
pub use progress::ProgressDisplay;

/// The parsed command line. Otherwise prints what is wrong with it, or the help if asked for, and returns how the
/// command ended.
pub fn typed<Arguments>(parsed: Result<Arguments, clap::Error>) -> Result<Arguments, Exit> {
    parsed.map_err(|error| {
        if !error.use_stderr() {
            let _ = error.print();
            return Exit::Success;
        }
        // The message contains arguments, such as file names that a shell filled in.
        say(error.render().to_string().trim_end());
        Exit::WrongInput
    })
}

/// Prints text to standard output.
pub fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(visible(text).as_bytes());
    // A prompt ends without a line break.
    let _ = out.flush();
}

/// Prints a line to standard output.
pub fn print_line(line: &str) {
    print(&format!("{line}\n"));
}

/// Prints a line to standard error.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(line));
}

/// Standard output, for text that contains no text of others.
pub fn own_text() -> impl Write {
    io::stdout().lock()
}

/// Writes out what standard output still holds. A program does this at its end, but not a library in another program.
pub fn flush() {
    let _ = io::stdout().flush();
}

/// Whether standard error is a terminal.
pub fn is_seen() -> bool {
    io::IsTerminal::is_terminal(&io::stderr())
}
