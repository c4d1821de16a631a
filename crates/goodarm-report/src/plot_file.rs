//! A figure as a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use goodarm_plot::{Figure, svg};
use thiserror::Error;

/// Why a figure cannot be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlotFileError {
    /// The name does not end in .svg.
    #[error("{}: goodarm writes SVG; give the file a name that ends in .svg", .0.display())]
    Ending(PathBuf),
    /// The file cannot be written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// Returns an error if the name does not end in .svg, the only format that is written.
pub fn check_name(path: &Path) -> Result<(), PlotFileError> {
    let is_svg = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("svg"));
    if is_svg { Ok(()) } else { Err(PlotFileError::Ending(path.to_owned())) }
}

/// Writes the figure as SVG.
pub fn write(figure: &Figure, path: &Path) -> Result<(), PlotFileError> {
    check_name(path)?;
    fs::write(path, svg(figure))
        .map_err(|error| PlotFileError::File { path: path.to_owned(), error })
}
