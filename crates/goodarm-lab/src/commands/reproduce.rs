//! `goodarm-lab reproduce`: every figure of the paper, and those beyond it, with the raw trials.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Instant;

use goodarm_lab::experiment_file;
use goodarm_lab::figures::{self, DataSource, FigureSection};

use crate::cli::ReproduceArguments;
use crate::commands::simulate::{cancelled_by_ctrl_c, run_experiment, set_threads};
use crate::terminal::{self, CommandError};

pub(crate) fn run(arguments: &ReproduceArguments) -> Result<(), CommandError> {
    let work = &arguments.work;
    let chosen = figures::chosen(&arguments.figures)?;
    if work.data.is_none() && chosen.iter().all(|spec| spec.data == DataSource::Argument) {
        return Err(CommandError::wrong_input(DATA_NEEDED));
    }
    set_threads(work.threads)?;
    fs::create_dir_all(&arguments.out)
        .map_err(|error| CommandError::file(&arguments.out, &error))?;
    let data = work.data.as_deref().map(experiment_file::read_data).transpose()?;
    let cancelled = cancelled_by_ctrl_c()?;
    let begin = Instant::now();
    let mut sections = Vec::new();
    let mut missing = None;
    for spec in chosen {
        let recorded = match spec.data {
            DataSource::NotNeeded => None,
            DataSource::Argument if data.is_none() => {
                missing = Some(DATA_MISSING);
                continue;
            }
            DataSource::Argument => data.as_deref(),
            // This figure replaces figures that lack a recording; it is also made if it is named.
            DataSource::BuiltIn(_) if data.is_some() && arguments.figures.is_empty() => continue,
            DataSource::BuiltIn(pools) => Some(pools),
        };
        let experiments = spec.prepare(recorded, arguments.quick)?.into_iter();
        let run = |experiment| run_experiment(experiment, &cancelled, work.quiet);
        let runs = experiments.map(run).collect();
        if cancelled.load(Ordering::Relaxed) {
            break;
        }
        let section = FigureSection::new(spec, runs);
        section.write(&arguments.out)?;
        report(&section, work.quiet);
        sections.push(section);
    }
    let path = figures::write_page(&arguments.out, &sections, missing, arguments.quick)?;
    if cancelled.load(Ordering::Relaxed) {
        let message = format!("interrupted; the figures that were done are in {}", path.display());
        return Err(CommandError::interrupted(message));
    }
    if !work.quiet {
        missing.into_iter().for_each(terminal::print_line);
        let (count, seconds) = (sections.len(), begin.elapsed().as_secs_f64());
        let path = path.display();
        terminal::print_line(&format!("{count} figures in {seconds:.0} s: open {path}"));
    }
    Ok(())
}

fn report(FigureSection { spec, drawn, .. }: &FigureSection, quiet: bool) {
    if quiet {
        return;
    }
    terminal::print_line(&format!("{}: {}", spec.name, spec.title));
    for finding in &drawn.findings {
        terminal::print_line(&format!("  {finding}"));
    }
}

const DATA_NEEDED: &str = "\
gsm8k, questions-gsm8k and implied-majority replay recorded answers, and there is no file of them: give it with --data POOLS.jsonl (or .jsonl.gz). \
`goodarm docs pools` says what it holds and how to make it from public outputs. `goodarm-lab reproduce capitals` is the same \
experiment on a recording that is built in, and `questions-capitals` that of questions.";
const DATA_MISSING: &str = "\
gsm8k, questions-gsm8k and implied-majority: left out, since they replay recorded answers: give them with --data POOLS.jsonl (or .jsonl.gz). In their place \
stand `capitals` and `questions-capitals`, the same experiments on the recording of a small model in examples/capitals. \
`goodarm docs pools` says what such a file holds and how to make one from public outputs.";
