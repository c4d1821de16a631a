//! A figure: as SVG, in a notebook, in a file.

use std::path::PathBuf;

use goodarm_report::plot_file::{self, PlotFileError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::failure::PlanFailure;

/// A figure. Notebooks show it.
#[pyclass(frozen, name = "Figure", module = "goodarm")]
pub(crate) struct PyFigure(pub(super) goodarm_plot::Figure);

#[pymethods]
impl PyFigure {
    /// The title of the figure.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// The caption of the figure.
    #[getter]
    fn caption(&self) -> &str {
        &self.0.caption
    }

    /// A self-contained SVG document.
    #[getter]
    fn svg(&self, py: Python<'_>) -> String {
        py.detach(|| goodarm_plot::svg(&self.0))
    }

    fn _repr_svg_(&self, py: Python<'_>) -> String {
        self.svg(py)
    }

    /// Writes the figure into a file whose name ends in `.svg`.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| plot_file::write(&self.0, &path)).map_err(|error| match error {
            PlotFileError::File { path, error } => PlanFailure::of_file(&path, &error).raised(),
            other => PyValueError::new_err(other.to_string()),
        })
    }

    fn __repr__(&self) -> String {
        format!("<Figure: {}>", self.0.title)
    }
}
