//! One module for each command.

mod audit;
mod calibrate;
mod docs;
mod dry_run;
mod example;
mod export;
mod init;
mod label;
mod plan;
mod report;
pub(crate) mod run;
mod schema;
mod try_out;

use std::path::Path;

use clap::CommandFactory;
use goodarm_record::folder::Folder;
use goodarm_report::site::SiteError;
use goodarm_report::words::printable_note;

use crate::cli::{HelpArguments, ToolArguments, ToolCommand};
use crate::help;
use crate::terminal::{self, Exit, completions};

pub(crate) use crate::terminal::CommandError;

/// Runs a command, and reports errors on standard error.
pub(crate) fn run(cli: ToolArguments) -> Exit {
    let outcome = match cli.command {
        ToolCommand::Audit(arguments) => audit::run(&arguments),
        ToolCommand::Calibrate(arguments) => calibrate::run(&arguments),
        ToolCommand::Completions(arguments) => {
            completions::run(ToolArguments::command(), &arguments)
        }
        ToolCommand::Docs { page } => docs::run(page.as_deref()),
        ToolCommand::Example { folder } => example::run(&folder),
        ToolCommand::Export(arguments) => export::run(&arguments),
        ToolCommand::Help(arguments) => return help(arguments),
        ToolCommand::Init(arguments) => init::run(&arguments),
        ToolCommand::Label(arguments) => label::run(&arguments),
        ToolCommand::Plan(arguments) => plan::run(&arguments),
        ToolCommand::Report(arguments) => report::run(&arguments),
        ToolCommand::Run(arguments) => run::run(&arguments),
        ToolCommand::Schema => schema::run(),
        ToolCommand::Try(arguments) => try_out::run(&arguments),
        ToolCommand::Version => {
            terminal::print_line(concat!("goodarm ", env!("CARGO_PKG_VERSION")));
            Ok(())
        }
    };
    terminal::finish("goodarm", outcome)
}

/// Prints the help of the tool, or of a command.
fn help(arguments: HelpArguments) -> Exit {
    let command = ToolArguments::command();
    let command = if arguments.all { help::with_all(command) } else { help::with_groups(command) };
    let words = ["goodarm".to_owned()].into_iter().chain(arguments.command);
    let parsed = command.try_get_matches_from(words.chain(["--help".to_owned()]));
    terminal::typed(parsed).map_or_else(|exit| exit, |_| Exit::Success)
}

/// The folder of a run; an error if it has no journal.
fn run_folder(path: &Path) -> Result<Folder, CommandError> {
    let folder = Folder::new(path);
    if folder.journal().is_file() {
        return Ok(folder);
    }
    let path = path.display();
    Err(CommandError::wrong_input(format!(
        "{path} holds no run: there is no journal in it; name the output folder of a job"
    )))
}

/// Why a page cannot be served, and which flag names another port.
fn page_failure(error: &SiteError, flag: &str) -> CommandError {
    let hint = match error {
        SiteError::Port { .. } => {
            format!(": choose another with {flag}, or leave it out for a free one")
        }
        _ => String::new(),
    };
    CommandError::wrong_input(format!("{error}{hint}"))
}

/// Remarks about how the candidates were read, a line each.
fn notes(notes: &[String]) -> String {
    notes.iter().map(|note| format!("note: {}\n", printable_note(note))).collect()
}

/// Prints notes on standard error, unless `is_quiet`.
fn tell_notes(texts: &[String], is_quiet: bool) {
    if !is_quiet {
        notes(texts).lines().for_each(terminal::say);
    }
}
