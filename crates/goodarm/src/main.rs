//! The command-line tool.

mod advice;
mod cli;
mod commands;
mod display;
mod fields;
mod shell;

use std::process::ExitCode;

use goodarm_terminal as terminal;

fn main() -> ExitCode {
    goodarm_data::panics::silence_caught();
    terminal::typed().map_or_else(Into::into, |cli| commands::run(cli).into())
}
