//! A figure: as SVG, as PNG, in a notebook, in a file.

use std::fs;
use std::path::PathBuf;

use goodarm_plot::PngError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::raised;

/// A figure. A notebook shows it; `svg`, `png()` and `save()` are for elsewhere.
#[pyclass(frozen, module = "goodarm")]
pub(crate) struct Figure(pub(super) goodarm_plot::Figure);

#[pymethods]
impl Figure {
    /// What stands above it.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// What stands below it.
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

    /// A PNG picture of this width in pixels.
    #[pyo3(signature = (width = 1600))]
    fn png<'py>(&self, py: Python<'py>, width: i64) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| self.drawn(width))?))
    }

    /// Writes it into a file whose name ends in `.svg` or `.png`; `width` is that of a PNG in pixels.
    #[pyo3(signature = (path, *, width = 1600))]
    fn save(&self, py: Python<'_>, path: PathBuf, width: i64) -> PyResult<()> {
        let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
        let ending = ending.as_ref().and_then(|ending| ending.to_str());
        py.detach(|| {
            let bytes = match ending {
                Some("svg") => goodarm_plot::svg(&self.0).into_bytes(),
                Some("png") => self.drawn(width)?,
                _ => {
                    let message = format!("{} ends in neither .svg nor .png", path.display());
                    return Err(PyValueError::new_err(message));
                }
            };
            fs::write(&path, bytes)
                .map_err(|error| super::trouble::Trouble::of_file(&path, &error).raised())
        })
    }

    fn __repr__(&self) -> String {
        format!("<Figure: {}>", self.0.title)
    }
}

impl Figure {
    fn drawn(&self, width: i64) -> PyResult<Vec<u8>> {
        let is_width = u32::try_from(width).ok().filter(|width| *width > 0);
        let width = is_width.ok_or_else(|| {
            let message = format!("width: a picture cannot be {width} pixels wide");
            crate::errors::exception("FigureError", "Size", message)
        })?;
        goodarm_plot::png(&self.0, width).map_err(|error: PngError| raised("FigureError", &error))
    }
}
