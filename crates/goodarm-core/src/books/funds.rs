//! The budget, and each service's use of it: money and calls in flight.

use alloc::vec::Vec;

use crate::bills::BillTotals;
use crate::books::Change;
use crate::cost::Cost;
use crate::ledger::{Bill, Ledger};
use crate::problem::Problem;
use crate::units::ServiceId;

/// Money and calls in flight of one service.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// The most that one call may cost.
    pub price: Cost,
    /// The bill to expect before any is known.
    pub expected: Cost,
    /// All bills so far.
    pub bills: BillTotals,
    /// The mean cost of a call, where the expected one counts as one more bill.
    pub mean_bill: f64,
    /// Whether one more call fits the budget.
    pub is_affordable: bool,
    in_flight_count: u32,
    /// The most calls in flight, for a service whose calls take hours; `None` if calls return soon.
    limit: Option<u32>,
}

impl Lane {
    fn new(price: Cost, expected: Cost) -> Self {
        Self {
            price,
            expected,
            bills: BillTotals::NONE,
            mean_bill: expected.units(),
            in_flight_count: 0,
            limit: None,
            is_affordable: false,
        }
    }

    /// Calls in flight.
    pub const fn in_flight_count(&self) -> usize {
        self.in_flight_count as usize
    }

    /// The expected cost of a call that may have been made: the mean of all bills above 0, or [`Self::expected`] before
    /// the first one. At most [`Self::price`].
    pub fn typical_bill(&self) -> Cost {
        self.bills.mean_paid().map_or(self.expected, |mean| mean.min(self.price))
    }

    /// Whether calls of this service take hours.
    pub const fn is_slow(&self) -> bool {
        self.limit.is_some()
    }

    /// Whether a slow service is at its limit of calls in flight.
    pub fn is_held(&self) -> bool {
        self.limit.is_some_and(|most| self.in_flight_count >= most)
    }
}

/// The ledger and the lanes of all services.
#[derive(Clone, Debug)]
pub(crate) struct Funds {
    pub(super) ledger: Ledger,
    lanes: Vec<Lane>,
    price_max: Cost,
    all_affordable: bool,
}

impl Funds {
    pub(super) fn new(problem: &Problem) -> Self {
        let lane = |service| Lane::new(problem.price(service), problem.expected_bill(service));
        let lanes: Vec<Lane> = problem.services().map(lane).collect();
        let price_max = lanes.iter().map(|lane| lane.price).max().unwrap_or(Cost::ZERO);
        let ledger = Ledger::new(problem.budget());
        let mut funds = Self { ledger, lanes, price_max, all_affordable: false };
        funds.update_affordable(&mut Vec::new());
        funds
    }

    #[inline]
    pub(super) fn lane(&self, service: ServiceId) -> &Lane {
        &self.lanes[service.index()]
    }

    /// Declares that calls of this service take hours. An unknown service is ignored.
    pub(crate) fn limit(&mut self, service: ServiceId, in_flight_max: u32) {
        if let Some(lane) = self.lanes.get_mut(service.index()) {
            lane.limit = Some(in_flight_max.max(1));
        }
    }

    /// Reserves the ceiling of a call. Panics if it does not fit the budget.
    pub(super) fn reserve(&mut self, service: ServiceId) -> Cost {
        let ceiling = self.lane(service).price;
        self.ledger.reserve(ceiling);
        ceiling
    }

    /// Reserves the ceiling of a retry; false if it does not fit any more.
    pub(super) fn reserve_retry(&mut self, ceiling: Cost) -> bool {
        let fits = self.ledger.fits(ceiling);
        if fits {
            self.ledger.reserve(ceiling);
        }
        fits
    }

    /// Counts one more call in flight. Returns whether the service is now at its limit.
    pub(super) fn begin_call(&mut self, service: ServiceId) -> bool {
        let lane = &mut self.lanes[service.index()];
        lane.in_flight_count += 1;
        lane.limit == Some(lane.in_flight_count)
    }

    /// Settles the bill of a call that is no longer in flight. Returns whether the service was at its limit.
    pub(super) fn end_call(&mut self, service: ServiceId, ceiling: Cost, bill: Bill) -> bool {
        self.ledger.settle(ceiling, bill);
        let lane = &mut self.lanes[service.index()];
        lane.in_flight_count -= 1;
        lane.limit == Some(lane.in_flight_count + 1)
    }

    /// Counts a bill in the service's mean.
    pub(super) fn count_bill(&mut self, service: ServiceId, bill: Cost) {
        let lane = &mut self.lanes[service.index()];
        lane.bills.take(bill);
        lane.mean_bill = lane.bills.mean(lane.expected);
    }

    /// Raises the budget; false, and no change, if it would be lowered.
    pub(super) fn raise_budget(&mut self, budget: Cost) -> bool {
        let is_raised = budget >= self.ledger.budget();
        if is_raised {
            self.ledger.raise_budget(budget);
        }
        is_raised
    }

    pub(crate) fn is_anything_affordable(&self) -> bool {
        self.lanes.iter().any(|lane| lane.is_affordable)
    }

    /// Computes again which services fit the budget.
    pub(super) fn update_affordable(&mut self, changes: &mut Vec<Change>) {
        if self.ledger.left() >= self.price_max && self.all_affordable {
            return;
        }
        let mut changed = false;
        for lane in &mut self.lanes {
            let fits = self.ledger.fits(lane.price);
            changed |= lane.is_affordable != fits;
            lane.is_affordable = fits;
        }
        self.all_affordable = self.lanes.iter().all(|lane| lane.is_affordable);
        if changed {
            changes.push(Change::AffordableChanged);
        }
    }

    /// The number of calls in flight that return soon, and their expected cost.
    pub(crate) fn fast_in_flight(&self) -> (u32, f64) {
        let fast = self.lanes.iter().filter(|lane| !lane.is_slow());
        fast.fold((0, 0.0), |(count, bill), lane| {
            let out = lane.in_flight_count;
            (count + out, bill + f64::from(out) * lane.mean_bill)
        })
    }
}
