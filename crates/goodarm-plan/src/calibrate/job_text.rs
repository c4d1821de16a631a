//! A job's text with other thresholds: comments, order and everything else stay.

use goodarm_live::job::{Job, JobInputs};
use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::{CalibrateError, CalibrationReport};

/// The text with the new thresholds, checked by reading it as a job.
pub(super) fn with_thresholds(
    job: &Job,
    report: &CalibrationReport,
) -> Result<String, CalibrateError> {
    let wrong = |reason: String| CalibrateError::JobText { path: job.path.clone(), reason };
    let mut document: DocumentMut =
        job.text.parse().map_err(|error: toml_edit::TomlError| wrong(error.to_string()))?;
    for (terms, found) in job.terms.verifiers.iter().zip(&report.verifiers) {
        let Some(threshold) = found.new_threshold else { continue };
        let criterion = terms.criterion.as_ref();
        let verifier = criterion.map_or(terms.name.as_str(), |it| it.verifier.as_str());
        let missing = || wrong(format!("no verifier {verifier:?} in the text of the job"));
        let verifiers = document.get_mut("verifiers").ok_or_else(missing)?;
        let table = named(verifiers, verifier).ok_or_else(missing)?;
        match criterion {
            None => set(table, threshold),
            Some(it) => {
                let criteria = table.get_mut("criteria").and_then(|all| named(all, &it.name));
                set(criteria.ok_or_else(missing)?, threshold);
            }
        }
    }
    let text = document.to_string();
    Job::parse(&job.path, text.clone(), JobInputs::default())?;
    Ok(text)
}

/// The table with this name in a list of tables, which may be written as `[[list]]` or as an inline array.
fn named<'a>(list: &'a mut Item, name: &str) -> Option<&'a mut dyn TableLike> {
    let is_it = |table: &dyn TableLike| table.get("name").and_then(Item::as_str) == Some(name);
    match list {
        Item::ArrayOfTables(tables) => {
            let table = tables.iter_mut().find(|table| is_it(*table))?;
            Some(table)
        }
        Item::Value(Value::Array(tables)) => {
            let mut tables = tables.iter_mut().filter_map(Value::as_inline_table_mut);
            let table = tables.find(|table| is_it(*table))?;
            Some(table)
        }
        _ => None,
    }
}

/// Sets a threshold; spaces and comments around the old one and before its key stay.
fn set(table: &mut dyn TableLike, threshold: f64) {
    let mut value = Value::from(threshold);
    match table.get_mut("threshold") {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => drop(table.insert("threshold", Item::Value(value))),
    }
}
