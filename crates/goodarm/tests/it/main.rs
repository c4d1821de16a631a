//! The built tool, run as a user runs it.

mod laboratory;
mod live;
mod model;
mod pages;
mod paper;
mod report;
mod tool;
mod trace;
mod watch;
mod wrong_input;
