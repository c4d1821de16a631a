//! The labels of the answers of a pilot.

use std::collections::BTreeMap;
use std::path::Path;

use goodarm_core::ArmId;
use goodarm_data::answer::same;
use goodarm_data::candidates::Candidate;
use goodarm_data::table::unescape_formula;
use goodarm_record::card_queue::CardReply;
use goodarm_record::card_queue::label_rows::{self, LabelRow};
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

/// The labels: the index of each labelled answer in the pilot, and whether it is right. An answer labelled "cannot
/// tell" counts as wrong.
pub(super) fn labels(
    request: &CalibrationRequest<'_>,
    pilot: &Pilot,
) -> Result<Vec<(usize, bool)>, CalibrateError> {
    let labels = match request.labels {
        LabelSource::File(path) => of_file(request, pilot, path)?,
        LabelSource::Fields { field, equals } => of_fields(request, pilot, [field, equals]),
    };
    let problems: Vec<String> = labels.iter().filter_map(|it| it.clone().err()).collect();
    if problems.is_empty() {
        return Ok(labels.into_iter().flatten().collect());
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

fn of_fields(
    request: &CalibrationRequest<'_>,
    pilot: &Pilot,
    [right, given]: [&str; 2],
) -> Vec<LabelResult> {
    let label = |(arm, place): (&ArmId, usize)| {
        let candidate = request.job.candidates.get(*arm);
        Ok((place, same(&text(&candidate, right)?, &text(&candidate, given)?)))
    };
    pilot.arms.iter().zip(0..).map(label).collect()
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
