//! `goodarm label`: people label on a page, in the terminal and by files, and nothing that they said is lost.

mod files;
mod page;
mod people;
mod place;
mod refusals;
mod talk;
