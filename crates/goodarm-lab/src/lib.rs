//! The laboratory: experiments on simulated verifiers and recorded answers, and the figures of the paper.
//!
//! [`experiment_file`] reads an experiment, [`figures`] turns its trials into figures and a page,
//! [`trials`] into tables, and [`png`] converts figures. Only the program `goodarm-lab` prints and exits.

pub mod experiment_file;
pub mod figures;
mod png;
pub mod trials;

pub use png::{PIXELS_MAX, PngError, png};
