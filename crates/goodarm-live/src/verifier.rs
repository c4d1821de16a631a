//! What a call asks, and what comes back: the seam between the runner and the world.

pub mod check;
pub mod command;
pub mod http;
pub mod llm;
pub mod replay;
mod score;
mod wire;
pub mod wrong;

use std::time::Duration;

use goodarm_core::{CountedFailure, VoidFailure};

use crate::candidates::Candidate;
use crate::line::Line;

/// A verifier that lives outside this process: each call is fresh, takes time, and may fail.
pub enum Remote {
    /// A program.
    Command(command::Command),
    /// A POST.
    Http(http::Http),
    /// A chat endpoint.
    Llm(llm::Llm),
}

impl Remote {
    /// Makes one call, void attempts and their retries included.
    pub async fn call(&self, candidate: &Candidate, line: &Line) -> Reply {
        match self {
            // Slow ones go into a box of their own, so that fast ones are not moved about as large.
            Self::Command(command) => Box::pin(command.call(candidate, line)).await,
            Self::Llm(llm) => Box::pin(llm.call(candidate, line)).await,
            Self::Http(http) => http.call(candidate, line).await,
        }
    }
}

/// What came back from a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What it means.
    pub verdict: Verdict,
    /// What it says about its cost.
    pub usage: Usage,
    /// What was answered, for people: at most [`REPLY_BYTES_MAX`] bytes of it.
    pub text: String,
}

/// What a call means for the evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// A score; whether its model allows it is checked later.
    Score(f64),
    /// The verifier never began to work, and the run is stopping: to be tried again on resume.
    Void(VoidFailure),
    /// It counts as the lowest score.
    Failed(CountedFailure, String),
}

/// What a call took, as far as the reply says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    pub output_tokens: Option<u64>,
    /// The cost that a command or http verifier reports.
    pub cost: Option<f64>,
    /// How long the verifier worked, without waiting for its turn.
    pub worked: Duration,
}

impl Reply {
    /// A call that failed in a way that may depend on the answer.
    pub fn failed(failure: CountedFailure, reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Failed(failure, reason.into()),
            usage: Usage::default(),
            text: String::new(),
        }
    }

    /// A call that never began.
    pub const fn void(failure: VoidFailure) -> Self {
        Self {
            verdict: Verdict::Void(failure),
            usage: Usage {
                input_tokens: None,
                output_tokens: None,
                cost: None,
                worked: Duration::ZERO,
            },
            text: String::new(),
        }
    }
}

/// More of a reply is not kept.
pub const REPLY_BYTES_MAX: usize = 16 << 10;
/// A larger body is cut off, and the call counts as failed.
pub const BODY_BYTES_MAX: usize = 4 << 20;
