//! How often a verifier contradicts itself: how two calls on the same answer differ.
//!
//! Failed calls do not count here. A call's verdict is whether its score reaches the
//! verifier's threshold. All figures describe the calls that were made, which were not chosen at
//! random; none of them enters a certificate.

use serde::Serialize;

/// A verifier's noise over all answers with at least two scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Noise {
    /// Answers with at least two scores.
    pub answers: u64,
    /// How many of these answers have verdicts of both kinds.
    pub mixed: u64,
    /// The probability that two different calls on the same answer have different verdicts, averaged
    /// over answers.
    pub disagreement: f64,
    /// The variance of the scores of one answer, averaged over answers.
    pub variance: f64,
}

/// The scores of one verifier on one answer, summed up.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScoreSpread {
    count: u32,
    /// Scores that reach the threshold.
    passed: u32,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
}

impl ScoreSpread {
    /// One more score, by Welford's method: no difference of large sums.
    pub fn take(&mut self, score: f64, threshold: f64) {
        self.count += 1;
        self.passed += u32::from(score >= threshold);
        let before = score - self.mean;
        self.mean += before / f64::from(self.count);
        self.squares += before * (score - self.mean);
    }
}

/// The noise in these scores; `None` if no answer has two scores.
pub fn noise<'a>(all: impl Iterator<Item = &'a ScoreSpread>) -> Option<Noise> {
    let mut noise = Noise { answers: 0, mixed: 0, disagreement: 0.0, variance: 0.0 };
    for scores in all.filter(|scores| scores.count >= 2) {
        let (count, passed) = (f64::from(scores.count), f64::from(scores.passed));
        let failed = count - passed;
        noise.answers += 1;
        noise.mixed += u64::from(scores.passed > 0 && scores.passed < scores.count);
        // The share of ordered pairs of different calls with different verdicts.
        noise.disagreement += 2.0 * passed * failed / (count * (count - 1.0));
        noise.variance += scores.squares / (count - 1.0);
    }
    #[expect(clippy::cast_precision_loss, reason = "a mean for people")]
    let answers = noise.answers as f64;
    noise.disagreement /= answers;
    noise.variance /= answers;
    (noise.answers > 0).then_some(noise)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(list: &[f64]) -> ScoreSpread {
        let mut scores = ScoreSpread::default();
        list.iter().for_each(|&score| scores.take(score, 0.5));
        scores
    }

    #[test]
    fn contradictions_are_counted_by_answer() {
        let all =
            [scores(&[1.0, 1.0]), scores(&[1.0, 0.0]), scores(&[0.0, 0.0, 1.0]), scores(&[1.0])];
        let noise = noise(all.iter()).unwrap();
        assert_eq!((noise.answers, noise.mixed), (3, 2));
        // 0, 1 and 2/3 over three answers; variances 0, 1/2 and 1/3.
        assert!((noise.disagreement - 5.0 / 9.0).abs() < 1e-12);
        assert!((noise.variance - 5.0 / 18.0).abs() < 1e-12);
    }

    #[test]
    fn one_score_says_nothing_about_noise() {
        assert_eq!(noise([scores(&[1.0]), scores(&[])].iter()), None);
    }
}
