//! The built tool, run as a user runs it.

mod book;
mod calibrate;
mod ends;
mod files;
mod forecasts;
mod hostile;
mod label;
mod laboratory;
mod live;
mod messages;
mod model;
mod outputs;
mod pages;
mod paper;
mod recordings;
mod report;
mod secrets;
mod tls;
mod tool;
mod trace;
mod watch;
mod wrong_input;
