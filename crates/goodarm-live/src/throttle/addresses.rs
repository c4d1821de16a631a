//! Chooses the address of the next request: one that replies and has the fewest requests in flight. Each
//! address backs off on its own, so one that is busy or down does not stop the others.

use std::time::Duration;

use goodarm_core::VoidFailure;
use goodarm_record::notice::Condition;
use tokio::time::Instant;

use super::Obstacle;
use super::backoff::{Backoff, Outage, OutageKind};

/// All addresses of a service: at least one, except in the default value, which is replaced before use.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    list: Vec<Address>,
    /// The index of the first choice among addresses with equally many requests in flight.
    next: usize,
    /// The most requests of the service in flight at once.
    concurrency: usize,
}

#[derive(Clone, Debug)]
struct Address {
    requests_in_flight: usize,
    /// The most requests in flight: halved by 429, increased by replies.
    allowed: usize,
    replies_since_change: usize,
    breaks_in_a_row: u32,
    /// Calls in a row without a score, whatever was replied.
    unscored_in_a_row: u32,
    backoff: Backoff,
}

impl Addresses {
    pub(super) fn new(count: usize, concurrency: usize) -> Self {
        let address = Address {
            requests_in_flight: 0,
            allowed: concurrency,
            replies_since_change: 0,
            breaks_in_a_row: 0,
            unscored_in_a_row: 0,
            backoff: Backoff::OPEN,
        };
        Self { list: vec![address; count.max(1)], next: 0, concurrency }
    }

    /// How many addresses there are.
    pub(super) const fn count(&self) -> usize {
        self.list.len()
    }

    /// The index of the address for a request now, or why the request must wait.
    pub(super) fn choose(&self, now: Instant, patience: Duration) -> Result<usize, Obstacle> {
        let mut chosen: Option<usize> = None;
        let mut soonest: Option<Instant> = None;
        for index in (self.next..self.list.len()).chain(0..self.next) {
            match self.list[index].obstacle(now, patience) {
                None if chosen.is_none_or(|it| {
                    self.list[index].requests_in_flight < self.list[it].requests_in_flight
                }) =>
                {
                    chosen = Some(index);
                }
                Some(Obstacle::Until(at)) => {
                    soonest = Some(soonest.map_or(at, |it| it.min(at)));
                }
                None | Some(Obstacle::SlotsInUse) => {}
            }
        }
        chosen.ok_or_else(|| soonest.map_or(Obstacle::SlotsInUse, Obstacle::Until))
    }

    pub(super) fn sent(&mut self, index: usize) {
        self.list[index].requests_in_flight += 1;
        self.next = (index + 1) % self.list.len();
    }

    pub(super) fn returned(&mut self, index: usize) {
        self.list[index].requests_in_flight -= 1;
    }

    /// The address replied.
    pub(super) fn record_reply(&mut self, index: usize) -> AddressUpdate {
        let concurrency = self.concurrency;
        let address = &mut self.list[index];
        address.breaks_in_a_row = 0;
        let outage_ended = address.backoff.end(|_| true);
        address.replies_since_change += 1;
        let limit_raised = address.replies_since_change >= address.allowed && {
            address.replies_since_change = 0;
            address.allowed < concurrency
        };
        address.allowed += usize::from(limit_raised);
        AddressUpdate { outage_ended, limit_raised }
    }

    /// Records that a request failed before any work was begun; `retry_after` is the pause that the server
    /// asked for. Failures of requests that were in flight together count as one. Returns whether this is a new
    /// failure.
    pub(super) fn refused(
        &mut self,
        index: usize,
        failure: VoidFailure,
        retry_after: Option<Duration>,
        reason: String,
    ) -> bool {
        let share = self.concurrency.div_ceil(self.list.len());
        let address = &mut self.list[index];
        if address.backoff.closed_until(Instant::now()).is_some() {
            return false;
        }
        let kind = match failure {
            VoidFailure::RateLimited => {
                // A limit above both the address's share and its requests in flight was never tested.
                let most = address.allowed.min(share.max(address.requests_in_flight));
                address.allowed = (most / 2).max(1);
                address.replies_since_change = 0;
                OutageKind::Busy
            }
            VoidFailure::NotConnected | VoidFailure::NoVerdict => OutageKind::Down,
        };
        address.backoff.close(retry_after, kind, reason);
        true
    }

    /// A call was made and broke. Several broken calls in a row pause the address.
    pub(super) fn record_broken(&mut self, index: usize, reason: &str) {
        let address = &mut self.list[index];
        address.breaks_in_a_row += 1;
        if address.breaks_in_a_row >= BREAKS_MAX {
            address.backoff.close(None, OutageKind::Broken, reason.to_owned());
        }
    }

    /// A call at this address has ended; `unscored` is the reason if it gave no score. One of several addresses that gives
    /// none several times in a row is paused.
    pub(super) fn record_outcome(&mut self, index: usize, unscored: Option<&str>) {
        let has_others = self.list.len() > 1;
        let Some(address) = self.list.get_mut(index) else { return };
        address.unscored_in_a_row = unscored.map_or(0, |_| address.unscored_in_a_row + 1);
        if let Some(reason) = unscored
            && has_others
            && address.unscored_in_a_row >= BREAKS_MAX
        {
            address.backoff.close(None, OutageKind::Broken, reason.to_owned());
        }
    }

    /// Ends all outages.
    pub(super) fn reopen(&mut self) {
        self.list.iter_mut().for_each(|address| address.backoff = Backoff::OPEN);
    }

    /// The time since which all addresses have an outage; `None` if an address works.
    pub(super) fn silent_since(&self) -> Option<Instant> {
        let outages = self.outages();
        let all = (outages.len() == self.list.len()).then_some(outages)?;
        all.iter().map(|outage| outage.since).max()
    }

    /// Whether an address has an outage.
    pub(super) fn has_outage(&self, index: usize) -> bool {
        self.list[index].backoff.outage().is_some()
    }

    /// The reasons of all outages.
    pub(super) fn reasons(&self) -> String {
        reasons(&self.outages())
    }

    fn outages(&self) -> Vec<&Outage> {
        self.list.iter().filter_map(|address| address.backoff.outage()).collect()
    }

    /// The condition of the service, which is down only if all of its addresses are.
    pub(super) fn condition(&self, now: Instant, patience: Duration) -> Condition {
        let outages = self.outages();
        let Some(last) = outages.iter().map(|outage| outage.since).max() else {
            return Condition::Open;
        };
        let reason = reasons(&outages);
        if outages.len() < self.list.len() {
            return Condition::Partly { troubled: outages.len(), of: self.list.len(), reason };
        }
        let since = now.duration_since(last);
        if since > patience {
            Condition::GivenUp { reason }
        } else if outages.iter().any(|outage| outage.kind == OutageKind::Busy) {
            let ends = self.list.iter().map(|address| address.backoff.closed_until(now));
            let soonest = ends.map(|until| until.map_or(Duration::ZERO, |until| until - now)).min();
            Condition::BackingOff { wait: soonest.unwrap_or_default() }
        } else {
            Condition::Down { since, reason }
        }
    }
}

/// What a reply has changed.
pub(super) struct AddressUpdate {
    /// An outage is over.
    pub(super) outage_ended: bool,
    /// One more request may be in flight.
    pub(super) limit_raised: bool,
}

impl Address {
    fn obstacle(&self, now: Instant, patience: Duration) -> Option<Obstacle> {
        if let Some(until) = self.backoff.closed_until(now) {
            return Some(Obstacle::Until(until));
        }
        let allowed = match self.backoff.outage() {
            None => self.allowed,
            // Each attempt at a broken address counts as the lowest score, so it gets no more. If it were the
            // only address, the run would have ended.
            Some(Outage { kind: OutageKind::Broken, since, .. })
                if now.duration_since(*since) > patience =>
            {
                0
            }
            // During an outage, one request at a time tests whether it is over.
            Some(_) => 1,
        };
        (self.requests_in_flight >= allowed).then_some(Obstacle::SlotsInUse)
    }
}

/// The reasons of these outages, each once.
fn reasons(outages: &[&Outage]) -> String {
    let mut all: Vec<&str> = Vec::new();
    for outage in outages {
        if !all.contains(&outage.reason.as_str()) {
            all.push(&outage.reason);
        }
    }
    all.join("; ")
}

/// An address is paused after this many broken calls in a row.
pub(super) const BREAKS_MAX: u32 = 5;
