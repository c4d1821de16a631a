//! Figures of questions, and of calls that score several pairs.

use crate::summary::CellSummary;
use goodarm_plot::{
    Axis, Bar, BarChart, BarSeries, Figure, Look, Panel, Point, Series, SeriesKind,
};

use crate::figures::{DrawnFigure, ExperimentRun, bar, look_of, real};

/// Certified answers over the budget, a panel for each world of each experiment.
pub(super) fn questions(runs: &[ExperimentRun]) -> DrawnFigure {
    let panel = |run: &ExperimentRun, world: &str| {
        let series =
            run.lines(world, SeriesKind::Line, |cell| cell.budget, |cell| cell.certified_good);
        Panel::lines(world, Axis::linear("budget"), Axis::linear("questions answered"), series)
    };
    let panels = runs.iter().flat_map(|run| run.worlds().map(|world| panel(run, world)));
    let figure = Figure::new(
        "Questions whose answers are made on demand",
        "Questions with a good answer that is certified, over the budget for making and checking \
                  answers; bands are one standard error. Self-consistency certifies nothing: shown are those of \
                  its answers that are good.",
        panels.collect(),
    )
    .in_columns(2)
    .with_shared_legend();
    DrawnFigure { figure, findings: runs.iter().flat_map(findings).collect() }
}

/// Certified good answers of each method, and the wrong ones.
fn findings(run: &ExperimentRun) -> Vec<String> {
    let mut findings = Vec::new();
    for world in run.worlds() {
        for method in run.methods() {
            let cells: Vec<&CellSummary> = run.of(world, method).collect();
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
            findings.push(format!("{world}, {method}: {}; {wrong}.", reached.join(" / ")));
        }
    }
    findings
}

/// The cost of certifying every good answer, in each world.
pub(super) fn shared_calls(runs: &[ExperimentRun]) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let worlds: Vec<&str> = run.worlds().collect();
    let cost = |world: &str, method: &str| run.of(world, method).next().map(|cell| cell.spent);
    let series = run.methods().map(|method| BarSeries {
        name: method.to_owned(),
        look: look_of(method),
        bars: (worlds.iter())
            .map(|world| cost(world, method).map_or(Bar { value: f64::NAN, error: None }, bar))
            .collect(),
    });
    // Worlds come in pairs; in the second world of a pair calls are shared.
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
        y_label: "spent until every good answer is certified".into(),
        groups: worlds.iter().map(|world| (*world).to_owned()).collect(),
        series: series.collect(),
    };
    let figure = Figure::new(
        run.experiment.spec.title.as_str(),
        "What certifying every good answer costs; whiskers are one standard error.",
        vec![Panel::bars("", chart)],
    );
    DrawnFigure { figure, findings }
}

/// The cost of the first certificates in each world, for the first method.
pub(super) fn costs_of_certificates(runs: &[ExperimentRun]) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let Some(method) = run.methods().next() else { return DrawnFigure::default() };
    let worlds: Vec<&str> = run.worlds().collect();
    let costs: Vec<Vec<f64>> = (0..worlds.len()).map(|world| run.costs(world)).collect();
    let series = worlds.iter().zip(&costs).enumerate().map(|(index, (world, costs))| {
        let points = (1..).zip(costs).map(|(count, &cost)| Point::new(cost, real(count)));
        Series::new(*world, Look(if index == 0 { 0 } else { 3 }), SeriesKind::Line, points)
    });
    let (x, y) = (Axis::linear("tokens"), Axis::linear("certified answers"));
    let panel = Panel::lines("", x, y, series.collect());
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
    let figure = Figure::new(
        run.experiment.spec.title.as_str(),
        "Certified answers over what had been spent; mean over the repetitions.",
        vec![panel],
    );
    DrawnFigure { figure, findings }
}

impl ExperimentRun {
    /// The mean cost at the first certificate, the second, and so on, up to the smallest number of
    /// certificates in a trial of the first method.
    fn costs(&self, world: usize) -> Vec<f64> {
        let trials = self.trials_of(|cell| cell.world == world && cell.method == 0);
        let count = trials.iter().map(|trial| trial.certified.len()).min().unwrap_or(0);
        let mean = |index: usize| {
            let costs = trials.iter().map(|trial| trial.certified[index].cost);
            costs.sum::<f64>() / real(trials.len())
        };
        (0..count).map(mean).collect()
    }
}

/// Numbers of certificates in the findings.
const COUNTS: [usize; 3] = [20, 50, 70];
