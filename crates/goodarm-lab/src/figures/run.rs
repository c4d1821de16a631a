//! From an experiment to its trials, and from trials and figures to files.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use goodarm_files::toml_text;
use goodarm_plot::Figure;
use goodarm_sim::trial::Trial;

use crate::experiment::{Experiment, ExperimentSpec};
use crate::figures::{DrawnFigure, FigureSpec};
use crate::lab_error::LabError;
use crate::summary::{CellSummary, summarize};
use crate::{png, trials};

/// An experiment that has been run.
pub struct ExperimentRun {
    /// The experiment.
    pub experiment: Experiment,
    /// The trials in the order of the cells; `None` if the experiment was cancelled before the trial began.
    pub trials: Vec<Option<Trial>>,
    /// The summary of each cell that has a trial.
    pub summaries: Vec<CellSummary>,
}

impl ExperimentRun {
    /// Runs an experiment until `cancelled`. `progress` is called with the number of finished trials, from any
    /// thread.
    pub fn new(
        experiment: Experiment,
        cancelled: &AtomicBool,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Self {
        let trials = experiment.run(cancelled, progress);
        let summaries = summarize(&experiment, &trials);
        Self { experiment, trials, summaries }
    }

    /// Writes every trial, as `name`.csv.
    pub fn write_trials(&self, folder: &Path, name: &str) -> Result<(), LabError> {
        let table = trials::table(&self.experiment, &self.trials);
        write(&folder.join(format!("{name}.csv")), table.csv().as_bytes())
    }

    /// Writes the summaries of the cells, as JSON.
    pub fn write_summaries(&self, path: &Path) -> Result<(), LabError> {
        let json = serde_json::to_string_pretty(&self.summaries).expect("plain data");
        write(path, format!("{json}\n").as_bytes())
    }

    /// The summaries of the cells, as a table for a terminal: the columns of the page that fit.
    pub fn text(&self) -> String {
        let titles = CellSummary::TITLES.map(str::to_owned);
        let rows: Vec<_> =
            [titles].into_iter().chain(self.summaries.iter().map(CellSummary::row)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
        let widths: Vec<usize> = (0..TERMINAL_COLUMNS).filter_map(width).collect();
        let line = |row: &[String; CellSummary::TITLES.len()]| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        rows.iter().map(line).collect()
    }
}

impl FigureSpec {
    /// Reads the experiments of this figure; with `quick`, they have few repetitions.
    pub fn prepare(&self, data: Option<&str>, quick: bool) -> Result<Vec<Experiment>, LabError> {
        let experiment = |&(name, text): &(&str, &str)| {
            let mut spec: ExperimentSpec =
                toml_text::parse(text).map_err(|error| LabError::about(name, error))?;
            if quick {
                spec.repetitions = (spec.repetitions / QUICK_DIVISOR).clamp(QUICK_MIN, QUICK_MAX);
            }
            Experiment::new(spec, data).map_err(|error| LabError::about(name, error))
        };
        self.experiments.iter().map(experiment).collect()
    }
}

/// A figure of `goodarm-lab reproduce`, with its trials.
pub struct FigureSection {
    /// Its specification.
    pub spec: &'static FigureSpec,
    /// The run of each experiment.
    pub runs: Vec<ExperimentRun>,
    /// The figure.
    pub drawn: DrawnFigure,
}

impl FigureSection {
    /// Draws the figure.
    pub fn new(spec: &'static FigureSpec, runs: Vec<ExperimentRun>) -> Self {
        let drawn = (spec.draw)(&runs);
        Self { spec, runs, drawn }
    }

    /// Writes the figure, and each experiment with its trials and summaries.
    pub fn write(&self, folder: &Path) -> Result<(), LabError> {
        for (run, (name, text)) in self.runs.iter().zip(self.spec.experiments) {
            run.write_trials(folder, name)?;
            run.write_summaries(&folder.join(format!("{name}.json")))?;
            write(&folder.join(format!("{name}.toml")), text.as_bytes())?;
        }
        write_figure(&self.drawn.figure, folder, self.spec.name)
    }
}

/// Writes a figure, as `name`.svg and `name`.png.
pub(super) fn write_figure(figure: &Figure, folder: &Path, name: &str) -> Result<(), LabError> {
    write(&folder.join(format!("{name}.svg")), goodarm_plot::svg(figure).as_bytes())?;
    write(&folder.join(format!("{name}.png")), &png(figure)?)
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    fs::write(path, bytes).map_err(|error| LabError::file(path, error))
}

const TERMINAL_COLUMNS: usize = 8;
const QUICK_DIVISOR: u64 = 6;
const QUICK_MIN: u64 = 3;
const QUICK_MAX: u64 = 100;
