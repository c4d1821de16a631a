//! What a run or an experiment came to, as pages, text, tables and figures.
//!
//! [`Report`] reads a run's folder; [`watch`] shows a run while it goes on, and [`label`]
//! asks people, both on a page of a [`site`]; [`experiment_file`] reads an
//! experiment, [`figures`] turns its trials into figures and a page, [`trials`] into tables;
//! [`calibrate`] chooses thresholds; [`description`] says what is to be planned, [`plan`] shows what a budget will buy. Nothing here prints
//! or exits.
//!
//! ```no_run
//! let report = goodarm_report::Report::read("run".as_ref(), None)?;
//! report.write_page(None)?;
//! println!("{}", report.text());
//! # Ok::<(), goodarm_report::ReportError>(())
//! ```

pub mod calibrate;
pub mod description;
pub mod experiment_file;
pub mod export;
pub mod figures;
mod finish;
pub mod forecast;
pub mod label;
mod markup;
pub mod plan;
mod report;
pub mod site;
mod summary;
pub mod trials;
pub mod watch;
pub mod words;

pub use finish::{Finished, Page, finish_run, report_recovery, why_stopped};
pub use report::{Report, ReportError, publish_claim};
pub use summary::summary_text;
