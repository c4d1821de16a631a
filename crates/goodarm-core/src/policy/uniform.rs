//! `uniform`: the same money for every pair. [P §6, baseline "Uniform"]

use crate::books::{Books, Change};
use crate::cost::Cost;
use crate::policy::least::{Least, Measure};
use crate::policy::{Choice, Policy};
use crate::units::{ArmId, AttributeId};

/// Pulls the active, affordable pair with the least money spent on it, calls in flight included at
/// their ceiling.
#[derive(Clone, Debug)]
pub struct Uniform {
    least: Least<Money>,
}

impl Uniform {
    /// With `unresolved_only`, pairs whose evidence is enough get no more.
    pub fn new(unresolved_only: bool) -> Self {
        Self { least: Least::new(unresolved_only) }
    }
}

/// What a pair's calls have cost, those in flight included at their ceiling.
#[derive(Clone, Debug)]
struct Money;

impl Measure for Money {
    type Key = Cost;
    const KEYED_BY_ANSWERS: bool = true;

    fn key(books: &Books, arm: ArmId, attribute: AttributeId) -> Cost {
        let problem = books.problem();
        // Calls that score several pairs are paid once: for the lead, or for the question.
        let tally = books.tally(arm, problem.lead(attribute));
        let spent = match problem.questions() {
            Some(questions) if problem.are_votes(attribute) => {
                books.question(questions.of(arm)).spent_on_votes()
            }
            _ => tally.spent,
        };
        let price = problem.attribute(attribute).price();
        let pending = Cost::from_picos(price.picos() * u128::from(tally.pending_count()));
        spent.saturating_add(pending)
    }
}

impl Policy for Uniform {
    fn name(&self) -> &'static str {
        "uniform"
    }

    fn begin(&mut self, books: &Books) {
        self.least.begin(books);
    }

    fn choose(&mut self, books: &Books) -> Option<Choice> {
        let (_, arm, attribute) = self.least.find(books)?;
        Some(Choice::pair(arm, attribute, "least-money"))
    }

    fn on_change(&mut self, books: &Books, change: Change) {
        self.least.on_change(books, change);
    }
}
