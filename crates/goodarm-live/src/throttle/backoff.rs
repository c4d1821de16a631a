//! How long to pause a service, or one of its addresses, after a failure: longer each time, and at least as long
//! as it asks for.

use std::time::Duration;

use tokio::time::Instant;

/// The pause of a service, or of one of its addresses.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    closed_until: Option<Instant>,
    /// The length of the next pause, unless the service asks for a longer one. In the first minute of an outage
    /// the pause may be shorter.
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
    /// The service throttles calls. Ends with a reply.
    Busy,
    /// The service cannot be reached, and no work was begun. Ends with a reply.
    Down,
    /// Several calls broke, and count. Ends with a reply.
    Broken,
    /// Replies come, but no scores. Ends with a score.
    Unscored,
    /// Permanent: the service cannot be started.
    Hopeless,
    /// Permanent: the service never gave a score.
    NeverScored,
    /// Permanent: it is unknown which request the service's output belongs to.
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

    /// The outage, if its kind is permanent.
    pub(super) fn final_outage(&self) -> Option<&Outage> {
        let is_final = |kind| {
            matches!(kind, OutageKind::Hopeless | OutageKind::NeverScored | OutageKind::Mistrusted)
        };
        self.outage.as_ref().filter(|outage| is_final(outage.kind))
    }

    /// When the pause ends; `None` if there is no pause at `now`.
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
/// The longest pause in the first minute of an outage, unless the server asks for a longer one.
const WAIT_YOUNG_MAX: Duration = Duration::from_secs(2);
const YOUNG: Duration = Duration::from_secs(60);
/// The longest pause that a server may ask for.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(600);
