//! `goodarm export`: the results of a run, in the formats of other tools.

use goodarm_report::Report;
use goodarm_report::export::{ExportError, ExportFormat, ExportRequest};
use goodarm_report::words::counted;

use crate::cli::ExportArguments;
use crate::commands::CommandError;
use crate::fields::{Fields, sample};
use crate::terminal;

pub(crate) fn run(arguments: &ExportArguments) -> Result<(), CommandError> {
    let report = Report::read(&arguments.folder)?;
    let format = arguments.to;
    let fields =
        if format == ExportFormat::Inspect { Some(fields(&report, arguments)?) } else { None };
    let request =
        ExportRequest { format, all: arguments.all, out: arguments.out.as_deref(), fields };
    let exported = report.export(&request)?;
    let answers = counted(exported.count, "answer");
    terminal::print_line(&format!("wrote {} with {answers}", exported.path.display()));
    Ok(())
}

/// The fields of question and answer: given, or guessed.
fn fields(report: &Report, arguments: &ExportArguments) -> Result<(String, String), ExportError> {
    let guess = Fields::guess(&report.candidates().map(sample).unwrap_or_default());
    let question = arguments.question.clone().or(guess.question.map(|place| place.path));
    let answer = arguments.answer.clone().or(guess.answer.map(|place| place.path));
    Ok((
        question.ok_or(ExportError::NoField("question"))?,
        answer.ok_or(ExportError::NoField("answer"))?,
    ))
}
