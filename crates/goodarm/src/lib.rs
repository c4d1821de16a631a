//! The command-line tool as a function: for its program, and for the Python package, which installs the same command.

mod advice;
mod cli;
mod commands;
mod display;
mod fields;
mod help;
mod shell;

use std::ffi::OsString;

use goodarm_terminal::{self as terminal, Exit};

/// Runs a command line, and returns how it ended. The first word is the name of the program.
///
/// Signals are handled for the whole process, and only once in it: a second run cannot listen for Ctrl-C.
pub fn main(words: Vec<OsString>) -> Exit {
    let exit =
        terminal::typed(cli::ToolArguments::read(words)).map_or_else(|exit| exit, commands::run);
    terminal::flush();
    exit
}
