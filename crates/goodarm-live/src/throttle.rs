//! Decides when the next request to a service may be sent, and to which of its addresses. A throttle enforces
//! the rate and the number of requests in flight, backs off when the server asks for it, and closes while the
//! service is down. A service that never gave a score is on trial: it gets few requests, and it is closed for good
//! after few failures.

mod addresses;
mod backoff;
mod throttled_calls;

use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use goodarm_core::{ArmId, VoidFailure};
use goodarm_record::notice::Condition;
use goodarm_record::reply::Delivery;
use tokio::sync::Notify;
use tokio::time::Instant;

use self::addresses::{AddressUpdate, Addresses};
use self::backoff::{Backoff, OutageKind};
pub(crate) use self::throttled_calls::GiveUp;
use self::throttled_calls::ThrottledStats;
use crate::secrets::Redactor;
use crate::transcript::Transcript;

/// How often a service may be called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallLimits {
    /// The most requests in flight at once.
    pub concurrency: usize,
    /// The most requests per second; `None` if there is no limit.
    pub rate: Option<f64>,
    /// Retries of one call after failed attempts (429, 503, no connection) before it is given up. `None`:
    /// unlimited during an outage; five while other calls get replies (up to twenty if the server is busy).
    pub retries: Option<u32>,
    /// How long the service may be down before it is given up.
    pub patience: Duration,
}

/// The run is stopping, or the service is closed for good: no request may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleClosed;

/// The throttle of one service. All calls share it: clones have the same state.
#[derive(Clone, Debug)]
pub struct Throttle {
    limits: CallLimits,
    transcript: Arc<Transcript>,
    redactor: Redactor,
    /// The index of the answer or question that the call is about, if known.
    answer: Option<ArmId>,
    /// The requests of the call.
    requests: Arc<CallRequests>,
    shared: Arc<Shared>,
}

/// The requests of one call.
#[derive(Debug)]
struct CallRequests {
    /// Requests that began no work.
    throttled_count: AtomicU32,
    /// The index of the address of the last request that did; [`u32::MAX`] before the first.
    address: AtomicU32,
}

impl Default for CallRequests {
    fn default() -> Self {
        Self { throttled_count: AtomicU32::new(0), address: AtomicU32::new(u32::MAX) }
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// The queue of calls that wait for a turn. Only the first call is woken: waking all of them on each change
    /// would take more time than the calls.
    queue: tokio::sync::Mutex<()>,
    /// The first attempts of calls wait here, and enter the queue one at a time. Retries do not wait here.
    new_calls_gate: tokio::sync::Mutex<()>,
    changed: Notify,
    /// Wakes calls outside the queue: calls that the trial holds back, and throttled calls. Separate from
    /// `changed`, so that they do not consume the wake-up of a call in the queue.
    outside_queue_changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    stopping: bool,
    requests_in_flight: usize,
    next_turn_at: Option<Instant>,
    /// Failed attempts in a row without a connection and without Retry-After.
    unreached_in_a_row: u32,
    is_on_trial: bool,
    /// Calls that have begun and not ended. One call may send several requests.
    calls_in_flight: u32,
    unscored_in_a_row: u32,
    retry_count: u64,
    /// The outage of the service as a whole.
    backoff: Backoff,
    addresses: Addresses,
    stats: ThrottledStats,
}

/// The right to send one request. Its methods report the result of the request.
#[derive(Debug)]
pub struct Turn<'a> {
    throttle: &'a Throttle,
    address: usize,
    /// The number of the request, in the order of sending.
    number: u64,
}

impl Throttle {
    /// An open throttle.
    pub fn new(limits: CallLimits) -> Self {
        let (transcript, redactor) = (Arc::default(), Redactor::default());
        let (requests, shared) = (Arc::default(), Arc::default());
        let throttle = Self { limits, transcript, redactor, answer: None, requests, shared };
        throttle.with_addresses(1)
    }

    /// Puts the service on trial: it has never given a score.
    #[must_use]
    pub fn on_trial(self) -> Self {
        self.state().is_on_trial = true;
        self
    }

    /// Spreads the requests over `address_count` addresses.
    #[must_use]
    pub fn with_addresses(self, address_count: usize) -> Self {
        self.state().addresses = Addresses::new(address_count, self.limits.concurrency);
        self
    }

    /// Records requests and replies in a transcript.
    #[must_use]
    pub fn with_transcript(self, transcript: Transcript) -> Self {
        Self { transcript: Arc::new(transcript), ..self }
    }

    /// The delivery of a reply, with what is known of the requests of the call.
    pub(crate) fn delivery(&self, delivery: Delivery) -> Delivery {
        let throttled_count = self.requests.throttled_count.load(Ordering::Relaxed);
        let has_several = self.state().addresses.count() > 1;
        let last = self.requests.address.load(Ordering::Relaxed);
        let address = has_several.then(|| u16::try_from(last).ok()).flatten();
        Delivery { address, throttled_count, ..delivery }
    }

    /// A call has ended at one of several addresses; `unscored` is the reason if it gave no score.
    pub(crate) fn record_outcome_at(&self, address: u16, unscored: Option<&str>) {
        self.state().addresses.record_outcome(usize::from(address), unscored);
    }

    /// Removes secrets from the reasons of failures.
    #[must_use]
    pub(crate) fn with_redactor(self, redactor: Redactor) -> Self {
        Self { redactor, ..self }
    }

    /// The transcript of requests and replies.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Waits until a call may begin. A service on trial gets few calls, since they may be wasted. Every call
    /// ends with `record_score`, `record_no_score` or `record_not_made`.
    pub async fn begin(&self) {
        while !self.try_begin() {
            // Registered before the check, so that a change between check and wait is not missed.
            let mut changed = pin!(self.shared.outside_queue_changed.notified());
            changed.as_mut().enable();
            if self.try_begin() {
                return;
            }
            changed.await;
        }
    }

    fn try_begin(&self) -> bool {
        let mut state = self.state();
        let begun = state.calls_in_flight + state.unscored_in_a_row;
        let is_held = state.is_on_trial && begun >= UNSCORED_ON_TRIAL_MAX && !state.stopping;
        state.calls_in_flight += u32::from(!is_held);
        !is_held
    }

    /// A call gave a score: the service works.
    pub fn record_score(&self) {
        let mut state = self.state();
        state.calls_in_flight = state.calls_in_flight.saturating_sub(1);
        state.unscored_in_a_row = 0;
        let was_on_trial = std::mem::replace(&mut state.is_on_trial, false);
        let had_outage = state.backoff.end(|kind| kind == OutageKind::Unscored);
        if was_on_trial || had_outage {
            self.shared.outside_queue_changed.notify_waiters();
            self.shared.changed.notify_waiters();
        }
    }

    /// A call was made and gave no score. Returns whether the service is on trial.
    pub fn record_no_score(&self, reason: &str) -> bool {
        let mut state = self.state();
        state.calls_in_flight = state.calls_in_flight.saturating_sub(1);
        state.unscored_in_a_row += 1;
        if state.is_on_trial && state.unscored_in_a_row >= UNSCORED_ON_TRIAL_MAX {
            state.backoff.close(None, OutageKind::NeverScored, reason.to_owned());
        } else if state.unscored_in_a_row >= UNSCORED_MAX {
            state.backoff.close(None, OutageKind::Unscored, reason.to_owned());
        }
        state.is_on_trial
    }

    /// A call was not made. Returns whether the service is on trial.
    pub fn record_not_made(&self) -> bool {
        let mut state = self.state();
        state.calls_in_flight = state.calls_in_flight.saturating_sub(1);
        if state.is_on_trial {
            self.shared.outside_queue_changed.notify_waiters();
        }
        state.is_on_trial
    }

    /// Why the service is closed for good, if it is.
    pub fn final_reason(&self) -> Option<String> {
        self.state().backoff.final_outage().map(|outage| outage.reason.clone())
    }

    /// Waits in the queue for the right to send one request.
    pub async fn turn(&self) -> Result<Turn<'_>, ThrottleClosed> {
        let _admitted = self.shared.new_calls_gate.lock().await;
        loop {
            if let Some(turn) = self.turn_in_queue(|| false).await? {
                return Ok(turn);
            }
        }
    }

    /// Waits for the turn of a retry: until the pause is over, then in the queue, without `new_calls_gate`
    /// (otherwise retries starve). Leaves the queue if a new pause begins, so that retries do not block new
    /// calls.
    pub(crate) async fn retry_turn(&self) -> Result<Turn<'_>, ThrottleClosed> {
        let is_paused = || self.state().closed_until(&self.limits).is_some();
        loop {
            self.pause_over().await;
            if let Some(turn) = self.turn_in_queue(is_paused).await? {
                return Ok(turn);
            }
        }
    }

    /// Waits in the queue for a turn; returns `None` if `leaves` becomes true before.
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
            // Registered before the check, so that a change between check and wait is not missed.
            let mut changed = pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            match self.try_turn()? {
                Ok(turn) => return Ok(Some(turn)),
                Err(Obstacle::SlotsInUse) => changed.await,
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
        state.requests_in_flight += 1;
        state.stats.sent_count += 1;
        state.addresses.sent(address);
        Ok(Ok(Turn { throttle: self, address, number: state.stats.sent_count }))
    }

    async fn pause_over(&self) {
        loop {
            let mut changed = pin!(self.shared.outside_queue_changed.notified());
            changed.as_mut().enable();
            let Some(until) = self.state().closed_until(&self.limits) else { return };
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    /// Wakes all calls that wait. None of them gets a turn.
    pub fn stop(&self) {
        self.state().stopping = true;
        self.shared.outside_queue_changed.notify_waiters();
        self.shared.changed.notify_waiters();
    }

    /// Gives turns again after a stop, and forgets earlier outages.
    pub fn reopen(&self) {
        let mut state = self.state();
        if std::mem::replace(&mut state.stopping, false) {
            state.backoff = Backoff::OPEN;
            state.addresses.reopen();
            (state.unscored_in_a_row, state.unreached_in_a_row) = (0, 0);
        }
    }

    /// The condition of the service.
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

    /// The reasons of the current pause, if it ends more than `longest` after the beginning of the outage.
    pub(crate) fn long_pause(&self, longest: Duration) -> Option<String> {
        let state = self.state();
        let since = state.addresses.silent_since()?;
        let is_long = state.closed_until(&self.limits)? > since + longest;
        is_long.then(|| state.addresses.reasons())
    }

    /// The number of requests that had to be sent again.
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
    /// The limit of requests in flight is reached.
    SlotsInUse,
}

impl State {
    /// The index of the address for the next request, or why the request must wait.
    fn address(&mut self, limits: &CallLimits) -> Result<usize, Obstacle> {
        let now = Instant::now();
        if let Some(until) = self.backoff.closed_until(now) {
            return Err(Obstacle::Until(until));
        }
        // During an outage, one request at a time tests whether it is over.
        let allowed = if self.backoff.outage().is_some() { 1 } else { limits.concurrency };
        if self.requests_in_flight >= allowed {
            return Err(Obstacle::SlotsInUse);
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

    /// The longest pause of an address that one refused request can cause. The server may ask for a pause because
    /// of the answer in the request: others are sent as a test before the patience is over, and soon if the
    /// service has replied before.
    fn longest_pause(&self, address: usize, limits: &CallLimits) -> Duration {
        let longest = limits.patience / TESTS_IN_PATIENCE;
        let is_first = !self.addresses.has_outage(address);
        if is_first && self.stats.has_replies() { longest.min(FIRST_PAUSE_MAX) } else { longest }
    }

    /// When the current pause ends; `None` without a pause, when stopping, or if the service is closed for
    /// good.
    fn closed_until(&self, limits: &CallLimits) -> Option<Instant> {
        if self.stopping || self.backoff.final_outage().is_some() {
            return None;
        }
        let now = Instant::now();
        self.backoff.closed_until(now).or_else(|| {
            match self.addresses.choose(now, limits.patience) {
                Err(Obstacle::Until(until)) => Some(until),
                Ok(_) | Err(Obstacle::SlotsInUse) => None,
            }
        })
    }
}

impl Turn<'_> {
    /// The number of the address that the request goes to, counted from 0.
    pub const fn address(&self) -> usize {
        self.address
    }

    /// The request began work at its address, or may have.
    pub(crate) fn record_delivery(&self) {
        let address = u32::try_from(self.address).unwrap_or(u32::MAX);
        self.throttle.requests.address.store(address, Ordering::Relaxed);
    }

    /// The request began no work.
    pub(crate) fn record_throttled(&self) {
        self.throttle.requests.throttled_count.fetch_add(1, Ordering::Relaxed);
    }

    /// The service replied.
    pub fn record_reply(self) {
        let mut state = self.throttle.state();
        state.unreached_in_a_row = 0;
        state.stats.record_reply(self.number);
        let AddressUpdate { outage_ended, limit_raised } =
            state.addresses.record_reply(self.address);
        drop(state);
        if outage_ended {
            self.throttle.shared.outside_queue_changed.notify_waiters();
            self.throttle.shared.changed.notify_waiters();
        } else if limit_raised {
            self.throttle.shared.changed.notify_one();
        }
    }

    /// The service did not begin to work. `retry_after` is the pause that it asked for; a long one is tested
    /// earlier, by one request at a time. A service on trial is closed after five failures in a row without a connection and without Retry-After.
    pub fn refused(self, failure: VoidFailure, retry_after: Option<Duration>, reason: String) {
        let reason = self.throttle.redactor.remove(reason);
        let mut state = self.throttle.state();
        state.retry_count += 1;
        let longest = state.longest_pause(self.address, &self.throttle.limits);
        let pause = retry_after.map(|asked| asked.min(longest));
        let is_new_failure = state.addresses.refused(self.address, failure, pause, reason);
        let is_unreached = failure != VoidFailure::RateLimited && retry_after.is_none();
        state.unreached_in_a_row += u32::from(is_new_failure && is_unreached);
        if state.is_on_trial && state.unreached_in_a_row >= UNREACHED_ON_TRIAL_MAX {
            let reasons = state.addresses.reasons();
            state.backoff.close(None, OutageKind::NeverScored, reasons);
        }
    }

    /// The service cannot start, and waiting does not help: closes it for good.
    pub fn close_unstartable(self, reason: String) {
        let reason = self.throttle.redactor.remove(reason);
        self.throttle.state().backoff.close(None, OutageKind::Hopeless, reason);
    }

    /// It is unknown which output of the service belongs to which request: closes it for good.
    pub fn close_unmatched_output(self, reason: String) {
        let reason = self.throttle.redactor.remove(reason);
        self.throttle.state().backoff.close(None, OutageKind::Mistrusted, reason);
    }

    /// The service broke after it began to work. The call counts. Several broken calls in a row pause the
    /// address.
    pub fn record_broken(self, reason: &str) {
        let reason = &self.throttle.redactor.remove(reason.to_owned());
        let mut state = self.throttle.state();
        state.unreached_in_a_row = 0;
        state.addresses.record_broken(self.address, reason);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.throttle.state();
        state.requests_in_flight -= 1;
        state.addresses.returned(self.address);
        drop(state);
        // One slot is free. Waking all waiting calls would cost more than the calls themselves.
        self.throttle.shared.changed.notify_one();
    }
}

/// The most unused time that a burst of requests may make up for.
const RATE_BURST: Duration = Duration::from_millis(10);
/// The longest time between two requests, about 30 years: a lower rate makes no difference.
const INTERVAL_SECONDS_MAX: f64 = 1e9;
/// During an outage at least about this many requests are sent until the patience is over, whatever the server asks
/// for.
const TESTS_IN_PATIENCE: u32 = 8;
/// The longest pause that a service which has replied can ask for with a single refused request.
const FIRST_PAUSE_MAX: Duration = Duration::from_secs(5);
/// A service on trial is closed after this many calls without a score. This limits the cost of a service that
/// never scores.
const UNSCORED_ON_TRIAL_MAX: u32 = 5;
/// A service on trial is closed after this many attempts in a row without a connection, which takes seconds: a
/// wrong address or key is more likely than a server that is about to start.
const UNREACHED_ON_TRIAL_MAX: u32 = 5;
/// A service that has given scores is paused after this many calls in a row without one. The number is not
/// lower, because answers that cannot be scored are often adjacent in the file.
const UNSCORED_MAX: u32 = 20;

#[cfg(test)]
mod tests;
