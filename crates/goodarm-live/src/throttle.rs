//! When the next request to a verifier may be sent, and to which of its addresses: a throttle keeps to
//! the rate and to the number of requests in flight, backs off when told to, and closes while the
//! verifier is down. A verifier that has yet to give its first score is on trial: it gets few requests,
//! and few failures end it.

mod addresses;
mod backoff;
mod throttled_calls;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use goodarm_core::{ArmId, VoidFailure};
use goodarm_record::notice::Condition;
use tokio::sync::Notify;
use tokio::time::Instant;

use self::addresses::{AddressUpdate, Addresses};
use self::backoff::{Backoff, OutageKind};
pub(crate) use self::throttled_calls::GiveUp;
use self::throttled_calls::ThrottledStats;
use crate::secrets::Redactor;
use crate::transcript::Transcript;

/// What the job says about how often a verifier may be called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallLimits {
    /// Requests in flight at once.
    pub concurrency: usize,
    /// Requests per second.
    pub rate: Option<f64>,
    /// Void attempts of one call before it counts as given up; without it, as many as it takes to tell
    /// one that is turned away for its answer from a verifier that turns all away.
    pub retries: Option<u32>,
    /// How long the verifier may be down.
    pub patience: Duration,
}

/// The run is stopping: send nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleClosed;

/// The throttle of one verifier; its clones are one throttle, shared by all calls.
#[derive(Clone, Debug)]
pub struct Throttle {
    limits: CallLimits,
    transcript: Arc<Transcript>,
    redactor: Redactor,
    /// The answer that the call is on, if that is known.
    answer: Option<ArmId>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Calls that wait for a turn, of which only the first looks out for one: were all of them woken by
    /// every change, many would keep each other from going.
    queue: tokio::sync::Mutex<()>,
    /// Of those that were never turned away one at a time stands in the queue, and the others before it.
    gate: tokio::sync::Mutex<()>,
    changed: Notify,
    /// For calls that do not stand in the queue: those that the trial holds, and those that were turned
    /// away. Apart, so that they take no place from a request.
    apart_changed: Notify,
}

#[derive(Debug)]
struct State {
    stopping: bool,
    out: usize,
    next_turn_at: Option<Instant>,
    /// Attempts on trial that reached nobody.
    unreached_in_a_row: u32,
    is_on_trial: bool,
    /// Calls that have begun and not ended; one call may send several requests.
    calls_out: u32,
    unscored_in_a_row: u32,
    retry_count: u64,
    /// What is wrong with the verifier, whatever the address.
    backoff: Backoff,
    addresses: Addresses,
    stats: ThrottledStats,
}

/// The right to send one request; give back what became of it.
#[derive(Debug)]
pub struct Turn<'a> {
    throttle: &'a Throttle,
    address: usize,
    /// Of the request, in the order in which they are sent.
    number: u64,
}

impl Throttle {
    /// An open throttle.
    pub fn new(limits: CallLimits) -> Self {
        let state = State {
            stopping: false,
            out: 0,
            next_turn_at: None,
            unreached_in_a_row: 0,
            is_on_trial: false,
            calls_out: 0,
            unscored_in_a_row: 0,
            retry_count: 0,
            backoff: Backoff::OPEN,
            addresses: Addresses::new(1, limits.concurrency),
            stats: ThrottledStats::default(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            queue: tokio::sync::Mutex::const_new(()),
            gate: tokio::sync::Mutex::const_new(()),
            changed: Notify::const_new(),
            apart_changed: Notify::const_new(),
        });
        let redactor = Redactor::default();
        Self { limits, transcript: Arc::default(), redactor, answer: None, shared }
    }

    /// The throttle of a verifier that has never given a score.
    #[must_use]
    pub fn on_trial(self) -> Self {
        self.state().is_on_trial = true;
        self
    }

    /// The throttle of a verifier whose requests are spread over so many addresses.
    #[must_use]
    pub fn with_addresses(self, address_count: usize) -> Self {
        self.state().addresses = Addresses::new(address_count, self.limits.concurrency);
        self
    }

    /// The throttle of calls that are taken down word for word.
    #[must_use]
    pub fn with_transcript(self, transcript: Transcript) -> Self {
        Self { transcript: Arc::new(transcript), ..self }
    }

    /// The throttle of a verifier whose reasons must not hold certain secrets.
    #[must_use]
    pub(crate) fn with_redactor(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    /// Where requests and replies are taken down.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Waits until a call may begin: those of a verifier on trial may be wasted, so there are few. Every
    /// call ends in one of the three ways below.
    pub async fn begin(&self) {
        while !self.try_begin() {
            // Queued before the next look, so that no change between look and wait is missed.
            let mut changed = pin!(self.shared.apart_changed.notified());
            changed.as_mut().enable();
            if self.try_begin() {
                return;
            }
            changed.await;
        }
    }

    fn try_begin(&self) -> bool {
        let mut state = self.state();
        let begun = state.calls_out + state.unscored_in_a_row;
        let is_held = state.is_on_trial && begun >= UNSCORED_ON_TRIAL_MAX && !state.stopping;
        state.calls_out += u32::from(!is_held);
        !is_held
    }

    /// A call brought a score: the verifier works.
    pub fn scored(&self) {
        let mut state = self.state();
        state.calls_out = state.calls_out.saturating_sub(1);
        state.unscored_in_a_row = 0;
        let was_on_trial = std::mem::replace(&mut state.is_on_trial, false);
        let had_outage = state.backoff.end(|kind| kind == OutageKind::Unscored);
        if was_on_trial || had_outage {
            self.shared.apart_changed.notify_waiters();
            self.shared.changed.notify_waiters();
        }
    }

    /// A call that was made brought no score, in whatever way; says whether the verifier is on trial.
    pub fn unscored(&self, reason: &str) -> bool {
        let mut state = self.state();
        state.calls_out = state.calls_out.saturating_sub(1);
        state.unscored_in_a_row += 1;
        if state.is_on_trial && state.unscored_in_a_row >= UNSCORED_ON_TRIAL_MAX {
            state.backoff.close(None, OutageKind::NeverScored, reason.to_owned());
        } else if state.unscored_in_a_row >= UNSCORED_MAX {
            state.backoff.close(None, OutageKind::Unscored, reason.to_owned());
        }
        state.is_on_trial
    }

    /// A call was not made; says whether the verifier is on trial.
    pub fn unmade(&self) -> bool {
        let mut state = self.state();
        state.calls_out = state.calls_out.saturating_sub(1);
        if state.is_on_trial {
            self.shared.apart_changed.notify_waiters();
        }
        state.is_on_trial
    }

    /// Why nothing more is sent, ever.
    pub fn final_reason(&self) -> Option<String> {
        self.state().backoff.final_outage().map(|outage| outage.reason.clone())
    }

    /// Waits for the right to send one request, behind those that wait already. There is none for a
    /// verifier that is closed for good.
    pub async fn turn(&self) -> Result<Turn<'_>, ThrottleClosed> {
        let _admitted = self.shared.gate.lock().await;
        loop {
            if let Some(turn) = self.turn_in_queue(|| false).await? {
                return Ok(turn);
            }
        }
    }

    /// The same for a call that was turned away. It lets one of the others find out whether the pause is
    /// over, and then goes before the rest of them: behind all, it might always come too late. If there
    /// is another pause by then, it steps aside again, or many such calls would keep the others away.
    pub(crate) async fn retry_turn(&self) -> Result<Turn<'_>, ThrottleClosed> {
        let is_paused = || self.state().closed_until(&self.limits).is_some();
        loop {
            self.pause_over().await;
            if let Some(turn) = self.turn_in_queue(is_paused).await? {
                return Ok(turn);
            }
        }
    }

    /// The first of those that wait gets the next turn, unless it leaves before that.
    async fn turn_in_queue(
        &self,
        leaves: impl Fn() -> bool,
    ) -> Result<Option<Turn<'_>>, ThrottleClosed> {
        let _first = self.shared.queue.lock().await;
        loop {
            if leaves() {
                return Ok(None);
            }
            if let Ok(turn) = self.try_turn()? {
                return Ok(Some(turn));
            }
            // Queued before the next look, so that no change between look and wait is missed.
            let mut changed = pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            match self.try_turn()? {
                Ok(turn) => return Ok(Some(turn)),
                Err(Obstacle::Others) => changed.await,
                Err(Obstacle::Until(instant)) => {
                    tokio::select! {
                        biased;
                        () = changed => {}
                        () = tokio::time::sleep_until(instant) => {}
                    }
                }
            }
        }
    }

    fn try_turn(&self) -> Result<Result<Turn<'_>, Obstacle>, ThrottleClosed> {
        let mut state = self.state();
        if state.stopping || state.backoff.final_outage().is_some() {
            return Err(ThrottleClosed);
        }
        let address = match state.address(&self.limits) {
            Ok(address) => address,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        state.out += 1;
        state.stats.sent_count += 1;
        state.addresses.sent(address);
        Ok(Ok(Turn { throttle: self, address, number: state.stats.sent_count }))
    }

    async fn pause_over(&self) {
        loop {
            let mut changed = pin!(self.shared.apart_changed.notified());
            changed.as_mut().enable();
            let Some(until) = self.state().closed_until(&self.limits) else { return };
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    /// Calls that wait for a turn get none.
    pub fn stop(&self) {
        self.state().stopping = true;
        self.shared.apart_changed.notify_waiters();
        self.shared.changed.notify_waiters();
    }

    /// Gives turns again after a stop, and forgets what went wrong before it.
    pub fn reopen(&self) {
        let mut state = self.state();
        if std::mem::replace(&mut state.stopping, false) {
            state.backoff = Backoff::OPEN;
            state.addresses.reopen();
            (state.unscored_in_a_row, state.unreached_in_a_row) = (0, 0);
        }
    }

    /// How the verifier is doing.
    pub fn condition(&self) -> Condition {
        let state = self.state();
        let now = Instant::now();
        let Some(outage) = state.backoff.outage() else {
            return state.addresses.condition(now, self.limits.patience);
        };
        let (since, reason) = (now.duration_since(outage.since), outage.reason.clone());
        match outage.kind {
            OutageKind::NeverScored => Condition::NeverScored { reason },
            OutageKind::Hopeless | OutageKind::Mistrusted if state.is_on_trial => {
                Condition::NeverScored { reason }
            }
            OutageKind::Mistrusted => Condition::Mistrusted { reason },
            OutageKind::Hopeless => Condition::GivenUp { reason },
            _ if since > self.limits.patience => Condition::GivenUp { reason },
            _ => Condition::Down { since, reason },
        }
    }

    /// Requests that were sent and had to be sent again.
    pub fn retry_count(&self) -> u64 {
        self.state().retry_count
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a request must wait.
#[derive(Debug, PartialEq, Eq)]
enum Obstacle {
    Until(Instant),
    Others,
}

impl State {
    /// Where the next request goes, if it may be sent now.
    fn address(&mut self, limits: &CallLimits) -> Result<usize, Obstacle> {
        let now = Instant::now();
        if let Some(until) = self.backoff.closed_until(now) {
            return Err(Obstacle::Until(until));
        }
        // While nothing is scored, one request at a time finds out.
        let allowed = if self.backoff.outage().is_some() { 1 } else { limits.concurrency };
        if self.out >= allowed {
            return Err(Obstacle::Others);
        }
        let address = self.addresses.choose(now, limits.patience)?;
        if let Some(rate) = limits.rate {
            match self.next_turn_at {
                Some(at) if now < at => return Err(Obstacle::Until(at)),
                at => {
                    let from = at.map_or(now, |at| at.max(now - RATE_BURST));
                    self.next_turn_at = Some(
                        from + Duration::from_secs_f64((1.0 / rate).min(INTERVAL_SECONDS_MAX)),
                    );
                }
            }
        }
        Ok(address)
    }

    /// Until when nothing is sent, if there is such a pause; there is none for one that stops.
    fn closed_until(&self, limits: &CallLimits) -> Option<Instant> {
        if self.stopping || self.backoff.final_outage().is_some() {
            return None;
        }
        let now = Instant::now();
        self.backoff.closed_until(now).or_else(|| {
            match self.addresses.choose(now, limits.patience) {
                Err(Obstacle::Until(until)) => Some(until),
                Ok(_) | Err(Obstacle::Others) => None,
            }
        })
    }
}

impl Turn<'_> {
    /// The number of the address that the request goes to, counted from 0.
    pub const fn address(&self) -> usize {
        self.address
    }

    /// The verifier answered, whatever it said.
    pub fn answered(self) {
        let mut state = self.throttle.state();
        state.unreached_in_a_row = 0;
        state.stats.answered(self.number);
        let AddressUpdate { is_over, has_grown } = state.addresses.answered(self.address);
        drop(state);
        if is_over {
            self.throttle.shared.apart_changed.notify_waiters();
            self.throttle.shared.changed.notify_waiters();
        } else if has_grown {
            self.throttle.shared.changed.notify_one();
        }
    }

    /// The verifier never began to work; `retry_after` is what it asked for. One that has never given a
    /// score and does not say that it will be back is not waited for.
    pub fn refused(self, failure: VoidFailure, retry_after: Option<Duration>, reason: String) {
        let reason = self.throttle.redactor.remove(reason);
        let mut state = self.throttle.state();
        state.retry_count += 1;
        let is_one_more = state.addresses.refused(self.address, failure, retry_after, reason);
        let is_unreached = failure != VoidFailure::RateLimited && retry_after.is_none();
        state.unreached_in_a_row += u32::from(is_one_more && is_unreached);
        if state.is_on_trial && state.unreached_in_a_row >= UNREACHED_ON_TRIAL_MAX {
            let reasons = state.addresses.reasons();
            state.backoff.close(None, OutageKind::NeverScored, reasons);
        }
    }

    /// The verifier cannot begin to work, and no waiting changes that.
    pub fn hopeless(self, reason: String) {
        let reason = self.throttle.redactor.remove(reason);
        self.throttle.state().backoff.close(None, OutageKind::Hopeless, reason);
    }

    /// Nobody knows any more which of the verifier's words belong to which request.
    pub fn mistrusted(self, reason: String) {
        let reason = self.throttle.redactor.remove(reason);
        self.throttle.state().backoff.close(None, OutageKind::Mistrusted, reason);
    }

    /// The verifier broke after it began to work: the call counts, and after several in a row the
    /// address is closed instead of feeding it more.
    pub fn broke(self, reason: &str) {
        let reason = &self.throttle.redactor.remove(reason.to_owned());
        let mut state = self.throttle.state();
        state.unreached_in_a_row = 0;
        state.addresses.broke(self.address, reason);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.throttle.state();
        state.out -= 1;
        state.addresses.returned(self.address);
        drop(state);
        // One place is free: waking all that wait would cost more than the calls themselves.
        self.throttle.shared.changed.notify_one();
    }
}

/// A slow start may be made up for by so much.
const RATE_BURST: Duration = Duration::from_millis(10);
/// A rate that is lower still is no different within a lifetime.
const INTERVAL_SECONDS_MAX: f64 = 1e9;
/// So many calls without a score end a verifier that has never given one, and no more than these are
/// paid for to find that out.
const UNSCORED_ON_TRIAL_MAX: u32 = 5;
/// So many attempts in a row that reach nobody, in a few seconds, end one that has never given a score:
/// an address or a key is wrong more often than a server is about to start.
const UNREACHED_ON_TRIAL_MAX: u32 = 5;
/// So many calls in a row without a score close the throttle of one that has: answers of which the
/// verifier makes nothing may well stand together.
const UNSCORED_MAX: u32 = 20;

#[cfg(test)]
mod tests;
