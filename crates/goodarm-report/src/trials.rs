//! Raw trials as a table, one row for each, and what they come to.

use goodarm_data::table::{Column, Table};
use goodarm_sim::experiment::Experiment;
use goodarm_sim::labels::Labelled;
use goodarm_sim::summary::{CellSummary, Estimate};
use goodarm_sim::trial::Trial;

/// One row for each trial that was run; lists are written as `key=value;key=value`.
pub fn table(experiment: &Experiment, trials: &[Option<Trial>]) -> Table {
    let repetitions = usize::try_from(experiment.spec.repetitions).unwrap_or(usize::MAX);
    let rows: Vec<(usize, usize, &Trial)> = trials
        .iter()
        .enumerate()
        .filter_map(|(index, trial)| {
            trial.as_ref().map(|trial| (index / repetitions, index % repetitions, trial))
        })
        .collect();
    let spec = &experiment.spec;
    let cell = |row: &(usize, usize, &Trial)| experiment.cells[row.0];
    let texts = |of: &dyn Fn(&(usize, usize, &Trial)) -> String| Column::texts(rows.iter().map(of));
    let reals = |of: &dyn Fn(&(usize, usize, &Trial)) -> f64| Column::reals(rows.iter().map(of));
    let integers = |of: &dyn Fn(&(usize, usize, &Trial)) -> usize| {
        Column::integers(rows.iter().map(|row| integer(of(row))))
    };
    let mut table = Table::default();
    table.push("world", texts(&|row| spec.worlds[cell(row).world].name.clone()));
    table.push("method", texts(&|row| spec.methods[cell(row).method].name.clone()));
    table.push("delta", reals(&|row| cell(row).delta));
    table.push("budget_as_written", reals(&|row| cell(row).budget));
    table.push("concurrency", integers(&|row| cell(row).concurrency));
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
            let kinds = &experiment.instance(cell(row).world, 0).type_names;
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

/// One row for each cell; beside each mean stands its standard error, as `NAME_error`.
pub fn summary_table(summaries: &[CellSummary]) -> Table {
    let mut table = Table::default();
    let texts = |of: fn(&CellSummary) -> &String| Column::texts(summaries.iter().map(of).cloned());
    let reals = |of: fn(&CellSummary) -> f64| Column::reals(summaries.iter().map(of));
    let integers = |of: fn(&CellSummary) -> usize| {
        Column::integers(summaries.iter().map(|cell| integer(of(cell))))
    };
    table.push("world", texts(|cell| &cell.world));
    table.push("method", texts(|cell| &cell.method));
    table.push("delta", reals(|cell| cell.delta));
    table.push("budget_as_written", reals(|cell| cell.budget));
    table.push("concurrency", integers(|cell| cell.concurrency));
    table.push("trials", integers(|cell| cell.trials));
    let estimates: [(&str, EstimateOf); 8] = [
        ("certified_good", |cell| Some(cell.certified_good)),
        ("certified_share", |cell| Some(cell.certified_share)),
        ("certified_bad", |cell| Some(cell.certified_bad)),
        ("any_wrong", |cell| Some(cell.any_wrong)),
        ("false_discoveries", |cell| Some(cell.false_discoveries)),
        ("certified_right", |cell| cell.certified_right),
        ("spent", |cell| Some(cell.spent)),
        ("pulls", |cell| Some(cell.pulls)),
    ];
    for (name, of) in estimates {
        let column = |part: fn(Estimate) -> f64| {
            Column::Reals(summaries.iter().map(|cell| of(cell).map(part)).collect())
        };
        table.push(name, column(|estimate| estimate.mean));
        table.push(format!("{name}_error"), column(|estimate| estimate.error));
    }
    let medians = summaries.iter().map(|cell| cell.cost_of_all_median);
    table.push("cost_of_all_median", Column::Reals(medians.collect()));
    table
}

/// One of a cell's estimates; none where it is not known.
type EstimateOf = fn(&CellSummary) -> Option<Estimate>;

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

/// After how many labels each claim was made in each order; 0 if it was not.
fn claims(trial: &Trial) -> String {
    let counts = |one: &Labelled| -> String {
        let counts = one.claimed_after.iter().map(|after| after.unwrap_or(0).to_string());
        counts.collect::<Vec<_>>().join(" ")
    };
    let part =
        |one: &Labelled| format!("{:?}/{}/{}={}", one.way, one.share, one.delta, counts(one));
    trial.labelled.iter().map(part).collect::<Vec<_>>().join(";")
}

fn certificates(trial: &Trial) -> String {
    let parts: Vec<String> =
        trial.certified.iter().map(|one| format!("{}={}", one.arm, one.cost)).collect();
    parts.join(";")
}
