//! P(any certificate is wrong) ≤ δ, by a union over questions of which each may have several arms.
//!
//! A vote is a final answer, so that the means p of the answers to a question sum to at most one.
//! For one bet λ let E be the evidence of an answer over *all* votes of its question, D = (1 - λξ)ⁿ
//! what it is after misses only, and Z = E - D ≥ 0. A vote cannot be expected to raise Σ Z over the
//! answers with p ≤ ξ by more than λ D = (D - D')/ξ, D' the next D. So Σ Z + D/ξ cannot be expected
//! to grow, starts at 1/ξ, and is at least E: by Ville's inequality the evidence of *some* such
//! answer reaches 1/α with probability at most α/ξ, for any number of answers. Mixtures of
//! bets follow by linearity, if all answers have the same weights.
//!
//! An attribute without votes costs α for each arm that the question can have. So with N questions,
//! α = δ/N / (Σ 1/ξ over attributes with votes + the most arms, if any other attribute is noisy).

use crate::num::real_size;
use crate::problem::Problem;
use crate::problem::design::Questions;

/// The level for all answers to all questions, ln(1/α).
pub(crate) fn level(problem: &Problem, questions: &Questions) -> f64 {
    let (mut ways, mut others) = (0.0, 0.0);
    for attribute in problem.attributes() {
        let declared = problem.attribute(attribute);
        if problem.are_votes(attribute) {
            ways += 1.0 / declared.threshold;
        } else if !declared.is_exact() {
            others = real_size(questions.answers_max());
        }
    }
    let ways = f64::max(ways + others, 1.0) * real_size(questions.count());
    libm::log(ways * ROUND_UP) + problem.delta().ln_inverse()
}

/// Far above the rounding of a sum.
const ROUND_UP: f64 = 1.0 + 1e-12;
