//! A calibration as figures.

use goodarm_plot::{Axis, Content, Figure, Key, Kind, LineChart, Panel, Point, Role, Series};

use super::finding::{Finding, Standing, StepFinding, VerifierFinding};
use super::{percent, real};
use goodarm_report::words::printable;

/// Every figure with the name of its file.
pub(super) fn figures(finding: &Finding) -> Vec<(&'static str, Figure)> {
    let mut figures = vec![("verifiers", verifiers(finding)), ("path", path(finding))];
    if finding.offers.iter().any(|offer| offer.certified.is_some()) {
        figures.push(("budget", budget(finding)));
    }
    figures
}

/// For each noisy verifier: which share of right and of wrong answers a threshold would let pass.
fn verifiers(finding: &Finding) -> Figure {
    let noisy = finding.verifiers.iter().filter(|verifier| !verifier.is_exact);
    let panels: Vec<Panel> = noisy.take(PANELS_MAX).map(verifier).collect();
    Figure {
        title: "What each verifier lets pass".into(),
        caption: "The share of labelled answers, right ones and wrong ones, whose mean reaches a threshold. The further the lines are apart, the better. Dashed: the threshold.".into(),
        columns: panels.len().min(2),
        panels,
        key: Key::Shared,
    }
}

fn verifier(verifier: &VerifierFinding) -> Panel {
    let all = || verifier.right_means.iter().chain(&verifier.wrong_means);
    let lowest = all().copied().fold(0.0, f64::min);
    let highest = all().copied().fold(1.0, f64::max);
    let series = |name: &str, role: usize, means: &[f64]| Series {
        name: name.into(),
        role: Role(role),
        kind: Kind::Step,
        points: passing(means, lowest, highest),
    };
    let threshold = verifier.new_threshold.unwrap_or(verifier.old_threshold);
    let auc = verifier.auc.map_or_else(String::new, |auc| format!(", AUC {auc:.2}"));
    Panel {
        title: format!("{}: {threshold}{auc}", printable(&verifier.name)),
        content: Content::Lines(LineChart {
            x: Axis { range: Some((lowest, highest)), ..Axis::linear("threshold") },
            y: Axis { range: Some((0.0, 1.0)), ..Axis::linear("share that passes") },
            series: vec![
                series("right answers", 0, &verifier.right_means),
                series("wrong answers", 1, &verifier.wrong_means),
                upright("threshold", threshold),
            ],
        }),
    }
}

/// The share of sorted means that reach x, as a staircase in x.
fn passing(means: &[f64], lowest: f64, highest: f64) -> Vec<Point> {
    let all = real(means.len().max(1) as u64);
    let at = |x: f64, count: usize| Point { x, y: real(count as u64) / all, error: None };
    let mut points = vec![at(lowest, means.len())];
    // The step down comes just behind a mean: one that is reached is passed.
    let downs = means
        .iter()
        .enumerate()
        .filter(|(place, mean)| means.get(place + 1).is_none_or(|next| next > *mean));
    points.extend(downs.map(|(place, mean)| at(*mean, means.len() - place - 1)));
    points.push(at(highest, 0));
    points
}

fn upright(name: &str, x: f64) -> Series {
    let points = [0.0, 1.0].map(|y| Point { x, y, error: None });
    Series { name: name.into(), role: Role(6), kind: Kind::Reference, points: points.into() }
}

/// From strict to lax: the share of right labels, and what they show.
fn path(finding: &Finding) -> Figure {
    let at = |step: &StepFinding, y: f64| Point {
        x: 100.0 * step.share_kept,
        y: 100.0 * y,
        error: None,
    };
    let labelled = |step: &&StepFinding| step.right + step.wrong > 0;
    let rate = |step: &StepFinding| real(step.right) / real(step.right + step.wrong);
    let line = |name: &str, role: usize, points: Vec<Point>| Series {
        name: name.into(),
        role: Role(role),
        kind: Kind::Line,
        points,
    };
    let steps = || finding.steps.iter().filter(labelled);
    let tested = |step: &&StepFinding| step.standing == Standing::Shown;
    let wanted = finding.settings.precision;
    let mut series = vec![
        line("right, of the labelled", 5, steps().map(|step| at(step, rate(step))).collect()),
        line(
            "shown by a step's labels alone",
            4,
            steps().map(|step| at(step, step.shown_precision)).collect(),
        ),
        Series {
            name: format!("wanted, {}", percent(wanted)),
            role: Role(6),
            kind: Kind::Reference,
            points: vec![Point { x: 0.0, y: 100.0 * wanted, error: None }],
        },
    ];
    let shown: Vec<Point> =
        steps().filter(tested).map(|step| at(step, step.shown_precision)).collect();
    if !shown.is_empty() {
        series.push(Series {
            name: "shown, in order".into(),
            role: Role(0),
            kind: Kind::ErrorBars,
            points: shown,
        });
    }
    single(
        "From strict to lax",
        format!(
            "Each step of the path lets more answers pass. Its labels show a precision with confidence {}; the search goes to the right from the first step with enough labels, for as long as that is above the wish.",
            percent(1.0 - finding.settings.delta)
        ),
        LineChart {
            x: Axis { range: Some((0.0, 100.0)), ..Axis::linear("answers that pass (% of all)") },
            y: Axis { range: Some((0.0, 100.0)), ..Axis::linear("right answers (%)") },
            series,
        },
    )
}

/// What the budget buys, over the precision that is wanted.
fn budget(finding: &Finding) -> Figure {
    let offers = || finding.offers.iter().filter(|offer| offer.thresholds.is_some());
    let kept = offers().map(|offer| Point {
        x: 100.0 * offer.precision,
        y: real(offer.kept as u64),
        error: None,
    });
    let certified = offers().filter_map(|offer| {
        let spread = offer.certified?;
        let error = Some(0.5 * (spread.high - spread.low));
        Some(Point { x: 100.0 * offer.precision, y: spread.median, error })
    });
    let lowest = finding.offers.iter().map(|offer| 100.0 * offer.precision).fold(80.0, f64::min);
    let ticks = finding.offers.iter().map(|offer| {
        (100.0 * offer.precision, format!("{}", (1000.0 * offer.precision).round() / 10.0))
    });
    let line = |name: &str, role: usize, kind: Kind, points: Vec<Point>| Series {
        name: name.into(),
        role: Role(role),
        kind,
        points,
    };
    single(
        "What a wish costs",
        "Answers that pass the thresholds of each wish, and how many of them simulated sessions certify with the job's budget: the median, and half the width of the range of eight in ten. A wish without a point is not shown by these labels.".into(),
        LineChart {
            x: Axis {
                range: Some((lowest - 2.0, 100.0)),
                ticks: Some(ticks.collect()),
                ..Axis::linear("precision wanted (%)")
            },
            y: Axis {
                range: Some((0.0, real(finding.settings.answers as u64))),
                ..Axis::linear("answers")
            },
            series: vec![
                line("pass", 5, Kind::Line, kept.collect()),
                line("certified", 0, Kind::ErrorBars, certified.collect()),
            ],
        },
    )
}

fn single(title: &str, caption: String, chart: LineChart) -> Figure {
    let panels = vec![Panel { title: String::new(), content: Content::Lines(chart) }];
    Figure { title: title.into(), caption, panels, columns: 1, key: Key::InPanels }
}

const PANELS_MAX: usize = 12;
