//! One binary for all integration tests of the core.

mod designed;
mod doors;
mod equivalence;
mod fixed;
mod golden;
mod paper_map;
mod policy_contract;
mod replay;
mod samples;
mod scanning;
mod scenario;
mod session_rules;
mod streams_model;
mod transcription;
mod validity;
