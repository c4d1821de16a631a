//! What a plan has found: what certificates cost, and what a budget buys.

use serde::Serialize;

/// What came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// δ.
    pub delta: f64,
    /// Questions, of which one answer each is certified; none if all answers stand for themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<usize>,
    /// Answers described; of questions those that are given.
    pub answers: usize,
    /// Good ones among them: every mean at its threshold or above.
    pub good: usize,
    /// For ℓ = 1, 2, …: what ℓ certificates cost.
    pub steps: Vec<PlanStep>,
    /// What the budget buys, if there is one.
    pub purchase: Option<Purchase>,
    /// A dear verifier that another one implies, if the answers are as described.
    pub implied: Option<ImpliedVerifier>,
    /// Sessions simulated.
    pub repetitions: u64,
    /// That sessions were cut off, if any were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Truncation>,
}

/// Sessions that would have taken too long to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Truncation {
    /// After so many calls each.
    pub calls: u64,
    /// How many of those that were to find out what so many certificates cost.
    pub of_steps: usize,
    /// How many of those with the budget: what they certified is what it buys at least.
    pub of_purchase: usize,
}

/// A verifier that takes much of the budget although, as the answers are described, all that pass another
/// one pass it, too; and what the budget buys without it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImpliedVerifier {
    /// Which.
    pub verifier: String,
    /// The other one.
    pub by: String,
    /// Answers that pass both.
    pub answers: usize,
    /// What it takes, as a share of the spend.
    pub share: f64,
    /// Certified answers in the same sessions without it.
    pub realistic: Spread,
    /// Their mean.
    pub mean: f64,
}

/// What so many certificates cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlanStep {
    /// ℓ.
    pub certified: usize,
    /// What theory says; it says nothing of questions.
    #[serde(flatten)]
    pub theory: Option<StepTheory>,
    /// What simulated sessions had spent at the ℓ-th certificate; none if most did not get there.
    pub realistic: Option<Spread>,
}

/// What so many certificates cost as δ → 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepTheory {
    /// h_q of the ℓ-th cheapest good answer.
    pub complexity: f64,
    /// T*_ℓ.
    pub characteristic: f64,
    /// T*_ℓ log(1/δ).
    pub asymptotic: f64,
}

/// Where simulated sessions lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// One in ten is below.
    pub low: f64,
    /// Half are below.
    pub median: f64,
    /// One in ten is above.
    pub high: f64,
}

/// What a budget buys.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Purchase {
    /// What might be spent.
    pub budget: f64,
    /// What theory says; it says nothing of questions.
    #[serde(flatten)]
    pub theory: Option<PurchaseTheory>,
    /// Certified answers in simulated sessions with this budget.
    pub realistic: Spread,
    /// Their mean.
    pub mean: f64,
    /// What they spent on average.
    pub spent: f64,
}

/// What a budget buys as δ → 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PurchaseTheory {
    /// b: the budget over log(1/δ).
    pub normalized: f64,
    /// K(b).
    pub asymptotic: usize,
    /// Reached as δ → 0 with a slack of ε.
    pub asymptotic_lower: usize,
    /// Exceeded by no reliable policy as δ → 0, with a slack of ε.
    pub asymptotic_upper: usize,
}
