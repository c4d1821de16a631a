//! The paper's own figures.

use crate::summary::{CellSummary, Estimate};
use goodarm_plot::{
    Axis, Bar, BarChart, BarSeries, Figure, Look, Panel, Point, Series, SeriesKind,
};

use crate::figures::{DrawnFigure, ExperimentRun, bar, listed, look_of, point, real};

fn good(cell: &CellSummary) -> Estimate {
    cell.certified_good
}

pub(super) fn synthetic(runs: &[ExperimentRun]) -> DrawnFigure {
    let [coverage, difficulty] = runs else { return DrawnFigure::default() };
    let world = coverage.world();
    let budget = |cell: &CellSummary| cell.budget;
    let mut first = coverage.lines(world, SeriesKind::ErrorBars, budget, good);
    let complexity = coverage.experiment.instance(0, 0).complexity();
    let limit = coverage.experiment.spec.budgets.values().iter();
    let limit = limit.map(|&b| Point::new(b, real(complexity.reach(b * complexity.total()))));
    first.push(Series::new("K(b), the limit as δ → 0", Look(7), SeriesKind::Reference, limit));
    let second = coverage.lines(world, SeriesKind::ErrorBars, budget, |cell| cell.pulls);
    let third = difficulty.methods().map(|method| {
        let points = difficulty.worlds().enumerate().flat_map(|(index, world)| {
            let instance = difficulty.experiment.instance(index, 0);
            let third = instance.complexity().of_first(3).unwrap_or(f64::NAN);
            difficulty.of(world, method).map(move |cell| point(third, good(cell)))
        });
        Series::new(method, look_of(method), SeriesKind::ErrorBars, points)
    });
    let b_axis = || Axis::linear("b, in units of T*(μ)");
    let arms = || Axis::linear("certified good arms");
    let (a, c) = ("(a) Reliable coverage", "(c) Coverage over difficulty");
    let figure = Figure::new(
        "Synthetic experiments",
        "(a) certified good arms over the budget B = b log(1/δ), (b) calls until the session \
         stops, (c) certified good arms over the difficulty of the instance, B = 90,000. \
         Whiskers are one standard error.",
        vec![
            Panel::lines(a, b_axis(), arms(), first),
            Panel::lines("(b) Stopping time", b_axis(), Axis::linear("calls"), second),
            Panel::lines(c, Axis::log10("T*_3(μ)"), arms(), third.collect()),
        ],
    )
    .in_columns(3)
    .with_shared_legend();
    DrawnFigure {
        figure,
        findings: [one_trajectory(coverage), one_trajectory(difficulty)].concat(),
    }
}

/// The sentence on whether the printed rule differs from round-robin.
fn one_trajectory(run: &ExperimentRun) -> Vec<String> {
    let same = run.same_trajectory("BMA-GAI", "CB-GAI");
    let targeted = run.targeted("BMA-GAI");
    vec![format!(
        "{}: BMA-GAI and CB-GAI as printed {} in every trial; the targeted branch took {:.4} % of \
         the pulls.",
        run.experiment.spec.title,
        if same { "spent the same on every arm and certified the same arms" } else { "differed" },
        100.0 * targeted
    )]
}

pub(super) fn allocation(runs: &[ExperimentRun]) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let share = |cell: &CellSummary, kind: usize| -> f64 {
        cell.spent_share[kind].iter().map(|estimate| estimate.mean).sum()
    };
    let kinds = run.summaries.first().map_or(&[][..], |cell| cell.kinds.as_slice());
    let series = kinds.iter().enumerate().map(|(kind, name)| BarSeries {
        name: name.clone(),
        look: Look(kind),
        bars: (run.summaries.iter())
            .map(|cell| Bar { value: share(cell, kind), error: None })
            .collect(),
    });
    let group =
        |cell: &CellSummary| format!("{}: {:.1} certified", cell.method, cell.certified_good.mean);
    let chart = BarChart {
        x_label: String::new(),
        y_label: "share of the budget".into(),
        groups: run.summaries.iter().map(group).collect(),
        series: series.collect(),
    };
    let figure = Figure::new(
        "Where the budget goes",
        "Shares of the budget B = 12 T* log(1/δ) spent on good arms that are cheap to certify, \
         good arms that are expensive to certify, and bad arms; the rest is left over. Below the \
         bars: certified good arms of six. Mean of the repetitions. A trial ends once all six are \
         certified.",
        vec![Panel::bars("", chart)],
    );
    let findings = run.summaries.iter().map(|cell| {
        let bad: f64 = cell
            .spent_share
            .last()
            .map_or(0.0, |row| row.iter().map(|estimate| estimate.mean).sum());
        format!(
            "{}: {:.0} % of the budget on bad arms, {:.2} good arms certified, {:.0} % spent.",
            cell.method,
            100.0 * bad,
            cell.certified_good.mean,
            100.0 * cell.spent_share.iter().flatten().map(|estimate| estimate.mean).sum::<f64>()
        )
    });
    let mut findings: Vec<String> = findings.collect();
    findings.extend(one_trajectory(run));
    DrawnFigure { figure, findings }
}

pub(super) fn interaction(runs: &[ExperimentRun]) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let prices = [4.0, 16.0, 40.0];
    let wasted = |cell: &CellSummary| {
        let bad = cell.kinds.iter().position(|kind| kind == "bad");
        bad.map_or(Estimate::default(), |kind| cell.spent_share[kind][3])
    };
    let series = |place: &str, y: &dyn Fn(&CellSummary) -> Estimate| -> Vec<Series> {
        let of_method = |method: &str| {
            let points = prices.iter().flat_map(|&price| {
                let world = format!("{place} {price}");
                run.of(&world, method).map(|cell| point(price, y(cell))).collect::<Vec<_>>()
            });
            Series::new(method, look_of(method), SeriesKind::ErrorBars, points)
        };
        run.methods().map(of_method).collect()
    };
    let x = || Axis {
        ticks: Some(prices.iter().map(|price| (*price, price.to_string())).collect()),
        ..Axis::log10("price of the fourth verifier")
    };
    let share = || Axis { range: Some((0.0, 0.6)), ..Axis::linear("share of the budget") };
    let arms = || Axis { range: Some((0.0, 6.5)), ..Axis::linear("certified good arms") };
    let figure = Figure::new(
        "Cost and difficulty",
        "Above: what the fourth verifier costs on bad arms, as a share of the budget, when \
                  bad arms fail the cheapest verifier (left) or only the fourth (right). Below: \
                  certified good arms of six. A trial ends once all six are certified. Whiskers are \
                  one standard error.",
        vec![
            Panel::lines("(a) Bad arms fail the cheapest", x(), share(), series("cheap", &wasted)),
            Panel::lines("(b) Bad arms fail the fourth", x(), share(), series("costly", &wasted)),
            Panel::lines("(c) Coverage, as in (a)", x(), arms(), series("cheap", &good)),
            Panel::lines("(d) Coverage, as in (b)", x(), arms(), series("costly", &good)),
        ],
    )
    .in_columns(2)
    .with_shared_legend();
    DrawnFigure { figure, findings: one_trajectory(run) }
}

pub(super) fn gsm8k(runs: &[ExperimentRun]) -> DrawnFigure {
    let Some(run) = runs.first() else { return DrawnFigure::default() };
    let world = run.world();
    let first = run.lines(world, SeriesKind::ErrorBars, |cell| cell.budget, good);
    let largest = |method: &str| {
        let cells = run.summaries.iter().filter(|cell| cell.method == method);
        cells.max_by(|one, other| one.budget.total_cmp(&other.budget))
    };
    let last: Vec<&CellSummary> = run.methods().filter_map(largest).collect();
    let bars = |title: &str, groups: Vec<String>, of: fn(&CellSummary) -> Vec<Estimate>| {
        let series = last.iter().map(|cell| BarSeries {
            name: cell.method.clone(),
            look: look_of(&cell.method),
            bars: of(cell).into_iter().map(bar).collect(),
        });
        let y_label = "certified right answers".into();
        let chart = BarChart { x_label: String::new(), y_label, groups, series: series.collect() };
        Panel::bars(title, chart)
    };
    let kinds = last.first().map(|cell| cell.kinds.clone()).unwrap_or_default();
    let (tokens, certified) = (Axis::linear("budget (tokens)"), Axis::linear("certified answers"));
    let figure = Figure::new(
        format!("{world}, replayed from recorded answers"),
        "(a) certified answers over the budget, (b) certified right answers at the largest \
                  budget by how many recorded solutions agree (easy: 90 % and more, hard: below \
                  70 %), (c) certified right answers at the largest budget. Whiskers are one \
                  standard error.",
        vec![
            Panel::lines("(a) Reliable coverage", tokens, certified, first),
            bars("(b) By difficulty", kinds, |cell| cell.certified_of_kind.clone()),
            bars("(c) Right answers", vec!["all".into()], |cell| {
                vec![cell.certified_right.unwrap_or_default()]
            }),
        ],
    )
    .in_columns(3)
    .with_shared_legend();
    let mut findings = one_trajectory(run);
    let right = last.iter().map(|cell| {
        let right = cell.certified_right.unwrap_or_default();
        format!("{} certifies {:.1} right answers", cell.method, right.mean)
    });
    findings.push(listed(&right.collect::<Vec<_>>()) + " at the largest budget.");
    DrawnFigure { figure, findings }
}
