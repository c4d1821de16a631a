//! The words of goodarm's files, each read in one place.
//!
//! Job, plan, experiment and problem files have their own keys. The names of guarantees, score models and
//! units, and the form of amounts of money, are the same in all of them and are defined here:
//!
//! - [`GuaranteeName`]: `lent`, `holm`, `union`, `fdr`, `paper` or `none`.
//! - [`Scores`]: `"binary"`, `"bounded"`, `"exact"`, `{ bounded = { range = [0.3, 1] } }` or
//!   `{ sub-gaussian = { sigma = 0.5 } }`.
//! - [`Unit`]: `tokens`, `dollars`, `seconds` or `calls`.
//! - [`Draws`] and [`PoolLine`]: how recorded outcomes are drawn, and recorded answers to a question.
//! - [`money`]: exact amounts, written as decimals in text; numbers are read as well.
//! - [`words`]: amounts and counts in messages.
//! - [`person`]: which names are one person.
//! - [`visible`]: foreign text, made safe for a terminal.
//! - [`toml_text`] and [`json_text`]: text in, a value out, or an error that says where, what was
//!   expected and which spelling was probably meant.
//!
//! ```
//! use goodarm_files::{GuaranteeName, Scores, toml_text};
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct File {
//!     guarantee: GuaranteeName,
//!     scores: Scores,
//! }
//!
//! let file: File = toml_text::parse("guarantee = 'fdr'\nscores = 'binary'").unwrap();
//! assert_eq!((file.guarantee, file.scores), (GuaranteeName::Fdr, Scores::Binary));
//!
//! let Err(error) = toml_text::parse::<File>("guarantee = 'fdr'\nscore = 'binary'") else {
//!     panic!("the key is misspelt");
//! };
//! assert_eq!(error.to_string(), "line 2, column 1: score: no such key; did you mean `scores`?");
//! ```
//!
//! This crate reads no files and has no commands; it depends only on the core.

pub mod json_text;
pub mod money;
mod names;
mod person;
mod recorded;
pub mod scores;
mod spelling;
pub mod toml_text;
mod visible;
pub mod words;

pub use crate::names::{GuaranteeName, Unit};
pub use crate::person::person;
pub use crate::recorded::{Draws, PoolAnswer, PoolLine};
pub use crate::scores::Scores;
pub use crate::spelling::{
    PROBLEMS_MAX, did_you_mean, first_of, hint, nearest, no_such_key, none_of, plain_message,
};
pub use crate::visible::{visible, visible_line};
