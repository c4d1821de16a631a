//! The only way to the terminal. Answers, replies, names and file names are written by others, who must
//! not be able to do anything to it: whatever could is shown as an escape.
//!
//! Nothing here panics when no one listens, unlike `print!`.

#![expect(clippy::disallowed_methods, reason = "nobody else may")]

use std::borrow::Cow;
use std::io::{self, Write};

use goodarm_files::visible;

/// To standard output. What this process writes there, a person or a program may read.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(visible(text).as_bytes());
    // What asks for something ends without a line.
    let _ = out.flush();
}

/// A line to standard output.
pub(crate) fn print_line(line: &str) {
    print(&format!("{line}\n"));
}

/// A line to standard error.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", visible(line));
}

/// Standard output for text of which no word is anyone else's.
pub(crate) fn own_text() -> impl Write {
    io::stdout().lock()
}

/// Whether people see standard error.
pub(crate) fn is_seen() -> bool {
    io::IsTerminal::is_terminal(&io::stderr())
}

/// What a bar may show.
pub(crate) fn message(text: &str) -> Cow<'_, str> {
    visible(text)
}
