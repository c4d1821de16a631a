//! What a verifier's scores are declared to be.

use std::fmt;

use goodarm_core::ScoreModel;
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// What scores are declared to be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "ScoresText")]
#[schemars(with = "ScoresText", rename = "Scores")]
pub enum Scores {
    /// 0 or 1.
    Binary,
    /// Anything in a range.
    Bounded {
        /// The lowest possible score, which a failed call counts as, and the highest.
        range: [f64; 2],
    },
    /// The verifier always gives the same score, so one call is enough.
    Exact,
    /// Noise of at most sigma around the mean.
    SubGaussian {
        /// An upper bound on the noise: declared, never estimated.
        sigma: f64,
        /// The lowest possible score, which a failed call counts as.
        lowest: Option<f64>,
    },
}

/// [`Scores`] as in files.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum ScoresText {
    /// 0 or 1.
    Binary,
    /// Anything from 0 to 1.
    Bounded,
    /// The verifier always gives the same score, so one call is enough.
    Exact,
    /// Anything in a range.
    #[serde(rename = "bounded")]
    Within {
        /// The lowest possible score, which a failed call counts as, and the highest.
        range: [f64; 2],
    },
    /// Noise of at most sigma around the mean.
    SubGaussian {
        /// An upper bound on the noise: declared, never estimated.
        sigma: f64,
        /// The lowest possible score, which a failed call counts as.
        lowest: Option<f64>,
    },
}

impl From<Scores> for ScoresText {
    fn from(scores: Scores) -> Self {
        match scores {
            Scores::Binary => Self::Binary,
            Scores::UNIT => Self::Bounded,
            Scores::Bounded { range } => Self::Within { range },
            Scores::Exact => Self::Exact,
            Scores::SubGaussian { sigma, lowest } => Self::SubGaussian { sigma, lowest },
        }
    }
}

impl Scores {
    /// Anything from 0 to 1.
    pub const UNIT: Self = Self::Bounded { range: [0.0, 1.0] };
    /// Any number, with a noise of 1: the assumption of the paper.
    pub const OF_THE_PAPER: Self = Self::SubGaussian { sigma: 1.0, lowest: None };

    /// The name in files, without range or noise.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Bounded { .. } => "bounded",
            Self::Exact => "exact",
            Self::SubGaussian { .. } => "sub-gaussian",
        }
    }

    /// The range in which a threshold makes sense.
    pub const fn range(self) -> [f64; 2] {
        match self {
            Self::Bounded { range } => range,
            Self::Binary | Self::Exact | Self::SubGaussian { .. } => [0.0, 1.0],
        }
    }
}

impl fmt::Display for Scores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Binary | Self::Exact | &Self::UNIT => Ok(()),
            Self::Bounded { range: [lowest, highest] } => write!(f, " ({lowest} to {highest})"),
            Self::SubGaussian { sigma, lowest: None } => write!(f, " (sigma {sigma})"),
            Self::SubGaussian { sigma, lowest: Some(lowest) } => {
                write!(f, " (sigma {sigma}, lowest {lowest})")
            }
        }
    }
}

impl From<Scores> for ScoreModel {
    fn from(scores: Scores) -> Self {
        match scores {
            Scores::Binary => Self::Binary,
            Scores::Bounded { range: [lowest, highest] } => Self::Bounded { lowest, highest },
            Scores::Exact => Self::Exact,
            Scores::SubGaussian { sigma, lowest } => Self::SubGaussian { sigma, lowest },
        }
    }
}

impl From<ScoreModel> for Scores {
    fn from(model: ScoreModel) -> Self {
        match model {
            ScoreModel::Binary => Self::Binary,
            ScoreModel::Bounded { lowest, highest } => Self::Bounded { range: [lowest, highest] },
            ScoreModel::Exact => Self::Exact,
            ScoreModel::SubGaussian { sigma, lowest } => Self::SubGaussian { sigma, lowest },
        }
    }
}

impl<'de> Deserialize<'de> for Scores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScoresVisitor)
    }
}

/// Reads a word, or a table with one key.
struct ScoresVisitor;

/// `"binary"`
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Binary,
    Bounded,
    Exact,
    SubGaussian,
}

/// `{ sub-gaussian = { sigma = 0.5 } }`
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Table {
    Bounded { range: [f64; 2] },
    SubGaussian { sigma: f64, lowest: Option<f64> },
}

impl<'de> Visitor<'de> for ScoresVisitor {
    type Value = Scores;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a word such as \"binary\", or {\"sub-gaussian\": {...}}")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Scores, E> {
        match Word::deserialize(StrDeserializer::new(word))? {
            Word::Binary => Ok(Scores::Binary),
            Word::Bounded => Ok(Scores::UNIT),
            Word::Exact => Ok(Scores::Exact),
            Word::SubGaussian => Err(E::custom(
                "sub-gaussian scores need their noise: { sub-gaussian = { sigma = 1 } }",
            )),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scores, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(&mut map))?;
        if map.next_key::<IgnoredAny>()?.is_some() {
            return Err(de::Error::custom("expected one key, found several"));
        }
        Ok(match table {
            Table::Bounded { range } => Scores::Bounded { range },
            Table::SubGaussian { sigma, lowest } => Scores::SubGaussian { sigma, lowest },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_written() {
        let sub_gaussian = |lowest| Scores::SubGaussian { sigma: 0.5, lowest };
        for (json, scores) in [
            (r#""binary""#, Scores::Binary),
            (r#""bounded""#, Scores::UNIT),
            (r#"{"bounded":{"range":[1.0,5.0]}}"#, Scores::Bounded { range: [1.0, 5.0] }),
            (r#""exact""#, Scores::Exact),
            (r#"{"sub-gaussian":{"sigma":0.5,"lowest":null}}"#, sub_gaussian(None)),
            (r#"{"sub-gaussian":{"sigma":0.5,"lowest":0.0}}"#, sub_gaussian(Some(0.0))),
        ] {
            assert_eq!(serde_json::from_str::<Scores>(json).unwrap(), scores);
            assert_eq!(serde_json::to_string(&scores).unwrap(), json);
            assert_eq!(Scores::from(ScoreModel::from(scores)), scores);
        }
        let left_out: Scores = serde_json::from_str(r#"{"sub-gaussian":{"sigma":0.5}}"#).unwrap();
        assert_eq!(left_out, sub_gaussian(None));
        assert_eq!(sub_gaussian(Some(0.0)).to_string(), "sub-gaussian (sigma 0.5, lowest 0)");
        assert_eq!(Scores::Bounded { range: [0.3, 1.0] }.to_string(), "bounded (0.3 to 1)");
        assert_eq!(Scores::UNIT.to_string(), "bounded");
    }

    #[test]
    fn noise_must_be_declared_and_its_keys_are_known() {
        for wrong in [
            "{}",
            "1",
            r#"{"bounded":{"range":[0,1]},"binary":1}"#,
            r#"{"binary":1}"#,
            r#""sub-gaussian""#,
            r#"{"sub-gaussian":{}}"#,
            r#"{"sub-gaussian":{"sigma":1,"lowst":0}}"#,
            r#"{"bounded":{"rang":[0,1]}}"#,
            r#"{"bounded":{"range":[0]}}"#,
            r#""gaussian""#,
        ] {
            assert!(serde_json::from_str::<Scores>(wrong).is_err(), "{wrong}");
        }
    }
}
