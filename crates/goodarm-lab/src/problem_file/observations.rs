//! The scores of the calls, checked before the first call.

use goodarm_core::problem::Attribute;
use goodarm_core::{ArmId, AttributeId, Problem};
use goodarm_lab::lab_error::LabError;

use crate::problem_file::check_count;

/// For each pair a list of scores that begins again when it runs out.
#[derive(Debug)]
pub(crate) struct Observations {
    attribute_count: usize,
    /// One stream for each pair, arm by arm.
    streams: Vec<Stream>,
}

#[derive(Debug)]
struct Stream {
    /// Never empty.
    scores: Vec<f64>,
    next: usize,
}

impl Observations {
    pub(crate) fn new(rows: Vec<Vec<Vec<f64>>>, problem: &Problem) -> Result<Self, LabError> {
        let attributes: Vec<&Attribute> =
            problem.attributes().map(|attribute| problem.attribute(attribute)).collect();
        check_count("observations", rows.len(), problem.arm_count(), "a list for each arm")?;
        let mut streams = Vec::with_capacity(problem.pair_count());
        for (arm, row) in rows.into_iter().enumerate() {
            let path = format!("observations[{arm}]");
            check_count(&path, row.len(), attributes.len(), "a list for each attribute")?;
            for (index, (scores, attribute)) in row.into_iter().zip(&attributes).enumerate() {
                check_scores(&scores, attribute, &format!("{path}[{index}]"))?;
                streams.push(Stream { scores, next: 0 });
            }
        }
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

fn check_scores(scores: &[f64], attribute: &Attribute, path: &str) -> Result<(), LabError> {
    if scores.is_empty() {
        return Err(LabError::about(path, "expected at least one score, found none"));
    }
    for (index, &score) in scores.iter().enumerate() {
        attribute.checked_score(score).map_err(|error| {
            let fault = format!("the score {score} is {error}");
            LabError::about(format!("{path}[{index}]"), fault)
        })?;
    }
    Ok(())
}
