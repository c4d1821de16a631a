//! The verifiers of a problem file: one object for each, as in a job, or a list for each of their
//! properties.

use goodarm_core::AttributeSpec;
use goodarm_files::Scores;
use goodarm_files::scores::WordOrTable;
use serde::Deserialize;

use crate::problem_file::{FieldError, check_count};

/// One verifier, as a job has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(crate) struct VerifierFile {
    name: String,
    price: f64,
    threshold: f64,
    #[serde(default)]
    scores: ScoresKey,
}

/// The words of a job; but the noise of sub-Gaussian scores may be left out, and is 1 then, as in
/// the paper.
#[derive(Clone, Copy, Deserialize)]
#[serde(from = "WordOrTable<Table>")]
pub(crate) struct ScoresKey(Scores);

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

/// The verifiers, and where the file speaks of them.
pub(crate) struct Verifiers {
    pub(crate) specs: Vec<AttributeSpec>,
    in_lists: bool,
}

impl Verifiers {
    /// From `verifiers`.
    pub(crate) fn each(files: Vec<VerifierFile>) -> Self {
        let spec = |file: VerifierFile| AttributeSpec {
            name: file.name,
            price: file.price,
            threshold: file.threshold,
            scores: file.scores.0.into(),
        };
        Self { specs: files.into_iter().map(spec).collect(), in_lists: false }
    }

    /// From `costs` and `thresholds`, and perhaps `names` and `scores`.
    pub(crate) fn lists(
        (costs, thresholds): (Option<Vec<f64>>, Option<Vec<f64>>),
        names: Option<Vec<String>>,
        scores: Option<Vec<ScoresKey>>,
    ) -> Result<Self, FieldError> {
        let missing = |key: &str| {
            FieldError::new(key, "this key is missing; or describe the `verifiers` instead")
        };
        let costs = costs.ok_or_else(|| missing("costs"))?;
        let thresholds = thresholds.ok_or_else(|| missing("thresholds"))?;
        let count = costs.len();
        let names = names.unwrap_or_else(|| (0..count).map(|index| index.to_string()).collect());
        let scores = scores.unwrap_or_else(|| vec![ScoresKey::default(); count]);
        for (key, found) in
            [("thresholds", thresholds.len()), ("names", names.len()), ("scores", scores.len())]
        {
            check_count(key, found, count, "as many as there are costs")?;
        }
        let parts = costs.into_iter().zip(thresholds).zip(names).zip(scores);
        let specs = parts
            .map(|(((price, threshold), name), scores)| AttributeSpec {
                name,
                price,
                threshold,
                scores: scores.0.into(),
            })
            .collect();
        Ok(Self { specs, in_lists: true })
    }

    /// The key that says how many verifiers there are.
    pub(crate) const fn key(&self) -> &'static str {
        if self.in_lists { "costs" } else { "verifiers" }
    }

    /// Where the file has a verifier's `key`, such as `price` or `scores.sub-gaussian.sigma`.
    pub(crate) fn path(&self, key: &str, index: usize) -> String {
        if !self.in_lists {
            return format!("verifiers[{index}].{key}");
        }
        let (first, rest) = key.split_at(key.find('.').unwrap_or(key.len()));
        let list = match first {
            "name" => "names",
            "price" => "costs",
            "threshold" => "thresholds",
            _ => "scores",
        };
        format!("{list}[{index}]{rest}")
    }
}
