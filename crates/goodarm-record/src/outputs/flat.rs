//! Candidates and what is known about them as one flat table: a row for each, a column for each field,
//! and those of goodarm behind them.

use std::collections::BTreeSet;

use goodarm_data::candidates::Candidate;
use goodarm_data::table::{Table, TableColumn};
use serde_json::Value;

use super::{Finding, KEY, PairFinding};

/// A candidate and its finding.
pub struct FlatRow<'a> {
    /// With its own fields.
    pub candidate: Candidate,
    /// What is known about it.
    pub finding: Finding<'a>,
}

/// All rows as a table. A field that is a text, a number or a flag wherever it is there has a column of
/// that kind; all others are texts, and what is nested is JSON.
pub fn table(rows: &[FlatRow<'_>]) -> Table {
    let mut table = Table::default();
    let has_own = |row: &FlatRow<'_>| match row.candidate.fields().get("id") {
        Some(Value::String(id)) => *id == row.candidate.id,
        Some(Value::Number(id)) => id.to_string() == row.candidate.id,
        _ => false,
    };
    if !rows.iter().all(has_own) {
        table.push(format!("{KEY}.id"), texts(rows, |row| Some(row.candidate.id.clone())));
    }
    let names: BTreeSet<&String> =
        rows.iter().flat_map(|row| row.candidate.fields().keys()).collect();
    for name in names {
        let values = rows.iter().map(|row| row.candidate.fields().get(name.as_str()));
        table.push(name.clone(), column(&values.collect::<Vec<_>>()));
    }
    table.push(format!("{KEY}.status"), texts(rows, |row| Some(row.finding.status.to_owned())));
    let rank = |row: &FlatRow<'_>| row.finding.rank.and_then(|rank| i64::try_from(rank).ok());
    table.push(format!("{KEY}.rank"), TableColumn::Integers(rows.iter().map(rank).collect()));
    let verifiers = rows.first().map_or(&[][..], |row| &row.finding.evidence);
    for (index, PairFinding { verifier, .. }) in verifiers.iter().enumerate() {
        let pairs = || rows.iter().map(move |row| &row.finding.evidence[index]);
        let name = |what: &str| format!("{KEY}.{verifier}.{what}");
        table.push(name("threshold"), TableColumn::reals(pairs().map(|pair| pair.threshold)));
        table.push(name("mean"), TableColumn::Reals(pairs().map(|pair| pair.pair.mean).collect()));
        let calls = pairs().map(|pair| i64::try_from(pair.pair.calls).unwrap_or(i64::MAX));
        table.push(name("calls"), TableColumn::integers(calls));
        table.push(
            name("met"),
            TableColumn::Flags(pairs().map(|pair| Some(pair.pair.met)).collect()),
        );
        table.push(
            name("spent"),
            TableColumn::texts(pairs().map(|pair| pair.pair.spent.to_string())),
        );
    }
    table
}

fn texts(rows: &[FlatRow<'_>], of: impl Fn(&FlatRow<'_>) -> Option<String>) -> TableColumn {
    TableColumn::Texts(rows.iter().map(of).collect())
}

/// The column of a field; null is nothing.
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
