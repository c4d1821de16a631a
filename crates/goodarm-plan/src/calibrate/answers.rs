//! The labels of the answers of a pilot.

use std::collections::BTreeMap;
use std::path::Path;

use goodarm_core::ArmId;
use goodarm_data::answer::same;
use goodarm_data::candidates::Candidate;
use goodarm_record::card_queue::CardReply;
use goodarm_record::card_queue::label_rows;
use serde_json::Value;

use super::pilot::Pilot;
use super::{CalibrateError, CalibrationRequest, quoted};

/// Where labels come from.
#[derive(Clone, Copy, Debug)]
pub enum LabelSource<'a> {
    /// A file with ids and labels.
    File(&'a Path),
    /// Two fields of the candidates that are equal if the answer is right.
    Fields {
        /// The field with the right answer.
        field: &'a str,
        /// The field with the answer.
        equals: &'a str,
    },
}

/// Indices of the pilot's answers, and whether they are right; an answer labelled "cannot tell" is not.
pub(super) fn labels(
    request: &CalibrationRequest<'_>,
    pilot: &Pilot,
) -> Result<Vec<(usize, bool)>, CalibrateError> {
    match request.labels {
        LabelSource::File(path) => of_file(request, pilot, path),
        LabelSource::Fields { field, equals } => of_fields(request, pilot, [field, equals]),
    }
}

fn of_file(
    request: &CalibrationRequest<'_>,
    pilot: &Pilot,
    path: &Path,
) -> Result<Vec<(usize, bool)>, CalibrateError> {
    let candidates = &request.job.candidates;
    let places: BTreeMap<ArmId, usize> = pilot.arms.iter().copied().zip(0..).collect();
    let mut labels = Vec::new();
    let mut problems = Vec::new();
    for row in label_rows::read(path).map_err(CalibrateError::Labels)? {
        let arm = candidates.arm_of(&row.id);
        match arm.map(|arm| places.get(&arm)) {
            Some(Some(place)) => labels.push((*place, row.said == CardReply::Right)),
            found => {
                let what = match found {
                    None => format!("the job's candidates have no id {}", quoted(&row.id)),
                    Some(_) => format!(
                        "{} has no outcomes of every verifier in {}",
                        quoted(&row.id),
                        request.recording.display()
                    ),
                };
                problems.push(format!("{}, {}: {what}", path.display(), row.place));
            }
        }
    }
    told(labels, problems)
}

fn of_fields(
    request: &CalibrationRequest<'_>,
    pilot: &Pilot,
    fields: [&str; 2],
) -> Result<Vec<(usize, bool)>, CalibrateError> {
    let candidates = &request.job.candidates;
    let mut labels = Vec::new();
    let mut problems = Vec::new();
    for (arm, place) in pilot.arms.iter().zip(0..) {
        let candidate = candidates.get(*arm);
        match fields.map(|field| text(&candidate, field)) {
            [Ok(right), Ok(given)] => labels.push((place, same(&right, &given))),
            [Err(problem), _] | [_, Err(problem)] => problems.push(problem),
        }
    }
    told(labels, problems)
}

/// The text of a field.
fn text(candidate: &Candidate, field: &str) -> Result<String, String> {
    match candidate.field(field) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value) => Ok(value.to_string()),
        None => {
            let names = candidate.fields().keys().map(String::as_str);
            let hint = goodarm_files::did_you_mean(field, names);
            Err(format!("candidate {} has no field {field:?}{hint}", quoted(&candidate.id)))
        }
    }
}

fn told(
    labels: Vec<(usize, bool)>,
    problems: Vec<String>,
) -> Result<Vec<(usize, bool)>, CalibrateError> {
    if problems.is_empty() {
        return Ok(labels);
    }
    Err(CalibrateError::Labels(goodarm_files::first_of(problems)))
}
