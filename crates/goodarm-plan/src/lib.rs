//! Before a job is run: [`calibrate`] chooses thresholds, [`forecast`] estimates what a budget buys, [`input`] reads
//! what to plan, and [`plan`] shows the plan. Nothing here prints or exits.

pub mod calibrate;
pub mod forecast;
pub mod input;
pub mod plan;
