//! `goodarm plan`: what a budget will buy, before a cent is spent.

use goodarm_report::description::{Description, Wishes};
use goodarm_report::plan as plan_report;
use goodarm_sim::plan::plan;

use crate::cli::PlanArguments;
use crate::commands::{Failure, tell_notes};
use crate::terminal;

pub(crate) fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let path = &arguments.plan;
    let wishes = Wishes {
        budget: arguments.budget,
        delta: arguments.delta,
        threshold: arguments.threshold,
        recording: arguments.recording.clone(),
    };
    let description = Description::read(path, &wishes)?;
    tell_notes(&description.candidate_notes, arguments.json);
    if let Some(note) = &description.share_note {
        terminal::say(&format!("note: {note}"));
    }
    let spec = description.wished(&wishes)?;
    let plan = plan(&spec)
        .map_err(|error| Failure::wrong_input(format!("{}: {error}", path.display())))?;
    if let Some(file) = &arguments.plot {
        plan_report::write_figure(&plan, file)?;
    }
    let text = if arguments.json {
        serde_json::to_string_pretty(&plan).map_err(Failure::wrong_input)? + "\n"
    } else {
        plan_report::text(&plan)
    };
    // A reader that went away has seen enough.
    terminal::print(&text);
    Ok(())
}
