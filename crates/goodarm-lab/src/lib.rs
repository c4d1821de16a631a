//! The laboratory: experiments on simulated verifiers and recorded answers, and the figures of the paper.
//!
//! [`experiment_file`] reads an [`experiment`], whose worlds are drawn from a [`family`]; [`summary`] sums up
//! its trials, [`figures`] turns its trials into figures and a page, [`trials`] into tables, and
//! [`png()`] converts figures. Only the program `goodarm-lab` prints and exits.

pub mod experiment;
pub mod experiment_file;
pub mod family;
pub mod figures;
pub mod lab_error;
mod png;
pub mod summary;
pub mod trials;

pub use png::png;
