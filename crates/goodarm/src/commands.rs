//! One module for each command.

mod trace;

use std::io::{self, Write};

use crate::cli::{Cli, Command};
use crate::exit::Exit;

/// Runs what was typed, and reports on standard error what went wrong.
pub(crate) fn run(cli: Cli) -> Exit {
    let outcome = match cli.command {
        Command::Trace(arguments) => trace::run(&arguments.problem),
    };
    match outcome {
        Ok(()) => Exit::Success,
        Err(error) => {
            // Unlike `eprintln!` this does not panic when nobody listens.
            let _ = writeln!(io::stderr().lock(), "goodarm: {error}");
            error.exit()
        }
    }
}
