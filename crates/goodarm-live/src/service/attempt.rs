//! One call as a series of attempts: wait for a turn, try, and try again as long as the service began no work.

use std::time::Duration;

use goodarm_core::{CountedFailure, VoidFailure};
use goodarm_record::reply::{NOTHING, Reply, Verdict};

use crate::throttle::{GiveUp, Throttle, ThrottleClosed};

/// The result of one attempt.
#[derive(Clone, Debug)]
pub enum Attempt<T> {
    /// The service replied, and the call is over.
    Answered(T),
    /// The service broke after it began to work: the call is over and counts. Several of these in a row pause
    /// the service.
    Broke(Reply),
    /// No work was begun, for a reason that does not depend on the candidate: the attempt may be repeated.
    Void {
        /// The kind of failure.
        failure: VoidFailure,
        /// The pause that the service asked for; `Some` if it announces that it will be back.
        retry_after: Option<Duration>,
        /// What went wrong.
        reason: String,
    },
    /// No work can ever begin, for any candidate: the service is given up.
    Hopeless {
        /// Why.
        reason: String,
    },
    /// It is unknown which output of the service belongs to which request, even for earlier calls: the call counts,
    /// and the service is given up.
    Mistrusted(Reply),
}

/// Makes attempts at one call until one of them ends it; each waits for its turn. If the service sends no reply, the
/// error is a reply that says why: the service broke or is given up, the run stops, the `retries` of the job are used
/// up, or the call is throttled again and again while other calls get replies.
pub async fn attempts<T, F>(throttle: &Throttle, mut attempt: impl FnMut() -> F) -> Result<T, Reply>
where
    F: Future<Output = Attempt<T>>,
{
    attempts_at(throttle, |_| attempt()).await
}

/// Like [`attempts`], for a service with several addresses ([`super::Manifest::addresses`]). Each attempt gets
/// the number of its address, counted from 0. After a void attempt the next one may go to another address, since no
/// work was begun; any other attempt ends the call.
pub async fn attempts_at<T, F>(
    throttle: &Throttle,
    mut attempt: impl FnMut(usize) -> F,
) -> Result<T, Reply>
where
    F: Future<Output = Attempt<T>>,
{
    let mut tracker = throttle.track_attempts();
    loop {
        let turn = match tracker.turn().await {
            Ok(turn) => turn,
            Err(ThrottleClosed) => {
                return Err(not_sent(throttle.final_reason().unwrap_or_default()));
            }
        };
        let made = attempt(turn.address()).await;
        match made {
            Attempt::Void { .. } | Attempt::Hopeless { .. } => turn.record_throttled(),
            Attempt::Answered(_) | Attempt::Broke(_) | Attempt::Mistrusted(_) => {
                turn.record_delivery();
            }
        }
        match made {
            Attempt::Answered(outcome) => {
                tracker.got_through(&turn);
                turn.record_reply();
                return Ok(outcome);
            }
            Attempt::Broke(reply) => {
                turn.record_broken(reason_of(&reply));
                return Err(reply);
            }
            Attempt::Hopeless { reason } => {
                turn.close_unstartable(reason.clone());
                return Err(not_sent(reason));
            }
            Attempt::Mistrusted(reply) => {
                turn.close_unmatched_output(reason_of(&reply).to_owned());
                return Err(reply);
            }
            Attempt::Void { failure, retry_after, reason } => {
                if !throttle.is_refused() {
                    turn.refused(failure, tracker.believed(retry_after), reason.clone());
                }
                match tracker.throttled_again() {
                    None => {}
                    Some(GiveUp::Call(why)) => {
                        let reason = format!("{why}: {reason}");
                        let failed = Reply::failed(CountedFailure::GivenUp, reason);
                        return Err(Reply { usage: NOTHING, ..failed });
                    }
                    Some(GiveUp::Answer(why)) => {
                        return Err(Reply::exhausted(format!("{why}: {reason}")));
                    }
                }
            }
        }
    }
}

/// Why a call failed; empty if it did not fail.
pub(crate) fn reason_of(reply: &Reply) -> &str {
    match &reply.verdict {
        Verdict::Failed(_, reason) | Verdict::Exhausted(reason) => reason,
        _ => "",
    }
}

/// The reply of a call that never began.
fn not_sent(reason: String) -> Reply {
    Reply { text: reason, ..Reply::void(VoidFailure::NotConnected) }
}
