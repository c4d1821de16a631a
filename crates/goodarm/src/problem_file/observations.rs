//! The scores that pulls will see, checked before the first pull.

use goodarm_core::problem::{Attribute, SCORE_ABS_MAX, ScoreError};
use goodarm_core::{ArmId, AttributeId, Problem, ScoreModel};

use crate::problem_file::json::{self, FieldError, Json};

/// For each pair a list of scores that begins again when it runs out.
#[derive(Debug)]
pub(crate) struct Observations {
    attribute_count: usize,
    /// Arm by arm.
    streams: Vec<Stream>,
}

#[derive(Debug)]
struct Stream {
    /// Never empty.
    scores: Vec<f64>,
    next: usize,
}

impl Observations {
    pub(crate) fn new(value: Json, problem: &Problem) -> Result<Self, FieldError> {
        let attributes: Vec<&Attribute> =
            problem.attributes().map(|attribute| problem.attribute(attribute)).collect();
        let rows = json::list(value, |row| {
            let scores = json::list(row, json::numbers)?;
            json::check_count(scores.len(), attributes.len(), "a list for each attribute")?;
            let pairs = scores.into_iter().zip(&attributes).enumerate();
            pairs
                .map(|(index, (scores, attribute))| {
                    Stream::new(scores, attribute).map_err(|error| error.at(index))
                })
                .collect::<Result<Vec<Stream>, FieldError>>()
        })?;
        json::check_count(rows.len(), problem.arm_count(), "a list for each arm")?;
        let streams = rows.into_iter().flatten().collect();
        Ok(Self { attribute_count: attributes.len(), streams })
    }

    /// The next score of a pair.
    pub(crate) fn next(&mut self, arm: ArmId, attribute: AttributeId) -> f64 {
        let stream = &mut self.streams[arm.index() * self.attribute_count + attribute.index()];
        let score = stream.scores[stream.next];
        stream.next = (stream.next + 1) % stream.scores.len();
        score
    }
}

impl Stream {
    fn new(scores: Vec<f64>, attribute: &Attribute) -> Result<Self, FieldError> {
        if scores.is_empty() {
            return Err(FieldError::new("expected at least one score, found none"));
        }
        for (index, &score) in scores.iter().enumerate() {
            check_score(score, attribute).map_err(|error| error.at(index))?;
        }
        Ok(Self { scores, next: 0 })
    }
}

/// What `Session::tell` would refuse, found before anything is printed.
fn check_score(score: f64, attribute: &Attribute) -> Result<(), FieldError> {
    let why = match attribute.checked_score(score) {
        Ok(_) => return Ok(()),
        Err(ScoreError::NotANumber) => {
            format!("not between -{SCORE_ABS_MAX:e} and {SCORE_ABS_MAX:e}")
        }
        Err(ScoreError::NotBinary) => "neither 0 nor 1, but the attribute is binary".into(),
        Err(ScoreError::BelowLowest(_)) if attribute.scores() == ScoreModel::Bounded => {
            "below 0, but the attribute is bounded".into()
        }
        Err(ScoreError::BelowLowest(lowest)) => {
            format!("below {lowest}, the lowest that the attribute declares")
        }
        Err(error) => error.to_string(),
    };
    Err(FieldError::new(format!("the score {score} is {why}")))
}
