//! goodarm's simulator: the same sessions as in a live run, with invented verifiers.
//!
//! A [`world::World`] has the true means and draws scores, bills and latencies; an [`episode::Episode`] is
//! the result of one session in it. A score is a function of the seed, arm, attribute and number of the
//! call, so two policies with one seed get the same scores.

pub mod episode;
pub mod instance;
pub mod labels;
pub mod noise;
pub mod num;
pub mod plan;
pub mod pools;
pub mod questions;
pub mod random;
pub mod run;
pub mod theory;
pub mod trial;
pub mod world;
pub mod world_error;
