//! The laboratory as a program.

mod cli;
mod commands;
mod problem_file;

use std::process::ExitCode;

use clap::Parser as _;
use goodarm_terminal as terminal;

fn main() -> ExitCode {
    goodarm_data::panics::silence_caught();
    terminal::typed(cli::LabCli::try_parse())
        .map_or_else(Into::into, |cli| commands::run(cli).into())
}
