//! `goodarm plan`: what a budget will buy, before a cent is spent.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use goodarm_files::toml_text;
use goodarm_live::job::{Job, Overrides};
use goodarm_report::plan as plan_report;
use goodarm_sim::plan::{PlanSpec, plan};
use serde_json::Value;

use crate::cli::PlanArguments;
use crate::commands::{Failure, tell_notes};
use crate::forecast::{self, Forecast};

pub(crate) fn run(arguments: &PlanArguments) -> Result<(), Failure> {
    let path = &arguments.plan;
    let named = |reason: String| Failure::wrong_input(format!("{}: {reason}", path.display()));
    let mut spec = spec_of(arguments)?;
    if let Some(recording) = &arguments.recording {
        spec.answers =
            forecast::recorded_answers(recording, &spec).map_err(Failure::wrong_input)?;
    }
    if let Some(delta) = arguments.delta {
        spec.delta = delta;
    }
    if let Some(threshold) = arguments.threshold {
        spec.verifiers.iter_mut().for_each(|verifier| verifier.threshold = threshold);
    }
    if arguments.recording.is_some() || is_recording(path) {
        forecast::keep_apart(&mut spec);
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

/// What a plan file, a job or a recording describes; which of them a file is, it says itself.
fn spec_of(arguments: &PlanArguments) -> Result<PlanSpec, Failure> {
    let path = &arguments.plan;
    let mut spec = if is_recording(path) {
        forecast::of_recording(path, REPETITIONS).map_err(Failure::wrong_input)?
    } else {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
        let file = toml_text::parse::<Value>(&text);
        if file.is_ok_and(|file| !file["candidates"].is_null()) {
            return spec_of_job(arguments);
        }
        toml_text::parse(&text)
            .map_err(|error| Failure::wrong_input(format!("{}: {error}", path.display())))?
    };
    spec.budget = arguments.budget.or(spec.budget);
    Ok(spec)
}

fn spec_of_job(arguments: &PlanArguments) -> Result<PlanSpec, Failure> {
    let overrides = Overrides { budget: arguments.budget, output: None };
    let job = Job::read(&arguments.plan, &overrides).map_err(Failure::wrong_input)?;
    tell_notes(&job.candidates, arguments.json);
    let Forecast { mut spec, scale } = forecast::of_job(&job, REPETITIONS);
    // A recording has all answers.
    if arguments.recording.is_some() {
        spec.budget = Some(job.settings.budget.units());
    } else if scale > 1.0 {
        let count: usize = spec.answers.iter().map(|answers| answers.count).sum();
        let all = job.candidates.len();
        let note = format!(
            "note: {count} of {all} answers are simulated, with their share of the budget\n"
        );
        let _ = io::stderr().lock().write_all(note.as_bytes());
    }
    Ok(spec)
}

/// Whether the first line says that it is one, or the file is packed as only recordings are.
fn is_recording(path: &Path) -> bool {
    let mut line = Vec::new();
    let read = File::open(path).and_then(|file| {
        BufReader::new(file.take(FIRST_LINE_BYTES_MAX)).read_until(b'\n', &mut line)
    });
    let is_packed = line.starts_with(&[0x1f, 0x8b]);
    read.is_ok() && (is_packed || String::from_utf8_lossy(&line).contains("\"goodarm_recording\""))
}

const REPETITIONS: u64 = 40;
const FIRST_LINE_BYTES_MAX: u64 = 1 << 16;
