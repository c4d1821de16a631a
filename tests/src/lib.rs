//! What tests of several crates share.

mod folder;
mod output;
mod server;
mod stopwatch;

pub use folder::TestFolder;
pub use output::{message, text};
pub use server::{Action, Request, Server, closed_port, closed_url, completion, status};
pub use stopwatch::Stopwatch;
