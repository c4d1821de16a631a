//! One line of `calls.jsonl`: everything about one call.

pub mod table;

use goodarm_core::{ArmId, BlockingFailure, Cost, CountedFailure, Failure, VoidFailure};
use serde::{Deserialize, Serialize};

use crate::history::Entry;

/// One call, as a line.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CallLine<'a> {
    /// Its number, counted from 0 in the order of dispatch.
    pub call: u64,
    /// The candidate.
    #[serde(borrow)]
    pub id: std::borrow::Cow<'a, str>,
    /// The verifier.
    #[serde(borrow)]
    pub verifier: std::borrow::Cow<'a, str>,
    /// What it said; null if it failed.
    pub score: Option<f64>,
    /// How it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<std::borrow::Cow<'a, str>>,
    /// Why it failed, in words.
    #[serde(default, skip_serializing_if = "str::is_empty", borrow)]
    pub reason: std::borrow::Cow<'a, str>,
    /// The share of δ that the candidate was lent with this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lent: Option<f64>,
    /// What it cost: an exact decimal.
    #[serde(with = "goodarm_files::money::exact")]
    pub cost: Cost,
    /// How long it took, in seconds.
    pub latency: f64,
    /// When its answer was written, in milliseconds since 1970.
    pub unix_millis: u64,
    /// The place of its asking in the order of all events.
    pub asked: u64,
    /// The place of its answer.
    pub answered: u64,
    /// What was answered.
    #[serde(default, skip_serializing_if = "str::is_empty", borrow)]
    pub reply: std::borrow::Cow<'a, str>,
}

impl<'a> CallLine<'a> {
    /// The line of an entry's call, if one came back; given the names of candidates and verifiers.
    pub fn new(
        entry: &'a Entry<'_>,
        id: impl FnOnce(ArmId) -> &'a str,
        verifiers: &'a [String],
    ) -> Option<Self> {
        let call = entry.call.as_ref()?;
        Some(Self {
            call: call.ticket.0,
            id: id(call.arm).into(),
            verifier: verifiers[call.attribute.index()].as_str().into(),
            score: call.outcome.ok(),
            failure: call.outcome.err().map(|failure| failure_name(failure).into()),
            reason: call.note.reason.as_ref().into(),
            lent: entry.loan.map(|loan| loan.share.fraction()),
            cost: call.cost,
            latency: call.note.latency.as_secs_f64(),
            unix_millis: entry.unix_millis,
            asked: entry.asked,
            answered: entry.index,
            reply: call.note.reply.as_ref().into(),
        })
    }

    /// The same with texts of its own.
    pub(crate) fn to_owned_line(&self) -> CallLine<'static> {
        let own = |text: &std::borrow::Cow<'_, str>| text.clone().into_owned().into();
        CallLine {
            id: own(&self.id),
            verifier: own(&self.verifier),
            failure: self.failure.as_ref().map(own),
            reason: own(&self.reason),
            reply: own(&self.reply),
            ..*self
        }
    }

    /// The score, or how it failed; none if the line says neither or both.
    pub fn outcome(&self) -> Option<Result<f64, Failure>> {
        match (self.score, &self.failure) {
            (Some(score), None) => Some(Ok(score)),
            (None, Some(name)) => failure_of(name).map(Err),
            _ => None,
        }
    }
}

/// What a failure is called.
pub const fn failure_name(failure: Failure) -> &'static str {
    match failure {
        Failure::Void(VoidFailure::NotConnected) => "not-connected",
        Failure::Void(VoidFailure::RateLimited) => "rate-limited",
        Failure::Void(VoidFailure::LostRepeatable) => "lost-to-be-repeated",
        Failure::Blocking(BlockingFailure::BelowLowest) => "below-lowest",
        Failure::Blocking(BlockingFailure::Exhausted) => "exhausted",
        Failure::Counted(failure) => match failure {
            CountedFailure::TimedOut => "timed-out",
            CountedFailure::Crashed => "crashed",
            CountedFailure::Unreadable => "unreadable",
            CountedFailure::Truncated => "truncated",
            CountedFailure::Refused => "refused",
            CountedFailure::Lost => "lost",
            CountedFailure::GivenUp => "given-up",
        },
    }
}

/// The failure of a name.
pub fn failure_of(name: &str) -> Option<Failure> {
    FAILURES.into_iter().find(|&failure| failure_name(failure) == name)
}

/// All ways to fail.
pub const FAILURES: [Failure; 12] = [
    Failure::Void(VoidFailure::NotConnected),
    Failure::Void(VoidFailure::RateLimited),
    Failure::Void(VoidFailure::LostRepeatable),
    Failure::Blocking(BlockingFailure::BelowLowest),
    Failure::Blocking(BlockingFailure::Exhausted),
    Failure::Counted(CountedFailure::TimedOut),
    Failure::Counted(CountedFailure::Crashed),
    Failure::Counted(CountedFailure::Unreadable),
    Failure::Counted(CountedFailure::Truncated),
    Failure::Counted(CountedFailure::Refused),
    Failure::Counted(CountedFailure::Lost),
    Failure::Counted(CountedFailure::GivenUp),
];
