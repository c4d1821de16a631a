//! Distinguishes a server that throttles all calls from a server that throttles the calls on one answer. A
//! server may reply "too many requests", or that a key is wrong, because of the content of a request. While no
//! call at all gets a reply, the server has an outage. A call that is throttled several times while others get
//! replies is given up and counts: the cause may be the answer that it is about.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use goodarm_core::ArmId;

use super::{State, Throttle, ThrottleClosed, Turn};

/// Which requests got replies. Requests are numbered in the order of sending.
#[derive(Debug, Default)]
pub(super) struct ThrottledStats {
    pub(super) sent_count: u64,
    /// The number of the last request with a reply.
    replied: u64,
    /// The number of the last request with a reply whose call had been throttled before: the server was busy.
    got_through: u64,
    /// For an answer: the number of its calls that were given up since one of them got a reply.
    refused_answers: BTreeMap<ArmId, u32>,
    /// For an answer: the strikes (see `STRIKES_MAX`) of its calls that were given up.
    strikes: BTreeMap<ArmId, u32>,
    /// Calls in flight that were throttled.
    pub(super) throttled_count: usize,
    /// Calls in flight that were throttled while other calls got replies.
    singled_out_count: usize,
}

impl ThrottledStats {
    pub(super) fn record_reply(&mut self, request: u64) {
        self.replied = self.replied.max(request);
    }

    /// Whether any request got a reply.
    pub(super) const fn has_replies(&self) -> bool {
        self.replied > 0
    }
}

/// What is given up when a call was throttled too often, with the reason.
#[derive(Debug)]
pub(crate) enum GiveUp {
    /// This call, which counts as a failure.
    Call(String),
    /// All calls on the answer. They cost nothing, so the budget would never end them.
    Answer(String),
}

/// Counts how often one call was throttled.
#[derive(Debug)]
pub(crate) struct AttemptTracker<'a> {
    throttle: &'a Throttle,
    count: u32,
    strikes: u32,
    /// Whether other calls got replies between its attempts, so that it has at least `STRIKE` strikes.
    is_singled_out: bool,
    /// The number of requests that had been sent when the call was last throttled.
    sent_before: u64,
}

impl Throttle {
    /// A clone of the throttle for a call on this answer, or on the question with this index.
    #[must_use]
    pub fn on_answer(&self, answer: ArmId) -> Self {
        Self { answer: Some(answer), requests: Arc::default(), ..self.clone() }
    }

    /// Restores how many calls on this answer were given up before the run was resumed.
    pub(crate) fn restore_throttled(&self, answer: ArmId, count: u32) {
        self.state().stats.refused_answers.insert(answer, count);
    }

    /// Whether calls on the throttle's answer were given up before. If so, another throttled call on the answer
    /// is not a sign of an outage.
    pub(crate) fn is_refused(&self) -> bool {
        let state = self.state();
        self.answer.is_some_and(|answer| state.stats.refused_answers.contains_key(&answer))
    }

    /// The number of calls in flight that were throttled. They do not hold back other calls.
    pub(crate) fn throttled_count(&self) -> usize {
        self.state().stats.throttled_count
    }

    /// Begins to count the throttled attempts of one call.
    pub(crate) const fn track_attempts(&self) -> AttemptTracker<'_> {
        AttemptTracker {
            throttle: self,
            count: 0,
            strikes: 0,
            is_singled_out: false,
            sent_before: 0,
        }
    }
}

impl<'a> AttemptTracker<'a> {
    /// Waits for the right to send the next request of the call.
    pub(crate) async fn turn(&self) -> Result<Turn<'a>, ThrottleClosed> {
        if self.count == 0 { self.throttle.turn().await } else { self.throttle.retry_turn().await }
    }

    /// The pause that a server asked for when it throttled the call, as far as it holds for other calls: it does not
    /// if they got replies while calls on this answer were throttled, unless the server is only busy.
    pub(crate) fn believed(&self, retry_after: Option<Duration>) -> Option<Duration> {
        let stats = &self.throttle.state().stats;
        let earlier = self.throttle.answer.and_then(|answer| stats.strikes.get(&answer));
        let has_strikes = earlier.is_some_and(|strikes| *strikes > 0);
        let is_alone = has_strikes || self.count > 0 && stats.replied > self.sent_before;
        let is_busy = self.count > 0 && stats.got_through > self.sent_before;
        if is_alone && !is_busy { retry_after.map(|_| Duration::ZERO) } else { retry_after }
    }

    /// The call was throttled again. Returns what is given up, or `None` if the call is tried again.
    pub(crate) fn throttled_again(&mut self) -> Option<GiveUp> {
        let mut guard = self.throttle.state();
        let state = &mut *guard;
        self.note(&mut state.stats);
        let (answer, count) = (self.throttle.answer, self.count);
        let refused = &mut state.stats.refused_answers;
        if let Some(given_up) = answer.and_then(|answer| refused.get_mut(&answer)) {
            *given_up += 1;
            let reason = "throttled like earlier calls on this answer".into();
            let is_enough = *given_up >= CALLS_GIVEN_UP_MAX;
            return Some(if is_enough { GiveUp::Answer(reason) } else { GiveUp::Call(reason) });
        }
        let others = "times while other calls got replies";
        let reason = match self.throttle.limits.retries {
            Some(retries) if count > retries => format!("given up after {count} attempts"),
            None if self.strikes >= STRIKES_MAX => format!("throttled {count} {others}"),
            None if self.is_left_alone(state) => {
                self.strikes = STRIKES_MAX;
                // The service replied to other calls, so it has no outage.
                state.addresses.reopen();
                format!("throttled {count} {others}, and nothing else is left to do")
            }
            _ => return None,
        };
        if let Some(answer) = answer {
            let strikes = state.stats.strikes.entry(answer).or_default();
            *strikes += self.strikes;
            if *strikes >= STRIKES_MAX {
                state.stats.refused_answers.insert(answer, 1);
            }
        }
        Some(GiveUp::Call(reason))
    }

    /// Counts that the call was throttled, and adds strikes if other calls got replies since the last time.
    fn note(&mut self, stats: &mut ThrottledStats) {
        self.count += 1;
        if self.count == 1 {
            stats.throttled_count += 1;
        } else if stats.replied > self.sent_before {
            let is_busy = stats.got_through > self.sent_before;
            self.strikes += if is_busy { STRIKE_IF_BUSY } else { STRIKE };
        }
        if self.strikes >= STRIKE && !self.is_singled_out {
            self.is_singled_out = true;
            stats.singled_out_count += 1;
        }
        self.sent_before = stats.sent_count;
    }

    /// Whether all calls in flight were throttled while other calls got replies, and no call has got a reply
    /// for half of the patience. While there is other work, another call is sent as a test. If the service were
    /// down, the test call would be throttled while no other call gets a reply, and the result would be false.
    fn is_left_alone(&self, state: &State) -> bool {
        let ThrottledStats { throttled_count, singled_out_count, .. } = state.stats;
        let is_alone = throttled_count == singled_out_count
            && state.calls_in_flight as usize <= throttled_count;
        let since = state.addresses.silent_since();
        let is_long =
            since.is_some_and(|since| since.elapsed() >= self.throttle.limits.patience / 2);
        self.is_singled_out && is_alone && is_long
    }

    /// The request of this turn got a reply.
    pub(crate) fn got_through(&self, turn: &Turn<'_>) {
        let mut state = self.throttle.state();
        if self.count > 0 {
            state.stats.got_through = state.stats.got_through.max(turn.number);
        }
        if let Some(answer) = &self.throttle.answer {
            state.stats.refused_answers.remove(answer);
            state.stats.strikes.remove(answer);
        }
    }
}

impl Drop for AttemptTracker<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            let mut state = self.throttle.state();
            state.stats.throttled_count -= 1;
            state.stats.singled_out_count -= usize::from(self.is_singled_out);
        }
    }
}

/// A call with this many strikes is given up. Each time that it is throttled again and other calls got replies
/// in between, it gets `STRIKE` strikes, or `STRIKE_IF_BUSY` if one of these calls had been throttled before.
const STRIKES_MAX: u32 = 20;
const STRIKE: u32 = 4;
/// After this many calls in a row on one answer were given up, no more are made.
const CALLS_GIVEN_UP_MAX: u32 = 3;
/// A busy server throttles calls at random. It is unlikely that it throttles one call twenty times.
const STRIKE_IF_BUSY: u32 = 1;
