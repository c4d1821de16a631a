//! What scores are declared to be, and how simulated ones scatter: the keys `scores` and `deviation`
//! of a plan's verifier and of an experiment's world.

use goodarm_core::ScoreModel;
use goodarm_files::Scores;
use goodarm_files::scores::{SigmaMissing, WordOrTable};
use serde::Deserialize;

use crate::world::ScoreLaw;

/// The key `scores`: the words of all files, and what older plan and experiment files say.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "WordOrTable<Table>")]
pub enum ScoresKey {
    /// As in a job.
    Scores(Scores),
    /// `{ bounded = { deviation = … } }` in older plan files.
    Deviation(f64),
    /// `{ beta = { concentration = … } }` in older experiment files.
    Concentration(f64),
}

/// Why scores cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviationError {
    /// Scores between 0 and 1 cannot scatter more.
    #[error("{0} is not between 0 and 0.5, as the deviation of scores from 0 to 1 is")]
    OutOfRange(f64),
    /// The others scatter as they must, or say it by their sigma.
    #[error("only with the scores \"bounded\", and these are {}", .0.name())]
    NotBounded(Scores),
    /// Given here and in `scores`, too.
    #[error("it is given in scores, too")]
    Twice,
}

impl ScoresKey {
    /// What the session is told. Simulated calls do not fail, so no lowest score is needed.
    pub const fn model(self) -> ScoreModel {
        match self {
            Self::Scores(Scores::Binary) => ScoreModel::Binary,
            Self::Scores(Scores::Exact) => ScoreModel::Exact,
            Self::Scores(Scores::SubGaussian { sigma, .. }) => {
                ScoreModel::SubGaussian { sigma, lowest: None }
            }
            Self::Scores(Scores::Bounded) | Self::Deviation(_) | Self::Concentration(_) => {
                ScoreModel::Bounded
            }
        }
    }

    /// How scores are drawn, given the key `deviation`.
    pub fn law(self, deviation: Option<f64>) -> Result<ScoreLaw, DeviationError> {
        match (self, deviation) {
            (Self::Scores(Scores::Bounded), None) => beta(DEVIATION),
            (Self::Scores(Scores::Bounded), Some(deviation))
            | (Self::Deviation(deviation), None) => beta(deviation),
            (Self::Concentration(concentration), None) => Ok(ScoreLaw::Beta(concentration)),
            (Self::Deviation(_) | Self::Concentration(_), Some(_)) => Err(DeviationError::Twice),
            (Self::Scores(scores), Some(_)) => Err(DeviationError::NotBounded(scores)),
            (Self::Scores(Scores::Binary), None) => Ok(ScoreLaw::Binary),
            (Self::Scores(Scores::Exact), None) => Ok(ScoreLaw::Exact),
            (Self::Scores(Scores::SubGaussian { sigma, .. }), None) => {
                Ok(ScoreLaw::Gaussian(sigma))
            }
        }
    }
}

/// Beta with this deviation at a mean of a half, and less towards the ends.
fn beta(deviation: f64) -> Result<ScoreLaw, DeviationError> {
    if deviation > 0.0 && deviation < 0.5 {
        Ok(ScoreLaw::Beta(0.25 / (deviation * deviation) - 1.0))
    } else {
        Err(DeviationError::OutOfRange(deviation))
    }
}

impl From<Scores> for ScoresKey {
    fn from(scores: Scores) -> Self {
        Self::Scores(scores)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Table {
    SubGaussian { sigma: f64, lowest: Option<f64> },
    Gaussian { sigma: f64 },
    Bounded { deviation: f64 },
    Beta { concentration: f64 },
}

impl TryFrom<WordOrTable<Table>> for ScoresKey {
    type Error = SigmaMissing;

    fn try_from(written: WordOrTable<Table>) -> Result<Self, SigmaMissing> {
        let table = match written {
            WordOrTable::Word(word) => return Scores::try_from(word).map(Self::Scores),
            WordOrTable::Table(table) => table,
        };
        Ok(match table {
            Table::SubGaussian { sigma, lowest } => {
                Self::Scores(Scores::SubGaussian { sigma, lowest })
            }
            Table::Gaussian { sigma } => Self::Scores(Scores::SubGaussian { sigma, lowest: None }),
            Table::Bounded { deviation } => Self::Deviation(deviation),
            Table::Beta { concentration } => Self::Concentration(concentration),
        })
    }
}

/// Of bounded scores, if none is given.
const DEVIATION: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::*;

    fn law(text: &str, deviation: Option<f64>) -> Result<ScoreLaw, DeviationError> {
        #[derive(Deserialize)]
        struct File {
            scores: ScoresKey,
        }
        let file: File = goodarm_files::toml_text::parse(&format!("scores = {text}")).unwrap();
        file.scores.law(deviation)
    }

    #[test]
    fn old_spellings_mean_what_they_meant() {
        let gaussian = Ok(ScoreLaw::Gaussian(2.0));
        assert_eq!(law("{ sub-gaussian = { sigma = 2 } }", None), gaussian);
        assert_eq!(law("{ sub-gaussian = { sigma = 2, lowest = 0 } }", None), gaussian);
        assert_eq!(law("{ gaussian = { sigma = 2 } }", None), gaussian);
        let quarter = Ok(ScoreLaw::Beta(3.0));
        assert_eq!(law("\"bounded\"", Some(0.25)), quarter);
        assert_eq!(law("{ bounded = { deviation = 0.25 } }", None), quarter);
        assert_eq!(law("{ beta = { concentration = 3 } }", None), quarter);
        assert_eq!(law("\"bounded\"", None), law("\"bounded\"", Some(0.2)));
        // As `experiments/held-out.toml` has it: the very concentration that it had before.
        assert_eq!(law("\"bounded\"", Some(0.223_606_797_749_978_96)), Ok(ScoreLaw::Beta(4.0)));
    }

    #[test]
    fn a_deviation_belongs_to_bounded_scores_and_is_given_once() {
        let once = law("{ bounded = { deviation = 0.25 } }", Some(0.25));
        assert_eq!(once, Err(DeviationError::Twice));
        assert_eq!(law("\"binary\"", Some(0.1)), Err(DeviationError::NotBounded(Scores::Binary)));
        for wrong in [0.0, 0.5, -0.1, f64::INFINITY] {
            assert_eq!(law("\"bounded\"", Some(wrong)), Err(DeviationError::OutOfRange(wrong)));
        }
    }
}
