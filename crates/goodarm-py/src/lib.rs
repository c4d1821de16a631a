//! goodarm from Python. Nothing is decided here: sessions, runs, reports and plans are those of
//! the other crates, and this one translates. The Python side is `python/goodarm/`.

mod awaited;
mod books;
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
mod words;

use pyo3::prelude::*;

/// What `goodarm` is made of.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::job::{Job, job_keys};
    #[pymodule_export]
    use super::mailbox::Mailbox;
    #[pymodule_export]
    use super::plan::{Figure, NativePlan, PlanWork, start_plan};
    #[pymodule_export]
    use super::policy::View;
    #[pymodule_export]
    use super::results::Results;
    #[pymodule_export]
    use super::run::LiveRun;
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::words::{Ledger, Pull, Spec};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The hook is this module's alone: every extension has a Rust runtime of its own.
    #[pymodule_init]
    #[expect(clippy::unnecessary_wraps, reason = "the form that PyO3 wants")]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        goodarm_data::panics::hush();
        Ok(())
    }
}
