//! `goodarm reproduce`: every figure of the paper, and those beyond it, with the raw trials.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use goodarm_files::toml_text;
use goodarm_report::figures::{Drawn, ENTRIES, Entry, Recorded, Run};
use goodarm_report::page::{self, Section};
use goodarm_sim::experiment::{Experiment, ExperimentSpec};
use goodarm_sim::summary::summarize;

use crate::cli::ReproduceArguments;
use crate::commands::Failure;
use crate::commands::simulate::{
    cancelled_by_ctrl_c, run_trials, set_threads, write, write_drawing, write_summaries,
    write_trials,
};
use crate::experiment_file;

pub(crate) fn run(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let entries = chosen(&arguments.figures)?;
    set_threads(arguments.work.threads)?;
    fs::create_dir_all(&arguments.out).map_err(|error| Failure::file(&arguments.out, &error))?;
    let data = arguments.work.data.as_deref().map(experiment_file::read_data).transpose()?;
    let cancelled = cancelled_by_ctrl_c()?;
    let begin = Instant::now();
    let mut done: Vec<(&Entry, Vec<Run>, Drawn)> = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    for entry in entries {
        let recorded = match entry.recorded {
            Recorded::Nothing => None,
            Recorded::Given if data.is_none() => {
                missing.push(DATA_MISSING);
                continue;
            }
            Recorded::Given => data.as_deref(),
            // It stands in for what is missing, unless somebody asks for it.
            Recorded::BuiltIn(_) if data.is_some() && arguments.figures.is_empty() => continue,
            Recorded::BuiltIn(pools) => Some(pools),
        };
        let runs = run_entry(entry, recorded, &cancelled, arguments)?;
        if cancelled.load(Ordering::Relaxed) {
            break;
        }
        let drawn = (entry.draw)(&runs);
        write_figure(entry, &runs, &drawn, &arguments.out)?;
        done.push((entry, runs, drawn));
    }
    let sections: Vec<Section<'_>> = done
        .iter()
        .map(|(entry, runs, drawn)| Section { entry, runs: runs.as_slice(), drawn })
        .collect();
    let path = arguments.out.join("index.html");
    write(&path, page::html(&sections, &missing, arguments.quick).as_bytes())?;
    if cancelled.load(Ordering::Relaxed) {
        let message = format!("interrupted; the figures that were done are in {}", path.display());
        return Err(Failure::interrupted(message));
    }
    report(&done, &missing, &path, begin, arguments.work.quiet);
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<&'static Entry>, Failure> {
    if names.is_empty() {
        return Ok(ENTRIES.iter().collect());
    }
    names
        .iter()
        .map(|name| {
            ENTRIES.iter().find(|entry| entry.name == name).ok_or_else(|| {
                let known: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
                let nearest = known.iter().min_by_key(|known| strsim::levenshtein(name, known));
                Failure::wrong_input(format!(
                    "there is no figure {name:?}; did you mean {:?}? There are {}",
                    nearest.copied().unwrap_or_default(),
                    known.join(", ")
                ))
            })
        })
        .collect()
}

fn run_entry(
    entry: &Entry,
    data: Option<&str>,
    cancelled: &AtomicBool,
    arguments: &ReproduceArguments,
) -> Result<Vec<Run>, Failure> {
    entry
        .experiments
        .iter()
        .map(|(name, text)| {
            let wrong = |reason: String| Failure::wrong_input(format!("{name}: {reason}"));
            let mut spec: ExperimentSpec =
                toml_text::parse(text).map_err(|error| wrong(error.to_string()))?;
            if arguments.quick {
                spec.repetitions = (spec.repetitions / QUICK_DIVISOR).clamp(QUICK_MIN, QUICK_MAX);
            }
            let experiment =
                Experiment::new(spec, data).map_err(|error| wrong(error.to_string()))?;
            let trials = run_trials(&experiment, cancelled, arguments.work.quiet);
            let summaries = summarize(&experiment, &trials);
            Ok(Run { experiment, trials, summaries })
        })
        .collect()
}

fn write_figure(entry: &Entry, runs: &[Run], drawn: &Drawn, folder: &Path) -> Result<(), Failure> {
    for (run, (name, text)) in runs.iter().zip(entry.experiments) {
        write_trials(&run.experiment, &run.trials, folder, name)?;
        write_summaries(&run.summaries, &folder.join(format!("{name}.json")))?;
        write(&folder.join(format!("{name}.toml")), text.as_bytes())?;
    }
    write_drawing(&drawn.figure, folder, entry.name)
}

fn report(
    done: &[(&Entry, Vec<Run>, Drawn)],
    missing: &[&str],
    path: &Path,
    begin: Instant,
    quiet: bool,
) {
    if quiet {
        return;
    }
    let mut out = io::stdout().lock();
    for (entry, _, drawn) in done {
        let _ = writeln!(out, "{}: {}", entry.name, entry.title);
        for finding in &drawn.findings {
            let _ = writeln!(out, "  {finding}");
        }
    }
    for note in missing {
        let _ = writeln!(out, "{note}");
    }
    let seconds = begin.elapsed().as_secs_f64();
    let _ = writeln!(out, "{} figures in {seconds:.0} s: open {}", done.len(), path.display());
}

const DATA_MISSING: &str = "\
gsm8k: left out, since it replays recorded answers: give them with --data POOLS.jsonl (or .jsonl.gz). In its place \
stands `capitals`, the same experiment on the recording of a small model in examples/capitals. \
docs/pools.md says what such a file holds and how to make one from public outputs.";
const QUICK_DIVISOR: u64 = 6;
const QUICK_MIN: u64 = 3;
const QUICK_MAX: u64 = 100;
