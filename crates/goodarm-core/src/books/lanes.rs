//! Money and calls in flight of each service.

use alloc::vec::Vec;

use crate::bills::BillTotals;
use crate::cost::Cost;
use crate::ledger::Ledger;
use crate::problem::Problem;
use crate::units::ServiceId;

/// What the books know of one service.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    price: Cost,
    bills: BillTotals,
    mean_bill: f64,
    in_flight_count: u32,
    /// The most calls in flight, of a service whose calls take hours; `None` if calls come back soon.
    limit: Option<u32>,
    is_affordable: bool,
}

impl Lane {
    fn new(price: Cost) -> Self {
        Self {
            price,
            bills: BillTotals::NONE,
            mean_bill: price.units(),
            in_flight_count: 0,
            limit: None,
            is_affordable: false,
        }
    }

    /// The most that one call may cost.
    pub const fn price(&self) -> Cost {
        self.price
    }

    /// The bills that came in.
    pub const fn bills(&self) -> &BillTotals {
        &self.bills
    }

    /// What a call costs on average: its ceiling, until bills say otherwise.
    pub const fn mean_bill(&self) -> f64 {
        self.mean_bill
    }

    /// Calls in flight.
    pub const fn in_flight_count(&self) -> usize {
        self.in_flight_count as usize
    }

    /// Whether one more call fits the budget.
    pub const fn is_affordable(&self) -> bool {
        self.is_affordable
    }

    /// Whether calls take hours: others are made meanwhile.
    pub const fn is_slow(&self) -> bool {
        self.limit.is_some()
    }

    /// Whether a slow service has as many calls as it may have, so that no more are made for now.
    pub fn is_held(&self) -> bool {
        self.limit.is_some_and(|most| self.in_flight_count >= most)
    }

    pub(super) fn take_bill(&mut self, bill: Cost) {
        self.bills.take(bill);
        self.mean_bill = self.bills.mean(self.price);
    }
}

/// The lanes of all services.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    list: Vec<Lane>,
    price_max: Cost,
    all_affordable: bool,
}

impl Lanes {
    pub(super) fn new(problem: &Problem) -> Self {
        let list: Vec<Lane> =
            problem.services().map(|service| Lane::new(problem.price(service))).collect();
        let price_max = list.iter().map(|lane| lane.price).max().unwrap_or(Cost::ZERO);
        Self { list, price_max, all_affordable: false }
    }

    #[inline]
    pub(super) fn get(&self, service: ServiceId) -> &Lane {
        &self.list[service.index()]
    }

    pub(super) fn get_mut(&mut self, service: ServiceId) -> &mut Lane {
        &mut self.list[service.index()]
    }

    /// Declares that calls of this service take hours. A service that is not there is passed over.
    pub(crate) fn limit(&mut self, service: ServiceId, in_flight_max: u32) {
        if let Some(lane) = self.list.get_mut(service.index()) {
            lane.limit = Some(in_flight_max.max(1));
        }
    }

    /// One more call in flight; true if the service is held since.
    pub(super) fn enter(&mut self, service: ServiceId) -> bool {
        let lane = self.get_mut(service);
        lane.in_flight_count += 1;
        lane.limit == Some(lane.in_flight_count)
    }

    /// One call less in flight; true if the service was held until now.
    pub(super) fn leave(&mut self, service: ServiceId) -> bool {
        let lane = self.get_mut(service);
        lane.in_flight_count -= 1;
        lane.limit == Some(lane.in_flight_count + 1)
    }

    pub(crate) fn is_anything_affordable(&self) -> bool {
        self.list.iter().any(|lane| lane.is_affordable)
    }

    /// Looks again at what fits the budget; true if that has changed for some service.
    pub(super) fn reconsider_affordable(&mut self, ledger: &Ledger) -> bool {
        if ledger.left() >= self.price_max && self.all_affordable {
            return false;
        }
        let mut changed = false;
        for lane in &mut self.list {
            let fits = ledger.fits(lane.price);
            changed |= lane.is_affordable != fits;
            lane.is_affordable = fits;
        }
        self.all_affordable = self.list.iter().all(|lane| lane.is_affordable);
        changed
    }

    /// What the calls in flight will cost, as it looks.
    pub(super) fn in_flight_bill(&self) -> f64 {
        self.list.iter().map(|lane| f64::from(lane.in_flight_count) * lane.mean_bill).sum()
    }

    /// How many calls in flight come back soon, and what they will cost, as it looks.
    pub(crate) fn fast_in_flight(&self) -> (u32, f64) {
        let fast = self.list.iter().filter(|lane| !lane.is_slow());
        fast.fold((0, 0.0), |(count, bill), lane| {
            let out = lane.in_flight_count;
            (count + out, bill + f64::from(out) * lane.mean_bill)
        })
    }
}
