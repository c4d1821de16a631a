//! The verifiers of a problem file.

use goodarm_core::AttributeSpec;
use goodarm_files::Scores;
use goodarm_files::scores::WordOrTable;
use serde::Deserialize;

/// One verifier.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(crate) struct VerifierFile {
    name: String,
    price: f64,
    threshold: f64,
    #[serde(default)]
    scores: ScoresKey,
}

/// Like the key of a job, but σ of sub-Gaussian scores may be omitted: it is 1, as in the paper.
#[derive(Deserialize)]
#[serde(from = "WordOrTable<Table>")]
struct ScoresKey(Scores);

impl Default for ScoresKey {
    fn default() -> Self {
        Self(Scores::OF_THE_PAPER)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, expecting = "an object")]
enum Table {
    Bounded {
        range: [f64; 2],
    },
    SubGaussian {
        #[serde(default = "one")]
        sigma: f64,
        lowest: Option<f64>,
    },
}

const fn one() -> f64 {
    1.0
}

impl From<WordOrTable<Table>> for ScoresKey {
    fn from(written: WordOrTable<Table>) -> Self {
        Self(match written {
            WordOrTable::Word(word) => Scores::try_from(word).unwrap_or(Scores::OF_THE_PAPER),
            WordOrTable::Table(Table::Bounded { range }) => Scores::Bounded { range },
            WordOrTable::Table(Table::SubGaussian { sigma, lowest }) => {
                Scores::SubGaussian { sigma, lowest }
            }
        })
    }
}

impl From<VerifierFile> for AttributeSpec {
    fn from(file: VerifierFile) -> Self {
        Self {
            name: file.name,
            price: file.price,
            threshold: file.threshold,
            scores: file.scores.0.into(),
        }
    }
}
