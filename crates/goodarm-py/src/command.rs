//! The command line of the tool, for the console script of the wheel.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs a command line of the tool, whose first word is the name of the program, and returns the exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    // A run may take days: other threads of Python continue meanwhile.
    py.detach(|| goodarm::main(words)) as u8
}
