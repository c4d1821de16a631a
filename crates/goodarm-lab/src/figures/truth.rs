//! From approved to right: claims from labels, how often they are false, and calibrated thresholds.

use crate::family::Means;
use crate::summary::{CellSummary, LabelSummary};
use goodarm_plot::{
    Axis, Bar, BarChart, BarSeries, Figure, Look, Panel, Point, Series, SeriesKind,
};
use goodarm_sim::labels::Way;

use crate::figures::{DrawnFigure, ExperimentRun, bar, point, real};

/// Shows labels until a claim, false claims at the boundary, false claims in wrong ways, and guessed or calibrated
/// thresholds. Each of the four has its own experiment.
pub(super) fn truth(runs: &[ExperimentRun]) -> DrawnFigure {
    let [biased, labels, boundary, twins] = runs else { return DrawnFigure::default() };
    let figure = Figure::new(
        "How many of the certified answers are right?",
        "(a), (b) Labels until it can be said that at least 90 %, or 95 %, of a certified set are right, wrong with probability \
                  0.05 at most: for sets of which 100, 99 and 98 % are right, and for those of sessions whose verifiers can be misled. \
                  Whiskers are one standard deviation. (c) How often the claim of 95 % is ever made about sets of which one answer too few is right. \
                  (d) The same for 90 % of 412 answers, labelled as it should be done and in wrong ways. Whiskers are one standard error. \
                  (e), (f) Sessions whose thresholds were guessed, or calibrated by 600 labels for a precision above 95 %.",
        vec![
            needed(labels, biased, "(a) Labels until “at least 90 % are right”", 0.9),
            needed(labels, biased, "(b) Labels until “at least 95 % are right”", 0.95),
            at_boundary(boundary),
            in_wrong_ways(twins),
            certified(biased),
            wrong(biased),
        ],
    )
    .in_columns(2);
    let findings =
        [labels_needed, false_claims, by_ways].into_iter().zip([labels, boundary, twins]);
    let mut findings: Vec<String> = findings.flat_map(|(find, run)| find(run)).collect();
    findings.extend(biased.summaries.iter().map(of_thresholds));
    DrawnFigure { figure, findings }
}

/// The number of answers, and of right ones, in a world whose answers are all certified.
fn approved(run: &ExperimentRun, cell: &CellSummary) -> Option<(usize, usize)> {
    let world = run.experiment.spec.worlds.iter().find(|world| world.name == cell.world)?;
    match world.means {
        Means::Approved { answers, right } => Some((answers, right)),
        _ => None,
    }
}

fn of_claim(cell: &CellSummary, share: f64) -> impl Iterator<Item = &LabelSummary> {
    let is_asked =
        move |one: &&LabelSummary| one.way == Way::Claim && one.share.total_cmp(&share).is_eq();
    cell.labelled.iter().filter(is_asked)
}

fn certified_count(cell: &CellSummary) -> f64 {
    cell.certified_good.mean + cell.certified_bad.mean
}

fn right_share(cell: &CellSummary) -> f64 {
    cell.certified_right.map_or(0.0, |right| right.mean / certified_count(cell).max(1.0))
}

/// Percent of right answers in a set, and the look of its series.
const PERCENTS: [(u32, usize); 3] = [(100, 2), (99, 0), (98, 1)];

fn needed(labels: &ExperimentRun, biased: &ExperimentRun, title: &str, share: f64) -> Panel {
    let of_percent = |(percent, look): (u32, usize)| {
        let name = format!("{percent} % right");
        let of = labels.summaries.iter().filter(|cell| cell.world.ends_with(&name));
        let point = |cell: &CellSummary| {
            let (answers, _) = approved(labels, cell)?;
            Some(until(real(answers), of_claim(cell, share).next()?))
        };
        Series::new(name.as_str(), Look(look), SeriesKind::ErrorBars, of.filter_map(point))
    };
    let mut series: Vec<Series> = PERCENTS.map(of_percent).into();
    let misled = biased.summaries.iter().filter(|cell| cell.world.ends_with(GUESSED));
    for (cell, look) in misled.zip([3, 6, 12]) {
        // Only a claim that is made in every order gets a point.
        let labelled = of_claim(cell, share).find(|one| one.claimed.mean >= 1.0);
        let name = format!("misled: {:.1} % right", 100.0 * right_share(cell));
        let point = labelled.map(|one| until(certified_count(cell), one));
        series.extend(
            point.map(|point| Series::new(name, Look(look), SeriesKind::ErrorBars, [point])),
        );
    }
    let ticks = [50, 100, 200, 412, 1000, 2000];
    let ticks = ticks.iter().map(|&tick| (real(tick), tick.to_string())).collect();
    let x = Axis { ticks: Some(ticks), ..Axis::log10("certified answers") };
    Panel::lines(title, x, Axis::linear("labels"), series)
}

/// Labels until a claim about this many answers, with their standard deviation.
fn until(answers: f64, labelled: &LabelSummary) -> Point {
    Point { x: answers, y: labelled.labels.mean, error: Some(labelled.deviation) }
}

/// How often the claim is made although it is false, at its δ.
fn false_at(labelled: &LabelSummary) -> Point {
    point(labelled.delta, labelled.false_claims)
}

/// The end of the name of each world in which misleading answers are certified.
const GUESSED: &str = "guessed 0.5";

fn promised(series: &mut Vec<Series>) {
    let diagonal = [0.0, 0.3].map(|rate| Point::new(rate, rate));
    series.push(Series::new("δ", Look(7), SeriesKind::Reference, diagonal));
}

fn at_boundary(run: &ExperimentRun) -> Panel {
    let of_set = |(index, cell): (usize, &CellSummary)| {
        let (answers, right) = approved(run, cell)?;
        (real(right) > 0.91 * real(answers)).then(|| {
            let points = of_claim(cell, 0.95).map(false_at);
            Series::new(
                format!("{answers} answers"),
                Look(index / 2),
                SeriesKind::ErrorBars,
                points,
            )
        })
    };
    let mut series: Vec<Series> = run.summaries.iter().enumerate().filter_map(of_set).collect();
    promised(&mut series);
    let title = "(c) False claims, one right answer short of 95 %";
    Panel::lines(title, Axis::linear("δ"), Axis::linear("frequency"), series)
}

/// The name and look of each way.
const WAYS: [(Way, &str, usize); 9] = [
    (Way::Claim, "goodarm", 3),
    (Way::SkipsWrong, "skips count as wrong", 11),
    (Way::Endless, "formula with replacement", 6),
    (Way::RightFirst, "right ones first", 1),
    (Way::BestOfThree, "best of three cards", 4),
    (Way::PutBack, "cards put back", 2),
    (Way::Peeked, "fixed interval, peeked at", 0),
    (Way::SkipsLeftOut, "skips left out", 5),
    (Way::TriedAgain, "tried again", 15),
];

fn in_wrong_ways(run: &ExperimentRun) -> Panel {
    let labelled = || run.summaries.iter().flat_map(|cell| &cell.labelled);
    let of_way = |(way, name, look): (Way, &str, usize)| {
        let points = labelled().filter(|one| one.way == way).map(false_at);
        Series::new(name, Look(look), SeriesKind::ErrorBars, points)
    };
    let mut series: Vec<Series> = WAYS.map(of_way).into();
    promised(&mut series);
    let y = Axis { range: Some((0.0, 1.02)), ..Axis::linear("frequency") };
    Panel::lines("(d) False claims in wrong ways", Axis::linear("δ"), y, series)
}

/// Worlds with the same answers form a group; bars of the same thresholds have one look.
fn by_thresholds(
    run: &ExperimentRun,
    y_label: &str,
    title: &str,
    bar: impl Fn(&CellSummary) -> Bar,
) -> Panel {
    let parts = |cell: &CellSummary| -> (String, String) {
        let (answers, thresholds) = cell.world.split_once(", ").unwrap_or((&cell.world, ""));
        (answers.to_owned(), thresholds.to_owned())
    };
    let (mut groups, mut names): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for (group, name) in run.summaries.iter().map(parts) {
        groups.extend((!groups.contains(&group)).then_some(group));
        names.extend((!names.contains(&name)).then_some(name));
    }
    let bar_of = |group: &String, name: &String| {
        let found = run.summaries.iter().find(|cell| parts(cell) == (group.clone(), name.clone()));
        found.map_or(Bar { value: f64::NAN, error: None }, &bar)
    };
    let series = names.iter().zip([1, 0, 3]).map(|(name, look)| BarSeries {
        name: name.clone(),
        look: Look(look),
        bars: groups.iter().map(|group| bar_of(group, name)).collect(),
    });
    let series = series.collect();
    let x_label = "wrong among those certified at 0.5".into();
    Panel::bars(title, BarChart { x_label, y_label: y_label.into(), groups, series })
}

fn certified(run: &ExperimentRun) -> Panel {
    let y = "right answers certified";
    by_thresholds(run, y, "(e) Certified right answers", |cell| {
        bar(cell.certified_right.unwrap_or_default())
    })
}

fn wrong(run: &ExperimentRun) -> Panel {
    let y = "wrong answers, % of the certified";
    by_thresholds(run, y, "(f) Wrong among the certified", |cell| Bar {
        value: 100.0 * (1.0 - right_share(cell)),
        error: None,
    })
}

fn labels_needed(run: &ExperimentRun) -> Vec<String> {
    let labelled = |cell: &CellSummary| {
        let parts = cell.labelled.iter().map(|one| {
            format!(
                "{:.1} ± {:.1} until “at least {} %”",
                one.labels.mean,
                one.deviation,
                100.0 * one.share
            )
        });
        format!("{}: {}.", cell.world, parts.collect::<Vec<_>>().join(", "))
    };
    run.summaries.iter().map(labelled).collect()
}

fn false_claims(run: &ExperimentRun) -> Vec<String> {
    let rates = run.summaries.iter().flat_map(|cell| &cell.labelled);
    let ratio =
        |one: &LabelSummary| (one.false_claims.mean - 3.0 * one.false_claims.error) / one.delta;
    let worst = rates.map(ratio).fold(0.0, f64::max);
    vec![format!(
        "The largest frequency of false claims, less three standard errors, is {worst:.2} of its δ."
    )]
}

fn by_ways(run: &ExperimentRun) -> Vec<String> {
    let labelled = || run.summaries.iter().flat_map(|cell| &cell.labelled);
    let of_way = |(way, name, _): (Way, &str, usize)| {
        let rates = labelled().filter(|one| one.way == way);
        let rates = rates.map(|one| format!("{:.3} at {}", one.false_claims.mean, one.delta));
        format!("False claims, {name}: {}.", rates.collect::<Vec<_>>().join(", "))
    };
    WAYS.map(of_way).into()
}

fn of_thresholds(cell: &CellSummary) -> String {
    let claims = cell.labelled.iter().map(|one| {
        let percent = 100.0 * one.share;
        let (made, labels) = (100.0 * one.claimed.mean, one.labels.mean);
        format!("“at least {percent} %” in {made:.0} % of the orders, after {labels:.0} labels")
    });
    format!(
        "{}: {:.1} certified, {:.1} % right; {}.",
        cell.world,
        certified_count(cell),
        100.0 * right_share(cell),
        claims.collect::<Vec<_>>().join(", ")
    )
}
