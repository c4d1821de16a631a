//! The paper's complexities: the necessary cost of certifying, to first order as δ → 0.

mod growth;

use crate::world::ScoreLaw;

/// Price, threshold and law of scores of an attribute: everything besides the means that complexity depends
/// on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// c in the paper.
    pub price: f64,
    /// ξ in the paper.
    pub threshold: f64,
    /// Gaussian with σ = 1 in the paper.
    pub law: ScoreLaw,
}

impl Test {
    /// Whether a mean passes.
    pub fn passes(&self, mean: f64) -> bool {
        mean >= self.threshold
    }

    // [P §5]  h_{q,m} = 2 c/Δ²; in general c/K, where K is the largest average evidence of a score:
    // Δ²/(2σ²); for binary scores the Kullback-Leibler divergence from a coin with mean ξ; for scores in
    // [0, 1] of any law the least divergence from a law in [0, 1] with mean ξ, which is the growth of the
    // best bet
    pub(crate) fn complexity(&self, mean: f64) -> f64 {
        match self.law {
            ScoreLaw::Gaussian(sigma) => {
                let gap = mean - self.threshold;
                2.0 * sigma * sigma * self.price / (gap * gap)
            }
            ScoreLaw::Binary => self.price / divergence(mean, self.threshold),
            ScoreLaw::Beta(concentration, [lowest, highest]) => {
                let share = |score: f64| (score - lowest) / (highest - lowest);
                self.price / growth::beta(share(mean), concentration, share(self.threshold))
            }
            // One call is enough for any δ, so the cost is zero to first order.
            ScoreLaw::Exact => 0.0,
        }
    }
}

/// kl(mean, threshold): the Kullback-Leibler divergence of two coins with these means.
pub fn divergence(mean: f64, threshold: f64) -> f64 {
    let part = |p: f64, q: f64| if p > 0.0 { p * libm::log(p / q) } else { 0.0 };
    part(mean, threshold) + part(1.0 - mean, 1.0 - threshold)
}

/// The complexities of an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Complexity {
    /// h_q of each arm; `None` if the arm is bad.
    pub of_arm: Vec<Option<f64>>,
    /// T*_ℓ for ℓ = 0, 1, … up to the number of good arms.
    pub staircase: Vec<f64>,
}

impl Complexity {
    /// The complexities of an instance with these means, if each attribute has its own calls.
    pub fn new(means: &[Vec<f64>], tests: &[Test]) -> Self {
        let leads: Vec<usize> = (0..tests.len()).collect();
        Self::shared(means, tests, &leads)
    }

    /// The complexities if an attribute is scored by the calls of `leads[attribute]`. A call counts for all
    /// attributes that it scores, so the attribute that needs the most calls decides.
    pub fn shared(means: &[Vec<f64>], tests: &[Test], leads: &[usize]) -> Self {
        let of_arm: Vec<Option<f64>> = means
            .iter()
            .map(|row| {
                let pairs = row.iter().zip(tests);
                if !pairs.clone().all(|(&mean, test)| test.passes(mean)) {
                    return None;
                }
                let mut by_lead = vec![0.0_f64; tests.len()];
                for ((&mean, test), &lead) in pairs.zip(leads) {
                    by_lead[lead] = by_lead[lead].max(test.complexity(mean));
                }
                // [P §5]  h_q = Σ_m h_{q,m}
                Some(by_lead.iter().sum::<f64>())
            })
            .collect();
        let mut sorted: Vec<f64> = of_arm.iter().copied().flatten().collect();
        sorted.sort_by(f64::total_cmp);
        let mut staircase = vec![0.0];
        // [P Eq. track-characteristic-closed]  T*_ℓ: the ℓ good arms with the smallest h
        for (count, complexity) in sorted.iter().enumerate() {
            staircase.push(staircase[count] + complexity);
        }
        Self { of_arm, staircase }
    }

    /// |G|, the number of good arms.
    pub fn good_count(&self) -> usize {
        self.staircase.len() - 1
    }

    /// T*_|G|: the cost of certifying every good arm, in units of log(1/δ).
    pub fn total(&self) -> f64 {
        self.staircase[self.good_count()]
    }

    /// T*_ℓ, for ℓ up to the number of good arms.
    pub fn of_first(&self, count: usize) -> Option<f64> {
        self.staircase.get(count).copied()
    }

    // [P Cor. track-coverage-optimality]  K(b) = max{ℓ : T*_ℓ ≤ b}
    /// The number of arms that a budget of `b` log(1/δ) certifies as δ → 0.
    pub fn reach(&self, b: f64) -> usize {
        self.largest(|complexity| complexity <= b)
    }

    // [P Thm. track-coverage-achievable]  max{ℓ : (1 + ε) T*_ℓ < b}
    /// The number of arms that is surely certified, with a slack of ε.
    pub fn reach_lower(&self, b: f64, slack: f64) -> usize {
        self.largest(|complexity| (1.0 + slack) * complexity < b)
    }

    // [P Thm. track-coverage-converse]  max{ℓ : (1 - ε) T*_ℓ ≤ b}
    /// The number of certified arms that no reliable policy exceeds, with a slack of ε.
    pub fn reach_upper(&self, b: f64, slack: f64) -> usize {
        self.largest(|complexity| (1.0 - slack) * complexity <= b)
    }

    fn largest(&self, within: impl Fn(f64) -> bool) -> usize {
        self.staircase.iter().rposition(|&complexity| within(complexity)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests(prices: &[f64]) -> Vec<Test> {
        let law = ScoreLaw::Gaussian(1.0);
        prices.iter().map(|&price| Test { price, threshold: 0.5, law }).collect()
    }

    #[test]
    fn the_staircase_sums_the_cheapest_good_arms() {
        let means = vec![vec![0.7, 0.9], vec![0.9, 0.4], vec![1.0, 1.0]];
        let complexity = Complexity::new(&means, &tests(&[1.0, 4.0]));
        let h = [2.0 / 0.04 + 8.0 / 0.16, 2.0 / 0.25 + 8.0 / 0.25];
        assert!(complexity.of_arm[1].is_none());
        for (found, expected) in complexity.staircase.iter().zip([0.0, h[1], h[1] + h[0]]) {
            assert!((found - expected).abs() < 1e-9, "{complexity:?}");
        }
        assert_eq!(
            (complexity.reach(39.9), complexity.reach(40.1), complexity.reach(1e9)),
            (0, 1, 2)
        );
        assert_eq!(complexity.reach_lower(40.1, 0.1), 0);
        assert_eq!(complexity.reach_upper(36.1, 0.1), 1);
    }

    /// ln(Q/δ)/K at Q = 100, δ = 0.02, ξ = 0.5, computed independently; the divergence of a coin would give
    /// 1701 calls instead of 346 and 115.
    #[test]
    fn complexities_of_bounded_scores_are_those_of_the_best_bet() {
        let gaps = [0.05, 0.1, 0.2, 0.3, 0.45];
        for (concentration, expected) in
            [(4.0, [346.0, 91.0, 30.7, 19.5, 13.4]), (20.0, [115.0, 51.5, 26.2, 18.4, 13.3])]
        {
            let law = ScoreLaw::Beta(concentration, [0.0, 1.0]);
            let test = Test { price: libm::log(100.0 / 0.02), threshold: 0.5, law };
            for (gap, expected) in gaps.into_iter().zip(expected) {
                let calls = test.complexity(0.5 + gap);
                let last_digit = if expected > 90.0 { 0.5 } else { 0.05 };
                assert!(
                    (calls - expected).abs() <= last_digit,
                    "{law:?} {gap}: {calls}, expected {expected}"
                );
            }
        }
    }
}
