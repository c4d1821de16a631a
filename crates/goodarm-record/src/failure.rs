//! The names of failures in files, and which of them cost nothing.

use goodarm_core::{BlockingFailure, CountedFailure, Failure, VoidFailure};

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

/// Whether a call that failed so costs nothing. What was lost on its way back may have been made, and
/// is paid.
pub const fn is_free(failure: Failure) -> bool {
    match failure {
        Failure::Void(failure) => !matches!(failure, VoidFailure::LostRepeatable),
        Failure::Blocking(failure) => matches!(failure, BlockingFailure::Exhausted),
        Failure::Counted(_) => false,
    }
}
