//! One module for each command.

mod reproduce;
mod simulate;
mod trace;

use clap::CommandFactory;

use crate::cli::{Cli, Command};
use crate::terminal::{self, Exit, Failure, completions};

/// Runs what was typed, and reports on standard error what went wrong.
pub(crate) fn run(cli: Cli) -> Exit {
    let outcome = match cli.command {
        Command::Completions(arguments) => completions::run(Cli::command(), &arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments.problem).map_err(Failure::from),
    };
    terminal::finish("goodarm-lab", outcome)
}
