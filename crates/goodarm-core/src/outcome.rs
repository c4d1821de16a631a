//! The outcome of a call: a score, several, an answer to a question, or a failure.

use alloc::boxed::Box;

use crate::units::Label;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The score of a call that scores one attribute.
    Score(f64),
    /// A score for each attribute that the call scores, in the order of
    /// [`Problem::members`](crate::Problem::members); `None` for a score that the reply lacks: for that attribute
    /// alone, the call counts as failed. A score below the attribute's lowest blocks the pair.
    Scores(Box<[Option<f64>]>),
    /// The number of the final answer that a solver or a generator gave to a question; `None` for a vote without a
    /// final answer that can be read.
    Answer(Option<Label>),
    /// The call failed.
    Failed(Failure),
}

impl Outcome {
    /// How the call failed, if it did.
    pub const fn failure(&self) -> Option<Failure> {
        match self {
            Self::Failed(failure) => Some(*failure),
            Self::Score(_) | Self::Scores(_) | Self::Answer(_) => None,
        }
    }

    /// Whether the call failed.
    pub const fn is_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// The score at this index of the attributes that the call scores. A single score is returned for every index.
    pub fn score(&self, member: usize) -> Option<f64> {
        match self {
            Self::Score(score) => Some(*score),
            Self::Scores(scores) => scores.get(member).copied().flatten(),
            Self::Answer(_) | Self::Failed(_) => None,
        }
    }

    /// The number of scores, missing ones included.
    pub const fn score_count(&self) -> usize {
        match self {
            Self::Score(_) => 1,
            Self::Scores(scores) => scores.len(),
            Self::Answer(_) | Self::Failed(_) => 0,
        }
    }
}

/// Why a call has no score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The failure cannot depend on the answer: in most cases the service never began to work. The call must be
    /// made again. It is removed from its stream, and the retry is added at the end.
    Void(VoidFailure),
    /// No number can replace the score, so no later score of the pair can count. Earlier evidence of the pair
    /// stays; the failure is not evidence against the arm.
    Blocking(BlockingFailure),
    /// Anything else. The call counts as the lowest score its model allows.
    Counted(CountedFailure),
}

/// The only failures that cannot depend on the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoidFailure {
    /// No connection was made.
    NotConnected,
    /// The call was throttled before any work, as with HTTP status 429.
    RateLimited,
    /// An exact verifier gave no verdict: it failed, or its reply was lost. The call may have a bill, since the verifier
    /// may have done the work. It is made again, at most [`REPEATS_MAX`] times, since the score never changes: this is
    /// not a second chance. After that, and for any other verifier, this failure counts as the lowest score.
    NoVerdict,
}

/// Failures that end a pair's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockingFailure {
    /// A score below the lowest that the attribute declares. Counting it as the lowest would clip it up.
    BelowLowest,
    /// The verifier has no more scores for the answer, such as a recording at its end.
    Exhausted,
}

/// Failures that may depend on the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CountedFailure {
    /// There was no reply in time.
    TimedOut,
    /// The verifier broke after it began to work.
    Crashed,
    /// The reply has no score that can be read.
    Unreadable,
    /// The reply was cut off.
    Truncated,
    /// The service declined the request.
    Refused,
    /// The call was in flight when the process died.
    Lost,
    /// Too many attempts were void, and no more are made.
    GivenUp,
}

/// How often a call of an exact verifier without a verdict is made again.
pub const REPEATS_MAX: u32 = 3;

impl Failure {
    /// Every failure.
    pub const ALL: [Self; 12] = [
        Self::Void(VoidFailure::NotConnected),
        Self::Void(VoidFailure::RateLimited),
        Self::Void(VoidFailure::NoVerdict),
        Self::Blocking(BlockingFailure::BelowLowest),
        Self::Blocking(BlockingFailure::Exhausted),
        Self::Counted(CountedFailure::TimedOut),
        Self::Counted(CountedFailure::Crashed),
        Self::Counted(CountedFailure::Unreadable),
        Self::Counted(CountedFailure::Truncated),
        Self::Counted(CountedFailure::Refused),
        Self::Counted(CountedFailure::Lost),
        Self::Counted(CountedFailure::GivenUp),
    ];

    /// Its name in files and reports.
    pub const fn name(self) -> &'static str {
        self.entry().0
    }

    /// The failure with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|failure| failure.name() == name)
    }

    /// Its number in journals: a new failure gets a new number, and no number is used again.
    pub const fn code(self) -> u8 {
        self.entry().1
    }

    /// The failure with this number in a journal.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|failure| failure.code() == code)
    }

    /// Whether a call with this failure costs nothing. A call without a verdict may have a bill, since the service may
    /// have done the work.
    pub const fn is_free(self) -> bool {
        match self {
            Self::Void(failure) => !matches!(failure, VoidFailure::NoVerdict),
            Self::Blocking(failure) => matches!(failure, BlockingFailure::Exhausted),
            Self::Counted(_) => false,
        }
    }

    /// Its name and its number.
    const fn entry(self) -> (&'static str, u8) {
        match self {
            Self::Void(VoidFailure::NotConnected) => ("not-connected", 1),
            Self::Void(VoidFailure::RateLimited) => ("rate-limited", 2),
            Self::Void(VoidFailure::NoVerdict) => ("no-verdict", 3),
            Self::Counted(CountedFailure::TimedOut) => ("timed-out", 65),
            Self::Counted(CountedFailure::Crashed) => ("crashed", 66),
            Self::Counted(CountedFailure::Unreadable) => ("unreadable", 67),
            Self::Counted(CountedFailure::Truncated) => ("truncated", 68),
            Self::Counted(CountedFailure::Refused) => ("refused", 69),
            Self::Counted(CountedFailure::Lost) => ("lost", 70),
            Self::Counted(CountedFailure::GivenUp) => ("given-up", 71),
            Self::Blocking(BlockingFailure::BelowLowest) => ("below-lowest", 129),
            Self::Blocking(BlockingFailure::Exhausted) => ("exhausted", 130),
        }
    }
}
