//! Verifiers that took much of the money and were redundant so far: every answer that passed another verifier
//! passed them. Shown to people; no decision depends on it.

use crate::books::Books;
use crate::num::real;
use crate::problem::ScoreModel;
use crate::units::{ArmId, AttributeId};

/// Whether an arm passes an attribute, as far as its calls show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairVerdict {
    /// Too few calls.
    Untried,
    /// It could be either.
    Open,
    /// The arm passes.
    Passed,
    /// It does not.
    Failed,
}

impl PairVerdict {
    /// The verdict of a pair: passed if its evidence is enough, or if its mean is above the
    /// threshold by more than luck; failed if it is below by about as much as luck makes it. Failing is
    /// easy, since no pair is called often after that.
    pub fn of(books: &Books, arm: ArmId, attribute: AttributeId) -> Self {
        let tally = books.tally(arm, attribute);
        let test = books.problem().attribute(attribute);
        let deviation = match test.scores() {
            ScoreModel::SubGaussian { sigma, .. } => sigma,
            // The most that scores from 0 to 1 can have.
            _ => 0.5,
        };
        let luck = deviation / libm::sqrt(real(tally.returned_count));
        if test.is_exact() && tally.returned_count > 0 {
            if tally.mean() >= test.threshold() { Self::Passed } else { Self::Failed }
        } else if tally.returned_count < 2 {
            Self::Untried
        } else if books.is_resolved(arm, attribute) || tally.mean() - 2.0 * luck >= test.threshold()
        {
            Self::Passed
        } else if tally.mean() + luck < test.threshold() {
            Self::Failed
        } else {
            Self::Open
        }
    }
}

/// A verifier that another one has implied so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Implication {
    /// Which.
    pub attribute: AttributeId,
    /// By which other one.
    pub by: AttributeId,
    /// Arms that passed both; none passed the other one and failed this one.
    pub arm_count: usize,
    /// Its share of the spending.
    pub share: f64,
}

/// The attribute that took the most, at least [`SHARE_MIN`] of what was spent, and is implied by one whose
/// calls are cheaper: at least [`ARMS_MIN`] arms passed both, none passed the other and failed it, and few are
/// open. The other one has failed some arm, or passing it would mean nothing. (A verifier that a more
/// expensive one implies may well save money: it rejects bad arms early.)
pub fn implied(
    spent: &[f64],
    prices: &[f64],
    arm_count: usize,
    verdict: impl Fn(usize, usize) -> PairVerdict,
) -> Option<Implication> {
    let total: f64 = spent.iter().sum();
    let arms_implied = |of: usize, by: usize| {
        let mut passed = 0;
        let mut tried = 0;
        let mut fails_some = false;
        for arm in 0..arm_count {
            match (verdict(arm, by), verdict(arm, of)) {
                (PairVerdict::Passed, PairVerdict::Failed) => return 0,
                (PairVerdict::Passed, PairVerdict::Passed) => {
                    passed += 1;
                    tried += 1;
                }
                (PairVerdict::Passed, PairVerdict::Open) => tried += 1,
                (PairVerdict::Failed, _) => fails_some = true,
                _ => {}
            }
        }
        let is_implied = fails_some && passed >= ARMS_MIN && 10 * passed >= 9 * tried;
        if is_implied { passed } else { 0 }
    };
    let is_large = |of: &usize| spent[*of] >= SHARE_MIN * total && total > 0.0;
    (0..spent.len())
        .filter(is_large)
        .filter_map(|of| {
            let cheaper = (0..spent.len()).filter(|&by| prices[by] < prices[of]);
            let (arm_count, by) = cheaper.map(|by| (arms_implied(of, by), by)).max()?;
            let share = spent[of] / total;
            (arm_count > 0).then(|| Implication {
                attribute: AttributeId::at(of),
                by: AttributeId::at(by),
                arm_count,
                share,
            })
        })
        .max_by(|one, other| one.share.total_cmp(&other.share))
}

/// Below this, leaving it out would not buy much.
pub const SHARE_MIN: f64 = 0.3;
/// With fewer, a verifier that disagrees about every fourth arm is missed with a chance of 6 %.
pub const ARMS_MIN: usize = 10;

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use PairVerdict::{Failed, Open, Passed, Untried};

    use super::*;
    use crate::policy::rcb::Rcb;
    use crate::{Ask, AttributeSpec, Guarantee, Outcome, Problem, ProblemSpec, Session};

    /// Groups of arms: how many, and the verdicts of a cheap attribute and an expensive one.
    fn found(
        spent: [f64; 2],
        prices: [f64; 2],
        groups: &[(usize, [PairVerdict; 2])],
    ) -> Option<(u32, u32, usize)> {
        let arms: Vec<[PairVerdict; 2]> =
            groups.iter().flat_map(|&(count, arm)| core::iter::repeat_n(arm, count)).collect();
        let found = implied(&spent, &prices, arms.len(), |arm, attribute| arms[arm][attribute])?;
        Some((found.attribute.0, found.by.0, found.arm_count))
    }

    #[test]
    fn an_expensive_attribute_that_another_one_implies_is_named() {
        let rest = [(5, [Failed, Untried]), (3, [Untried, Untried]), (2, [Failed, Passed])];
        let arms = [&[(10, [Passed, Passed]), (1, [Passed, Open])], &rest[..]].concat();
        assert_eq!(found([6.0, 4.0], [1.0, 5.0], &arms), Some((1, 0, 10)));
        assert_eq!(found([8.0, 2.0], [1.0, 5.0], &arms), None, "it took little");
        assert_eq!(found([6.0, 4.0], [5.0, 1.0], &arms), None, "a cheap one may save money");
    }

    #[test]
    fn it_is_not_named_without_reason() {
        let failed = (5, [Failed, Untried]);
        let (spent, prices) = ([1.0, 9.0], [1.0, 5.0]);
        assert_eq!(found(spent, prices, &[(9, [Passed, Passed]), failed]), None, "too few");
        let disagrees = [(40, [Passed, Passed]), (1, [Passed, Failed]), failed];
        assert_eq!(found(spent, prices, &disagrees), None, "it disagrees once");
        let open = [(10, [Passed, Passed]), (2, [Passed, Open]), failed];
        assert_eq!(found(spent, prices, &open), None, "too many are open");
        assert_eq!(
            found(spent, prices, &[(40, [Passed, Passed])]),
            None,
            "the other one fails no arm"
        );
        assert_eq!(
            found([0.0, 0.0], prices, &[(40, [Passed, Passed]), failed]),
            None,
            "nothing spent"
        );
    }

    /// The finding in a session with a cheap attribute and an expensive one, whose scores are `scores(arm)`.
    fn found_in_session(scores: impl Fn(u32) -> [f64; 2]) -> Option<(u32, u32, usize)> {
        let attribute = |name: &str, price| AttributeSpec {
            name: name.into(),
            price,
            threshold: 0.5,
            scores: ScoreModel::Binary,
        };
        let problem = Problem::new(ProblemSpec {
            arms: 30,
            attributes: vec![attribute("one", 1.0), attribute("majority", 5.0)],
            budget: 2500.0,
            delta: 0.05,
            guarantee: Guarantee::Holm,
        });
        let mut session = Session::new(problem.unwrap(), Rcb::new());
        while let Ask::Call(call) = session.ask().unwrap() {
            let (arm, attribute) = call.pair().unwrap();
            let outcome = Outcome::Score(scores(arm.0)[attribute.index()]);
            session.settle(call.ticket, &outcome, call.ceiling).unwrap();
        }
        let books = session.books();
        let spent_on = |attribute: u32| -> f64 {
            let spent = |arm| books.tally(ArmId(arm), AttributeId(attribute)).spent.units();
            (0..30).map(spent).sum()
        };
        let verdict = |arm: usize, attribute: usize| {
            let [arm, attribute] = [arm, attribute].map(|index| u32::try_from(index).unwrap());
            PairVerdict::of(books, ArmId(arm), AttributeId(attribute))
        };
        let found = implied(&[spent_on(0), spent_on(1)], &[1.0, 5.0], 30, verdict)?;
        Some((found.attribute.0, found.by.0, found.arm_count))
    }

    #[test]
    fn sessions_name_what_is_implied_and_nothing_else() {
        let good = [1.0, 1.0];
        let bad = [0.0, 0.0];
        assert_eq!(found_in_session(|arm| if arm < 20 { good } else { bad }), Some((1, 0, 20)));
        assert_eq!(found_in_session(|arm| if arm < 9 { good } else { bad }), None, "too few");
        // The policy calls the expensive one only a few times on arms that it fails.
        let some = |arm: u32| match arm {
            0..20 => good,
            20..22 => [1.0, 0.0],
            _ => bad,
        };
        assert_eq!(found_in_session(some), None, "it fails some arms");
    }
}
