//! `goodarm-lab reproduce`: every figure of the paper, and those beyond it, with the raw trials.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

use goodarm_lab::experiment_file;
use goodarm_lab::figures::{FigureSection, ReproduceOrder, Reproduction};

use crate::cli::ReproduceArguments;
use crate::commands::simulate::{cancelled_by_ctrl_c, run_experiment, set_threads};
use crate::terminal::{self, CommandError};

pub(crate) fn run(arguments: &ReproduceArguments) -> Result<(), CommandError> {
    let order = ReproduceOrder::new(&arguments.figures)?;
    set_threads(arguments.work.threads)?;
    fs::create_dir_all(&arguments.out)
        .map_err(|error| CommandError::file(&arguments.out, &error))?;
    let data = arguments.work.data.as_deref().map(experiment_file::read_data).transpose();
    let data = data?;
    let order = ReproduceOrder {
        quick: arguments.quick,
        out: Some(&arguments.out),
        ..order.with_data(data.as_deref())?
    };
    let cancelled = cancelled_by_ctrl_c()?;
    let begin = Instant::now();
    let mut run = |experiment| run_experiment(experiment, &cancelled, arguments.work.quiet);
    let made = Reproduction::new(&order, &cancelled, &mut run)?;
    let path = made.write_page(&arguments.out)?;
    if cancelled.load(Ordering::Relaxed) {
        let message = format!("interrupted; the figures that were done are in {}", path.display());
        return Err(CommandError::interrupted(message));
    }
    report(&made, &path, begin, arguments.work.quiet);
    Ok(())
}

fn report(made: &Reproduction, path: &Path, begin: Instant, quiet: bool) {
    if quiet {
        return;
    }
    for FigureSection { spec, drawn, .. } in &made.sections {
        terminal::print_line(&format!("{}: {}", spec.name, spec.title));
        for finding in &drawn.findings {
            terminal::print_line(&format!("  {finding}"));
        }
    }
    for note in &made.missing {
        terminal::print_line(note);
    }
    let (count, seconds) = (made.sections.len(), begin.elapsed().as_secs_f64());
    terminal::print_line(&format!("{count} figures in {seconds:.0} s: open {}", path.display()));
}
