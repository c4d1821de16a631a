//! The built tool, run as a user runs it.

mod book;
mod calibrate;
mod docs;
mod ends;
mod files;
mod forecast_bills;
mod forecasts;
mod help;
mod hostile;
mod label;
mod live;
mod messages;
mod model;
mod outputs;
mod recordings;
mod report;
mod secrets;
mod served_page;
mod tls;
mod tool;
mod watch;
