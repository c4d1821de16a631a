//! `goodarm plan`: what a budget will buy, before a cent is spent.

use goodarm_plan::input::{PlanInput, PlanOverrides};
use goodarm_plan::plan as plan_report;
use goodarm_report::plot_file;
use goodarm_sim::plan::plan;

use crate::advice;
use crate::cli::PlanArguments;
use crate::commands::{CommandError, dry_run, tell_notes};
use crate::terminal;

pub(crate) fn run(arguments: &PlanArguments) -> Result<(), CommandError> {
    let path = &arguments.plan;
    // A wrong name is refused before the work.
    arguments.plot.as_deref().map_or(Ok(()), plot_file::check_name)?;
    let overrides = PlanOverrides {
        budget: arguments.budget,
        delta: arguments.delta,
        recording: arguments.recording.clone(),
    };
    let input = PlanInput::read(path, &overrides).map_err(advice::forecast)?;
    tell_notes(&input.candidate_notes, arguments.json);
    if let Some(note) = &input.share_note {
        terminal::say(&format!("note: {note}"));
    }
    let plan = plan(&input.spec)
        .map_err(|error| CommandError::wrong_input(format!("{}: {error}", path.display())))?;
    if let Some(file) = &arguments.plot {
        plot_file::write(&plan_report::figure(&plan), file)?;
    }
    let text = if arguments.json {
        serde_json::to_string_pretty(&plan)? + "\n"
    } else {
        let bills = input.bill_basis.map_or("", dry_run::bills).trim_end();
        let bills = if bills.is_empty() { String::new() } else { format!("{bills}\n") };
        plan_report::text(&plan) + &bills
    };
    // A closed pipe is not an error.
    terminal::print(&text);
    Ok(())
}
