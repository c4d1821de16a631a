//! `goodarm label`: people label on a page, in the terminal and by files, and nothing that they said is lost.

mod files;
mod label_folder;
mod page;
mod people;
mod refusals;
mod talk;
