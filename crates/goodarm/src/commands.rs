//! One module for each command.

mod audit;
mod calibrate;
mod completions;
mod dry_run;
mod example;
mod export;
mod generate;
mod init;
mod label;
mod plan;
mod record;
mod report;
mod reproduce;
pub(crate) mod run;
mod schema;
mod simulate;
mod trace;
mod try_out;

use std::fmt;
use std::io;
use std::path::Path;

use goodarm_live::job::JobError;
use goodarm_live::open_files;
use goodarm_report::experiment_file::ExperimentFileError;
use goodarm_report::figures::{FigureError, ReproduceError};
use goodarm_report::forecast::ForecastError;
use goodarm_report::words::printable_note;

use crate::advice;
use crate::cli::{Cli, Command};
use crate::exit::Exit;
use crate::terminal;

/// Runs what was typed, and reports on standard error what went wrong.
pub(crate) fn run(cli: Cli) -> Exit {
    let outcome = match cli.command {
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Example(arguments) => example::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Label(arguments) => label::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Record(arguments) => record::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Schema => schema::run(),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments.problem).map_err(Failure::from),
        Command::Try(arguments) => try_out::run(&arguments),
    };
    match outcome {
        Ok(()) => Exit::Success,
        Err(failure) => {
            terminal::say(&format!("goodarm: {failure}"));
            failure.exit
        }
    }
}

/// What a person should know about how the candidates were read, a line each.
fn notes(notes: &[String]) -> String {
    notes.iter().map(|note| format!("note: {}\n", printable_note(note))).collect()
}

/// Says the same, unless no one wants to hear it.
fn tell_notes(texts: &[String], is_quiet: bool) {
    if !is_quiet {
        notes(texts).lines().for_each(terminal::say);
    }
}

/// Sees to it that so many files can be open, and says so if they cannot.
fn make_room(needed: usize, is_quiet: bool) {
    if let Err(shortage) = open_files::make_room(needed)
        && !is_quiet
    {
        terminal::say(&format!("warning: {shortage}"));
    }
}

/// Why a command did not end well.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    exit: Exit,
}

impl Failure {
    /// A file or an argument is wrong.
    pub(crate) fn wrong_input(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), exit: Exit::WrongInput }
    }

    /// A file cannot be read or written.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Self::wrong_input(format!("{}: {error}", path.display()))
    }

    /// Something that has an exit code of its own.
    pub(crate) fn with_exit(exit: Exit, message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), exit }
    }

    /// The person pressed Ctrl-C; what was done is kept.
    pub(crate) fn interrupted(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), exit: Exit::Interrupted }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl From<trace::TraceError> for Failure {
    fn from(error: trace::TraceError) -> Self {
        Self { message: error.to_string(), exit: error.exit() }
    }
}

impl From<FigureError> for Failure {
    fn from(error: FigureError) -> Self {
        Self::wrong_input(error)
    }
}

impl From<ReproduceError> for Failure {
    fn from(error: ReproduceError) -> Self {
        Self::wrong_input(error)
    }
}

impl From<ExperimentFileError> for Failure {
    fn from(error: ExperimentFileError) -> Self {
        Self::wrong_input(error)
    }
}

impl From<ForecastError> for Failure {
    fn from(error: ForecastError) -> Self {
        Self::wrong_input(advice::with_forecast(&error))
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        Self::wrong_input(advice::with_job(&error))
    }
}
