//! `round-robin`: the same number of pulls for every pair.

use crate::books::{Books, Change};
use crate::policy::least::{Least, Pulls};
use crate::policy::{Choice, Policy};

/// Pulls the active, affordable pair with the fewest pulls, calls in flight included.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    least: Least<Pulls>,
}

impl RoundRobin {
    /// With `unresolved_only`, pairs whose evidence is enough get no more.
    pub fn new(unresolved_only: bool) -> Self {
        Self { least: Least::new(unresolved_only) }
    }
}

impl Policy for RoundRobin {
    fn name(&self) -> &'static str {
        "round-robin"
    }

    fn begin(&mut self, books: &Books) {
        self.least.begin(books);
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let (_, arm, attribute) = self.least.find(books)?;
        Some(Choice::pair(arm, attribute, "fewest-pulls"))
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        self.least.on_change(books, change);
    }
}
