//! The built tool, run as a user runs it.

mod laboratory;
mod pages;
mod paper;
mod tool;
mod trace;
mod wrong_input;
