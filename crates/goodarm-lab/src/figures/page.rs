//! One self-contained HTML page with all figures, their findings and their numbers.

use std::path::{Path, PathBuf};

use crate::lab_error::LabError;
use crate::summary::CellSummary;
use goodarm_report::markup::{PageTemplate, SHEET_STYLE, own};
use minijinja::{Value, context};

use crate::figures::run::write;
use crate::figures::{ExperimentRun, FigureSection};

/// Writes the page, and returns its path; `missing` is why figures were left out, if some were.
pub fn write_page(
    folder: &Path,
    sections: &[FigureSection],
    missing: Option<&str>,
    quick: bool,
) -> Result<PathBuf, LabError> {
    let path = folder.join("index.html");
    let sections: Vec<Value> = sections.iter().map(section).collect();
    let page = PAGE.fill(context! {
        style => own(SHEET_STYLE),
        titles => CellSummary::TITLES,
        quick,
        missing,
        sections,
    });
    write(&path, page.as_bytes())?;
    Ok(path)
}

fn section(section: &FigureSection) -> Value {
    let FigureSection { spec, runs, drawn } = section;
    let named = spec.experiments.iter().map(|(name, _)| *name);
    context! {
        name => spec.name,
        title => spec.title,
        // goodarm-plot has escaped all text in it.
        svg => own(goodarm_plot::svg(&drawn.figure)),
        findings => drawn.findings.clone(),
        runs => named.zip(runs).map(|(name, run)| numbers(name, run)).collect::<Vec<_>>(),
    }
}

fn numbers(name: &str, run: &ExperimentRun) -> Value {
    let spec = &run.experiment.spec;
    context! {
        name,
        note => spec.note.trim(),
        seed => spec.seed,
        repetitions => spec.repetitions,
        rows => run.summaries.iter().map(CellSummary::row).collect::<Vec<_>>(),
    }
}

const PAGE: PageTemplate = PageTemplate(include_str!("../../web/reproduction.html"));
