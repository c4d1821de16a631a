//! One answer: its status, its certificate, and the evidence of each verifier. Findings, reports, the live page
//! and exports are made from this view.

use goodarm_core::{ArmId, ArmStatus, AttributeId, Books, Cost, Share};
use serde::{Serialize, Serializer};

use super::VerifierView;
use crate::account::Account;

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerView {
    /// Its number.
    #[serde(skip)]
    pub arm: ArmId,
    /// Certified, rejected or undecided.
    #[serde(serialize_with = "status_name")]
    pub status: ArmStatus,
    /// The number of its certificate, counted from 1.
    pub rank: Option<usize>,
    /// Its share of δ, if the guarantee lends shares.
    #[serde(flatten)]
    pub loan: Option<LoanView>,
    /// The evidence of each verifier.
    pub evidence: Vec<PairView>,
}

impl AnswerView {
    /// One answer; `rank` is the number of its certificate.
    pub fn new(books: &Books, account: &Account, arm: ArmId, rank: Option<usize>) -> Self {
        let pair = |attribute| PairView::new(books, account, arm, attribute);
        Self {
            arm,
            status: books.status(arm),
            rank,
            loan: LoanView::new(books, arm),
            evidence: books.problem().attributes().map(pair).collect(),
        }
    }

    /// All answers, in the order of their numbers.
    pub fn all<'a>(books: &'a Books, account: &'a Account) -> impl Iterator<Item = Self> + 'a {
        let mut ranks = vec![None; books.problem().arm_count()];
        for (arm, rank) in books.certified().iter().zip(1..) {
            ranks[arm.index()] = Some(rank);
        }
        let arms = books.problem().arms().zip(ranks);
        arms.map(|(arm, rank)| Self::new(books, account, arm, rank))
    }

    /// The value of the key `goodarm` in files.
    pub fn finding<'a>(&'a self, verifiers: &'a [VerifierView]) -> Finding<'a> {
        let pair = |(verifier, pair): (&'a VerifierView, &'a PairView)| PairFinding {
            verifier: &verifier.name,
            threshold: verifier.threshold,
            pair,
        };
        Finding {
            status: self.status.name(),
            arm: self.arm.0,
            rank: self.rank,
            loan: self.loan,
            evidence: verifiers.iter().zip(&self.evidence).map(pair).collect(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn status_name<S: Serializer>(status: &ArmStatus, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status.name())
}

/// What files say about an answer, under the key `goodarm`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding<'a> {
    status: &'static str,
    arm: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    #[serde(flatten)]
    loan: Option<LoanView>,
    evidence: Vec<PairFinding<'a>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct PairFinding<'a> {
    verifier: &'a str,
    threshold: f64,
    #[serde(flatten)]
    pair: &'a PairView,
}

/// The evidence of one verifier about one answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairView {
    /// The number of scores, including failed calls that count.
    pub calls: u64,
    /// The mean of these scores; `None` without scores, or before the verifier's first score on any answer.
    pub mean: Option<f64>,
    /// The evidence that the mean is above the threshold: ln E; `None` after the call of an exact verifier.
    pub evidence: Option<f64>,
    /// The level that the evidence must reach; `None` for an exact verifier, or without a share of δ.
    pub needed: Option<f64>,
    /// Whether the evidence has reached its level.
    pub met: bool,
    /// Whether a blocking failure, which `calls` does not count, has ended the pair.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// The cost of the calls.
    #[serde(serialize_with = "goodarm_files::money::exact::serialize")]
    pub spent: Cost,
}

impl PairView {
    /// The evidence of a verifier about an answer.
    pub fn new(books: &Books, account: &Account, arm: ArmId, attribute: AttributeId) -> Self {
        let has_scored = account.attribute(attribute).score_count() > 0;
        let tally = books.tally(arm, attribute);
        let finite = |number: f64| number.is_finite().then_some(number);
        let is_exact = books.problem().attribute(attribute).is_exact();
        Self {
            calls: tally.returned_count,
            mean: (has_scored && tally.returned_count > 0).then(|| tally.mean()),
            evidence: finite(books.evidence(arm, attribute)),
            needed: (!is_exact).then(|| books.level(arm, attribute)).and_then(finite),
            met: books.is_resolved(arm, attribute),
            blocked: books.is_blocked(arm, attribute),
            spent: tally.spent,
        }
    }
}

/// An answer's share of δ, if shares are lent. Only scores of noisy verifiers are counted here: those of exact ones
/// always count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoanView {
    /// The part of δ that it was lent, if it has a share.
    pub share: Option<f64>,
    /// Scores from before the loan, which prove nothing.
    pub looks: u64,
    /// Scores since the loan, which count.
    pub counted: u64,
}

impl LoanView {
    /// The share of an answer; `None` unless the guarantee lends shares.
    pub fn new(books: &Books, arm: ArmId) -> Option<Self> {
        books.pool()?;
        let problem = books.problem();
        let share = books.share(arm).map(Share::fraction);
        let (mut looks, mut counted) = (0, 0);
        for attribute in problem.attributes().filter(|it| !problem.attribute(*it).is_exact()) {
            let before = books.look_count(arm, attribute);
            looks += before;
            counted += books.tally(arm, attribute).returned_count - before;
        }
        Some(Self { share, looks, counted })
    }
}
