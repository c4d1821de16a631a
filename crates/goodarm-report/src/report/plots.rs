//! The plots of a report.

use goodarm_plot::{
    Axis, Bar, BarChart, BarSeries, Figure, Look, Panel, Point, Series, SeriesKind,
};
use goodarm_record::view::Overview;

use super::data::ReportData;
use super::spending::SpendingTable;
use crate::words::{about_money, achieved, confidence, printable, whole};

/// Every plot with the name of its file.
pub(crate) fn figures(data: &ReportData) -> [(&'static str, Figure); 3] {
    let overview = &data.overview;
    [("coverage", coverage(overview)), ("spending", spending(overview)), ("noise", noise(overview))]
}

fn coverage(overview: &Overview) -> Figure {
    let unit = overview.money.unit;
    let has_questions = overview.questions.is_some();
    let [things, alike] = match has_questions {
        true => ["questions", "Treating all alike"],
        false => ["answers", "Checking all alike"],
    };
    let steps = overview.coverage.iter().flatten();
    let steps = steps.map(|step| Point::new(step.spent, real(step.certified)));
    let end = Point::new(overview.money.spent.units(), real(overview.certified));
    let points = [Point::new(0.0, 0.0)].into_iter().chain(steps).chain([end]);
    let all = [Point::new(0.0, real(whole(overview)))];
    let mut series = vec![
        Series::new("certified", Look(0), SeriesKind::Step, points),
        Series::new(format!("all {things}"), Look(0), SeriesKind::Reference, all),
    ];
    let mut caption = format!(
        "{} at 1 − δ = {}, over what was spent.",
        achieved(overview),
        confidence(overview.delta),
    );
    if let Some(uniform) = &overview.uniform {
        // A point far to the right would squeeze the curve.
        if uniform.cost <= UNIFORM_SHOWN_MAX * overview.money.spent.units() {
            let end = Point::new(uniform.cost, real(overview.certified));
            let name = format!("{alike} (estimate)").to_lowercase();
            series.push(Series::new(name, Look(1), SeriesKind::Line, [Point::new(0.0, 0.0), end]));
        }
        let cost = about_money(uniform.cost, unit);
        caption += &format!(" {alike}: about {cost} {unit}. {}", uniform.rule);
    }
    let (title, y) = match has_questions {
        true => ("Questions answered over what was spent", "answered questions"),
        false => ("Answers certified over what was spent", "certified answers"),
    };
    let x = Axis::linear(format!("spent ({unit})"));
    Figure::new(title, caption, vec![Panel::lines("", x, Axis::linear(y), series)])
}

fn spending(overview: &Overview) -> Figure {
    let SpendingTable { statuses, services, .. } = SpendingTable::new(overview);
    let (things, who, x_label) = match &overview.questions {
        Some(_) => ("questions", "verifier and generator", "verifier or generator"),
        None => ("answers", "verifier", "verifier"),
    };
    let series = statuses.iter().enumerate().map(|(index, status)| BarSeries {
        name: format!("on {status} {things}"),
        look: [Look(0), Look(5), Look(1)][index],
        bars: services.iter().map(|service| bar(service.parts[index].units())).collect(),
    });
    bars(
        "Where the money went",
        &format!("What was paid to each {who}, by what became of the {things} in the end."),
        BarChart {
            x_label: x_label.into(),
            y_label: format!("spent ({})", overview.money.unit),
            series: series.collect(),
            groups: services.into_iter().map(|service| service.name).collect(),
        },
    )
}

fn noise(overview: &Overview) -> Figure {
    let share = |part: fn(&goodarm_record::view::noise::Noise) -> f64| {
        overview.verifiers.iter().map(|v| bar(v.noise.as_ref().map_or(f64::NAN, part))).collect()
    };
    let series = vec![
        BarSeries {
            name: "two calls on the same answer disagree".into(),
            look: Look(0),
            bars: share(|noise| noise.disagreement),
        },
        BarSeries {
            name: "answers with mixed verdicts".into(),
            look: Look(5),
            #[expect(clippy::cast_precision_loss, reason = "a share for people")]
            bars: share(|noise| noise.mixed as f64 / noise.answers as f64),
        },
    ];
    bars(
        "How often verifiers contradict themselves",
        "Over the answers that a verifier scored at least twice. A verdict is whether a score reaches the verifier's threshold.",
        BarChart {
            x_label: "verifier".into(),
            y_label: "share".into(),
            groups: overview.verifiers.iter().map(|it| printable(&it.name)).collect(),
            series,
        },
    )
}

const fn bar(value: f64) -> Bar {
    Bar { value, error: None }
}

fn bars(title: &str, caption: &str, chart: BarChart) -> Figure {
    Figure::new(title, caption, vec![Panel::bars("", chart)])
}

#[expect(clippy::cast_precision_loss, reason = "counts of answers on an axis")]
const fn real(count: usize) -> f64 {
    count as f64
}

const UNIFORM_SHOWN_MAX: f64 = 6.0;
