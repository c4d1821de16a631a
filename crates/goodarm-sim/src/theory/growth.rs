//! The growth of the best fixed bet on "the mean is above ξ" for scores with a Beta law.
//!
//! K(F, ξ) = max over s in [0, 1] of E ln(1 - s + s X/ξ), a stake of s/ξ on each unit of score. It is
//! the least divergence of F from any law on [0, 1] with mean at most ξ, so no valid certificate for
//! bounded scores grows faster.

/// K for scores that are Beta with parameters k·mean and k·(1 - mean); 0 if the mean is at most ξ.
pub(super) fn beta(mean: f64, concentration: f64, threshold: f64) -> f64 {
    if mean <= threshold {
        return 0.0;
    }
    // Near a mean of 1 the density has a sharp peak at X = 1. With Y = 1 - X,
    //   E[Y f(Y)] = (1 - mean) E f(Y'),   Y' = 1 - X',   X' Beta(a, b + 1),
    // so that only X', whose density has no such peak, is integrated over.
    let nodes = nodes(concentration * mean, concentration * (1.0 - mean) + 1.0);
    let average = |value: &dyn Fn(&Node) -> f64| -> f64 {
        nodes.iter().map(|node| node.weight * value(node)).sum()
    };
    let wealth = |stake: f64, node: &Node| 1.0 - stake + stake * node.score / threshold;
    // The sign of the derivative: with D the wealth at X = 1, it is
    //   (1 - ξ) - (1 - mean) E[1 / wealth(X')]   times a positive number.
    let rises =
        |stake: f64| 1.0 - threshold > (1.0 - mean) * average(&|node| 1.0 / wealth(stake, node));
    let stake = best_stake(rises);
    let most = 1.0 - stake + stake / threshold;
    let slope = stake / threshold / most;
    // ln(wealth/D)/Y, where D is `most`. For small Y, log1p keeps its digits.
    let log_share = |node: &Node| {
        let log = if node.rest < 0.5 {
            libm::log1p(-slope * node.rest)
        } else {
            libm::log(wealth(stake, node) / most)
        };
        log / node.rest
    };
    libm::log(most) + (1.0 - mean) * average(&log_share)
}

/// The stake at which a concave function stops rising.
fn best_stake(rises: impl Fn(f64) -> bool) -> f64 {
    if rises(1.0) {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if rises(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// A score, 1 minus the score, and its probability.
struct Node {
    score: f64,
    rest: f64,
    weight: f64,
}

/// Beta(a, b) as weighted scores. In the logarithm of the odds, t = ln(X/(1 - X)), the density is
/// proportional to X^a (1 - X)^b, smooth and with exponential tails, where equal steps integrate to
/// nearly all digits. The weights are normalized by their own sum.
fn nodes(a: f64, b: f64) -> Vec<Node> {
    let log_density = |t: f64| -a * libm::log1p(libm::exp(-t)) - b * libm::log1p(libm::exp(t));
    let mode = libm::log(a / b);
    let step = STEP * libm::sqrt(1.0 / a + 1.0 / b).min(1.0);
    let highest = log_density(mode);
    let node = |t: f64| Node {
        score: 1.0 / (1.0 + libm::exp(-t)),
        rest: 1.0 / (1.0 + libm::exp(t)),
        weight: libm::exp(log_density(t) - highest),
    };
    let side = |step: f64| {
        let points = (0_u32..).map(move |index| mode + step * (f64::from(index) + 0.5));
        points.map(node).take_while(|node| node.weight > NEGLIGIBLE)
    };
    let mut nodes: Vec<Node> = side(-step).chain(side(step)).collect();
    let total: f64 = nodes.iter().map(|node| node.weight).sum();
    nodes.iter_mut().for_each(|node| node.weight /= total);
    nodes
}

/// Halvings of the stake's interval; the growth is flat at its top, so its error is far smaller.
const BISECTIONS: usize = 40;
/// The step, in units of the density's width, or of 1 if the width is larger: the integrands have no singularity
/// within π of the real line.
const STEP: f64 = 0.4;
/// Nodes are dropped if their weight relative to the mode is not above this.
const NEGLIGIBLE: f64 = 1e-16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::divergence;

    /// If the largest stake is the best, K = ψ(a) - ψ(a + b) - ln ξ.
    #[test]
    fn the_largest_stake_has_a_closed_form() {
        for (parameter, digamma_difference) in
            [(18.0, 1.0 / 18.0 + 1.0 / 19.0), (3.0, 1.0 / 3.0 + 1.0 / 4.0)]
        {
            let concentration = parameter + 2.0;
            let expected = -libm::log(0.2) - digamma_difference;
            let found = beta(parameter / concentration, concentration, 0.2);
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn extreme_concentrations_are_coins_and_constants() {
        for (mean, threshold) in [(0.6, 0.5), (0.95, 0.9), (0.999, 0.4), (0.3, 0.1)] {
            let coin = divergence(mean, threshold);
            let certain = libm::log(mean / threshold);
            let growth = |concentration| beta(mean, concentration, threshold);
            assert!((growth(1e-2) / coin - 1.0).abs() < 0.05, "{mean} {threshold}");
            assert!((growth(1e7) / certain - 1.0).abs() < 1e-5, "{mean} {threshold}");
            let between = [0.1, 1.0, 4.0, 100.0].map(growth);
            assert!(coin < between[0] && between[3] < certain, "{mean} {threshold}");
            assert!(between.is_sorted(), "{mean} {threshold}: {between:?}");
        }
        assert!((beta(1.0, 4.0, 0.5) - core::f64::consts::LN_2).abs() < 1e-12);
        assert!(beta(0.5, 4.0, 0.5).abs() < f64::MIN_POSITIVE);
    }
}
