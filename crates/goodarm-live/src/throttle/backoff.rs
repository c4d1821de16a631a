//! How long to pause a service, or one of its addresses, after a failure: longer each time, and at least as long
//! as it asks for.

use std::time::Duration;

use tokio::time::Instant;

/// The pause of a service, or of one of its addresses.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    closed_until: Option<Instant>,
    /// The next pause, unless the service asks for a longer one or the outage is young.
    wait: Duration,
    outage: Option<Outage>,
}

/// A time without replies, or without scores.
#[derive(Clone, Debug)]
pub(super) struct Outage {
    pub(super) since: Instant,
    pub(super) kind: OutageKind,
    pub(super) reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutageKind {
    /// It throttles calls, until a reply comes.
    Busy,
    /// It cannot be reached, until a reply comes. No work was begun.
    Down,
    /// Several calls broke, until a reply comes. They count.
    Broken,
    /// Replies come, but no scores, until a score comes.
    Unscored,
    /// For good: it cannot be started.
    Hopeless,
    /// For good: it never gave a score.
    NeverScored,
    /// For good: it is unknown which request its output belongs to.
    Mistrusted,
}

impl Default for Backoff {
    fn default() -> Self {
        Self::OPEN
    }
}

impl Backoff {
    pub(super) const OPEN: Self = Self { closed_until: None, wait: WAIT_MIN, outage: None };

    pub(super) const fn outage(&self) -> Option<&Outage> {
        self.outage.as_ref()
    }

    /// The outage, if it is for good.
    pub(super) fn final_outage(&self) -> Option<&Outage> {
        let is_final = |kind| {
            matches!(kind, OutageKind::Hopeless | OutageKind::NeverScored | OutageKind::Mistrusted)
        };
        self.outage.as_ref().filter(|outage| is_final(outage.kind))
    }

    /// When the pause ends, if there is one now.
    pub(super) fn closed_until(&self, now: Instant) -> Option<Instant> {
        self.closed_until.filter(|until| now < *until)
    }

    pub(super) fn close(&mut self, at_least: Option<Duration>, kind: OutageKind, reason: String) {
        if self.final_outage().is_some() {
            return;
        }
        let now = Instant::now();
        let since = self.outage.as_ref().map_or(now, |outage| outage.since);
        // The service may just be starting.
        let is_young = matches!(kind, OutageKind::Down | OutageKind::Broken)
            && now.duration_since(since) < YOUNG;
        let wait = if is_young { self.wait.min(WAIT_YOUNG_MAX) } else { self.wait };
        let wait = at_least.unwrap_or(Duration::ZERO).clamp(wait, PAUSE_MAX);
        self.wait = (self.wait * 2).min(WAIT_MAX);
        let until = now + wait;
        self.closed_until = Some(self.closed_until.map_or(until, |earlier| earlier.max(until)));
        self.outage = Some(Outage { since, kind, reason });
    }

    /// Ends the outage if `is_over` holds for its kind. Returns whether it did.
    pub(super) fn end(&mut self, is_over: impl FnOnce(OutageKind) -> bool) -> bool {
        let ends = self.outage.as_ref().is_some_and(|outage| is_over(outage.kind));
        if ends {
            *self = Self::OPEN;
        }
        ends
    }
}

const WAIT_MIN: Duration = Duration::from_millis(250);
const WAIT_MAX: Duration = Duration::from_secs(30);
/// The longest pause of a service that has not been down for long.
const WAIT_YOUNG_MAX: Duration = Duration::from_secs(2);
const YOUNG: Duration = Duration::from_secs(60);
/// The longest pause that a server may ask for.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(600);
