//! A calibration as figures.

use goodarm_plot::{Axis, Figure, Look, Panel, Point, Series, SeriesKind};

use super::real;
use super::report::{CalibrationReport, StepReport, StepStatus, VerifierReport};
use goodarm_report::words::{percent, printable};

/// Every figure with the name of its file.
pub(super) fn figures(report: &CalibrationReport) -> Vec<(&'static str, Figure)> {
    let mut figures = vec![("verifiers", verifiers(report)), ("path", path(report))];
    if report.offers.iter().any(|offer| offer.certified.is_some()) {
        figures.push(("budget", budget(report)));
    }
    figures
}

/// For each noisy verifier: which share of right and of wrong answers a threshold would let pass.
fn verifiers(report: &CalibrationReport) -> Figure {
    let noisy = report.verifiers.iter().filter(|verifier| !verifier.is_exact);
    let panels: Vec<Panel> = noisy.take(PANELS_MAX).map(verifier).collect();
    let columns = panels.len().min(2);
    Figure::new(
        "What each verifier lets pass",
        "The share of labelled answers, right ones and wrong ones, whose mean reaches a threshold. The further the lines are apart, the better. Dashed: the threshold.",
        panels,
    )
    .in_columns(columns)
    .with_shared_legend()
}

fn verifier(verifier: &VerifierReport) -> Panel {
    let all = || verifier.right_means.iter().chain(&verifier.wrong_means);
    let lowest = all().copied().fold(0.0, f64::min);
    let highest = all().copied().fold(1.0, f64::max);
    let series = |name: &str, look: usize, means: &[f64]| {
        Series::new(name, Look(look), SeriesKind::Step, passing(means, lowest, highest))
    };
    let threshold = verifier.new_threshold.unwrap_or(verifier.old_threshold);
    let auc = verifier.auc.map_or_else(String::new, |auc| format!(", AUC {auc:.2}"));
    let upright = [0.0, 1.0].map(|y| Point::new(threshold, y));
    Panel::lines(
        format!("{}: {threshold}{auc}", printable(&verifier.name)),
        Axis { range: Some((lowest, highest)), ..Axis::linear("threshold") },
        Axis { range: Some((0.0, 1.0)), ..Axis::linear("share that passes") },
        vec![
            series("right answers", 0, &verifier.right_means),
            series("wrong answers", 1, &verifier.wrong_means),
            Series::new("threshold", Look(6), SeriesKind::Reference, upright),
        ],
    )
}

/// The share of sorted means that reach x, as a staircase in x.
fn passing(means: &[f64], lowest: f64, highest: f64) -> Vec<Point> {
    let all = real(means.len().max(1) as u64);
    let at = |x: f64, count: usize| Point::new(x, real(count as u64) / all);
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

/// From strict to lax: the share of right labels, and what they show.
fn path(report: &CalibrationReport) -> Figure {
    let at = |step: &StepReport, y: f64| Point::new(100.0 * step.share_kept, 100.0 * y);
    let labelled = |step: &&StepReport| step.right + step.wrong > 0;
    let rate = |step: &StepReport| real(step.right) / real(step.right + step.wrong);
    let steps = || report.steps.iter().filter(labelled);
    let is_shown = |step: &&StepReport| step.status == StepStatus::Shown;
    let wanted = report.settings.precision;
    let rates = steps().map(|step| at(step, rate(step)));
    let alone = steps().map(|step| at(step, step.shown_precision));
    let wish = [Point::new(0.0, 100.0 * wanted)];
    let mut series = vec![
        Series::new("right, of the labelled", Look(5), SeriesKind::Line, rates),
        Series::new("shown by a step's labels alone", Look(4), SeriesKind::Line, alone),
        Series::new(format!("wanted, {}", percent(wanted)), Look(6), SeriesKind::Reference, wish),
    ];
    let shown = steps().filter(is_shown).map(|step| at(step, step.shown_precision));
    let shown = Series::new("shown, in order", Look(0), SeriesKind::ErrorBars, shown);
    series.extend((!shown.points.is_empty()).then_some(shown));
    let caption = format!(
        "Each step of the path lets more answers pass. Its labels show a precision with confidence {}; the search goes to the right from the first step with enough labels, for as long as that is above the wish.",
        percent(1.0 - report.settings.delta)
    );
    let x = Axis { range: Some((0.0, 100.0)), ..Axis::linear("answers that pass (% of all)") };
    let y = Axis { range: Some((0.0, 100.0)), ..Axis::linear("right answers (%)") };
    Figure::new("From strict to lax", caption, vec![Panel::lines("", x, y, series)])
}

/// What the budget buys, over the precision that is wanted.
fn budget(report: &CalibrationReport) -> Figure {
    let offers = || report.offers.iter().filter(|offer| offer.thresholds.is_some());
    let kept = offers().map(|offer| Point::new(100.0 * offer.precision, real(offer.kept as u64)));
    let certified = offers().filter_map(|offer| {
        let spread = offer.certified?;
        let error = Some(0.5 * (spread.high - spread.low));
        Some(Point { x: 100.0 * offer.precision, y: spread.median, error })
    });
    let lowest = report.offers.iter().map(|offer| 100.0 * offer.precision).fold(80.0, f64::min);
    let ticks = report.offers.iter().map(|offer| {
        (100.0 * offer.precision, format!("{}", (1000.0 * offer.precision).round() / 10.0))
    });
    let x = Axis {
        range: Some((lowest - 2.0, 100.0)),
        ticks: Some(ticks.collect()),
        ..Axis::linear("precision wanted (%)")
    };
    let all = real(report.settings.answers as u64);
    let y = Axis { range: Some((0.0, all)), ..Axis::linear("answers") };
    let series = vec![
        Series::new("pass", Look(5), SeriesKind::Line, kept),
        Series::new("certified", Look(0), SeriesKind::ErrorBars, certified),
    ];
    Figure::new(
        "What a wish costs",
        "Answers that pass the thresholds of each wish, and how many of them simulated sessions certify with the job's budget: the median, and half the width of the range of eight in ten. A wish without a point is not shown by these labels.",
        vec![Panel::lines("", x, y, series)],
    )
}

const PANELS_MAX: usize = 12;
