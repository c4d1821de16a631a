//! What a budget will buy, as text and as a figure.

use std::fmt::Write as _;
use std::path::Path;

use goodarm_files::Unit;
use goodarm_live::table::{Column, Table};
use goodarm_plot::{Axis, Content, Figure, Key, Kind, LineChart, Panel, Point, Role, Series};
use goodarm_sim::plan::{Omission, Plan, PlanStep, Spread};

use crate::figures::{FigureError, write};
use crate::words::{about, counted, printable};

/// The plan, for a terminal.
pub fn text(plan: &Plan) -> String {
    let mut text = format!(
        "{}, {} of them good; δ = {}; {}\n\n",
        counted(plan.answers, "answer"),
        plan.good,
        plan.delta,
        counted(plan.repetitions, "simulated session")
    );
    if let Some(purchase) = &plan.purchase {
        let Spread { low, median, high } = purchase.realistic;
        let _ = write!(
            text,
            "A budget of {} certifies about {} ({low} to {high} in eight of ten \
             sessions, {:.1} on average), and spends {}.\n\
             As δ → 0 (b = {}): K(b) = {}; at least {} are reached and no reliable policy \
             exceeds {}.\n\n",
            shown(purchase.budget),
            answers_about(median),
            purchase.mean,
            shown(purchase.spent),
            shown(purchase.normalized),
            purchase.asymptotic,
            purchase.asymptotic_lower,
            purchase.asymptotic_upper
        );
    }
    if let Some(Omission { verifier, by, answers, share, realistic, mean }) = &plan.implied {
        let Spread { low, median, high } = realistic;
        let _ = write!(
            text,
            "\"{}\" takes {:.0} % of that, and as the answers are described all {answers} that pass \
             \"{}\" pass it, too. Without it the budget certifies about {median} ({low} to {high}, \
             {mean:.1} on average), and the certificates say nothing of it.\n\n",
            printable(verifier),
            100.0 * share,
            printable(by),
        );
    }
    text += "certified          h_q         T*    asymptotic     realistic (8 of 10 sessions)\n";
    for step in some_of(&plan.steps) {
        let realistic = step.realistic.map_or("most sessions do not get there".into(), |spread| {
            let Spread { low, median, high } = spread;
            format!("{:>13} ({} to {})", shown(median), shown(low), shown(high))
        });
        let PlanStep { certified, complexity, characteristic, asymptotic, .. } = step;
        let _ = writeln!(
            text,
            "{certified:>9} {:>12} {:>10} {:>13} {realistic}",
            shown(*complexity),
            shown(*characteristic),
            shown(*asymptotic)
        );
    }
    text
}

/// An amount of whatever the prices are in.
fn shown(units: f64) -> String {
    about(units, Unit::default())
}

/// 1 answer, 2.5 answers.
fn answers_about(median: f64) -> String {
    format!("{median} {}", if (median - 1.0).abs() < f64::EPSILON { "answer" } else { "answers" })
}

/// What so many certificates cost, a row for each number of them; docs/plan.md describes the columns.
pub fn table(plan: &Plan) -> Table {
    let reals = |of: fn(&PlanStep) -> f64| Column::reals(plan.steps.iter().map(of));
    let realistic = |of: fn(Spread) -> f64| {
        Column::Reals(plan.steps.iter().map(|step| step.realistic.map(of)).collect())
    };
    let counts = plan.steps.iter().map(|step| i64::try_from(step.certified).unwrap_or(i64::MAX));
    let mut table = Table::default();
    table.push("certified", Column::integers(counts));
    table.push("complexity", reals(|step| step.complexity));
    table.push("characteristic", reals(|step| step.characteristic));
    table.push("asymptotic", reals(|step| step.asymptotic));
    table.push("realistic_low", realistic(|spread| spread.low));
    table.push("realistic_median", realistic(|spread| spread.median));
    table.push("realistic_high", realistic(|spread| spread.high));
    table
}

/// All steps if they are few, else about twenty of them.
fn some_of(steps: &[PlanStep]) -> impl Iterator<Item = &PlanStep> {
    let stride = steps.len().div_ceil(20).max(1);
    let last = steps.len();
    steps.iter().filter(move |step| {
        step.certified == 1 || step.certified % stride == 0 || step.certified == last
    })
}

/// Certified answers over the budget.
pub fn figure(plan: &Plan) -> Figure {
    let count = |step: &PlanStep| f64::from(u32::try_from(step.certified).unwrap_or(u32::MAX));
    let realistic = |of: fn(Spread) -> f64| -> Vec<Point> {
        let points = plan
            .steps
            .iter()
            .filter_map(|step| Some(Point { x: of(step.realistic?), y: count(step), error: None }));
        points.filter(|point| point.x.is_finite()).collect()
    };
    let line = |name: &str, role: usize, kind: Kind, points: Vec<Point>| Series {
        name: name.into(),
        role: Role(role),
        kind,
        points,
    };
    let asymptotic = plan
        .steps
        .iter()
        .map(|step| Point { x: step.asymptotic, y: count(step), error: None })
        .collect();
    let series = vec![
        line("median session", 3, Kind::Step, realistic(|spread| spread.median)),
        line("one in ten is cheaper", 4, Kind::Step, realistic(|spread| spread.low)),
        line("one in ten is dearer", 2, Kind::Step, realistic(|spread| spread.high)),
        line("asymptotic, T* log(1/δ)", 7, Kind::Reference, asymptotic),
    ];
    Figure {
        title: "What the budget buys".into(),
        caption: format!(
            "{}, {} of them good, δ = {}; {}.",
            counted(plan.answers, "answer"),
            plan.good,
            plan.delta,
            counted(plan.repetitions, "simulated session")
        ),
        panels: vec![Panel {
            title: String::new(),
            content: Content::Lines(LineChart {
                x: Axis::linear("budget"),
                y: Axis::linear("certified answers"),
                series,
            }),
        }],
        columns: 1,
        key: Key::InPanels,
    }
}

/// Writes the figure, as PNG if the file's name says so and as SVG otherwise.
pub fn write_figure(plan: &Plan, path: &Path) -> Result<(), FigureError> {
    let figure = figure(plan);
    let is_png = path.extension().is_some_and(|extension| extension == "png");
    let bytes = if is_png {
        goodarm_plot::png(&figure, PNG_WIDTH)?
    } else {
        goodarm_plot::svg(&figure).into_bytes()
    };
    write(path, &bytes)
}

const PNG_WIDTH: u32 = 1200;
