//! Declared scores, and the law of simulated scores: the keys `scores` and `deviation` of a plan's verifier and of an
//! experiment's world.

use goodarm_core::ScoreModel;
use goodarm_files::Scores;

use crate::world::ScoreLaw;

/// Why scores cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviationError {
    /// The deviation is not positive, or is more than bounded scores can have.
    #[error("{deviation} is not between 0 and {}, half of the range of scores", 0.5 * width)]
    OutOfRange {
        /// The given deviation.
        deviation: f64,
        /// The width of the range.
        width: f64,
    },
    /// A deviation of scores that are not bounded: it is fixed, or declared as sigma.
    #[error("only with the scores \"bounded\", and these are {}", .0.name())]
    NotBounded(Scores),
}

/// The model that is declared to the session. Simulated calls do not fail, so no lowest score is needed.
pub fn model(scores: Scores) -> ScoreModel {
    match scores {
        Scores::SubGaussian { sigma, .. } => ScoreModel::SubGaussian { sigma, lowest: None },
        scores => scores.into(),
    }
}

/// The law of scores, given the key `deviation`.
pub fn law(scores: Scores, deviation: Option<f64>) -> Result<ScoreLaw, DeviationError> {
    match (scores, deviation) {
        (Scores::Bounded { range }, deviation) => {
            let width = range[1] - range[0];
            let concentration = concentration(deviation.unwrap_or(DEVIATION * width), width)?;
            Ok(ScoreLaw::Beta(concentration, range))
        }
        (scores, Some(_)) => Err(DeviationError::NotBounded(scores)),
        (Scores::Binary, None) => Ok(ScoreLaw::Binary),
        (Scores::Exact, None) => Ok(ScoreLaw::Exact),
        (Scores::SubGaussian { sigma, .. }, None) => Ok(ScoreLaw::Gaussian(sigma)),
    }
}

/// The concentration of a Beta law with this deviation at a mean in the middle of the range.
fn concentration(deviation: f64, width: f64) -> Result<f64, DeviationError> {
    let share = deviation / width;
    if share > 0.0 && share < 0.5 {
        Ok(0.25 / (share * share) - 1.0)
    } else {
        Err(DeviationError::OutOfRange { deviation, width })
    }
}

/// The default deviation of bounded scores, as a share of their range.
const DEVIATION: f64 = 0.2;

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    fn law_of(text: &str, deviation: Option<f64>) -> Result<ScoreLaw, DeviationError> {
        #[derive(Deserialize)]
        struct File {
            scores: Scores,
        }
        let file: File = goodarm_files::toml_text::parse(&format!("scores = {text}")).unwrap();
        law(file.scores, deviation)
    }

    #[test]
    fn laws_follow_the_declared_scores() {
        let gaussian = Ok(ScoreLaw::Gaussian(2.0));
        assert_eq!(law_of("{ sub-gaussian = { sigma = 2 } }", None), gaussian);
        assert_eq!(law_of("{ sub-gaussian = { sigma = 2, lowest = 0 } }", None), gaussian);
        let quarter = Ok(ScoreLaw::Beta(3.0, [0.0, 1.0]));
        assert_eq!(law_of("\"bounded\"", Some(0.25)), quarter);
        assert_eq!(law_of("\"bounded\"", None), law_of("\"bounded\"", Some(0.2)));
        let within = Ok(ScoreLaw::Beta(3.0, [1.0, 5.0]));
        assert_eq!(law_of("{ bounded = { range = [1, 5] } }", Some(1.0)), within);
        assert_eq!(law_of("{ bounded = { range = [0, 1] } }", Some(0.25)), quarter);
        // As in `experiments/held-out.toml`: exactly the concentration of earlier versions.
        assert_eq!(
            law_of("\"bounded\"", Some(0.223_606_797_749_978_96)),
            Ok(ScoreLaw::Beta(4.0, [0.0, 1.0]))
        );
    }

    #[test]
    fn only_bounded_scores_have_a_deviation() {
        assert_eq!(
            law_of("\"binary\"", Some(0.1)),
            Err(DeviationError::NotBounded(Scores::Binary))
        );
        for wrong in [0.0, 0.5, -0.1, f64::INFINITY] {
            assert_eq!(
                law_of("\"bounded\"", Some(wrong)),
                Err(DeviationError::OutOfRange { deviation: wrong, width: 1.0 })
            );
        }
    }
}
