//! The kinds of services that a job file can name, with one file or folder for each kind.
//! A program that embeds goodarm may add kinds of its own ([`ServiceKinds::with`]).

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

pub use self::endpoint::BODY_BYTES_MAX;
pub use self::kind::{KindKeys, ServiceContext, ServiceKind, ServiceKinds};

/// The kinds that a job file can name. The list is open, not an enum, so that others can add to it.
pub const KINDS: &[ServiceKind] = &[
    ServiceKind::new::<check::CheckKeys>("check"),
    ServiceKind::new::<command::CommandKeys>("command").making_answers(),
    ServiceKind::new::<http::HttpKeys>("http").making_answers(),
    ServiceKind::new::<human::HumanKeys>("human").making_answers(),
    ServiceKind::new::<llm::LlmKeys>("llm").making_answers(),
    ServiceKind::new::<pool::PoolKeys>("pool").making_answers(),
    ServiceKind::new::<replay::ReplayKeys>("replay"),
];
