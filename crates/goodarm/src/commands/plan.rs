//! `goodarm plan`: what a budget will buy, before a cent is spent.

use std::fs;
use std::io::{self, Write};

use goodarm_files::toml_text;
use goodarm_report::plan as plan_report;
use goodarm_sim::plan::{PlanSpec, plan};

use crate::cli::PlanArguments;
use crate::commands::Failure;

pub(crate) fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let path = &arguments.plan;
    let text = fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
    let named = |reason: String| Failure::wrong_input(format!("{}: {reason}", path.display()));
    let mut spec: PlanSpec = toml_text::parse(&text).map_err(|error| named(error.to_string()))?;
    if arguments.budget.is_some() {
        spec.budget = arguments.budget;
    }
    let plan = plan(&spec).map_err(|error| named(error.to_string()))?;
    if let Some(file) = &arguments.plot {
        plan_report::write_figure(&plan, file)?;
    }
    let text = if arguments.json {
        serde_json::to_string_pretty(&plan).map_err(Failure::wrong_input)? + "\n"
    } else {
        plan_report::text(&plan)
    };
    // A reader that went away has seen enough.
    let _ = io::stdout().lock().write_all(text.as_bytes());
    Ok(())
}
