//! goodarm's laboratory: the same sessions as in the field, with invented verifiers.
//!
//! A [`world::World`] knows the true means and makes scores, bills and latencies; an
//! [`episode::Episode`] is what became of one session in it. Scores are a function of (seed, arm,
//! attribute, how often the pair was called), so two policies with one seed see the same luck.

pub mod episode;
pub mod experiment;
pub mod family;
pub mod instance;
pub mod labels;
pub mod noise;
mod num;
pub mod plan;
pub mod pools;
pub mod questions;
pub mod random;
pub mod run;
pub mod summary;
pub mod theory;
pub mod trial;
pub mod world;
pub mod world_error;
