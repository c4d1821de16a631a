//! The budget: reserve before a call, settle after it. Integers only.
//!
//! There are two amounts. *Settled* is what is believed to be owed. *Possible* is the most that may be owed: settled,
//! and the rest up to the ceiling for each call in flight and for each call whose bill is not known. A call is
//! dispatched only if possible + its ceiling fits the budget. A bill above its ceiling is recorded in full, reported as
//! an overrun, and reduces the money left.

use crate::cost::Cost;

/// What a call costs. The two amounts differ if the bill is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bill {
    settled: Cost,
    possible: Cost,
}

impl Bill {
    /// A call that costs nothing.
    pub const ZERO: Self = Self::known(Cost::ZERO);

    /// A bill that is known.
    pub const fn known(cost: Cost) -> Self {
        Self { settled: cost, possible: cost }
    }

    /// A bill that is not known: the amount that is believed to be owed, and the most that may be owed. If the first
    /// is larger, it is also the most.
    pub const fn unknown(settled: Cost, possible: Cost) -> Self {
        let possible = if settled.picos() > possible.picos() { settled } else { possible };
        Self { settled, possible }
    }

    /// What is believed to be owed.
    pub const fn settled(self) -> Cost {
        self.settled
    }

    /// The most that may be owed.
    pub const fn possible(self) -> Cost {
        self.possible
    }

    /// The amount that may be owed beyond what is settled; 0 if the bill is known.
    pub const fn uncertain(self) -> Cost {
        self.possible.saturating_sub(self.settled)
    }
}

impl From<Cost> for Bill {
    fn from(cost: Cost) -> Self {
        Self::known(cost)
    }
}

/// The budget, and the money that is settled, uncertain, reserved or left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    budget: Cost,
    settled: Cost,
    uncertain: Cost,
    reserved: Cost,
    overrun_count: u64,
    overrun: Cost,
}

impl Ledger {
    /// A ledger with this budget and nothing spent.
    pub const fn new(budget: Cost) -> Self {
        Self {
            budget,
            settled: Cost::ZERO,
            uncertain: Cost::ZERO,
            reserved: Cost::ZERO,
            overrun_count: 0,
            overrun: Cost::ZERO,
        }
    }

    /// The hard limit; B in the paper.
    pub const fn budget(&self) -> Cost {
        self.budget
    }

    /// What is believed to be owed for finished calls.
    pub const fn settled(&self) -> Cost {
        self.settled
    }

    /// What may be owed for finished calls beyond [`Self::settled`], because their bills are not known.
    pub const fn uncertain(&self) -> Cost {
        self.uncertain
    }

    /// The most that may be owed: settled, uncertain and reserved. It never exceeds the budget, unless a bill exceeds
    /// its ceiling.
    pub const fn possible(&self) -> Cost {
        self.settled.saturating_add(self.uncertain).saturating_add(self.reserved)
    }

    /// The ceilings of calls in flight, and of void calls that will be retried.
    pub const fn reserved(&self) -> Cost {
        self.reserved
    }

    /// The money that is neither settled, uncertain nor reserved.
    pub const fn left(&self) -> Cost {
        self.budget.saturating_sub(self.possible())
    }

    /// The number of bills above their ceiling.
    pub const fn overrun_count(&self) -> u64 {
        self.overrun_count
    }

    /// The total by which bills exceeded their ceilings.
    pub const fn overrun(&self) -> Cost {
        self.overrun
    }

    /// Whether one more call with this ceiling fits.
    pub fn fits(&self, ceiling: Cost) -> bool {
        self.possible().saturating_add(ceiling) <= self.budget
    }

    /// Reserves the ceiling of a call that is about to start. Panics if it does not fit.
    pub fn reserve(&mut self, ceiling: Cost) {
        assert!(self.fits(ceiling), "a call is dispatched only if its ceiling fits the budget");
        self.reserved = self.reserved + ceiling;
    }

    pub(crate) fn release(&mut self, ceiling: Cost) {
        self.reserved = self.reserved - ceiling;
    }

    /// Takes the bill of a call whose ceiling was reserved.
    pub fn settle(&mut self, ceiling: Cost, bill: impl Into<Bill>) {
        let bill = bill.into();
        self.release(ceiling);
        self.settled = self.settled.saturating_add(bill.settled);
        self.uncertain = self.uncertain.saturating_add(bill.uncertain());
        if bill.possible > ceiling {
            self.overrun_count += 1;
            self.overrun = self.overrun.saturating_add(bill.possible - ceiling);
        }
    }

    pub(crate) fn raise_budget(&mut self, budget: Cost) {
        assert!(budget >= self.budget, "a budget may be raised, never lowered");
        self.budget = budget;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dime() -> Cost {
        Cost::of_price(0.1).unwrap()
    }

    #[test]
    fn ten_dimes_fit_one_and_eleven_do_not() {
        let mut ledger = Ledger::new(Cost::from_units(1));
        for _ in 0..10 {
            assert!(ledger.fits(dime()));
            ledger.reserve(dime());
        }
        assert!(!ledger.fits(dime()));
        assert_eq!(ledger.left(), Cost::ZERO);
    }

    #[test]
    fn an_overrun_is_recorded_in_full_and_shrinks_what_is_left() {
        let mut ledger = Ledger::new(Cost::from_units(1));
        ledger.reserve(dime());
        ledger.settle(dime(), Cost::of_price(0.95).unwrap());
        assert_eq!(ledger.settled(), Cost::of_price(0.95).unwrap());
        assert_eq!((ledger.overrun_count(), ledger.overrun()), (1, Cost::of_price(0.85).unwrap()));
        assert!(!ledger.fits(dime()));
    }

    #[test]
    fn a_cheaper_bill_gives_the_rest_back() {
        let mut ledger = Ledger::new(Cost::from_units(1));
        ledger.reserve(Cost::from_units(1));
        assert!(!ledger.fits(dime()));
        ledger.settle(Cost::from_units(1), dime());
        assert_eq!(ledger.left(), Cost::of_price(0.9).unwrap());
    }

    #[test]
    fn an_unknown_bill_keeps_its_ceiling_from_other_calls() {
        let mut ledger = Ledger::new(Cost::from_units(1));
        ledger.reserve(Cost::from_units(1));
        ledger.settle(Cost::from_units(1), Bill::unknown(dime(), Cost::from_units(1)));
        assert_eq!((ledger.settled(), ledger.possible()), (dime(), Cost::from_units(1)));
        assert_eq!((ledger.left(), ledger.overrun_count()), (Cost::ZERO, 0));
        assert!(!ledger.fits(dime()));
    }

    #[test]
    #[should_panic(expected = "fits the budget")]
    fn reserving_what_does_not_fit_is_our_bug() {
        Ledger::new(dime()).reserve(Cost::from_units(1));
    }
}
