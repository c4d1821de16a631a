//! Whether every call is turned away, or one: a server may say "too many requests", or that a key is
//! wrong, because of what is in a request. While nothing at all is answered, that is the server's
//! outage. A call that is turned away again and again while others are answered is given up, and
//! counts: it may be for its answer.

use std::collections::BTreeMap;

use goodarm_core::ArmId;

use super::{State, Throttle, ThrottleClosed, Turn};

/// What became of requests, which are numbered in the order in which they are sent.
#[derive(Debug, Default)]
pub(super) struct ThrottledStats {
    pub(super) sent_count: u64,
    /// The last request that was answered.
    answered: u64,
    /// The last one by which a call got through that had been turned away before: the server was busy.
    got_through: u64,
    /// Answers of which calls were given up so, and how many since one got through.
    refused_answers: BTreeMap<ArmId, u32>,
    /// Of answers whose calls were given up after a number of attempts: what speaks against them so far.
    strikes: BTreeMap<ArmId, u32>,
    /// Calls that were turned away and go on trying.
    pub(super) throttled_count: usize,
    /// Those of them that others got through beside.
    singled_out_count: usize,
}

impl ThrottledStats {
    pub(super) fn answered(&mut self, request: u64) {
        self.answered = self.answered.max(request);
    }
}

/// What becomes of a call that was turned away too often.
#[derive(Debug)]
pub(crate) enum GiveUp {
    /// It counts.
    Call(String),
    /// It is not the first one on its answer, which takes no more: calls that cost nothing would go on
    /// for ever.
    Answer(String),
}

/// How often one call was turned away.
#[derive(Debug)]
pub(crate) struct AttemptTracker<'a> {
    throttle: &'a Throttle,
    count: u32,
    strikes: u32,
    /// Whether others were answered between two times that it was turned away.
    is_singled_out: bool,
    /// How many requests had been sent when it was turned away last.
    sent_before: u64,
}

impl Throttle {
    /// The throttle of a call on this answer: one whose calls alone are turned away is remembered.
    #[must_use]
    pub fn on_answer(&self, answer: ArmId) -> Self {
        Self { answer: Some(answer), ..self.clone() }
    }

    /// Remembers that so many calls on this answer alone were turned away.
    pub(crate) fn restore_throttled(&self, answer: ArmId, count: u32) {
        self.state().stats.refused_answers.insert(answer, count);
    }

    /// Whether calls on this answer alone were turned away before: being turned away again then says
    /// nothing about the verifier.
    pub(crate) fn is_refused(&self) -> bool {
        let state = self.state();
        self.answer.is_some_and(|answer| state.stats.refused_answers.contains_key(&answer))
    }

    /// Calls that were turned away and go on trying: they keep no others from being made.
    pub(crate) fn throttled_count(&self) -> usize {
        self.state().stats.throttled_count
    }

    /// No refusal yet of a call that begins.
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

    /// The call was turned away once more; says why it is given up, if it is.
    pub(crate) fn throttled_again(&mut self) -> Option<GiveUp> {
        let mut guard = self.throttle.state();
        let state = &mut *guard;
        self.note(&mut state.stats);
        let (answer, count) = (self.throttle.answer, self.count);
        let refused = &mut state.stats.refused_answers;
        if let Some(given_up) = answer.and_then(|answer| refused.get_mut(&answer)) {
            *given_up += 1;
            let reason = "turned away like earlier calls on this answer".into();
            let is_enough = *given_up >= CALLS_GIVEN_UP_MAX;
            return Some(if is_enough { GiveUp::Answer(reason) } else { GiveUp::Call(reason) });
        }
        let others = "times while other calls were answered";
        let reason = match self.throttle.limits.retries {
            Some(retries) if count > retries => format!("given up after {count} attempts"),
            None if self.strikes >= STRIKES_MAX => format!("turned away {count} {others}"),
            None if self.is_left_alone(state) => {
                self.strikes = STRIKES_MAX;
                // It is not the verifier that is in outage.
                state.addresses.reopen();
                format!("turned away {count} {others}, and nothing else is left to do")
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

    /// Takes down that it was turned away.
    fn note(&mut self, stats: &mut ThrottledStats) {
        self.count += 1;
        if self.count == 1 {
            stats.throttled_count += 1;
        } else if stats.answered > self.sent_before {
            let is_busy = stats.got_through > self.sent_before;
            self.strikes += if is_busy { STRIKE_IF_BUSY } else { STRIKE };
        }
        if self.strikes >= STRIKE && !self.is_singled_out {
            self.is_singled_out = true;
            stats.singled_out_count += 1;
        }
        self.sent_before = stats.sent_count;
    }

    /// Whether all calls that there are were turned away while others got through, and nobody has been
    /// answered since for half of the patience. While there is other work, one of its calls is sent to find out:
    /// if the verifier were down, that one would be among these, and nobody would have got through beside it.
    fn is_left_alone(&self, state: &State) -> bool {
        let ThrottledStats { throttled_count, singled_out_count, .. } = state.stats;
        let is_alone =
            throttled_count == singled_out_count && state.calls_out as usize <= throttled_count;
        let since = state.addresses.silent_since();
        let is_long =
            since.is_some_and(|since| since.elapsed() >= self.throttle.limits.patience / 2);
        self.is_singled_out && is_alone && is_long
    }

    /// The call is answered by this turn's request.
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

/// Being turned away so often ends a call: after the first time five more, others being answered in
/// between and none of those getting through that were turned away, too.
const STRIKES_MAX: u32 = 20;
const STRIKE: u32 = 4;
/// After so many calls on one answer that were given up, none getting through, no more are made.
const CALLS_GIVEN_UP_MAX: u32 = 3;
/// A busy server turns away whom it will; that one call is hit twenty times is still no chance.
const STRIKE_IF_BUSY: u32 = 1;
