//! Labels in a file from an annotation tool or a spreadsheet. One row for each answer, with its `id`, its `label`
//! and optionally `by`, the labeller; in any format of candidates, such as CSV or JSON.

use std::path::Path;

use goodarm_data::candidates::Candidates;
use goodarm_files::{did_you_mean, first_of};

use super::labels_file::column;
use super::{CardReply, ReplyForm};

/// The label of one answer.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelRow {
    /// Its place in the file, such as "line 3".
    pub place: String,
    /// The answer's id.
    pub id: String,
    /// The label.
    pub said: CardReply,
    /// The labeller, if the file has one.
    pub by: Option<String>,
}

/// Reads all rows that have a label, in the order of the file. Rows with a blank label are left out. On an error
/// there is one line for each problem.
pub fn read(path: &Path) -> Result<Vec<LabelRow>, Vec<String>> {
    let whole = |problem: String| vec![format!("{}: {problem}", path.display())];
    let table = Candidates::read(path, ID).map_err(|error| vec![error.to_string()])?;
    if table.are_ids_made() {
        return Err(whole(format!("no column {ID:?}, which should hold the ids of the answers")));
    }
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for arm in table.arms() {
        let (row, place) = (table.get(arm), table.place(arm));
        let label = column(row.fields(), LABEL).unwrap_or_default();
        match CardReply::read(&label, ReplyForm::Verdict) {
            Ok(Some(said)) => {
                let by = column(row.fields(), "by").filter(|by| !by.is_empty());
                rows.push(LabelRow { place, id: row.id.clone(), said, by });
            }
            Ok(None) => {}
            Err(problem) => problems.push(format!("{}, {place}: {problem}", path.display())),
        }
    }
    if !problems.is_empty() {
        return Err(first_of(problems));
    }
    if rows.is_empty() {
        let first = table.arms().next().map(|arm| table.get(arm));
        let names = first.iter().flat_map(|row| row.fields().keys().map(String::as_str));
        let hint = did_you_mean(LABEL, names.filter(|name| *name != LABEL));
        return Err(whole(format!(
            "no labels: a column {LABEL:?} with right, wrong or skip is needed{hint}"
        )));
    }
    Ok(rows)
}

const ID: &str = "id";
const LABEL: &str = "label";

#[cfg(test)]
mod tests;
