//! The command-line tool: the only crate that prints or exits.

mod cli;
mod commands;
mod display;
mod exit;
mod fields;
mod problem_file;
mod progress;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    goodarm_live::panics::hush();
    commands::run(cli::Cli::parse()).into()
}
