//! Certify real answers with real verifiers, and lose nothing.

pub mod account;
pub mod answer;
pub mod audit;
pub mod bounds;
pub mod candidates;
mod changes;
pub mod charter;
pub mod control;
mod engine;
pub mod fingerprint;
pub mod folder;
#[doc(hidden)]
pub mod fuzzing;
pub mod generate;
pub mod history;
pub mod job;
pub mod job_file;
pub mod journal;
mod line_file;
pub mod open_files;
pub mod outputs;
pub mod panics;
mod pattern;
pub mod pools;
pub mod pricing;
pub mod record;
pub mod recording;
pub mod run;
pub mod secrets;
mod steps;
pub mod table;
pub mod template;
pub mod throttle;
pub mod transcript;
pub mod trial;
pub mod verifier;
pub mod view;
