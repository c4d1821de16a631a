//! Labels in a file: what an annotation tool or a spreadsheet gives back. One row for each answer, with its
//! `id`, its `label` and, if it is there, `by` whom; CSV, TSV, JSON and whatever else candidates may be in.

use std::path::Path;

use goodarm_data::candidates::{Candidates, CandidatesError};
use goodarm_files::{first_of, nearest};
use serde_json::Value;
use thiserror::Error;

use crate::deck::{Said, Wanted};

/// What a file says about one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRow {
    /// Where it stands, such as "line 3".
    pub place: String,
    /// The answer.
    pub id: String,
    /// What is said, as it is written and not blank: [`read_verdicts`] reads it as right, wrong or skip.
    pub label: String,
    /// Who says it, if the file says so.
    pub by: Option<String>,
}

/// Why a file of labels cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LabelFileError {
    /// It cannot be read, or an id is missing or there twice.
    #[error(transparent)]
    File(#[from] CandidatesError),
    /// No row says whom it is about.
    #[error("{file}: no column \"{ID}\", which should hold the ids of the answers")]
    NoIds {
        /// The file.
        file: String,
    },
    /// No row has a label.
    #[error("{file}: no labels: a column \"{LABEL}\" with right, wrong or skip is needed{hint}")]
    NoLabels {
        /// The file.
        file: String,
        /// Which column was probably meant.
        hint: String,
    },
    /// Rows that say nothing that is known: a line for each.
    #[error("{}", .0.join("\n"))]
    Rows(Vec<String>),
}

/// Reads all rows that have a label. A row whose label is blank was not labelled yet, and is left out.
pub fn read(path: &Path) -> Result<Vec<LabelRow>, LabelFileError> {
    let file = || path.display().to_string();
    let table = Candidates::read(path, ID)?;
    if table.are_ids_made() {
        return Err(LabelFileError::NoIds { file: file() });
    }
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for arm in table.arms() {
        let row = table.get(arm);
        let text = |field: &str| text_of(row.fields().get(field));
        match (text(LABEL), text(BY)) {
            (Ok(Some(label)), Ok(by)) => {
                rows.push(LabelRow { place: table.place(arm), id: row.id.clone(), label, by });
            }
            (Ok(None), _) => {}
            (Err(()), _) => problems.push(wrong(&table.place(arm), path, LABEL)),
            (_, Err(())) => problems.push(wrong(&table.place(arm), path, BY)),
        }
    }
    if !problems.is_empty() {
        return Err(LabelFileError::Rows(first_of(problems)));
    }
    if rows.is_empty() {
        let first = table.arms().next().map(|arm| table.get(arm));
        let names = first.iter().flat_map(|row| row.fields().keys().map(String::as_str));
        let hint = match nearest(LABEL, names.filter(|name| *name != LABEL)) {
            Some(name) => format!("; did you mean {name:?} by it?"),
            None => String::new(),
        };
        return Err(LabelFileError::NoLabels { file: file(), hint });
    }
    Ok(rows)
}

/// Reads all rows as verdicts, in the order of the file; whatever is no verdict is an error with its line.
pub fn read_verdicts(path: &Path) -> Result<Vec<(LabelRow, Said)>, LabelFileError> {
    let mut verdicts = Vec::new();
    let mut problems = Vec::new();
    for row in read(path)? {
        match Said::read(&row.label, Wanted::Verdict) {
            Ok(said) => verdicts.extend(said.map(|said| (row, said))),
            Err(error) => problems.push(format!("{}, {}: {error}", path.display(), row.place)),
        }
    }
    if problems.is_empty() { Ok(verdicts) } else { Err(LabelFileError::Rows(first_of(problems))) }
}

/// A text, or a number or a truth value as one; none if it is blank.
fn text_of(value: Option<&Value>) -> Result<Option<String>, ()> {
    let text = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        Some(_) => return Err(()),
    };
    Ok((!text.is_empty()).then_some(text))
}

fn wrong(place: &str, path: &Path, field: &str) -> String {
    format!("{}, {place}: {field}: a word or a number is needed", path.display())
}

const ID: &str = "id";
const LABEL: &str = "label";
const BY: &str = "by";

#[cfg(test)]
mod tests;
