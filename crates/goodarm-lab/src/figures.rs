//! All figures: the experiments of each, and the function that draws it from their summaries.

mod beyond;
mod page;
mod paper;
mod questions;
mod run;
mod truth;

use std::path::Path;

use crate::experiment::Cell;
use crate::lab_error::LabError;
use crate::summary::{CellSummary, Estimate};
use beyond::overview;
use goodarm_plot::{Bar, Figure, Look, Point, Series, SeriesKind};
use goodarm_sim::trial::Trial;
pub use page::write_page;
use run::write_figure;
pub use run::{ExperimentRun, FigureSection};

/// The recorded answers that an experiment replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSource {
    /// The experiment replays no answers.
    NotNeeded,
    /// The file of `--data`.
    Argument,
    /// A text in this program.
    BuiltIn(&'static str),
}

/// One figure of `goodarm-lab reproduce`.
pub struct FigureSpec {
    /// Its argument on the command line.
    pub name: &'static str,
    /// Its title on the page.
    pub title: &'static str,
    /// Name and text of each experiment.
    pub experiments: &'static [(&'static str, &'static str)],
    /// The recorded answers that it replays.
    pub data: DataSource,
    /// Draws the figure from the runs of its experiments.
    pub draw: fn(&[ExperimentRun]) -> DrawnFigure,
}

/// A figure, and sentences computed from the same trials.
#[derive(Default)]
pub struct DrawnFigure {
    /// The panels.
    pub figure: Figure,
    /// A sentence each.
    pub findings: Vec<String>,
}

impl From<Figure> for DrawnFigure {
    fn from(figure: Figure) -> Self {
        Self { figure, findings: Vec::new() }
    }
}

/// Makes a [`FigureSpec`]. If no experiments are listed, it has one with the same name.
macro_rules! figure {
    ($name:literal, $title:literal, $draw:path) => {
        figure!($name, $title, $draw, DataSource::NotNeeded, [$name])
    };
    ($name:literal, $title:literal, $draw:path, $data:expr, [$($experiment:literal),+]) => {
        FigureSpec {
            name: $name,
            title: $title,
            experiments: &[
                $(($experiment, include_str!(concat!("../../../experiments/", $experiment, ".toml")))),+
            ],
            data: $data,
            draw: $draw,
        }
    };
}

const CAPITALS: DataSource =
    DataSource::BuiltIn(include_str!("../../../examples/capitals/pools.jsonl"));

/// Every figure: those of the paper first.
pub const FIGURES: [FigureSpec; 19] = [
    figure!(
        "synthetic",
        "The paper's synthetic experiments",
        paper::synthetic,
        DataSource::NotNeeded,
        ["synthetic-coverage", "synthetic-difficulty"]
    ),
    figure!("allocation", "The paper's final budget allocation", paper::allocation),
    figure!("interaction", "The paper's cost–difficulty interaction", paper::interaction),
    figure!(
        "gsm8k",
        "The paper's GSM8K experiments, on recorded answers",
        paper::gsm8k,
        DataSource::Argument,
        ["gsm8k"]
    ),
    figure!(
        "capitals",
        "The same experiment on recorded answers of a small model: capitals, not GSM8K",
        paper::gsm8k,
        CAPITALS,
        ["capitals"]
    ),
    figure!(
        "constant",
        "Why the printed rule is round-robin, and what smaller constants change",
        beyond::constant
    ),
    figure!("ablation", "Certificates and allocation apart", beyond::ablation),
    figure!("delta", "Towards the theorems", beyond::delta),
    figure!("error-rates", "Promised and realised error rates", beyond::error_rates),
    figure!("concurrency", "What concurrency costs", beyond::concurrency),
    figure!("held-out", "Instances that nothing was tuned on", beyond::held_out),
    figure!("discovery", "Thousands of answers, few of them good", beyond::discovery),
    figure!("instances", "Named instances around T* log(1/δ)", beyond::instances),
    figure!(
        "questions",
        "Questions whose answers are made on demand",
        questions::questions,
        DataSource::NotNeeded,
        ["questions-invented"]
    ),
    figure!(
        "questions-gsm8k",
        "GSM8K questions, answered and certified",
        questions::questions,
        DataSource::Argument,
        ["questions-gsm8k", "questions-gsm8k-votes"]
    ),
    figure!(
        "questions-capitals",
        "Questions about capitals, answered and certified",
        questions::questions,
        CAPITALS,
        ["questions-capitals", "questions-capitals-votes"]
    ),
    figure!("shared-calls", "One call, several scores", questions::shared_calls),
    figure!(
        "implied-majority",
        "A majority that single draws imply",
        questions::costs_of_certificates,
        DataSource::Argument,
        ["implied-majority"]
    ),
    figure!(
        "truth",
        "How many of the certified answers are right",
        truth::truth,
        DataSource::NotNeeded,
        ["truth", "truth-labels", "truth-boundary", "truth-twins"]
    ),
];

/// The figures with these names, or all if the list is empty.
pub fn chosen(names: &[String]) -> Result<Vec<&'static FigureSpec>, LabError> {
    if names.is_empty() {
        return Ok(FIGURES.iter().collect());
    }
    let spec = |name: &String| {
        let known: Vec<&str> = FIGURES.iter().map(|spec| spec.name).collect();
        let unknown = || LabError(format!("figure {}", goodarm_files::none_of(name, &known)));
        FIGURES.iter().find(|spec| spec.name == name).ok_or_else(unknown)
    };
    names.iter().map(spec).collect()
}

impl ExperimentRun {
    /// Writes trials, summaries and an overview figure.
    pub fn write(&self, folder: &Path) -> Result<(), LabError> {
        self.write_trials(folder, "trials")?;
        self.write_summaries(&folder.join("summary.json"))?;
        write_figure(&overview(self), folder, "coverage")
    }

    /// The methods, in the order of the file.
    fn methods(&self) -> impl Iterator<Item = &str> {
        self.experiment.spec.methods.iter().map(|method| method.name.as_str())
    }

    /// The summaries of a method in a world.
    fn of<'a>(&'a self, world: &'a str, method: &'a str) -> impl Iterator<Item = &'a CellSummary> {
        self.summaries.iter().filter(move |one| one.world == world && one.method == method)
    }

    /// One line for each method in a world.
    fn lines(
        &self,
        world: &str,
        kind: SeriesKind,
        x: impl Fn(&CellSummary) -> f64,
        y: impl Fn(&CellSummary) -> Estimate,
    ) -> Vec<Series> {
        self.methods()
            .map(|method| {
                let points = self.of(world, method).map(|cell| point(x(cell), y(cell)));
                Series::new(method, look_of(method), kind, points)
            })
            .collect()
    }

    fn world(&self) -> &str {
        &self.experiment.spec.worlds[0].name
    }

    /// The worlds, in the order of the file.
    fn worlds(&self) -> impl Iterator<Item = &str> {
        self.experiment.spec.worlds.iter().map(|world| world.name.as_str())
    }

    /// The trials of some cells.
    fn trials_of(&self, is_wanted: impl Fn(&Cell) -> bool) -> Vec<&Trial> {
        let cells = self.experiment.by_cell(&self.trials);
        cells.filter(|(cell, _)| is_wanted(cell)).flat_map(|(_, trials)| trials).flatten().collect()
    }

    /// Whether two methods made the same calls and certified the same arms at the same cost in every trial.
    fn same_trajectory(&self, one: &str, other: &str) -> bool {
        let methods = &self.experiment.spec.methods;
        let [one, other] =
            [one, other].map(|name| self.trials_of(|cell| methods[cell.method].name == name));
        let is_same = |(a, b): (&&Trial, &&Trial)| {
            a.pull_count == b.pull_count && a.certified == b.certified && a.spent_on == b.spent_on
        };
        one.len() == other.len() && one.iter().zip(&other).all(is_same)
    }

    /// The largest share of calls that the policy's branch `target` chose, over all cells of a method.
    fn targeted(&self, method: &str) -> f64 {
        let cells = self.summaries.iter().filter(|cell| cell.method == method);
        let shares = cells.map(|cell| {
            let target = cell.branch_share.iter().find(|(branch, _)| branch == "target");
            target.map_or(0.0, |(_, share)| share.mean)
        });
        shares.fold(0.0, f64::max)
    }
}

fn point(x: f64, y: Estimate) -> Point {
    Point { x, y: y.mean, error: Some(y.error) }
}

const fn bar(value: Estimate) -> Bar {
    Bar { value: value.mean, error: Some(value.error) }
}

/// A count as a number to calculate with.
fn real(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// The look of a method, the same in every figure: that of the first prefix of its name in the list.
fn look_of(method: &str) -> Look {
    const LOOKS: [(&str, usize); 34] = [
        ("one by one", 12),
        ("best of 1", 2),
        ("best of 2", 13),
        ("best of 4", 14),
        ("best of 8", 15),
        ("union, best of 4", 1),
        ("self-consistency", 0),
        ("BMA-GAI, 1", 8),
        ("BMA-GAI, 0.2", 9),
        ("CB-GAI, 1", 10),
        ("CB-GAI, 0.2", 11),
        ("BMA-GAI", 0),
        ("CB-GAI", 1),
        ("Uniform", 2),
        ("equal money", 2),
        ("goodarm, FDR", 4),
        ("goodarm, Holm", 41),
        ("goodarm, raised", 17),
        ("goodarm, no limit", 4),
        ("goodarm", 3),
        ("oracle, Holm", 18),
        ("oracle", 5),
        ("tight", 6),
        ("rcb", 12),
        ("equal counts", 6),
        ("HDoC", 13),
        ("LUCB-G", 14),
        ("APT-G", 15),
        ("paper", 0),
        ("union", 1),
        ("count-Holm", 3),
        ("FDR", 4),
        ("lent", 41),
        ("K(b)", 7),
    ];
    let look = LOOKS.iter().find(|(name, _)| method.starts_with(name));
    Look(look.map_or(16, |(_, look)| *look))
}

/// "a, b and c".
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Experiment, ExperimentSpec};
    use goodarm_files::toml_text::parse;

    use super::*;

    #[test]
    fn every_experiment_can_be_run_and_drawn() {
        for figure in FIGURES.iter().filter(|figure| figure.data == DataSource::NotNeeded) {
            let runs: Vec<ExperimentRun> = figure
                .experiments
                .iter()
                .map(|(name, text)| {
                    let mut spec: ExperimentSpec = parse(text).unwrap();
                    spec.repetitions = 1;
                    let experiment = Experiment::new(spec, None);
                    let experiment = experiment.unwrap_or_else(|error| panic!("{name}: {error}"));
                    // No trials: an interrupted run must be drawn as well.
                    ExperimentRun {
                        trials: vec![None; experiment.trial_count()],
                        experiment,
                        summaries: vec![],
                    }
                })
                .collect();
            let drawn = (figure.draw)(&runs);
            assert!(goodarm_plot::svg(&drawn.figure).starts_with("<svg"), "{}", figure.name);
        }
    }

    #[test]
    fn every_experiment_file_belongs_to_a_figure() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
        for file in std::fs::read_dir(folder).unwrap() {
            let name = file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
            let known = FIGURES.iter().flat_map(|figure| figure.experiments);
            assert!(known.clone().any(|(known, _)| *known == name), "{name}");
        }
    }
}
