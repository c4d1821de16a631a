//! The laboratory, run as a user runs it, and its pictures.

mod laboratory;
mod outlook;
mod pages;
mod paper;
mod picture;
#[path = "../../../goodarm-plot/src/random.rs"]
mod random;
#[path = "../../../goodarm-plot/tests/it/random_figure.rs"]
mod random_figure;
#[path = "../../../goodarm-plot/tests/it/samples.rs"]
mod samples;
mod tool;
mod trace;
mod wrong_input;
