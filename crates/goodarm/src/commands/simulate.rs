//! `goodarm simulate`: an experiment file in, trials and their summary out.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use goodarm_plot::Figure;
use goodarm_report::figures::{self, Run};
use goodarm_report::trials;
use goodarm_sim::experiment::Experiment;
use goodarm_sim::summary::{CellSummary, summarize};
use goodarm_sim::trial::Trial;

use crate::cli::SimulateArguments;
use crate::commands::Failure;
use crate::experiment_file;
use crate::progress::Progress;

pub(crate) fn run(arguments: &SimulateArguments) -> Result<(), Failure> {
    set_threads(arguments.work.threads)?;
    let experiment = experiment_file::read(&arguments.experiment, arguments.work.data.as_deref())?;
    fs::create_dir_all(&arguments.out).map_err(|error| Failure::file(&arguments.out, &error))?;
    let cancelled = cancelled_by_ctrl_c()?;
    let trials = run_trials(&experiment, &cancelled, arguments.work.quiet);
    write_trials(&experiment, &trials, &arguments.out, "trials")?;
    let summaries = summarize(&experiment, &trials);
    write_summaries(&summaries, &arguments.out.join("summary.json"))?;
    let run = Run { experiment, trials, summaries };
    write_drawing(&figures::overview(&run), &arguments.out, "coverage")?;
    if !arguments.work.quiet {
        let text = cells(&run.summaries) + &format!("wrote {}\n", arguments.out.display());
        let _ = io::stdout().lock().write_all(text.as_bytes());
    }
    let trials = &run.trials;
    if cancelled.load(Ordering::Relaxed) {
        let done = trials.iter().flatten().count();
        let message = format!(
            "interrupted after {done} of {} trials, which are in {}",
            trials.len(),
            arguments.out.display()
        );
        return Err(Failure::interrupted(message));
    }
    Ok(())
}

/// What each cell gave, as a table.
fn cells(summaries: &[CellSummary]) -> String {
    let mut rows = vec![
        ["world", "method", "δ", "budget", "out", "certified good", "wrong in"].map(str::to_owned),
    ];
    for cell in summaries {
        rows.push([
            cell.world.clone(),
            cell.method.clone(),
            format!("{:e}", cell.delta),
            cell.budget.to_string(),
            cell.concurrency.to_string(),
            format!("{:.2} ± {:.2}", cell.certified_good.mean, cell.certified_good.error),
            format!("{:.1} %", 100.0 * cell.any_wrong.mean),
        ]);
    }
    let widths: [usize; 7] = std::array::from_fn(|column| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// All work of this process runs on so many threads.
pub(crate) fn set_threads(threads: Option<usize>) -> Result<(), Failure> {
    let threads = threads.unwrap_or(0);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()
        .map_err(|error| Failure::wrong_input(format!("--threads {threads}: {error}")))
}

/// Becomes true when the person presses Ctrl-C; at the second time the process ends at once.
pub(crate) fn cancelled_by_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancelled);
    let handler = move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(crate::exit::Exit::Interrupted as i32);
        }
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Failure::wrong_input(format!("Ctrl-C cannot be caught: {error}")))?;
    Ok(cancelled)
}

pub(crate) fn run_trials(
    experiment: &Experiment,
    cancelled: &AtomicBool,
    quiet: bool,
) -> Vec<Option<Trial>> {
    let progress = Progress::new(&experiment.spec.title, experiment.trial_count(), quiet);
    let trials = experiment.run(cancelled, &|done| progress.set(done));
    progress.finish();
    trials
}

pub(crate) fn write_trials(
    experiment: &Experiment,
    trials: &[Option<Trial>],
    folder: &Path,
    name: &str,
) -> Result<(), Failure> {
    let table = trials::table(experiment, trials);
    write(&folder.join(format!("{name}.csv")), table.csv().as_bytes())?;
    let parquet = table.parquet().map_err(Failure::wrong_input)?;
    write(&folder.join(format!("{name}.parquet")), &parquet)
}

pub(crate) fn write_summaries(summaries: &[CellSummary], path: &Path) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(summaries).map_err(Failure::wrong_input)?;
    text.push('\n');
    write(path, text.as_bytes())
}

/// A figure as .svg and .png.
pub(crate) fn write_drawing(figure: &Figure, folder: &Path, name: &str) -> Result<(), Failure> {
    write(&folder.join(format!("{name}.svg")), goodarm_plot::svg(figure).as_bytes())?;
    let png = goodarm_plot::png(figure, PNG_WIDTH).map_err(Failure::wrong_input)?;
    write(&folder.join(format!("{name}.png")), &png)
}

const PNG_WIDTH: u32 = 1600;

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| Failure::file(path, &error))
}
