//! Runs, from the job file to the audit, with verifiers that behave and verifiers that do not.

mod crash;
mod faults;
mod fuzz;
mod jobs;
mod place;
mod server;
mod verifiers;
