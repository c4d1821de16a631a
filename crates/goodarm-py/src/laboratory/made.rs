//! What came of an experiment, of a plan, of figures.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use goodarm_report::figures::{Reproduction, Run, Section, overview};
use goodarm_report::{plan as plan_report, trials};
use goodarm_sim::plan::Plan;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use super::figure::Figure;
use super::trouble::{Trouble, in_python};
use crate::table::Table;

/// The result of a piece of work.
pub(super) enum Made {
    Run(Run),
    Plan(Plan, Vec<String>),
    Figures(Reproduction),
}

impl Made {
    pub(super) fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Self::Run(run) => LabRun(Arc::new(run)).into_py_any(py),
            Self::Plan(plan, notes) => LabPlan { plan, notes }.into_py_any(py),
            Self::Figures(made) => {
                let sections: Vec<LabSection> =
                    made.sections.into_iter().map(LabSection::new).collect();
                let missing: Vec<String> = made.missing.into_iter().map(in_python).collect();
                (sections, missing).into_py_any(py)
            }
        }
    }
}

/// An experiment that has been run, perhaps not to its end.
#[pyclass(frozen, module = "goodarm._native")]
pub(crate) struct LabRun(Arc<Run>);

#[pymethods]
impl LabRun {
    #[getter]
    fn title(&self) -> String {
        self.0.experiment.spec.title.clone()
    }

    /// How many trials were run, and of how many.
    #[getter]
    fn trial_counts(&self) -> (usize, usize) {
        (self.0.trials.iter().flatten().count(), self.0.trials.len())
    }

    /// A row for each trial.
    fn trials(&self, py: Python<'_>) -> Table {
        py.detach(|| {
            let table = trials::table(&self.0.experiment, &self.0.trials);
            Table::new(table.into_columns())
        })
    }

    /// A row for each cell.
    fn summary(&self, py: Python<'_>) -> Table {
        py.detach(|| Table::new(trials::summary_table(&self.0.summaries).into_columns()))
    }

    /// What the cells gave, as JSON.
    fn cells(&self, py: Python<'_>) -> String {
        py.detach(|| serde_json::to_string(&self.0.summaries).expect("plain data"))
    }

    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.text())
    }

    fn figure(&self, py: Python<'_>) -> Figure {
        py.detach(|| Figure(overview(&self.0)))
    }

    /// Writes the files of `goodarm simulate`.
    fn write(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        py.detach(|| {
            fs::create_dir_all(&folder).map_err(|error| Trouble::of_file(&folder, &error))?;
            Ok(self.0.write(&folder)?)
        })
        .map_err(Trouble::raised)
    }
}

/// A plan, and what a person should know about what it was made of.
#[pyclass(frozen, module = "goodarm._native")]
pub(crate) struct LabPlan {
    plan: Plan,
    #[pyo3(get)]
    notes: Vec<String>,
}

#[pymethods]
impl LabPlan {
    /// What `goodarm plan --json` prints.
    fn json(&self) -> String {
        serde_json::to_string(&self.plan).expect("plain data")
    }

    fn text(&self) -> String {
        plan_report::text(&self.plan)
    }

    /// A row for each number of certificates.
    fn steps(&self) -> Table {
        Table::new(plan_report::table(&self.plan).into_columns())
    }

    fn figure(&self) -> Figure {
        Figure(plan_report::figure(&self.plan))
    }
}

/// A figure that has been reproduced, with its experiments.
#[pyclass(frozen, module = "goodarm._native")]
pub(crate) struct LabSection {
    #[pyo3(get)]
    name: &'static str,
    #[pyo3(get)]
    title: &'static str,
    #[pyo3(get)]
    findings: Vec<String>,
    figure: goodarm_plot::Figure,
    runs: Vec<(&'static str, Arc<Run>)>,
}

impl LabSection {
    fn new(section: Section) -> Self {
        let Section { entry, runs, drawn } = section;
        let names = entry.experiments.iter().map(|(name, _)| *name);
        Self {
            name: entry.name,
            title: entry.title,
            findings: drawn.findings,
            figure: drawn.figure,
            runs: names.zip(runs.into_iter().map(Arc::new)).collect(),
        }
    }
}

#[pymethods]
impl LabSection {
    fn figure(&self) -> Figure {
        Figure(self.figure.clone())
    }

    /// Each experiment with its name.
    fn runs(&self) -> Vec<(&'static str, LabRun)> {
        self.runs.iter().map(|(name, run)| (*name, LabRun(Arc::clone(run)))).collect()
    }
}
