//! Runs jobs: certifies answers with real verifiers, and survives crashes without loss.

mod engine;
#[doc(hidden)]
pub mod fuzzing;
pub mod job;
pub mod open_files;
pub mod pricing;
pub mod run;
pub mod secrets;
pub mod service;
pub mod services;
pub mod throttle;
pub mod transcript;
pub mod try_calls;
