//! `uniform`: the same money for every pair. [P §6, baseline "Uniform"]

use crate::books::Books;
use crate::cost::Cost;
use crate::policy::least::{Least, Measure};
use crate::units::{ArmId, AttributeId};

/// Pulls the active, affordable pair with the least money spent on it, calls in flight included at
/// their ceiling.
pub(crate) type Uniform = Least<MoneySpent>;

/// What a pair's calls have cost, those in flight included at their ceiling.
#[derive(Clone, Debug)]
pub(crate) struct MoneySpent;

impl Measure for MoneySpent {
    type Key = Cost;
    const NAME: &'static str = "uniform";
    const BRANCH: &'static str = "least-money";
    const KEYED_BY_ANSWERS: bool = true;

    fn key(books: &Books, arm: ArmId, attribute: AttributeId) -> Cost {
        let problem = books.problem();
        // Calls that score several pairs are paid once: for the lead, or for the question.
        let tally = books.tally(arm, problem.lead(attribute));
        let spent = match problem.questions() {
            Some(questions) if problem.are_votes(attribute) => {
                books.question(questions.of(arm)).spent_on_votes
            }
            _ => tally.spent,
        };
        let price = problem.attribute(attribute).price;
        let pending = Cost::from_picos(price.picos() * u128::from(tally.pending_count()));
        spent.saturating_add(pending)
    }
}
