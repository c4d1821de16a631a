//! `goodarm run --watch`: the live page, those who may see it, and those who would hurt it.

mod door;
mod page;
mod place;
mod run;
