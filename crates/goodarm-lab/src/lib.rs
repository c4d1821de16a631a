//! The laboratory: experiments on invented verifiers and recorded answers, and the figures of the paper.
//!
//! [`experiment_file`] reads an experiment, [`figures`] turns its trials into figures and a page,
//! [`trials`] into tables, and [`png`] makes pictures of figures. The program `goodarm-lab` prints
//! and exits; nothing here does.

pub mod experiment_file;
pub mod figures;
mod png;
pub mod trials;

pub use png::{PIXELS_MAX, PngError, png};
