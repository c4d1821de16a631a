//! `goodarm-lab simulate`: an experiment file in, trials and their summary out.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use goodarm_lab::experiment::Experiment;
use goodarm_lab::experiment_file;
use goodarm_lab::figures::ExperimentRun;

use crate::cli::SimulateArguments;
use crate::terminal::{self, CommandError, Exit, ProgressDisplay};

pub(crate) fn run(arguments: &SimulateArguments) -> Result<(), CommandError> {
    set_threads(arguments.work.threads)?;
    let experiment = experiment_file::read(&arguments.experiment, arguments.work.data.as_deref())?;
    fs::create_dir_all(&arguments.out)
        .map_err(|error| CommandError::file(&arguments.out, &error))?;
    let cancelled = cancelled_by_ctrl_c()?;
    let run = run_experiment(experiment, &cancelled, arguments.work.quiet);
    run.write(&arguments.out)?;
    if !arguments.work.quiet {
        let text = run.text() + &format!("wrote {}\n", arguments.out.display());
        terminal::print(&text);
    }
    let trials = &run.trials;
    if cancelled.load(Ordering::Relaxed) {
        let done = trials.iter().flatten().count();
        let message = format!(
            "interrupted after {done} of {} trials, which are in {}",
            trials.len(),
            arguments.out.display()
        );
        return Err(CommandError::interrupted(message));
    }
    Ok(())
}

/// Sets the number of threads of this process.
pub(crate) fn set_threads(threads: Option<usize>) -> Result<(), CommandError> {
    let threads = threads.unwrap_or(0);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| CommandError::wrong_input(format!("--threads {threads}: {error}")))
}

/// Becomes true on Ctrl-C. A second Ctrl-C ends the process at once.
pub(crate) fn cancelled_by_ctrl_c() -> Result<Arc<AtomicBool>, CommandError> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancelled);
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    };
    ctrlc::set_handler(handler)
        .map_err(|error| CommandError::wrong_input(format!("Ctrl-C cannot be caught: {error}")))?;
    Ok(cancelled)
}

/// Runs an experiment and shows its progress.
pub(crate) fn run_experiment(
    experiment: Experiment,
    cancelled: &AtomicBool,
    quiet: bool,
) -> ExperimentRun {
    let progress = ProgressDisplay::new(&experiment.spec.title, experiment.trial_count(), quiet);
    let run = ExperimentRun::new(experiment, cancelled, &|done| progress.set(done));
    progress.finish();
    run
}
