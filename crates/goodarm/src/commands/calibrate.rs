//! `goodarm calibrate`: which thresholds a job's verifiers should have, from labelled answers.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use goodarm_live::job::{Job, Overrides};
use goodarm_plan::calibrate::{self, CalibrationReport, CalibrationRequest, LabelSource};
use goodarm_record::outputs;
use goodarm_report::words::printable;

use crate::advice;
use crate::cli::CalibrateArguments;
use crate::commands::{CommandError, tell_notes};
use crate::terminal::{self, Exit};

pub(crate) fn run(arguments: &CalibrateArguments) -> Result<(), CommandError> {
    let path = &arguments.job;
    let job = Job::read(path, &Overrides::default()).map_err(advice::job)?;
    tell_notes(job.candidates.notes(), arguments.json);
    let beside = |name: &str| path.parent().unwrap_or(Path::new("")).join(name);
    let [pilot, file] = [beside(PILOT), beside(RECORDING)];
    let found = if file.exists() && !pilot.exists() { file } else { pilot };
    let recording = arguments.recording.clone().unwrap_or(found);
    let labels = match (&arguments.labels, &arguments.field) {
        (Some(file), _) => LabelSource::File(file),
        (None, Some(field)) => {
            let extractor = arguments.extract.as_ref();
            LabelSource::Fields { field, equals: &arguments.equals, extractor }
        }
        // The parser requires one of the two.
        (None, None) => return Err(CommandError::wrong_input("--labels or --field is needed")),
    };
    let request = CalibrationRequest {
        job: &job,
        recording: &recording,
        labels,
        precision: arguments.precision,
        delta: arguments.delta,
        planned_labels: arguments.planned_labels,
    };
    let report = calibrate::calibrate(&request).map_err(advice::calibrate)?;
    // Problems of the new job are found before anything is written.
    let text = calibrate::new_job_text(&job, &report).map_err(advice::calibrate)?;
    if arguments.json {
        terminal::print(&(calibrate::json(&report) + "\n"));
    } else {
        terminal::print(&calibrate::text(&report));
    }
    let Some(text) = text else {
        let message = format!("the labels do not show it; {} was left as it is", path.display());
        return Err(CommandError::with_exit(Exit::NotShown, message));
    };
    let said = if arguments.keep_job {
        format!("{} was left as it is", path.display())
    } else {
        put(path, &job, &text)?;
        format!("{} has the new thresholds: {}", path.display(), changes(&report))
    };
    if !arguments.json {
        terminal::print(&format!("\n{said}\n"));
    }
    Ok(())
}

/// The old and the new threshold of each verifier that has a new one.
fn changes(report: &CalibrationReport) -> String {
    let moved = report.verifiers.iter().filter_map(|verifier| {
        let (old, new) = (verifier.old_threshold, verifier.new_threshold?);
        Some(format!("{} {old} → {new}", printable(&verifier.name)))
    });
    moved.collect::<Vec<_>>().join(", ")
}

/// Writes the job, unless it has changed meanwhile. A link stays a link.
fn put(path: &Path, job: &Job, text: &str) -> Result<(), CommandError> {
    let told = |error| CommandError::file(path, &error);
    let target = fs::canonicalize(path).map_err(told)?;
    if fs::read_to_string(&target).map_err(told)? != job.text {
        let message = "was changed meanwhile, and is left as it is: calibrate again";
        return Err(CommandError::wrong_input(format!("{}: {message}", path.display())));
    }
    let mode = fs::metadata(&target).map_err(told)?.permissions();
    outputs::replace(&target, |file| file.write_all(text.as_bytes()))?;
    fs::set_permissions(&target, mode).map_err(told)
}

const PILOT: &str = "pilot";
const RECORDING: &str = "recording.jsonl";
