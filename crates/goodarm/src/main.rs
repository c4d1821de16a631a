//! The command-line tool: the only crate that prints or exits.

mod advice;
mod cli;
mod commands;
mod display;
mod exit;
mod fields;
mod problem_file;
mod progress;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    goodarm_live::panics::hush();
    match cli::Cli::try_parse() {
        Ok(cli) => commands::run(cli).into(),
        Err(error) if !error.use_stderr() => error.exit(),
        // It repeats what was typed, such as the name of a file that a shell filled in.
        Err(error) => {
            terminal::say(error.render().to_string().trim_end());
            exit::Exit::WrongInput.into()
        }
    }
}
