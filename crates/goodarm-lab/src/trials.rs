//! Raw trials as a table.

use crate::experiment::{Cell, Experiment};
use goodarm_data::table::{Table, TableColumn};
use goodarm_sim::labels::LabelResult;
use goodarm_sim::trial::Trial;

/// A cell, the number of a repetition, and its trial.
type Row<'a> = (&'a Cell, usize, &'a Trial);

/// One row for each trial that was run; lists are written as `key=value;key=value`.
pub fn table(experiment: &Experiment, trials: &[Option<Trial>]) -> Table {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (cell, trials) in experiment.by_cell(trials) {
        let numbered = trials.iter().enumerate();
        rows.extend(numbered.filter_map(|(row, trial)| Some((cell, row, trial.as_ref()?))));
    }
    let spec = &experiment.spec;
    let texts = |of: &dyn Fn(&Row<'_>) -> String| TableColumn::texts(rows.iter().map(of));
    let reals = |of: &dyn Fn(&Row<'_>) -> f64| TableColumn::reals(rows.iter().map(of));
    let integers = |of: &dyn Fn(&Row<'_>) -> usize| {
        TableColumn::integers(rows.iter().map(|row| integer(of(row))))
    };
    let mut table = Table::default();
    table.push("world", texts(&|row| spec.worlds[row.0.world].name.clone()));
    table.push("method", texts(&|row| spec.methods[row.0.method].name.clone()));
    table.push("delta", reals(&|row| row.0.delta));
    table.push("budget_as_written", reals(&|row| row.0.budget));
    table.push("concurrency", integers(&|row| row.0.concurrency));
    table.push("repetition", integers(&|row| row.1));
    table.push("budget", reals(&|row| row.2.budget));
    table.push("spent", reals(&|row| row.2.spent));
    table.push("pulls", integers(&|row| usize::try_from(row.2.pull_count).unwrap_or(usize::MAX)));
    table.push("good_arms", integers(&|row| row.2.good_count));
    table.push("certified_good", integers(&|row| row.2.good()));
    table.push("certified_bad", integers(&|row| row.2.bad()));
    table.push("rejected", integers(&|row| row.2.rejected_count));
    table.push(
        "stopped_because",
        texts(&|row| {
            row.2.reason.map_or("all good arms certified".into(), |reason| format!("{reason:?}"))
        }),
    );
    table.push("branches", texts(&|row| branches(row.2)));
    table.push(
        "spent_by_kind_and_attribute",
        texts(&|row| {
            let kinds = &experiment.instance(row.0.world, 0).type_names;
            spending(row.2, kinds)
        }),
    );
    table.push("certified_arm_at_cost", texts(&|row| certificates(row.2)));
    if spec.labels.is_some() {
        let right =
            |trial: &Trial| trial.certified.iter().filter(|one| one.right == Some(true)).count();
        table.push("certified_right", integers(&|row| right(row.2)));
        table.push("claimed_after_labels", texts(&|row| claims(row.2)));
    }
    table
}

fn integer(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn branches(trial: &Trial) -> String {
    let parts: Vec<String> =
        trial.branches.iter().map(|(name, count)| format!("{name}={count}")).collect();
    parts.join(";")
}

fn spending(trial: &Trial, kinds: &[String]) -> String {
    let mut parts = Vec::new();
    for (kind, row) in kinds.iter().zip(&trial.spent_on) {
        for (attribute, spent) in row.iter().enumerate() {
            parts.push(format!("{kind}/{}={spent}", attribute + 1));
        }
    }
    parts.join(";")
}

/// The number of labels until each claim in each order; 0 if it was not made.
fn claims(trial: &Trial) -> String {
    let counts = |one: &LabelResult| -> String {
        let counts = one.claimed_after.iter().map(|after| after.unwrap_or(0).to_string());
        counts.collect::<Vec<_>>().join(" ")
    };
    let part =
        |one: &LabelResult| format!("{:?}/{}/{}={}", one.way, one.share, one.delta, counts(one));
    trial.labelled.iter().map(part).collect::<Vec<_>>().join(";")
}

fn certificates(trial: &Trial) -> String {
    let parts: Vec<String> =
        trial.certified.iter().map(|one| format!("{}={}", one.arm, one.cost)).collect();
    parts.join(";")
}
