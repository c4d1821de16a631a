//! The kinds of services that a job file can name, one file or folder a kind, and the list of them.
//! A program that embeds goodarm may add kinds of its own ([`Kinds::with`]).

pub mod check;
pub mod command;
mod endpoint;
pub mod http;
pub mod human;
mod kind;
pub mod llm;
pub mod pool;
mod recorded;
pub mod replay;
pub(crate) mod rubric;
pub(crate) mod score;
mod untold;

pub use self::endpoint::BODY_BYTES_MAX;
pub(crate) use self::endpoint::without_keys;
pub use self::kind::{Kind, KindKeys, Kinds, Setting};

/// The kinds that a job file can name. The list is open, not an enum, so that others can add to it.
pub const KINDS: &[Kind] = &[
    Kind::new::<check::CheckKeys>("check"),
    Kind::new::<command::CommandKeys>("command").making_answers(),
    Kind::new::<http::HttpKeys>("http").making_answers(),
    Kind::new::<human::HumanKeys>("human").making_answers(),
    Kind::new::<llm::LlmKeys>("llm").making_answers(),
    Kind::new::<pool::PoolKeys>("pool").making_answers(),
    Kind::new::<replay::ReplayKeys>("replay"),
];
