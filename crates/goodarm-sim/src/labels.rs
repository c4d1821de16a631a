//! Labels on a set of answers: after how many of them it is claimed that at least so many are right; as it should
//! be done, and in ways that should not be trusted.

use goodarm_core::Claim;
use goodarm_core::claim::log_evidence_of_precision;
use goodarm_core::units::ErrorRate;
use serde::{Deserialize, Serialize};

use crate::num::{ratio, real, size};
use crate::random::Random;

/// What is claimed about the certified answers of every trial: the key `labels` of an experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelsSpec {
    /// At least these shares are right.
    pub shares: Vec<f64>,
    /// The probabilities with which a claim may ever be false.
    pub deltas: Vec<f64>,
    /// How often the answers of a trial are labelled, each time in another order.
    pub orders: u64,
    /// How they are labelled.
    #[serde(default = "as_it_should_be")]
    pub ways: Vec<Way>,
}

fn as_it_should_be() -> Vec<Way> {
    vec![Way::Claim]
}

/// How answers are labelled, and what is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// In a random order, by [`Claim`].
    Claim,
    /// Wrong: the same, the right ones first.
    RightFirst,
    /// Wrong: whoever labels sees three cards and takes a right one if there is one.
    BestOfThree,
    /// Wrong: cards are put back, so that an answer may count twice.
    PutBack,
    /// Right, and claims less: the formula for a population without end.
    Endless,
    /// Wrong: the interval of Clopper and Pearson for one number of labels, looked at after each.
    Peeked,
    /// Right: cards of which nobody can tell, mostly wrong ones, count as wrong.
    SkipsWrong,
    /// Wrong: they are left out.
    SkipsLeftOut,
    /// Wrong: what was not claimed is tried again in another order, three times.
    TriedAgain,
}

/// What came of the labels of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelResult {
    /// How they were labelled.
    pub way: Way,
    /// The share of right ones that was to be claimed.
    pub share: f64,
    /// With this error probability.
    pub delta: f64,
    /// Whether it is so.
    pub is_true: bool,
    /// After how many labels it was claimed, if ever, for each order.
    pub claimed_after: Vec<Option<usize>>,
}

impl LabelsSpec {
    /// The name of the first list that is empty or has something in it that cannot be.
    pub(crate) fn wrong(&self) -> Option<&'static str> {
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

    /// Labels the certified answers of a trial; `truth` says which of them are right.
    pub fn label(&self, truth: &[bool], seed: u64) -> Vec<LabelResult> {
        let right_count = truth.iter().filter(|is_right| **is_right).count();
        let mut all = Vec::new();
        for &way in &self.ways {
            for &share in &self.shares {
                let wanted = wanted(share, truth.len());
                for &delta in &self.deltas {
                    let Ok(error_rate) = ErrorRate::new(delta) else { continue };
                    // Neither way, share nor δ: all of them have the same orders.
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

/// The least whole number that is a share of so many, or more.
pub fn wanted(share: f64, count: usize) -> usize {
    let exact = share * size(count);
    // 0.95 · 100 is a little more than 95.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let whole = libm::ceil(exact - 1e-9) as usize;
    whole
}

impl Way {
    /// After how many labels it is claimed that at least `wanted` of the answers are right, if ever.
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

/// By a rule that looks at how many labels so far were right and wrong.
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

/// All orders of a trial are kept.
const ORDERS_MAX: u64 = 100_000;
/// The luck of labels is none of the trial's.
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
    fn a_clean_set_is_claimed_after_as_many_labels_as_it_takes() {
        let after = |way: Way, truth: &[bool]| {
            way.claimed_after(truth, wanted(0.9, truth.len()), delta(), Random::new(3))
        };
        assert_eq!(after(Way::Claim, &[true; 412]), Some(31));
        // .9^29 < .05: the fixed interval needs fewer, and must not be looked at before.
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

    /// Whoever takes the best of three cards takes each of them once.
    #[test]
    fn the_best_of_three_cards_are_all_cards() {
        let cards = [false, false, true, false, true];
        let taken: Vec<bool> = best_of_three(cards.into_iter()).collect();
        assert_eq!(taken, [true, false, true, false, false]);
    }
}
