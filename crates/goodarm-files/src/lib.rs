//! The words that people write in goodarm's files, each read in one place.
//!
//! Job, plan, experiment and problem files have keys of their own; what a guarantee, a score model,
//! a unit or an amount of money is called is the same in all of them, and is decided here:
//!
//! - [`GuaranteeName`]: `lent`, `holm`, `union`, `fdr`, `paper` or `none`.
//! - [`Scores`]: `"binary"`, `"bounded"`, `"exact"`, `{ bounded = { range = [0.3, 1] } }` or
//!   `{ sub-gaussian = { sigma = 0.5 } }`.
//! - [`Unit`]: `tokens`, `dollars`, `seconds` or `calls`.
//! - [`Draws`] and [`PoolLine`]: how recorded outcomes are drawn, and recorded answers to a question.
//! - [`money`]: exact amounts, written as decimals in text, read from numbers, too.
//! - [`words`]: amounts and counts for people.
//! - [`visible`]: texts of others, as a terminal may have them.
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
//! assert_eq!((error.line, error.suggestion.as_deref()), (2, Some("scores")));
//! ```
//!
//! This crate reads no file and knows no command; it depends on the core alone.

pub mod json_text;
pub mod money;
mod names;
mod recorded;
pub mod scores;
mod spelling;
pub mod toml_text;
mod visible;
pub mod words;

pub use crate::names::{GuaranteeName, Unit};
pub use crate::recorded::{Draws, PoolAnswer, PoolLine};
pub use crate::scores::Scores;
pub use crate::spelling::{
    PROBLEMS_MAX, did_you_mean, first_of, hint, nearest, no_such_key, none_of, told,
};
pub use crate::visible::{visible, visible_line};
