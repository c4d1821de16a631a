//! Labels on a set of answers: the number of labels until a claim about the share of right answers is made,
//! by the right procedure and by wrong ones.

use goodarm_core::Claim;
use goodarm_core::claim::log_evidence_of_precision;
use goodarm_core::units::ErrorRate;
use serde::{Deserialize, Serialize};

use crate::num::{ratio, real, size};
use crate::random::Random;

/// Claims about the certified answers of every trial: the key `labels` of an experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelsSpec {
    /// The claimed shares of right answers.
    pub shares: Vec<f64>,
    /// The probabilities with which a claim may be false at any time.
    pub deltas: Vec<f64>,
    /// The number of orders in which the answers of a trial are labelled.
    pub orders: u64,
    /// The procedures.
    #[serde(default = "right_way")]
    pub ways: Vec<Way>,
}

fn right_way() -> Vec<Way> {
    vec![Way::Claim]
}

/// A procedure of labelling and claiming.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Right: labels in a random order, and [`Claim`].
    Claim,
    /// Wrong: the same with the right answers first.
    RightFirst,
    /// Wrong: the labeller sees three cards and takes a right one if there is one.
    BestOfThree,
    /// Wrong: cards are put back, so an answer may count twice.
    PutBack,
    /// Right, and claims less: the formula for an infinite population.
    Endless,
    /// Wrong: the Clopper-Pearson interval for one number of labels, checked after each label.
    Peeked,
    /// Right: undecided cards, mostly of wrong answers, count as wrong.
    SkipsWrong,
    /// Wrong: undecided cards are left out.
    SkipsLeftOut,
    /// Wrong: a claim that fails is tried again in another order, up to three times.
    TriedAgain,
}

/// The result of labelling one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelResult {
    /// The procedure.
    pub way: Way,
    /// The share of right answers to be claimed.
    pub share: f64,
    /// The error probability of the claim.
    pub delta: f64,
    /// Whether the claim is true.
    pub is_true: bool,
    /// For each order, the number of labels after which the claim was made, if it was.
    pub claimed_after: Vec<Option<usize>>,
}

impl LabelsSpec {
    /// The name of the first list that is empty or has an invalid value.
    pub fn wrong(&self) -> Option<&'static str> {
        let within = |values: &[f64], is_right: fn(f64) -> bool| {
            !values.is_empty() && values.iter().all(|&value| is_right(value))
        };
        if !within(&self.shares, |share| share > 0.0 && share <= 1.0) {
            Some("labels.shares")
        } else if !within(&self.deltas, |delta| delta > 0.0 && delta < 1.0) {
            Some("labels.deltas")
        } else if self.orders == 0 || self.orders > ORDERS_MAX {
            Some("labels.orders")
        } else {
            self.ways.is_empty().then_some("labels.ways")
        }
    }

    /// Labels the certified answers of a trial; `truth` is true for each answer that is right.
    pub fn label(&self, truth: &[bool], seed: u64) -> Vec<LabelResult> {
        let right_count = truth.iter().filter(|is_right| **is_right).count();
        let mut all = Vec::new();
        for &way in &self.ways {
            for &share in &self.shares {
                let wanted = wanted(share, truth.len());
                for &delta in &self.deltas {
                    let Ok(error_rate) = ErrorRate::new(delta) else { continue };
                    // Orders do not depend on procedure, share or δ.
                    let after = |order: u64| {
                        way.claimed_after(
                            truth,
                            wanted,
                            error_rate,
                            Random::at(seed, &[LABELS, order]),
                        )
                    };
                    let claimed_after = (0..self.orders).map(after).collect();
                    let is_true = right_count >= wanted;
                    all.push(LabelResult { way, share, delta, is_true, claimed_after });
                }
            }
        }
        all
    }
}

/// The least whole number that is at least this share of a count.
pub fn wanted(share: f64, count: usize) -> usize {
    let exact = share * size(count);
    // A product such as 0.07 · 100 is a little more than 7.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let whole = libm::ceil(exact - 1e-9) as usize;
    whole
}

impl Way {
    /// The number of labels until the claim that at least `wanted` of the answers are right, if it is made.
    pub fn claimed_after(
        self,
        truth: &[bool],
        wanted: usize,
        delta: ErrorRate,
        mut random: Random,
    ) -> Option<usize> {
        if truth.is_empty() {
            return None;
        }
        let mut labels = shuffled(truth, &mut random);
        let mut can_tell = |is_right: bool| random.uniform() > if is_right { 0.02 } else { 0.5 };
        match self {
            Self::Claim => by_claim(labels.into_iter(), truth.len(), wanted, delta),
            Self::RightFirst => {
                labels.sort_by_key(|is_right| !is_right);
                by_claim(labels.into_iter(), truth.len(), wanted, delta)
            }
            Self::BestOfThree => {
                let labels = best_of_three(labels.into_iter());
                by_claim(labels, truth.len(), wanted, delta)
            }
            Self::PutBack => {
                let draw = |_| labels[random.index(truth.len())];
                by_claim((0..truth.len()).map(draw), truth.len(), wanted, delta)
            }
            Self::Endless => by_counts(&labels, |right, wrong| {
                let line = ratio(wanted.saturating_sub(1), truth.len());
                log_evidence_of_precision(right, wrong, line) >= delta.ln_inverse()
            }),
            Self::Peeked => by_counts(&labels, |right, wrong| {
                upper_tail(right, wrong, ratio(wanted, truth.len())) <= delta.get()
            }),
            Self::SkipsWrong => {
                let labels = labels.into_iter().map(|label| can_tell(label) && label);
                by_claim(labels, truth.len(), wanted, delta)
            }
            Self::SkipsLeftOut => {
                labels.retain(|label| can_tell(*label));
                by_claim(labels.into_iter(), truth.len(), wanted, delta)
            }
            Self::TriedAgain => (0..4).find_map(|_| {
                let labels = shuffled(truth, &mut random);
                by_claim(labels.into_iter(), truth.len(), wanted, delta)
            }),
        }
    }
}

fn by_claim(
    mut labels: impl Iterator<Item = bool>,
    size: usize,
    wanted: usize,
    delta: ErrorRate,
) -> Option<usize> {
    let mut claim = Claim::new(size, delta);
    while claim.bound() < wanted {
        claim.take(labels.next()?).ok()?;
    }
    Some(claim.label_count())
}

/// Claims by a rule on the numbers of right and wrong labels so far.
fn by_counts(labels: &[bool], is_enough: impl Fn(u64, u64) -> bool) -> Option<usize> {
    let (mut right, mut wrong) = (0, 0);
    let first = labels.iter().position(|&label| {
        if label {
            right += 1
        } else {
            wrong += 1
        }
        is_enough(right, wrong)
    });
    first.map(|place| place + 1)
}

fn shuffled(truth: &[bool], random: &mut Random) -> Vec<bool> {
    let mut labels = truth.to_vec();
    random.shuffle(&mut labels);
    labels
}

fn best_of_three(mut waiting: impl Iterator<Item = bool>) -> impl Iterator<Item = bool> {
    let mut shown = Vec::new();
    std::iter::from_fn(move || {
        shown.extend(waiting.by_ref().take(3 - shown.len()));
        let best = shown.iter().position(|is_right| *is_right).unwrap_or(0);
        (!shown.is_empty()).then(|| shown.remove(best))
    })
}

/// P[Binomial(right + wrong, rate) ≥ right].
fn upper_tail(right: u64, wrong: u64, rate: f64) -> f64 {
    let labels = real(right + wrong);
    let log_odds = libm::log((1.0 - rate) / rate);
    let (mut log_term, mut tail) = (labels * libm::log(rate), 0.0);
    for count in 0..=wrong {
        tail += libm::exp(log_term);
        log_term += libm::log((labels - real(count)) / (real(count) + 1.0)) + log_odds;
    }
    tail
}

/// All orders of a trial are kept in memory.
const ORDERS_MAX: u64 = 100_000;
/// Orders of labels are independent of the trial's draws.
const LABELS: u64 = 0x1abe1;

#[cfg(test)]
mod tests {
    use super::*;

    fn delta() -> ErrorRate {
        ErrorRate::new(0.05).unwrap()
    }

    #[test]
    fn a_share_of_a_count_is_the_least_whole_number_that_reaches_it() {
        for (share, count, expected) in [
            (0.95, 100, 95),
            (0.9, 412, 371),
            (0.95, 412, 392),
            (1.0, 7, 7),
            (0.01, 7, 1),
            (0.9, 0, 0),
        ] {
            assert_eq!(wanted(share, count), expected, "{share} of {count}");
        }
    }

    #[test]
    fn the_number_of_labels_for_a_clean_set_is_known() {
        let after = |way: Way, truth: &[bool]| {
            way.claimed_after(truth, wanted(0.9, truth.len()), delta(), Random::new(3))
        };
        assert_eq!(after(Way::Claim, &[true; 412]), Some(31));
        // .9^29 < .05: the fixed interval needs fewer labels, and is only valid if it is checked once.
        assert_eq!(after(Way::Peeked, &[true; 412]), Some(29));
        assert_eq!(after(Way::Claim, &[false; 412]), None);
        assert_eq!(after(Way::Claim, &[]), None);
    }

    #[test]
    fn the_tail_of_a_binomial_law_is_exact_and_does_not_vanish() {
        assert!((upper_tail(2, 1, 0.5) - 0.5).abs() < 1e-12);
        assert!((upper_tail(3, 0, 0.9) - 0.729).abs() < 1e-12);
        assert!((upper_tail(1000, 1000, 0.5) - 0.5).abs() < 0.02);
    }

    /// Taking the best of three cards takes every card once.
    #[test]
    fn the_best_of_three_takes_every_card() {
        let cards = [false, false, true, false, true];
        let taken: Vec<bool> = best_of_three(cards.into_iter()).collect();
        assert_eq!(taken, [true, false, true, false, false]);
    }
}
