//! Candidates and their findings as one flat table: a row for each candidate, a column for each of its fields, then
//! the columns of goodarm.

use std::collections::BTreeSet;

use goodarm_data::candidates::Candidate;
use goodarm_data::table::{Table, TableColumn};
use serde_json::Value;

use super::KEY;
use crate::view::{AnswerView, VerifierView};

/// A candidate with its own fields, and what is known about it.
pub struct FlatRow {
    /// The candidate.
    pub candidate: Candidate,
    /// What is known about it.
    pub answer: AnswerView,
}

/// All rows as a table. A field whose values are all numbers, or all flags, has a column of that kind. All
/// other columns are texts, with nested values as JSON.
pub fn table(rows: &[FlatRow], verifiers: &[VerifierView]) -> Table {
    let mut table = Table::default();
    let has_own = |row: &FlatRow| match row.candidate.fields().get("id") {
        Some(Value::String(id)) => *id == row.candidate.id,
        Some(Value::Number(id)) => id.to_string() == row.candidate.id,
        _ => false,
    };
    if !rows.iter().all(has_own) {
        table.push(format!("{KEY}.id"), texts(rows, |row| row.candidate.id.clone()));
    }
    let names: BTreeSet<&String> =
        rows.iter().flat_map(|row| row.candidate.fields().keys()).collect();
    for name in names {
        let values = rows.iter().map(|row| row.candidate.fields().get(name.as_str()));
        table.push(name.clone(), column(&values.collect::<Vec<_>>()));
    }
    table.push(format!("{KEY}.status"), texts(rows, |row| row.answer.status.name().to_owned()));
    let rank = |row: &FlatRow| row.answer.rank.and_then(|rank| i64::try_from(rank).ok());
    table.push(format!("{KEY}.rank"), TableColumn::Integers(rows.iter().map(rank).collect()));
    let verifiers = if rows.is_empty() { &[] } else { verifiers };
    for (index, verifier) in verifiers.iter().enumerate() {
        let pairs = || rows.iter().map(move |row| &row.answer.evidence[index]);
        let name = |what: &str| format!("{KEY}.{}.{what}", verifier.name);
        table.push(name("threshold"), TableColumn::reals(rows.iter().map(|_| verifier.threshold)));
        table.push(name("mean"), TableColumn::Reals(pairs().map(|pair| pair.mean).collect()));
        let calls = pairs().map(|pair| i64::try_from(pair.calls).unwrap_or(i64::MAX));
        table.push(name("calls"), TableColumn::integers(calls));
        table.push(name("met"), TableColumn::Flags(pairs().map(|pair| Some(pair.met)).collect()));
        table.push(name("spent"), TableColumn::texts(pairs().map(|pair| pair.spent.to_string())));
    }
    table
}

fn texts(rows: &[FlatRow], of: impl Fn(&FlatRow) -> String) -> TableColumn {
    TableColumn::texts(rows.iter().map(of))
}

/// The column of a field; null is an empty cell.
fn column(values: &[Option<&Value>]) -> TableColumn {
    let values: Vec<Option<&Value>> =
        values.iter().map(|value| value.filter(|value| !value.is_null())).collect();
    let all = |is: fn(&Value) -> bool| values.iter().flatten().all(|value| is(value));
    if all(Value::is_boolean) && values.iter().any(Option::is_some) {
        TableColumn::Flags(values.iter().map(|value| value.and_then(Value::as_bool)).collect())
    } else if all(Value::is_i64) && values.iter().any(Option::is_some) {
        TableColumn::Integers(values.iter().map(|value| value.and_then(Value::as_i64)).collect())
    } else if all(Value::is_number) && values.iter().any(Option::is_some) {
        TableColumn::Reals(values.iter().map(|value| value.and_then(Value::as_f64)).collect())
    } else {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        TableColumn::Texts(values.iter().map(|value| value.map(text)).collect())
    }
}
