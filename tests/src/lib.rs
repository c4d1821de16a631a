//! What tests of several crates share.

mod folder;
mod server;

pub use folder::TestFolder;
pub use server::{Action, Request, Server, closed_port, closed_url, completion, status};
