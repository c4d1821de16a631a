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
    /// Scores in a range cannot scatter more.
    #[error("{deviation} is not between 0 and {}, half of the range of scores", 0.5 * width)]
    OutOfRange {
        /// What was given.
        deviation: f64,
        /// Of the range.
        width: f64,
    },
    /// The others scatter as they must, or say it by their sigma.
    #[error("only with the scores \"bounded\", and these are {}", .0.name())]
    NotBounded(Scores),
    /// Given here and in `scores`, too.
    #[error("it is given in scores, too")]
    Twice,
}

impl ScoresKey {
    /// What the session is told. Simulated calls do not fail, so no lowest score is needed.
    pub fn model(self) -> ScoreModel {
        match self {
            Self::Scores(Scores::SubGaussian { sigma, .. }) => {
                ScoreModel::SubGaussian { sigma, lowest: None }
            }
            Self::Scores(scores) => scores.into(),
            Self::Deviation(_) | Self::Concentration(_) => ScoreModel::UNIT,
        }
    }

    /// How scores are drawn, given the key `deviation`.
    pub fn law(self, deviation: Option<f64>) -> Result<ScoreLaw, DeviationError> {
        match (self, deviation) {
            (Self::Scores(Scores::Bounded { range }), deviation) => {
                let width = range[1] - range[0];
                let concentration = concentration(deviation.unwrap_or(DEVIATION * width), width)?;
                Ok(match self {
                    Self::Scores(Scores::UNIT) => ScoreLaw::Beta(concentration),
                    _ => ScoreLaw::BetaWithin { concentration, range },
                })
            }
            (Self::Deviation(deviation), None) => concentration(deviation, 1.0).map(ScoreLaw::Beta),
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

/// Of a Beta law with this deviation at a mean in the middle, and less towards the ends.
fn concentration(deviation: f64, width: f64) -> Result<f64, DeviationError> {
    let share = deviation / width;
    if share > 0.0 && share < 0.5 {
        Ok(0.25 / (share * share) - 1.0)
    } else {
        Err(DeviationError::OutOfRange { deviation, width })
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
    Bounded { deviation: Option<f64>, range: Option<[f64; 2]> },
    Beta { concentration: f64 },
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
enum TableError {
    #[error(transparent)]
    Sigma(#[from] SigmaMissing),
    #[error("bounded scores have a range here, or a deviation as in older files")]
    Bounded,
}

impl TryFrom<WordOrTable<Table>> for ScoresKey {
    type Error = TableError;

    fn try_from(written: WordOrTable<Table>) -> Result<Self, TableError> {
        let table = match written {
            WordOrTable::Word(word) => return Ok(Self::Scores(word.try_into()?)),
            WordOrTable::Table(table) => table,
        };
        Ok(match table {
            Table::SubGaussian { sigma, lowest } => {
                Self::Scores(Scores::SubGaussian { sigma, lowest })
            }
            Table::Gaussian { sigma } => Self::Scores(Scores::SubGaussian { sigma, lowest: None }),
            Table::Bounded { deviation: None, range: Some(range) } => {
                Self::Scores(Scores::Bounded { range })
            }
            Table::Bounded { deviation: Some(deviation), range: None } => {
                Self::Deviation(deviation)
            }
            Table::Bounded { .. } => return Err(TableError::Bounded),
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
        let within = Ok(ScoreLaw::BetaWithin { concentration: 3.0, range: [1.0, 5.0] });
        assert_eq!(law("{ bounded = { range = [1, 5] } }", Some(1.0)), within);
        assert_eq!(law("{ bounded = { range = [0, 1] } }", Some(0.25)), quarter);
        // As `experiments/held-out.toml` has it: the very concentration that it had before.
        assert_eq!(law("\"bounded\"", Some(0.223_606_797_749_978_96)), Ok(ScoreLaw::Beta(4.0)));
    }

    #[test]
    fn a_deviation_belongs_to_bounded_scores_and_is_given_once() {
        let once = law("{ bounded = { deviation = 0.25 } }", Some(0.25));
        assert_eq!(once, Err(DeviationError::Twice));
        assert_eq!(law("\"binary\"", Some(0.1)), Err(DeviationError::NotBounded(Scores::Binary)));
        for wrong in [0.0, 0.5, -0.1, f64::INFINITY] {
            assert_eq!(
                law("\"bounded\"", Some(wrong)),
                Err(DeviationError::OutOfRange { deviation: wrong, width: 1.0 })
            );
        }
    }
}
