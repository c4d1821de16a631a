//! `experiments/*.jsonl` hold what a full run gave, a line for each cell. A short run gives the same to
//! within its luck, and the numbers of `docs/reproduction.md` are those of the tables.
//!
//! After a change of the laboratory, run `goodarm-lab reproduce --data POOLS` in full, and
//! `UPDATE_EXPECTED=reproduction cargo test -p goodarm-lab --test it expected` makes the tables of it; those of
//! figures that were not made stay as they are.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{folder, path};
use crate::tool::{lab, message, root};

mod page;

const EXPERIMENTS: [&str; 24] = [
    "synthetic-coverage",
    "synthetic-difficulty",
    "allocation",
    "interaction",
    "gsm8k",
    "constant",
    "ablation",
    "delta",
    "error-rates",
    "concurrency",
    "held-out",
    "discovery",
    "instances",
    "questions-invented",
    "questions-gsm8k",
    "questions-gsm8k-votes",
    "questions-capitals",
    "questions-capitals-votes",
    "shared-calls",
    "implied-majority",
    "truth",
    "truth-labels",
    "truth-boundary",
    "truth-twins",
];

/// The expected summaries of one experiment.
pub(super) struct Table {
    name: &'static str,
    cells: Vec<Value>,
}

impl Table {
    pub(super) fn of(name: &'static str) -> Self {
        update_once();
        let text = fs::read_to_string(file(name)).expect("every experiment has a table");
        let line = |line| serde_json::from_str(line).expect("a line of JSON");
        Self { name, cells: text.lines().map(line).collect() }
    }

    /// The cell of a world and a method where `axis` (budget, delta, concurrency) is `at`.
    pub(super) fn cell(&self, world: &str, method: &str, axis: &str, at: f64) -> &Value {
        let wanted = |cell: &&Value| {
            cell["world"] == world && cell["method"] == method && close(number(&cell[axis]), at)
        };
        let found = self.cells.iter().find(wanted);
        found.unwrap_or_else(|| panic!("{}: {world}, {method}, {axis} {at}", self.name))
    }
}

fn file(name: &str) -> std::path::PathBuf {
    root().join("experiments").join(format!("{name}.jsonl"))
}

pub(super) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs()
}

/// Makes the tables of a full run if the environment says where it is.
fn update_once() {
    static UPDATE: std::sync::Once = std::sync::Once::new();
    UPDATE.call_once(|| {
        let Ok(run) = std::env::var("UPDATE_EXPECTED") else { return };
        for name in EXPERIMENTS {
            let made = root().join(&run).join(format!("{name}.json"));
            if !made.exists() {
                continue;
            }
            let lines: String =
                summaries(&made).iter().map(|cell| format!("{}\n", line(cell))).collect();
            fs::write(file(name), lines).expect("the tables can be written");
        }
    });
}

fn summaries(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    serde_json::from_str(&text).expect("a list of summaries")
}

/// What tables say of a cell: means with their standard errors, and shares of the money.
fn line(cell: &Value) -> Value {
    let mut line = Map::new();
    for key in ["world", "method", "delta", "budget", "concurrency", "trials"] {
        line.insert(key.into(), cell[key].clone());
    }
    for key in QUANTITIES {
        let estimate = &cell[key];
        line.insert(key.into(), json!([short(&estimate["mean"]), short(&estimate["error"])]));
    }
    let of_kinds = |values: &Value, short: &dyn Fn(&Value) -> Value| -> Value {
        let names = cell["kinds"].as_array().expect("kinds").iter();
        let values = values.as_array().expect("one for each kind").iter().map(short);
        names.map(|name| name.as_str().expect("a name").to_owned()).zip(values).collect()
    };
    let attributes = |kind: &Value| -> Value {
        kind.as_array().expect("attributes").iter().map(|one| short(&one["mean"])).collect()
    };
    line.insert("spent_share".into(), of_kinds(&cell["spent_share"], &attributes));
    let mean = |kind: &Value| short(&kind["mean"]);
    line.insert("certified_of_kind".into(), of_kinds(&cell["certified_of_kind"], &mean));
    let branches = cell["branch_share"].as_array().expect("branches").iter();
    let mut targeted = branches.filter(|branch| branch[0] == "target");
    let targeted = targeted.next().map_or(json!(0.0), |branch| short(&branch[1]["mean"]));
    line.insert("targeted".into(), targeted);
    if !cell["certified_right"].is_null() {
        line.insert("certified_right".into(), short(&cell["certified_right"]["mean"]));
    }
    if let Some(labelled) = cell["labelled"].as_array() {
        line.insert("labelled".into(), labelled.iter().map(labelled_line).collect());
    }
    if !cell["cost_of_all_median"].is_null() {
        line.insert("cost_of_all_median".into(), short(&cell["cost_of_all_median"]));
    }
    Value::Object(line)
}

/// What tables say of labels: the share of orders with a claim and with a false one, and labels until it.
fn labelled_line(labelled: &Value) -> Value {
    let mut line = Map::new();
    for key in ["way", "share", "delta"] {
        line.insert(key.into(), labelled[key].clone());
    }
    for key in OF_LABELS {
        let estimate = &labelled[key];
        line.insert(key.into(), json!([short(&estimate["mean"]), short(&estimate["error"])]));
    }
    line.insert("deviation".into(), short(&labelled["deviation"]));
    Value::Object(line)
}

const OF_LABELS: [&str; 3] = ["claimed", "false_claims", "labels"];

/// Six digits.
fn short(value: &Value) -> Value {
    let short: f64 = format!("{:.5e}", number(value)).parse().expect("a number");
    json!(short)
}

const QUANTITIES: [&str; 6] =
    ["certified_good", "certified_share", "any_wrong", "false_discoveries", "spent", "pulls"];

/// Parts of the experiments that take no time, with a seed of their own.
const SHORT_RUNS: [(&str, &str); 9] = [
    ("ablation", "repetitions = 12\nbudgets = { normalized = [1, 2, 8] }"),
    ("held-out", "repetitions = 16\nbudgets = { normalized = [1] }"),
    ("error-rates", "repetitions = 60\ndeltas = [0.2, 0.4]"),
    ("concurrency", "repetitions = 12\nconcurrency = [1, 64]"),
    ("interaction", "repetitions = 4"),
    ("questions-invented", "repetitions = 3\nbudgets = { absolute = [50000] }"),
    ("shared-calls", "repetitions = 6"),
    ("truth-labels", "repetitions = 6"),
    ("truth-twins", "repetitions = 4"),
];

#[test]
fn a_short_run_gives_the_expected_tables_within_its_luck() {
    let folder = folder("expected");
    for (name, changes) in SHORT_RUNS {
        let file = folder.join(format!("{name}.toml"));
        fs::write(&file, shortened(name, changes)).expect("the folder takes files");
        let out = folder.join(name);
        let output = lab(&["simulate", path(&file), "-q", "-o", path(&out)]);
        assert!(output.status.success(), "{}", message(&output));
        let expected = Table::of(name);
        let found = summaries(&out.join("summary.json"));
        assert!(!found.is_empty());
        for cell in &found {
            compare(&expected, cell);
        }
    }
}

fn shortened(name: &str, changes: &str) -> String {
    let text =
        fs::read_to_string(root().join(format!("experiments/{name}.toml"))).expect("an experiment");
    let mut experiment: toml::Table = text.parse().expect("TOML");
    experiment.extend(changes.parse::<toml::Table>().expect("TOML"));
    experiment.insert("seed".into(), toml::Value::Integer(1));
    experiment.to_string()
}

fn compare(expected: &Table, found: &Value) {
    let place = |cell: &Value| {
        ["world", "method", "delta", "budget", "concurrency"].map(|key| cell[key].to_string())
    };
    let expected_cell = expected.cells.iter().find(|cell| place(cell) == place(found));
    let expected_cell = expected_cell.unwrap_or_else(|| panic!("no cell {:?}", place(found)));
    let ratio = number(&expected_cell["trials"]) / number(&found["trials"]);
    let what = |quantity: &str| format!("{} {:?}: {quantity}", expected.name, place(found));
    for quantity in QUANTITIES {
        check_near(&what(quantity), &found[quantity], &expected_cell[quantity], ratio);
    }
    let labelled = |cell: &Value| cell["labelled"].as_array().cloned().unwrap_or_default();
    for (found, expected) in labelled(found).iter().zip(&labelled(expected_cell)) {
        for quantity in OF_LABELS {
            let what = format!("{}, {}", what(quantity), found["way"]);
            check_near(&what, &found[quantity], &expected[quantity], ratio);
        }
    }
}

/// A short run may not have seen how much it can scatter; `ratio` is how many times more trials were expected.
fn check_near(what: &str, found: &Value, expected: &Value, ratio: f64) {
    let (mean, expected_mean) = (number(&found["mean"]), number(&expected[0]));
    let expected_error = number(&expected[1]);
    let error = number(&found["error"]).max(expected_error * ratio.sqrt());
    let combined = error.hypot(expected_error) + 1e-5 * expected_mean.abs();
    let distance = (mean - expected_mean).abs() / combined.max(1e-9);
    assert!(
        distance < FAR,
        "{what} is {mean}, expected {expected_mean}: {distance} standard errors"
    );
}

const FAR: f64 = 5.0;
