//! The share of δ that an arm without one is offered. It depends on a guess of how many shares will still be
//! lost to arms that are not certified in the end. No certificate depends on it.

use crate::books::Books;
use crate::guarantee::lending::Lending;
use crate::num::real_size;
use crate::units::Share;

/// The share for the next arm that borrows; [`Share::NONE`] where δ is not lent.
pub(crate) fn offered_share(books: &Books) -> Share {
    let Some(lending) = books.lending() else { return Share::NONE };
    Share::of(lending.pool().fraction() / (FIRST_SHARE + losses_ahead(books, lending)))
}

/// The level of an arm with the offered share.
pub(crate) fn offered_level(books: &Books) -> f64 {
    books.problem().delta().level_of(offered_share(books))
}

/// The expected number of shares lost from now on: the losses for each unit of money so far, times the money left.
/// The prior: five loans, half of them lost, for the money of five loans if the budget pays for 0.15 Q loans.
fn losses_ahead(books: &Books, lending: &Lending) -> f64 {
    let ledger = books.ledger();
    let (budget, spent) = (ledger.budget().units(), ledger.settled().units());
    let out = real_size(lending.out_count());
    // When an answer is certified, the other answers to its question lose their shares. Without questions, arms
    // keep their shares to the end.
    let gone = match books.problem().questions() {
        Some(_) => real_size(lending.lost_count()),
        None => 0.0,
    };
    let lost = PRIOR_LOANS * PRIOR_LOSS_RATE + LOSS_RATE_OF_SHARES_OUT * out + gone;
    let arm_count = real_size(books.problem().certificates_max());
    let money = PRIOR_LOANS * budget / (PRIOR_LOAN_RATE * arm_count) + spent;
    let ahead = lost / money * (budget - spent).max(0.0);
    // At most one loss for each certificate that is still possible.
    ahead.min(real_size(match books.problem().questions() {
        Some(questions) => questions.count() - books.certified().len(),
        None => books.active_count(),
    }))
}

const FIRST_SHARE: f64 = 1.2;
const PRIOR_LOANS: f64 = 5.0;
const PRIOR_LOSS_RATE: f64 = 0.5;
const PRIOR_LOAN_RATE: f64 = 0.15;
const LOSS_RATE_OF_SHARES_OUT: f64 = 0.2;
