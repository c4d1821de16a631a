//! Simulated questions: answers are made on demand and checked, and at most one per question is certified.
//!
//! [`world`]: answers and how good they are. [`described`]: answers from a plan's description. [`trial`]: one session
//! driven to its end. [`oracle`]: a policy that has the truth.

pub mod described;
pub mod oracle;
pub mod trial;
pub mod world;
