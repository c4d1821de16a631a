//! What a job will come to, before it is run: [`calibrate`] chooses thresholds, [`forecast`] says what a budget may
//! buy, [`input`] says what is to be planned, and [`plan`] shows it. Nothing here prints or exits.

pub mod calibrate;
pub mod forecast;
pub mod input;
pub mod plan;
