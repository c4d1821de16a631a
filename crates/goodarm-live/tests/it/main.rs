//! Runs, from the job file to the audit, with verifiers that behave and verifiers that do not.

mod added;
mod calls_max;
mod crash;
mod edges;
mod endpoints;
mod failed_calls;
mod faults;
mod first_contact;
mod fuzz;
mod given;
mod guarded;
mod hostile;
mod job_folder;
mod jobs;
mod labels;
mod many_calls;
mod observer;
mod own_kind;
mod people;
mod pilot;
mod questions;
mod rubrics;
mod strays;
mod throttled;
mod unreached;
mod verifiers;
