//! The bytes of others: files of candidates, final answers in texts, tables and templates, each read within
//! limits. Nothing here waits for a network, a process or a clock.

pub mod answer;
pub mod bounds;
pub mod candidates;
pub mod panics;
pub mod pattern;
pub mod problem;
pub mod steps;
pub mod table;
pub mod template;
