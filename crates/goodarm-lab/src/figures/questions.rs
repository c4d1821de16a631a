//! Figures of questions, and of calls that score several pairs.

use goodarm_plot::{
    Axis, Bar, BarChart, BarSeries, Content, Figure, Key, Kind, LineChart, Panel, Point, Role,
    Series,
};
use goodarm_sim::summary::CellSummary;
use goodarm_sim::trial::Trial;

use crate::figures::paper::nothing;
use crate::figures::{Drawn, Run, role};

/// Certified answers over the budget, a panel for each world of each experiment.
pub(super) fn questions(runs: &[Run]) -> Drawn {
    if runs.is_empty() {
        return nothing();
    }
    let panels = runs.iter().flat_map(|run| {
        let worlds = run.experiment.spec.worlds.iter();
        worlds.map(|world| panel(&world.name, lines(run, &world.name)))
    });
    let figure = Figure {
        title: "Questions whose answers are made on demand".into(),
        caption: "Questions with a good answer that is certified, over the budget for making and checking \
                  answers; bands are one standard error. Self-consistency certifies nothing: shown are those of \
                  its answers that are good."
            .into(),
        panels: panels.collect(),
        columns: 2,
        key: Key::Shared,
    };
    Drawn { figure, findings: runs.iter().flat_map(findings).collect() }
}

fn panel(title: &str, series: Vec<Series>) -> Panel {
    let (x, y) = (Axis::linear("budget"), Axis::linear("questions answered"));
    Panel { title: title.into(), content: Content::Lines(LineChart { x, y, series }) }
}

fn lines(run: &Run, world: &str) -> Vec<Series> {
    run.lines(world, Kind::Line, |cell| cell.budget, |cell| cell.certified_good)
}

/// What each method reached, and how often it was wrong.
fn findings(run: &Run) -> Vec<String> {
    let mut findings = Vec::new();
    for world in &run.experiment.spec.worlds {
        for method in run.methods() {
            let cells: Vec<&CellSummary> = run.of(&world.name, method).collect();
            if cells.is_empty() {
                continue;
            }
            let reached: Vec<String> =
                cells.iter().map(|cell| format!("{:.1}", cell.certified_good.mean)).collect();
            let wrong: f64 = cells.iter().map(|cell| cell.certified_bad.mean).fold(0.0, f64::max);
            let wrong = match wrong {
                0.0 => "none of them wrong".to_owned(),
                wrong => format!("up to {wrong:.2} wrong ones on average"),
            };
            findings.push(format!("{}, {method}: {}; {wrong}.", world.name, reached.join(" / ")));
        }
    }
    findings
}

/// What certifying every good answer costs in each world of an experiment.
pub(super) fn shared_calls(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let worlds: Vec<&str> =
        run.experiment.spec.worlds.iter().map(|world| world.name.as_str()).collect();
    let cost = |world: &str, method: &str| run.of(world, method).next().map(|cell| cell.spent);
    let series = run.methods().map(|method| BarSeries {
        name: method.to_owned(),
        role: role(method),
        bars: (worlds.iter())
            .map(|world| match cost(world, method) {
                Some(spent) => Bar { value: spent.mean, error: Some(spent.error) },
                None => Bar { value: f64::NAN, error: None },
            })
            .collect(),
    });
    // A world and the one after it, in which calls are shared.
    let findings = worlds.chunks_exact(2).flat_map(|pair| {
        run.methods().filter_map(move |method| {
            let (before, after) = (cost(pair[0], method)?, cost(pair[1], method)?);
            Some(format!(
                "{method}: {:.0} for {:?}, {:.0} for {:?}, {:.2} of it.",
                before.mean,
                pair[0],
                after.mean,
                pair[1],
                after.mean / before.mean
            ))
        })
    });
    let findings = findings.collect();
    let chart = BarChart {
        x_label: String::new(),
        y: Axis::linear("spent until every good answer is certified"),
        groups: worlds.iter().map(|world| (*world).to_owned()).collect(),
        series: series.collect(),
    };
    let figure = Figure {
        title: run.experiment.spec.title.clone(),
        caption: "What certifying every good answer costs; whiskers are one standard error.".into(),
        panels: vec![Panel { title: String::new(), content: Content::Bars(chart) }],
        columns: 1,
        key: Key::InPanels,
    };
    Drawn { figure, findings }
}

/// What so many certificates cost in each world, for the first method.
pub(super) fn costs_of_certificates(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let Some(method) = run.methods().next() else { return nothing() };
    let worlds: Vec<&str> =
        run.experiment.spec.worlds.iter().map(|world| world.name.as_str()).collect();
    let costs: Vec<Vec<f64>> = (0..worlds.len()).map(|world| run.costs(world)).collect();
    let series = worlds.iter().zip(&costs).enumerate().map(|(index, (world, costs))| Series {
        name: (*world).to_owned(),
        role: Role(if index == 0 { 0 } else { 3 }),
        kind: Kind::Line,
        points: (1_u32..)
            .zip(costs)
            .map(|(count, &cost)| Point { x: cost, y: f64::from(count), error: None })
            .collect(),
    });
    let (x, y) = (Axis::linear("tokens"), Axis::linear("certified answers"));
    let chart = LineChart { x, y, series: series.collect() };
    let mut findings = Vec::new();
    if let [before, after] = costs.as_slice() {
        for count in COUNTS {
            if let (Some(before), Some(after)) = (before.get(count - 1), after.get(count - 1)) {
                findings.push(format!(
                    "{count} certificates, {method}: {before:.0} tokens with {}, {after:.0} {}, {:.2} of it.",
                    worlds[0],
                    worlds[1],
                    after / before
                ));
            }
        }
    }
    let figure = Figure {
        title: run.experiment.spec.title.clone(),
        caption: "Certified answers over what had been spent; mean over the repetitions.".into(),
        panels: vec![Panel { title: String::new(), content: Content::Lines(chart) }],
        columns: 1,
        key: Key::InPanels,
    };
    Drawn { figure, findings }
}

impl Run {
    /// What had been spent on average at the first certificate, the second, and so on, as far as every
    /// trial of the first method came.
    fn costs(&self, world: usize) -> Vec<f64> {
        let repetitions = usize::try_from(self.experiment.spec.repetitions).unwrap_or(1);
        let of = |index: usize| &self.experiment.cells[index / repetitions];
        let trials = self.trials.iter().enumerate().filter_map(|(index, trial)| {
            (of(index).world == world && of(index).method == 0).then_some(trial.as_ref()).flatten()
        });
        let trials: Vec<&Trial> = trials.collect();
        let count = trials.iter().map(|trial| trial.certified.len()).min().unwrap_or(0);
        let mean = |index: usize| {
            let costs = trials.iter().map(|trial| trial.certified[index].cost);
            costs.sum::<f64>() / f64::from(u32::try_from(trials.len()).unwrap_or(u32::MAX))
        };
        (0..count).map(mean).collect()
    }
}

/// Of which the findings speak.
const COUNTS: [usize; 3] = [20, 50, 70];
