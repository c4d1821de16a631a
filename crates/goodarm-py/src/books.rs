//! The books of a session as one table.

use goodarm_core::{ArmId, ArmStatus, AttributeId, Books};
use goodarm_data::table::TableColumn;

use crate::table::PyTable;

/// A row for each pair.
pub(crate) fn books_table(books: &Books) -> PyTable {
    let problem = books.problem();
    let pairs: Vec<(ArmId, AttributeId)> = problem
        .arms()
        .flat_map(|arm| problem.attributes().map(move |attribute| (arm, attribute)))
        .collect();
    let reals = |of: &dyn Fn(ArmId, AttributeId) -> f64| {
        TableColumn::reals(pairs.iter().map(|&(arm, attribute)| of(arm, attribute)))
    };
    let counts = |of: &dyn Fn(ArmId, AttributeId) -> u64| {
        let signed = |&(arm, attribute): &_| i64::try_from(of(arm, attribute)).unwrap_or(i64::MAX);
        TableColumn::integers(pairs.iter().map(signed))
    };
    let flags = |of: &dyn Fn(ArmId, AttributeId) -> bool| {
        TableColumn::Flags(pairs.iter().map(|&(arm, attribute)| Some(of(arm, attribute))).collect())
    };
    let name =
        |&(_, attribute): &(ArmId, AttributeId)| problem.attribute(attribute).name.to_owned();
    let status = |&(arm, _): &(ArmId, AttributeId)| ArmStatus::name(books.status(arm)).to_owned();
    let mean = |&(arm, attribute): &(ArmId, AttributeId)| {
        let tally = books.tally(arm, attribute);
        (tally.returned_count > 0).then(|| tally.mean())
    };
    let columns = [
        ("arm", counts(&|arm, _| u64::from(arm.0))),
        ("verifier", TableColumn::texts(pairs.iter().map(name))),
        ("status", TableColumn::texts(pairs.iter().map(status))),
        ("dispatched", counts(&|arm, attribute| books.tally(arm, attribute).dispatched_count)),
        ("returned", counts(&|arm, attribute| books.tally(arm, attribute).returned_count)),
        ("score_sum", reals(&|arm, attribute| books.tally(arm, attribute).sum)),
        ("mean", TableColumn::Reals(pairs.iter().map(mean).collect())),
        ("spent", reals(&|arm, attribute| books.tally(arm, attribute).spent.units())),
        ("evidence", reals(&|arm, attribute| books.evidence(arm, attribute))),
        ("evidence_count", counts(&|arm, attribute| books.evidence_count(arm, attribute))),
        ("level", reals(&|arm, attribute| books.level(arm, attribute))),
        ("met", flags(&|arm, attribute| books.is_resolved(arm, attribute))),
        ("open", flags(&|arm, attribute| books.is_open(arm, attribute))),
    ];
    PyTable::new(columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect())
}
