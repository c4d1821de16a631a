//! The durable record of a run: the journal with the run terms, the results computed from it, and the files made from
//! these. Reading a run needs only this crate: it uses no network and starts no process.

pub mod account;
pub mod audit;
pub mod card_queue;
pub mod changes;
pub mod claims;
pub mod control;
pub mod ending;
pub mod fingerprint;
pub mod finish;
pub mod folder;
#[doc(hidden)]
pub mod fuzzing;
pub mod history;
pub mod job_file;
pub mod journal;
pub mod labels;
pub mod notice;
pub mod outputs;
pub mod people;
pub mod questions;
pub mod recording;
pub mod reference;
pub mod replay;
pub mod reply;
pub mod run_error;
pub mod sealed_lines;
pub mod subjects;
pub mod terms;
pub mod view;
