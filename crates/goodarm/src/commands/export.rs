//! `goodarm export`: the results of a run, in the formats of other tools.

use goodarm_report::Report;
use goodarm_report::export::{ExportError, ExportFormat, ExportRequest};

use crate::cli::{ExportArguments, ExportTarget};
use crate::commands::CommandError;
use crate::fields::Fields;
use crate::terminal;

pub(crate) fn run(arguments: &ExportArguments) -> Result<(), CommandError> {
    let report = Report::read(&arguments.folder, None)?;
    let format = match arguments.to {
        ExportTarget::Csv => ExportFormat::Csv,
        ExportTarget::Parquet => ExportFormat::Parquet,
        ExportTarget::Hf => ExportFormat::HuggingFace,
        ExportTarget::Inspect => ExportFormat::Inspect,
    };
    let fields =
        if format == ExportFormat::Inspect { Some(fields(&report, arguments)?) } else { None };
    let request =
        ExportRequest { format, all: arguments.all, out: arguments.out.as_deref(), fields };
    let exported = report.export(&request)?;
    let answers = if exported.count == 1 { "answer" } else { "answers" };
    terminal::print_line(&format!(
        "wrote {} with {} {answers}",
        exported.path.display(),
        exported.count
    ));
    Ok(())
}

/// The fields of question and answer: given, or guessed.
fn fields(report: &Report, arguments: &ExportArguments) -> Result<(String, String), ExportError> {
    let sample: Vec<_> = report
        .candidates()
        .into_iter()
        .flat_map(|candidates| candidates.arms().take(SAMPLE_MAX).map(|arm| candidates.get(arm)))
        .collect();
    let guess = Fields::guess(&sample);
    let question = arguments.question.clone().or(guess.question.map(|place| place.path));
    let answer = arguments.answer.clone().or(guess.answer.map(|place| place.path));
    Ok((
        question.ok_or(ExportError::NoField("question"))?,
        answer.ok_or(ExportError::NoField("answer"))?,
    ))
}

const SAMPLE_MAX: usize = 1000;
