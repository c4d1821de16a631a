//! Foreign bytes: files of candidates, final answers in texts, tables and templates, all read within
//! limits. This crate does no network I/O, starts no processes and reads no clock.

pub mod answer;
pub mod bounds;
pub mod candidates;
pub mod panics;
pub mod pattern;
pub mod problem;
pub mod steps;
pub mod table;
pub mod template;
