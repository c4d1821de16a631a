//! The paper's own figures.

use goodarm_plot::{
    Axis, Bar, BarChart, BarSeries, Content, Donut, Figure, Key, Kind, LineChart, Panel, Point,
    Role, Sector, Series,
};
use goodarm_sim::summary::{CellSummary, Estimate};

use crate::figures::{Drawn, Run, listed, point, role};

fn lines(title: &str, x: Axis, y: Axis, series: Vec<Series>) -> Panel {
    Panel { title: title.into(), content: Content::Lines(LineChart { x, y, series }) }
}

fn good(cell: &CellSummary) -> Estimate {
    cell.certified_good
}

pub(super) fn synthetic(runs: &[Run]) -> Drawn {
    let [coverage, difficulty] = runs else { return nothing() };
    let world = coverage.world();
    let budget = |cell: &CellSummary| cell.budget;
    let mut first = coverage.lines(world, Kind::ErrorBars, budget, good);
    let complexity = coverage.experiment.instance(0, 0).complexity();
    first.push(Series {
        name: "K(b), the limit as δ → 0".into(),
        role: Role(7),
        kind: Kind::Reference,
        points: coverage
            .experiment
            .spec
            .budgets
            .values()
            .iter()
            .map(|&b| {
                let reach = complexity.reach(b * complexity.total());
                Point { x: b, y: f64::from(u32::try_from(reach).unwrap_or(0)), error: None }
            })
            .collect(),
    });
    let second = coverage.lines(world, Kind::ErrorBars, budget, |cell| cell.pulls);
    let names: Vec<&str> =
        difficulty.experiment.spec.worlds.iter().map(|world| world.name.as_str()).collect();
    let third = difficulty
        .methods()
        .map(|method| Series {
            name: method.to_owned(),
            role: role(method),
            kind: Kind::ErrorBars,
            points: names
                .iter()
                .enumerate()
                .flat_map(|(index, world)| {
                    let instance = difficulty.experiment.instance(index, 0);
                    let third = instance.complexity().of_first(3).unwrap_or(f64::NAN);
                    difficulty.of(world, method).map(move |cell| point(third, good(cell)))
                })
                .collect(),
        })
        .collect();
    let b_axis = || Axis::linear("b, in units of T*(μ)");
    let figure = Figure {
        title: "Synthetic experiments".into(),
        caption:
            "(a) certified good arms over the budget B = b log(1/δ), (b) calls until the session \
                  stops, (c) certified good arms over the difficulty of the instance, B = 90,000. \
                  Whiskers are one standard error."
                .into(),
        panels: vec![
            lines("(a) Reliable coverage", b_axis(), Axis::linear("certified good arms"), first),
            lines("(b) Stopping time", b_axis(), Axis::linear("calls"), second),
            lines(
                "(c) Coverage over difficulty",
                Axis::log10("T*_3(μ)"),
                Axis::linear("certified good arms"),
                third,
            ),
        ],
        columns: 3,
        key: Key::Shared,
    };
    Drawn { figure, findings: [one_trajectory(coverage), one_trajectory(difficulty)].concat() }
}

/// What the trials say about the printed rule.
fn one_trajectory(run: &Run) -> Vec<String> {
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

pub(super) fn allocation(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let panels = run
        .summaries
        .iter()
        .map(|cell| {
            let share = |kind: usize| -> f64 {
                cell.spent_share[kind].iter().map(|estimate| estimate.mean).sum()
            };
            let kinds = cell.kinds.iter().enumerate().map(|(kind, name)| Sector {
                name: name.clone(),
                value: share(kind),
                role: Role(kind),
            });
            let spent: f64 = (0..cell.kinds.len()).map(share).sum();
            let left = Sector { name: "left over".into(), value: 1.0 - spent, role: Role(7) };
            let sectors = kinds.chain((spent < 0.995).then_some(left));
            Panel {
                title: cell.method.clone(),
                content: Content::Sectors(Donut {
                    centre: format!("{:.1} certified", cell.certified_good.mean),
                    sectors: sectors.collect(),
                }),
            }
        })
        .collect();
    let figure = Figure {
        title: "Where the budget goes".into(),
        caption: "Shares of the budget B = 12 T* log(1/δ) spent on good arms that are cheap to certify, \
                  good arms that are expensive to certify, and bad arms; mean of the repetitions. In \
                  the middle: certified good arms of six. A trial ends once all six are certified."
            .into(),
        panels,
        columns: 2,
        key: Key::InPanels,
    };
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
    Drawn { figure, findings }
}

pub(super) fn interaction(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let prices = [4.0, 16.0, 40.0];
    let wasted = |cell: &CellSummary| {
        let bad = cell.kinds.iter().position(|kind| kind == "bad");
        bad.map_or(Estimate::default(), |kind| cell.spent_share[kind][3])
    };
    let series = |place: &str, y: &dyn Fn(&CellSummary) -> Estimate| -> Vec<Series> {
        run.methods()
            .map(|method| Series {
                name: method.to_owned(),
                role: role(method),
                kind: Kind::ErrorBars,
                points: prices
                    .iter()
                    .flat_map(|&price| {
                        let world = format!("{place} {price}");
                        let cells = run
                            .summaries
                            .iter()
                            .filter(move |cell| cell.world == world && cell.method == method);
                        cells.map(move |cell| point(price, y(cell)))
                    })
                    .collect(),
            })
            .collect()
    };
    let x = || Axis {
        ticks: Some(prices.iter().map(|price| (*price, price.to_string())).collect()),
        ..Axis::log10("price of the fourth verifier")
    };
    let share = || Axis { range: Some((0.0, 0.6)), ..Axis::linear("share of the budget") };
    let arms = || Axis { range: Some((0.0, 6.5)), ..Axis::linear("certified good arms") };
    let figure = Figure {
        title: "Cost and difficulty".into(),
        caption:
            "Above: what the fourth verifier costs on bad arms, as a share of the budget, when \
                  bad arms fail the cheapest verifier (left) or only the fourth (right). Below: \
                  certified good arms of six. A trial ends once all six are certified. Whiskers are \
                  one standard error."
                .into(),
        panels: vec![
            lines("(a) Bad arms fail the cheapest", x(), share(), series("cheap", &wasted)),
            lines("(b) Bad arms fail the fourth", x(), share(), series("costly", &wasted)),
            lines("(c) Coverage, as in (a)", x(), arms(), series("cheap", &good)),
            lines("(d) Coverage, as in (b)", x(), arms(), series("costly", &good)),
        ],
        columns: 2,
        key: Key::Shared,
    };
    Drawn { figure, findings: one_trajectory(run) }
}

pub(super) fn gsm8k(runs: &[Run]) -> Drawn {
    let Some(run) = runs.first() else { return nothing() };
    let world = run.world();
    let first = run.lines(world, Kind::ErrorBars, |cell| cell.budget, good);
    let largest = |method: &str| {
        let cells = run.summaries.iter().filter(|cell| cell.method == method);
        cells.max_by(|one, other| one.budget.total_cmp(&other.budget))
    };
    let last: Vec<&CellSummary> = run.methods().filter_map(largest).collect();
    let bar = |estimate: Estimate| Bar { value: estimate.mean, error: Some(estimate.error) };
    let by_kind = last.iter().map(|cell| BarSeries {
        name: cell.method.clone(),
        role: role(&cell.method),
        bars: cell.certified_of_kind.iter().map(|&estimate| bar(estimate)).collect(),
    });
    let right = last.iter().map(|cell| BarSeries {
        name: cell.method.clone(),
        role: role(&cell.method),
        bars: vec![bar(cell.certified_right.unwrap_or_default())],
    });
    let bars = |title: &str, x_label: &str, groups: Vec<String>, series: Vec<BarSeries>| Panel {
        title: title.into(),
        content: Content::Bars(BarChart {
            x_label: x_label.into(),
            y: Axis::linear("certified right answers"),
            groups,
            series,
        }),
    };
    let kinds = last.first().map(|cell| cell.kinds.clone()).unwrap_or_default();
    let figure = Figure {
        title: format!("{world}, replayed from recorded answers"),
        caption:
            "(a) certified answers over the budget, (b) certified right answers at the largest \
                  budget by how many recorded solutions agree (easy: 90 % and more, hard: below \
                  70 %), (c) certified right answers at the largest budget. Whiskers are one \
                  standard error."
                .into(),
        panels: vec![
            lines(
                "(a) Reliable coverage",
                Axis::linear("budget (tokens)"),
                Axis::linear("certified answers"),
                first,
            ),
            bars("(b) By difficulty", "", kinds, by_kind.collect()),
            bars("(c) Right answers", "", vec!["all".into()], right.collect()),
        ],
        columns: 3,
        key: Key::Shared,
    };
    let mut findings = one_trajectory(run);
    findings.push(
        listed(
            &last
                .iter()
                .map(|cell| {
                    let right = cell.certified_right.unwrap_or_default();
                    format!("{} certifies {:.1} right answers", cell.method, right.mean)
                })
                .collect::<Vec<String>>(),
        ) + " at the largest budget.",
    );
    Drawn { figure, findings }
}

/// For a list of runs that is not the entry's own.
pub(super) fn nothing() -> Drawn {
    let figure = Figure {
        title: String::new(),
        caption: String::new(),
        panels: Vec::new(),
        columns: 1,
        key: Key::InPanels,
    };
    Drawn { figure, findings: Vec::new() }
}
