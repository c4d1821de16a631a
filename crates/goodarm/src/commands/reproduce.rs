//! `goodarm reproduce`: every figure of the paper, and those beyond it, with the raw trials.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use goodarm_report::figures::{self, ENTRIES, Entry, Recorded, Section};

use crate::cli::ReproduceArguments;
use crate::commands::Failure;
use crate::commands::simulate::{cancelled_by_ctrl_c, run_experiment, set_threads};
use crate::experiment_file;

pub(crate) fn run(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let entries = chosen(&arguments.figures)?;
    set_threads(arguments.work.threads)?;
    fs::create_dir_all(&arguments.out).map_err(|error| Failure::file(&arguments.out, &error))?;
    let data = arguments.work.data.as_deref().map(experiment_file::read_data).transpose()?;
    let needs_data = |entry: &&Entry| matches!(entry.recorded, Recorded::Given);
    if data.is_none() && entries.iter().all(needs_data) {
        return Err(Failure::wrong_input(DATA_NEEDED));
    }
    let cancelled = cancelled_by_ctrl_c()?;
    let begin = Instant::now();
    let mut done: Vec<Section> = Vec::new();
    let mut missing: Vec<&str> = Vec::new();
    for entry in entries {
        let recorded = match entry.recorded {
            Recorded::Nothing => None,
            Recorded::Given if data.is_none() => {
                missing.push(DATA_MISSING);
                continue;
            }
            Recorded::Given => data.as_deref(),
            // It stands in for what is missing, unless someone asks for it.
            Recorded::BuiltIn(_) if data.is_some() && arguments.figures.is_empty() => continue,
            Recorded::BuiltIn(pools) => Some(pools),
        };
        let experiments = entry.prepare(recorded, arguments.quick)?.into_iter();
        let run = |experiment| run_experiment(experiment, &cancelled, arguments.work.quiet);
        let runs = experiments.map(run).collect();
        if cancelled.load(Ordering::Relaxed) {
            break;
        }
        let section = Section::new(entry, runs);
        section.write(&arguments.out)?;
        done.push(section);
    }
    let path = arguments.out.join("index.html");
    fs::write(&path, figures::page(&done, &missing, arguments.quick))
        .map_err(|error| Failure::file(&path, &error))?;
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

fn report(done: &[Section], missing: &[&str], path: &Path, begin: Instant, quiet: bool) {
    if quiet {
        return;
    }
    let mut out = io::stdout().lock();
    for Section { entry, drawn, .. } in done {
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

const DATA_NEEDED: &str = "\
gsm8k replays recorded answers, and there is no file of them: give it with --data POOLS.jsonl (or .jsonl.gz). \
docs/pools.md says what it holds and how to make it from public outputs. `goodarm reproduce capitals` is the same \
experiment on a recording that is built in.";
const DATA_MISSING: &str = "\
gsm8k: left out, since it replays recorded answers: give them with --data POOLS.jsonl (or .jsonl.gz). In its place \
stands `capitals`, the same experiment on the recording of a small model in examples/capitals. \
docs/pools.md says what such a file holds and how to make one from public outputs.";
