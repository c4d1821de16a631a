//! Figures that the paper does not have.

use goodarm_plot::{Axis, Content, Figure, Key, Kind, LineChart, Panel, Point, Role, Series};
use goodarm_sim::experiment::Budgets;
use goodarm_sim::summary::CellSummary;

use crate::figures::paper::nothing;
use crate::figures::{Drawn, Run, role};

fn panel(title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Panel {
    Panel { title: title.into(), content: Content::Lines(LineChart { x, y, series }) }
}

fn figure(title: &str, caption: &str, panels: Vec<Panel>, columns: usize) -> Figure {
    let key = if panels.len() > 1 { Key::Shared } else { Key::InPanels };
    Figure { title: title.into(), caption: caption.into(), panels, columns, key }
}

/// A panel for each world of an experiment.
fn by_world(run: &Run, draw: impl Fn(&str) -> Panel) -> Vec<Panel> {
    run.experiment.spec.worlds.iter().map(|world| draw(&world.name)).collect()
}

pub(super) fn constant(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let panels = by_world(run, |world| {
        let good = |cell: &CellSummary| cell.certified_good;
        let series = run.lines(world, Kind::ErrorBars, |cell| cell.budget, good);
        let y = Axis { range: Some((0.0, 6.5)), ..Axis::linear("certified good arms") };
        panel(world, Axis::linear("b, in units of T*(μ)"), y, series)
    });
    let figure = figure(
        "The allocation constant",
        "Certified good arms of six over the budget, for the printed constant 8 and for smaller ones, \
         on the instance of the synthetic figures and on one where easy and cheap are not the same. \
         Whiskers are one standard error.",
        panels,
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
    Drawn { figure, findings }
}

pub(super) fn ablation(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let complexity = run.experiment.instance(0, 0).complexity();
    let mut series =
        run.lines(run.world(), Kind::Line, |cell| cell.budget, |cell| cell.certified_good);
    let steps = complexity.staircase.iter().enumerate().map(|(count, complexity_of)| Point {
        x: (complexity_of / complexity.total()).max(0.05),
        y: f64::from(u32::try_from(count).unwrap_or(0)),
        error: None,
    });
    let end =
        Point { x: 35.0, y: steps.clone().next_back().map_or(0.0, |step| step.y), error: None };
    series.push(Series {
        name: "K(b), the limit as δ → 0".into(),
        role: Role(7),
        kind: Kind::Step,
        points: steps.chain([end]).collect(),
    });
    let figure = figure(
        "Certificates and allocation apart",
        "Certified good arms of six over the budget; bands are one standard error.",
        vec![panel(
            "",
            Axis::log10("b, in units of T*(μ)"),
            Axis::linear("certified good arms"),
            series,
        )],
        1,
    );
    Drawn { figure, findings: Vec::new() }
}

pub(super) fn delta(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let total = run.experiment.instance(0, 0).complexity().total();
    let normalized = |cell: &CellSummary| {
        cell.cost_of_all_median.map(|cost| cost / total / -libm::log(cell.delta))
    };
    // The decades of 1/δ: the axis would otherwise end at 10⁻¹⁶⁰.
    let decades = |cell: &CellSummary| -libm::log10(cell.delta);
    let mut series: Vec<Series> = run
        .methods()
        .map(|method| Series {
            name: method.to_owned(),
            role: role(method),
            kind: Kind::Line,
            points: run
                .of(run.world(), method)
                .filter_map(|cell| {
                    Some(Point { x: decades(cell), y: normalized(cell)?, error: None })
                })
                .collect(),
        })
        .collect();
    series.push(Series {
        name: "the theorems' limit".into(),
        role: Role(7),
        kind: Kind::Reference,
        points: vec![Point { x: 2.0, y: 1.0, error: None }],
    });
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
        vec![panel("", x, Axis::log10("budget / (T* log(1/δ))"), series)],
        1,
    );
    Drawn { figure, findings }
}

pub(super) fn error_rates(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let with_diagonal = |mut series: Vec<Series>| {
        series.push(Series {
            name: "what was promised".into(),
            role: Role(7),
            kind: Kind::Reference,
            points: [0.02, 0.4].map(|rate| Point { x: rate, y: rate, error: None }).into(),
        });
        series
    };
    let x = || Axis::linear("δ");
    let any = run.lines("all null", Kind::ErrorBars, |cell| cell.delta, |cell| cell.any_wrong);
    let share =
        run.lines("half null", Kind::ErrorBars, |cell| cell.delta, |cell| cell.false_discoveries);
    let figure = figure(
        "Promised and realised error rates",
        "Binary scores at the threshold. (a) twelve arms, all at the threshold: how often any is \
         certified. (b) six good arms and six at the threshold: the share of wrong certificates. \
         Whiskers are one standard error.",
        vec![
            panel("(a) Any wrong certificate", x(), Axis::linear("frequency"), with_diagonal(any)),
            panel(
                "(b) Share of wrong certificates",
                x(),
                Axis::linear("mean share"),
                with_diagonal(share),
            ),
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
    Drawn { figure, findings }
}

pub(super) fn concurrency(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let calls = |cell: &CellSummary| f64::from(u32::try_from(cell.concurrency).unwrap_or(u32::MAX));
    let series = run.lines(run.world(), Kind::ErrorBars, calls, |cell| cell.certified_good);
    let ticks = [1.0, 4.0, 16.0, 64.0, 256.0];
    let x = Axis {
        ticks: Some(ticks.iter().map(|tick| (*tick, tick.to_string())).collect()),
        ..Axis::log10("calls out at once, at most")
    };
    let y = Axis { range: Some((0.0, 55.0)), ..Axis::linear("certified answers") };
    let figure = figure(
        "What concurrency costs",
        "Certified answers of 100 at B = T* log(1/δ) when up to so many calls are out at once and \
         calls with low scores take three times as long. Whiskers are one standard error.",
        vec![panel("", x, y, series)],
        1,
    );
    Drawn { figure, findings: Vec::new() }
}

/// The share of good arms that is certified, a panel for each world.
fn shares(run: &Run, title: &str, caption: &str) -> Figure {
    let y = || Axis { range: Some((0.0, 1.0)), ..Axis::linear("share of good arms certified") };
    let panels = by_world(run, |world| {
        let series = run.lines(world, Kind::Line, |cell| cell.budget, |cell| cell.certified_share);
        panel(world, Axis::linear("b, in units of T*(μ)"), y(), series)
    });
    figure(title, caption, panels, 2)
}

pub(super) fn held_out(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let figure = shares(
        run,
        "Held-out instances",
        "The share of the good arms that is certified, a new random instance in every repetition; \
         bands are one standard error.",
    );
    Drawn { figure, findings: Vec::new() }
}

pub(super) fn discovery(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let figure = shares(
        run,
        "Discovery",
        "The share of the good arms that is certified when few of very many arms are good; the oracle, \
         which is told the means, pays nothing for finding them. Bands are one standard error.",
    );
    Drawn { figure, findings: Vec::new() }
}

pub(super) fn instances(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let figure = shares(
        run,
        "Named instances",
        "The share of the good arms that is certified; bands are one standard error.",
    );
    Drawn { figure, findings: Vec::new() }
}

/// Certified good arms over whatever varies, a panel for each world: for any experiment.
pub(super) fn overview(run: &Run) -> Figure {
    let spec = &run.experiment.spec;
    let calls = |cell: &CellSummary| f64::from(u32::try_from(cell.concurrency).unwrap_or(u32::MAX));
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
    let panels = by_world(run, |world| {
        let series = run.lines(world, Kind::ErrorBars, x, |cell| cell.certified_good);
        panel(world, axis.clone(), Axis::linear("certified good arms"), series)
    });
    let columns = panels.len().min(2);
    figure(&spec.title, "Whiskers are one standard error.", panels, columns)
}
