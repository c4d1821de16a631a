//! One module for each command.

mod reproduce;
mod simulate;
mod trace;

use clap::CommandFactory;

use crate::cli::{LabCli, LabCommand};
use crate::terminal::{self, Exit, completions};

/// Runs a command and prints its error, if any, to standard error.
pub(crate) fn run(cli: LabCli) -> Exit {
    let outcome = match cli.command {
        LabCommand::Completions(arguments) => completions::run(LabCli::command(), &arguments),
        LabCommand::Reproduce(arguments) => reproduce::run(&arguments),
        LabCommand::Simulate(arguments) => simulate::run(&arguments),
        LabCommand::Trace(arguments) => trace::run(&arguments.problem),
    };
    terminal::finish("goodarm-lab", outcome)
}
