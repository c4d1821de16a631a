//! goodarm from Python. This crate only translates: sessions, runs, reports and plans are those of the
//! other crates. The Python side is `python/goodarm/`.

mod awaited;
mod books;
mod command;
mod errors;
mod events;
mod job;
mod mailbox;
mod money;
mod plan;
mod policy;
mod results;
mod run;
mod session;
mod table;
mod values;

use pyo3::prelude::*;

/// The compiled part of `goodarm`. It asks for the interpreter's lock, since no test runs without one.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use super::command::main;
    #[pymodule_export]
    use super::job::{PyJob, job_keys};
    #[pymodule_export]
    use super::mailbox::Mailbox;
    #[pymodule_export]
    use super::plan::{NativePlan, PlanWork, PyFigure, start_plan};
    #[pymodule_export]
    use super::policy::PyView;
    #[pymodule_export]
    use super::results::PyResults;
    #[pymodule_export]
    use super::run::LiveRun;
    #[pymodule_export]
    use super::session::PySession;
    #[pymodule_export]
    use super::table::PyTable;
    #[pymodule_export]
    use super::values::{PyLedger, PyPull, PySpec};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Installs a panic hook that does not print caught panics. It affects this module only: every extension has a
    /// Rust runtime of its own.
    #[pymodule_init]
    #[expect(clippy::unnecessary_wraps, reason = "the form that PyO3 wants")]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        goodarm_data::panics::silence_caught();
        Ok(())
    }
}
