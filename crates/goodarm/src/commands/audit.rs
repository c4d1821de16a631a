//! `goodarm audit`: every certificate and the ledger, computed again from the raw calls.

use goodarm_record::audit;
use goodarm_report::words::printable_note;

use crate::advice;
use crate::cli::AuditArguments;
use crate::commands::{CommandError, run_folder};
use crate::terminal::{self, Exit};

pub(crate) fn run(arguments: &AuditArguments) -> Result<(), CommandError> {
    run_folder(&arguments.folder)?;
    let report = audit::audit(&arguments.folder);
    let mut text = String::new();
    if arguments.json {
        let value = serde_json::json!({
            "clean": report.is_clean(),
            "checked": report.checked,
            "wrong": report.problems.iter().map(|problem| &problem.text).collect::<Vec<_>>(),
            "wrong_count": report.problem_count,
            "notes": report.notes,
            "doubt": report.doubt,
            "unfinished": report.unfinished,
        });
        text += &format!("{value}\n");
    } else {
        for checked in &report.checked {
            text += &format!("ok     {checked}\n");
        }
        for problem in &report.problems {
            text += &format!("WRONG  {problem}\n");
        }
        let more = report.problem_count - report.problems.len();
        if more > 0 {
            text += &format!("WRONG  and {more} more\n");
        }
        if let Some(unfinished) = &report.unfinished {
            text += &format!("not yet  {}\n", printable_note(unfinished));
        }
        text += &advice::about_audit(&report, &arguments.folder);
        for note in &report.notes {
            text += &format!("note   {}\n", printable_note(note));
        }
        if let Some(doubt) = &report.doubt {
            text += &format!("DOUBT  {}\n", printable_note(doubt));
        }
    }
    terminal::print(&text);
    if report.is_clean() {
        return Ok(());
    }
    let folder = arguments.folder.display();
    if report.problem_count == 0 {
        return Err(CommandError::wrong_input(format!(
            "{folder}: nothing is wrong with the journal, and there are no results to audit yet"
        )));
    }
    let count = match report.problem_count {
        1 => "1 thing is".to_owned(),
        count => format!("{count} things are"),
    };
    Err(CommandError::with_exit(Exit::AuditFailed, format!("{folder}: {count} wrong")))
}
