//! `round-robin`: the same number of pulls for every pair.

use crate::books::Books;
use crate::num::real;
use crate::policy::least::{Least, Measure};
use crate::units::{ArmId, AttributeId};

/// Pulls the active, affordable pair with the fewest pulls, calls in flight included.
pub(crate) type RoundRobin = Least<Pulls>;

/// Calls, those in flight included. As a real number, since processors find the smallest of eight
/// reals much faster than of eight integers.
#[derive(Clone, Debug)]
pub(crate) struct Pulls;

impl Measure for Pulls {
    type Key = f64;
    const NAME: &'static str = "round-robin";
    const BRANCH: &'static str = "fewest-pulls";
    const KEYED_BY_ANSWERS: bool = false;

    fn key(books: &Books, arm: ArmId, attribute: AttributeId) -> f64 {
        real(books.tally(arm, attribute).dispatched_count)
    }
}
