//! `goodarm run --watch`: the live page, those who may see it, and those who would hurt it.

mod guard;
mod page;
mod run;
mod watch_folder;
