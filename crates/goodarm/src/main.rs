//! The command-line tool: the only crate that prints or exits.

mod cli;
mod commands;
mod exit;
mod problem_file;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    commands::run(cli::Cli::parse()).into()
}
