//! The result of a plan: the cost of certificates, and what a budget buys.

use serde::Serialize;

/// A plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// δ.
    pub delta: f64,
    /// The number of questions, each with at most one certified answer; `None` if answers have no
    /// questions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<usize>,
    /// The number of described answers; with questions, of given answers.
    pub answers: usize,
    /// The number of good answers among them: every mean reaches its threshold.
    pub good: usize,
    /// The cost of ℓ certificates for ℓ = 1, 2, ….
    pub steps: Vec<PlanStep>,
    /// What the budget buys, if one is given.
    pub purchase: Option<Purchase>,
    /// The number of simulated sessions.
    pub repetitions: u64,
    /// Sessions that were stopped early, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Truncation>,
}

/// Sessions that would have taken too long to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Truncation {
    /// The number of calls after which each was stopped.
    pub calls: u64,
    /// The number of stopped sessions among those that estimate the cost of certificates.
    pub of_steps: usize,
    /// The number of stopped sessions among those with the budget: the budget buys at least what they
    /// certified.
    pub of_purchase: usize,
}

/// The cost of a number of certificates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlanStep {
    /// ℓ.
    pub certified: usize,
    /// The asymptotic estimate; `None` for questions.
    #[serde(flatten)]
    pub theory: Option<StepTheory>,
    /// The spending of simulated sessions at the ℓ-th certificate; `None` if most sessions did not reach
    /// it.
    pub realistic: Option<Spread>,
}

/// The cost of a number of certificates as δ → 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepTheory {
    /// h_q of the ℓ-th cheapest good answer.
    pub complexity: f64,
    /// T*_ℓ.
    pub characteristic: f64,
    /// T*_ℓ log(1/δ).
    pub asymptotic: f64,
}

/// The distribution over simulated sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// One session in ten is below.
    pub low: f64,
    /// Half of the sessions are below.
    pub median: f64,
    /// One session in ten is above.
    pub high: f64,
}

/// What a budget buys.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Purchase {
    /// The budget.
    pub budget: f64,
    /// The asymptotic estimate; `None` for questions.
    #[serde(flatten)]
    pub theory: Option<PurchaseTheory>,
    /// Certified answers in simulated sessions with this budget.
    pub realistic: Spread,
    /// The mean number of certified answers.
    pub mean: f64,
    /// The average spending of these sessions.
    pub spent: f64,
    /// The spending of these sessions.
    pub spending: Spread,
}

/// What a budget buys as δ → 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PurchaseTheory {
    /// b: the budget over log(1/δ).
    pub normalized: f64,
    /// K(b).
    pub asymptotic: usize,
    /// The number of certificates that is reached as δ → 0 with a slack of ε.
    pub asymptotic_lower: usize,
    /// The number of certificates that no reliable policy exceeds as δ → 0, with a slack of ε.
    pub asymptotic_upper: usize,
}
