//! Figures that the paper does not have.

use crate::experiment::Budgets;
use crate::summary::CellSummary;
use goodarm_plot::{Axis, Figure, Look, Panel, Point, Series, SeriesKind};

use crate::figures::{DrawnFigure, ExperimentRun, look_of, real};

fn figure(title: &str, caption: &str, panels: Vec<Panel>, columns: usize) -> Figure {
    let is_shared = panels.len() > 1;
    let figure = Figure::new(title, caption, panels).in_columns(columns);
    if is_shared { figure.with_shared_legend() } else { figure }
}

pub(super) fn constant(runs: &[ExperimentRun]) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let panels = run.worlds().map(|world| {
        let good = |cell: &CellSummary| cell.certified_good;
        let series = run.lines(world, SeriesKind::ErrorBars, |cell| cell.budget, good);
        let y = Axis { range: Some((0.0, 6.5)), ..Axis::linear("certified good arms") };
        Panel::lines(world, Axis::linear("b, in units of T*(μ)"), y, series)
    });
    let figure = figure(
        "The allocation constant",
        "Certified good arms of six over the budget, for the printed constant 8 and for smaller ones, \
         on the instance of the synthetic figures and on one where easy and cheap are not the same. \
         Whiskers are one standard error.",
        panels.collect(),
        2,
    );
    let printed = "BMA-GAI, 8 (as printed)";
    let mut findings = vec![format!(
        "As printed, BMA-GAI and pulling every pair equally often are {} in every trial.",
        if run.same_trajectory(printed, "equal counts") {
            "one and the same trajectory"
        } else {
            "different"
        }
    )];
    findings.extend(
        run.methods().filter(|method| method.contains("GAI")).map(|method| {
            format!("{method}: targeted pulls {:.1} %.", 100.0 * run.targeted(method))
        }),
    );
    DrawnFigure { figure, findings }
}

pub(super) fn ablation(runs: &[ExperimentRun]) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let complexity = run.experiment.instance(0, 0).complexity();
    let mut series =
        run.lines(run.world(), SeriesKind::Line, |cell| cell.budget, |cell| cell.certified_good);
    let steps = complexity.staircase.iter().enumerate().map(|(count, complexity_of)| {
        Point::new((complexity_of / complexity.total()).max(0.05), real(count))
    });
    let end = Point::new(35.0, steps.clone().next_back().map_or(0.0, |step| step.y));
    let limit = steps.chain([end]);
    series.push(Series::new("K(b), the limit as δ → 0", Look(7), SeriesKind::Step, limit));
    let (x, y) = (Axis::log10("b, in units of T*(μ)"), Axis::linear("certified good arms"));
    figure(
        "Certificates and allocation apart",
        "Certified good arms of six over the budget; bands are one standard error.",
        vec![Panel::lines("", x, y, series)],
        1,
    )
    .into()
}

pub(super) fn delta(runs: &[ExperimentRun]) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let total = run.experiment.instance(0, 0).complexity().total();
    let normalized = |cell: &CellSummary| {
        cell.cost_of_all_median.map(|cost| cost / total / -libm::log(cell.delta))
    };
    // The axis shows decades of 1/δ; otherwise it would end at 10⁻¹⁶⁰.
    let decades = |cell: &CellSummary| -libm::log10(cell.delta);
    let of_method = |method: &str| {
        let cells = run.of(run.world(), method);
        let points = cells.filter_map(|cell| Some(Point::new(decades(cell), normalized(cell)?)));
        Series::new(method, look_of(method), SeriesKind::Line, points)
    };
    let mut series: Vec<Series> = run.methods().map(of_method).collect();
    let limit = [Point::new(2.0, 1.0)];
    series.push(Series::new("the theorems' limit", Look(7), SeriesKind::Reference, limit));
    let ticks = [2.0, 4.0, 8.0, 16.0, 40.0, 80.0, 160.0];
    let x = Axis {
        ticks: Some(ticks.iter().map(|&tick| (tick, format!("1e-{tick}"))).collect()),
        ..Axis::log10("error probability δ")
    };
    let findings = run
        .methods()
        .filter_map(|method| {
            let last = run.of(run.world(), method).last()?;
            Some(format!(
                "{method}: {:.2} × T* log(1/δ) at δ = {:e}.",
                normalized(last)?,
                last.delta
            ))
        })
        .collect();
    let figure = figure(
        "Towards the theorems",
        "Median budget that certifies all six good arms, in units of T*(μ) log(1/δ), as δ falls. The \
         theorems say that the best possible tends to 1.",
        vec![Panel::lines("", x, Axis::log10("budget / (T* log(1/δ))"), series)],
        1,
    );
    DrawnFigure { figure, findings }
}

pub(super) fn error_rates(runs: &[ExperimentRun]) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let panel = |title: &str, y: &str, mut series: Vec<Series>| {
        let diagonal = [0.02, 0.4].map(|rate| Point::new(rate, rate));
        series.push(Series::new("what was promised", Look(7), SeriesKind::Reference, diagonal));
        Panel::lines(title, Axis::linear("δ"), Axis::linear(y), series)
    };
    let any =
        run.lines("all null", SeriesKind::ErrorBars, |cell| cell.delta, |cell| cell.any_wrong);
    let share = run.lines(
        "half null",
        SeriesKind::ErrorBars,
        |cell| cell.delta,
        |cell| cell.false_discoveries,
    );
    let figure = figure(
        "Promised and realised error rates",
        "Binary scores at the threshold. (a) twelve arms, all at the threshold: how often any is \
         certified. (b) six good arms and six at the threshold: the share of wrong certificates. \
         Whiskers are one standard error.",
        vec![
            panel("(a) Any wrong certificate", "frequency", any),
            panel("(b) Share of wrong certificates", "mean share", share),
        ],
        2,
    );
    let worst = run
        .summaries
        .iter()
        .filter(|cell| cell.world == "all null")
        .map(|cell| cell.any_wrong.mean / cell.delta)
        .fold(0.0, f64::max);
    let findings =
        vec![format!("The largest ratio of a realised to a promised rate in (a) is {worst:.2}.")];
    DrawnFigure { figure, findings }
}

pub(super) fn concurrency(runs: &[ExperimentRun]) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let calls = |cell: &CellSummary| real(cell.concurrency);
    let series = run.lines(run.world(), SeriesKind::ErrorBars, calls, |cell| cell.certified_good);
    let ticks = [1.0, 4.0, 16.0, 64.0, 256.0];
    let x = Axis {
        ticks: Some(ticks.iter().map(|tick| (*tick, tick.to_string())).collect()),
        ..Axis::log10("calls out at once, at most")
    };
    let y = Axis { range: Some((0.0, 55.0)), ..Axis::linear("certified answers") };
    figure(
        "What concurrency costs",
        "Certified answers of 100 at B = T* log(1/δ) when up to so many calls are out at once and \
         calls with low scores take three times as long. Whiskers are one standard error.",
        vec![Panel::lines("", x, y, series)],
        1,
    )
    .into()
}

/// The share of good arms that is certified, a panel for each world.
fn shares(runs: &[ExperimentRun], title: &str, caption: &str) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let panels = run.worlds().map(|world| {
        let series =
            run.lines(world, SeriesKind::Line, |cell| cell.budget, |cell| cell.certified_share);
        let y = Axis { range: Some((0.0, 1.0)), ..Axis::linear("share of good arms certified") };
        Panel::lines(world, Axis::linear("b, in units of T*(μ)"), y, series)
    });
    figure(title, caption, panels.collect(), 2).into()
}

pub(super) fn held_out(runs: &[ExperimentRun]) -> DrawnFigure {
    shares(
        runs,
        "Held-out instances",
        "The share of the good arms that is certified, a new random instance in every repetition; \
         bands are one standard error.",
    )
}

pub(super) fn discovery(runs: &[ExperimentRun]) -> DrawnFigure {
    shares(
        runs,
        "Discovery",
        "The share of the good arms that is certified when few of very many arms are good; the oracle, \
         which is told the means, pays nothing for finding them. Bands are one standard error.",
    )
}

pub(super) fn instances(runs: &[ExperimentRun]) -> DrawnFigure {
    shares(
        runs,
        "Named instances",
        "The share of the good arms that is certified; bands are one standard error.",
    )
}

/// Any experiment: certified good arms over what varies (budget, δ or concurrency), a panel for each world.
pub(super) fn overview(run: &ExperimentRun) -> Figure {
    let spec = &run.experiment.spec;
    let calls = |cell: &CellSummary| real(cell.concurrency);
    let (x, axis): (&dyn Fn(&CellSummary) -> f64, Axis) = if spec.budgets.values().len() > 1 {
        let label = match spec.budgets {
            Budgets::Absolute(_) => "budget",
            Budgets::Normalized(_) => "b, in units of T*(μ)",
        };
        (&|cell: &CellSummary| cell.budget, Axis::linear(label))
    } else if spec.deltas.len() > 1 {
        (&|cell: &CellSummary| cell.delta, Axis::log10("δ"))
    } else {
        (&calls, Axis::log10("calls out at once"))
    };
    let panels = run.worlds().map(|world| {
        let series = run.lines(world, SeriesKind::ErrorBars, x, |cell| cell.certified_good);
        Panel::lines(world, axis.clone(), Axis::linear("certified good arms"), series)
    });
    let panels: Vec<Panel> = panels.collect();
    let columns = panels.len().min(2);
    figure(&spec.title, "Whiskers are one standard error.", panels, columns)
}
