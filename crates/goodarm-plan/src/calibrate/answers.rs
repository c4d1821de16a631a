//! The labels of the answers of a pilot.

use std::collections::BTreeMap;
use std::path::Path;

use goodarm_core::ArmId;
use goodarm_data::answer::Extractor;
use goodarm_data::candidates::Candidate;
use goodarm_data::table::unescape_formula;
use goodarm_record::card_queue::CardReply;
use goodarm_record::card_queue::label_rows::{self, LabelRow};
use goodarm_record::reference::{Comparison, extractor_of_job};
use serde_json::Value;

use super::pilot::Pilot;
use super::{CalibrateError, CalibrationRequest, quoted};

/// Where labels come from.
#[derive(Clone, Copy, Debug)]
pub enum LabelSource<'a> {
    /// A file with ids and labels.
    File(&'a Path),
    /// Two fields of the candidates whose final answers are the same if the answer is right.
    Fields {
        /// The field with the right answer.
        field: &'a str,
        /// The field with the answer.
        equals: &'a str,
        /// Finds the final answers; as the job does if not given.
        extractor: Option<&'a Extractor>,
    },
}

/// The labels of the answers of a pilot.
pub(super) struct PilotLabels {
    /// The index of each labelled answer in the pilot, and whether it is right. An answer labelled "cannot tell" counts
    /// as wrong.
    pub(super) right: Vec<(usize, bool)>,
    /// Some of the compared fields, a line for each; none for a file.
    pub(super) compared: String,
}

/// Reads or makes the labels.
pub(super) fn labels(
    request: &CalibrationRequest<'_>,
    pilot: &Pilot,
) -> Result<PilotLabels, CalibrateError> {
    match request.labels {
        LabelSource::File(path) => {
            let right = all_or_problems(of_file(request, pilot, path)?)?;
            Ok(PilotLabels { right, compared: String::new() })
        }
        LabelSource::Fields { field, equals, extractor } => {
            let own = extractor_of_job(&request.job.text, equals);
            let extractor = extractor.or(own.as_ref());
            of_fields(request, pilot, Comparison { fields: [field, equals], extractor })
        }
    }
}

/// All results, or a line for each problem.
fn all_or_problems<T: Clone>(results: Vec<Result<T, String>>) -> Result<Vec<T>, CalibrateError> {
    let problems: Vec<String> =
        results.iter().filter_map(|it| it.as_ref().err().cloned()).collect();
    if problems.is_empty() {
        return Ok(results.into_iter().flatten().collect());
    }
    Err(CalibrateError::Labels(goodarm_files::first_of(problems)))
}

/// A label, or the problem with it.
type LabelResult = Result<(usize, bool), String>;

fn of_file(
    request: &CalibrationRequest<'_>,
    pilot: &Pilot,
    path: &Path,
) -> Result<Vec<LabelResult>, CalibrateError> {
    let candidates = &request.job.candidates;
    let places: BTreeMap<ArmId, usize> = pilot.arms.iter().copied().zip(0..).collect();
    let label = |row: LabelRow| {
        let id = quoted(&row.id);
        // As the export of cards writes it, or as it is.
        let arm =
            candidates.arm_of(unescape_formula(&row.id)).or_else(|| candidates.arm_of(&row.id));
        let problem = match arm.map(|arm| places.get(&arm)) {
            Some(Some(place)) => return Ok((*place, row.said == CardReply::Right)),
            Some(None) => {
                format!("{id} has no outcomes of every verifier in {}", request.recording.display())
            }
            None => format!("the job's candidates have no id {id}"),
        };
        Err(format!("{}, {}: {problem}", path.display(), row.place))
    };
    let rows = label_rows::read(path).map_err(CalibrateError::Labels)?;
    Ok(rows.into_iter().map(label).collect())
}

/// Refused if no answer is right: then the comparison is probably wrong.
fn of_fields(
    request: &CalibrationRequest<'_>,
    pilot: &Pilot,
    comparison: Comparison<'_>,
) -> Result<PilotLabels, CalibrateError> {
    let [right, given] = comparison.fields;
    let compare = |arm: &ArmId| {
        let candidate = request.job.candidates.get(*arm);
        let texts = [text(&candidate, right)?, text(&candidate, given)?];
        Ok(comparison.compare(&candidate.id, [&texts[0], &texts[1]]))
    };
    let pairs = all_or_problems(pilot.arms.iter().map(compare).collect())?;
    comparison.check(&pairs).map_err(CalibrateError::NothingAgrees)?;
    let right = pairs.iter().enumerate().map(|(place, pair)| (place, pair.is_same)).collect();
    Ok(PilotLabels { right, compared: comparison.examples(&pairs) })
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
