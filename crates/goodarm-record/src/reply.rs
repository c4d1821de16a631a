//! The reply to a call: its verdict, its use of tokens and time, and its text.

use std::borrow::Cow;
use std::time::Duration;

use goodarm_core::{Cost, CountedFailure, Failure, VoidFailure};
use serde::{Deserialize, Serialize};

/// The reply to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The meaning of the reply.
    pub verdict: Verdict,
    /// Its tokens, cost and time.
    pub usage: Usage,
    /// Its text, for people: at most [`REPLY_BYTES_MAX`] bytes.
    pub text: String,
    /// How it came.
    pub delivery: Delivery,
    /// What was read of it.
    pub contact: Contact,
}

/// What was read of a reply. It decides whether a call of an exact verifier is repeated: only if nothing was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contact {
    /// Something that the service said about the answer.
    #[default]
    Read,
    /// Nothing: the reply was lost, late, or not in the form of the service's replies.
    Nothing,
    /// Every request was answered with an HTTP error.
    Error,
}

impl Contact {
    /// What was read of the replies to several requests of a call.
    pub fn of_all(all: impl Iterator<Item = Self>) -> Self {
        let join = |one: Self, other: Self| match (one, other) {
            (Self::Error, Self::Error) => Self::Error,
            (Self::Read, _) | (_, Self::Read) => Self::Read,
            _ => Self::Nothing,
        };
        all.reduce(join).unwrap_or_default()
    }
}

/// How a reply came. Only the bill of an error depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// The HTTP status of a reply without success.
    pub status: Option<u16>,
    /// The index of the address that was asked last, if the service has several.
    pub address: Option<u16>,
    /// The number of requests for this call that began no work, because the service throttled them or was not reached.
    pub throttled_count: u32,
}

impl Delivery {
    /// The cause of a failure, for people: the status, such as `HTTP 500`, or else the name of the failure.
    pub fn cause(&self, failure: Failure) -> Cow<'static, str> {
        self.status.map_or_else(|| failure.name().into(), |status| format!("HTTP {status}").into())
    }
}

/// The meaning of a reply for the evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// A score; it is checked against the score model later.
    Score(f64),
    /// A score for each criterion of the verifier, or why the reply lacks it; at least one score is there.
    Scores(Vec<Result<f64, String>>),
    /// A score that needed no call, so it does not show that the verifier works.
    Known(f64),
    /// An answer to the question of the call.
    Answer(Box<AnswerReply>),
    /// The verifier never began to work, and the run is stopping: the call is made again on resume.
    Void(VoidFailure),
    /// A failure that counts as the lowest score, and the reason.
    Failed(CountedFailure, String),
    /// There are no more outcomes for the candidate; the text is the reason. The pair takes no more calls, so this
    /// verdict must not depend on earlier scores.
    Exhausted(String),
}

impl Verdict {
    /// An answer to the question, and the final answer in it.
    pub fn answer(text: String, final_answer: String) -> Self {
        Self::Answer(Box::new(AnswerReply { text, final_answer }))
    }
}

/// An answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerReply {
    /// The whole text.
    pub text: String,
    /// The final answer in the text: answers with equal final answers are one answer.
    pub final_answer: String,
}

/// What a call used, as far as the reply has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    pub output_tokens: Option<u64>,
    /// The cost that the reply itself states.
    pub cost: Option<Cost>,
    /// How long the verifier worked, without waiting for its turn.
    pub worked: Duration,
}

impl Reply {
    /// A score, for a call without cost.
    pub const fn score(score: f64) -> Self {
        Self::new(Verdict::Score(score), NOTHING, String::new())
    }

    /// A call that failed in a way that may depend on the answer.
    pub fn failed(failure: CountedFailure, reason: impl Into<String>) -> Self {
        Self::new(Verdict::Failed(failure, reason.into()), Usage::default(), String::new())
    }

    /// No reply is left for the call; it costs nothing.
    pub fn exhausted(reason: impl Into<String>) -> Self {
        Self::new(Verdict::Exhausted(reason.into()), NOTHING, String::new())
    }

    /// A call that never began.
    pub fn void(failure: VoidFailure) -> Self {
        Self::new(Verdict::Void(failure), Usage::default(), String::new())
    }

    /// A reply without an error.
    pub const fn new(verdict: Verdict, usage: Usage, text: String) -> Self {
        let delivery = Delivery { status: None, address: None, throttled_count: 0 };
        Self { verdict, usage, text, delivery, contact: Contact::Read }
    }
}

/// A warning about a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceWarning {
    /// Whether certificates may be wrong more often than promised, because calls are not fresh.
    pub weakens_promise: bool,
    /// The warning in words.
    pub text: String,
}

/// What a mean score is the mean of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeanOver {
    /// Fresh calls: it is the verifier's mean.
    #[default]
    FreshCalls,
    /// Recorded outcomes that calls draw from with replacement: it is the mean of the recording.
    RecordedPool,
}

/// The usage of a call that never reached a verifier.
pub const NOTHING: Usage = Usage {
    input_tokens: Some(0),
    output_tokens: Some(0),
    cost: Some(Cost::ZERO),
    worked: Duration::ZERO,
};

/// The most bytes of a reply's text that are stored; longer texts are cut.
pub const REPLY_BYTES_MAX: usize = 16 << 10;
/// Cuts a text to the length that is stored.
pub fn shorten(mut text: String) -> String {
    if text.len() > REPLY_BYTES_MAX {
        text.truncate(text.floor_char_boundary(REPLY_BYTES_MAX));
    }
    text
}
