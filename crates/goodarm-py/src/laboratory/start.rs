//! What is asked for, and the work that it takes.

use std::fs;
use std::path::{Path, PathBuf};

use goodarm_files::json_text;
use goodarm_report::description::{Description, Wishes};
use goodarm_report::experiment_file;
use goodarm_report::figures::{Order, Reproduction};
use goodarm_sim::experiment::Experiment;
use goodarm_sim::plan::plan_until;
use pyo3::prelude::*;

use super::LabWork;
use super::made::Made;
use super::trouble::Trouble;

/// Begins an experiment: of the file at `path`, or of the same keys as JSON.
#[pyfunction]
#[pyo3(signature = (path, keys, *, data = None, threads = None))]
pub(crate) fn start_simulation(
    path: PathBuf,
    keys: Option<String>,
    data: Option<PathBuf>,
    threads: Option<i64>,
) -> PyResult<LabWork> {
    LabWork::start(threads, move |watch| {
        let experiment = match keys {
            None => experiment_file::read(&path, data.as_deref())?,
            Some(keys) => experiment(&keys, data.as_deref())?,
        };
        Ok(Made::Run(watch.run(experiment)))
    })
}

fn experiment(keys: &str, data: Option<&Path>) -> Result<Experiment, Trouble> {
    let data = data.map(experiment_file::read_data).transpose()?;
    let spec = json_text::parse(keys.as_bytes())
        .map_err(|error| Trouble::of_keys("ExperimentError", error.reason()))?;
    Experiment::new(spec, data.as_deref()).map_err(|error| Trouble::of("ExperimentError", &error))
}

/// Begins a plan: of the plan file, job or recording at `path`, or of a plan file's keys as JSON.
#[pyfunction]
#[pyo3(signature = (path, keys, *, budget = None, delta = None, threshold = None, recording = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn start_plan(
    path: PathBuf,
    keys: Option<String>,
    budget: Option<f64>,
    delta: Option<f64>,
    threshold: Option<f64>,
    recording: Option<PathBuf>,
) -> PyResult<LabWork> {
    let wishes = Wishes { budget, delta, threshold, recording };
    LabWork::start(None, move |watch| {
        let description = match keys {
            None => Description::read(&path, &wishes)?,
            Some(keys) => {
                let spec = json_text::parse(keys.as_bytes())
                    .map_err(|error| Trouble::of_keys("PlanError", error.reason()))?;
                Description::new(spec, &wishes)
            }
        };
        let mut notes = description.candidate_notes.clone();
        notes.extend(description.share_note.clone());
        let spec = description.wished(&wishes)?;
        let plan = plan_until(&spec, &watch.cancelled)
            .map_err(|error| Trouble::of("PlanError", &error))?;
        Ok(Made::Plan(plan, notes))
    })
}

/// Begins figures of the paper and beyond it, by name; all if there are no names.
#[pyfunction]
#[pyo3(signature = (figures, *, quick, data = None, out = None, threads = None))]
pub(crate) fn start_reproduction(
    figures: Vec<String>,
    quick: bool,
    data: Option<PathBuf>,
    out: Option<PathBuf>,
    threads: Option<i64>,
) -> PyResult<LabWork> {
    LabWork::start(threads, move |watch| {
        let order = Order::new(&figures)?;
        let data = data.as_deref().map(experiment_file::read_data).transpose()?;
        let order = order.with_data(data.as_deref())?;
        if let Some(out) = &out {
            fs::create_dir_all(out).map_err(|error| Trouble::of_file(out, &error))?;
        }
        let order = Order { quick, out: out.as_deref(), ..order };
        let mut run = |experiment| watch.run(experiment);
        let made = Reproduction::new(&order, &watch.cancelled, &mut run)?;
        if let Some(out) = &out {
            made.write_page(out)?;
        }
        Ok(Made::Figures(made))
    })
}
