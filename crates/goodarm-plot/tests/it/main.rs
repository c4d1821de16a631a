//! Figures as their readers get them: as SVG and with unexpected input.

mod hostile;
mod legible;
mod picture;
#[path = "../../src/random.rs"]
mod random;
mod random_figure;
mod samples;
