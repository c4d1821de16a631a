//! The results of a run, as pages, text, tables and figures.
//!
//! [`Report`] reads a run's folder; [`watch`] shows a run in progress, and [`label`] lets people label answers,
//! both on a page of a [`site`]. Nothing here prints, exits or calls a verifier.
//!
//! ```no_run
//! let report = goodarm_report::Report::read("run".as_ref())?;
//! report.write_page(None)?;
//! println!("{}", report.text());
//! # Ok::<(), goodarm_report::ReportError>(())
//! ```

pub mod export;
mod finish;
pub mod label;
pub mod markup;
pub mod plot_file;
mod report;
pub mod site;
mod summary;
pub mod watch;
pub mod words;

pub use finish::{FinishedRun, PageOutcome, finish_run, report_recovery, why_stopped};
pub use report::{Report, ReportError, publish_claim};
pub use summary::summary_text;
