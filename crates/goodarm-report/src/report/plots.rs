//! The report's plots as figures.

use goodarm_core::ArmStatus;
use goodarm_plot::{
    Axis, Bar, BarChart, BarSeries, Content, Figure, Key, Kind, LineChart, Panel, Point, Role,
    Series,
};
use goodarm_record::view::questions::QuestionsView;
use goodarm_record::view::{Overview, VerifierView};

use super::data::Data;
use crate::words::{about_money, achieved, confidence, printable, whole};

/// Every plot with the name of its file.
pub(crate) fn figures(data: &Data) -> [(&'static str, Figure); 3] {
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
    let point = |x: f64, y: f64| Point { x, y, error: None };
    let mut points = vec![point(0.0, 0.0)];
    points.extend(
        overview.coverage.iter().flatten().map(|step| point(step.spent, real(step.certified))),
    );
    points.push(point(overview.money.spent.units(), real(overview.certified)));
    let mut series = vec![
        Series { name: "certified".into(), role: Role(0), kind: Kind::Step, points },
        Series {
            name: format!("all {things}"),
            role: Role(0),
            kind: Kind::Reference,
            points: vec![point(0.0, real(whole(overview)))],
        },
    ];
    let mut caption = format!(
        "{} at 1 − δ = {}, over what was spent.",
        achieved(overview),
        confidence(overview.delta),
    );
    if let Some(uniform) = &overview.uniform {
        // A point far away would squeeze the curve that the figure is about.
        if uniform.cost <= UNIFORM_SHOWN_MAX * overview.money.spent.units() {
            let points = vec![point(0.0, 0.0), point(uniform.cost, real(overview.certified))];
            let name = format!("{alike} (estimate)").to_lowercase();
            series.push(Series { name, role: Role(1), kind: Kind::Line, points });
        }
        let cost = about_money(uniform.cost, unit);
        caption += &format!(" {alike}: about {cost} {unit}. {}", uniform.rule);
    }
    single(
        if has_questions {
            "Questions answered over what was spent"
        } else {
            "Answers certified over what was spent"
        },
        caption,
        Content::Lines(LineChart {
            x: Axis::linear(format!("spent ({unit})")),
            y: Axis::linear(if has_questions { "answered questions" } else { "certified answers" }),
            series,
        }),
    )
}

fn spending(overview: &Overview) -> Figure {
    if let Some(questions) = &overview.questions {
        return spending_by_question(overview, questions);
    }
    // The calls of a verifier with criteria are paid once.
    let services = || overview.verifiers.iter().filter(|verifier| verifier.paid_with.is_none());
    let name = |verifier: &VerifierView| {
        printable(verifier.criterion_of.as_ref().unwrap_or(&verifier.name))
    };
    let series = ArmStatus::ALL.iter().enumerate().map(|(index, status)| BarSeries {
        name: format!("on {} answers", status.name()),
        role: [Role(0), Role(5), Role(1)][index],
        bars: services().map(|v| bar(v.spent_by_status[index].units())).collect(),
    });
    single(
        "Where the money went",
        "What was paid to each verifier, by what became of the answers in the end.".into(),
        Content::Bars(BarChart {
            x_label: "verifier".into(),
            y: Axis::linear(format!("spent ({})", overview.money.unit)),
            groups: services().map(name).collect(),
            series: series.collect(),
        }),
    )
}

fn spending_by_question(overview: &Overview, questions: &QuestionsView) -> Figure {
    let verifiers = overview.verifiers.iter().filter(|verifier| verifier.paid_with.is_none());
    let verifiers =
        verifiers.map(|it| (it.criterion_of.as_ref().unwrap_or(&it.name), it.spent_by_question));
    let generators = questions.generators.iter().map(|it| (&it.name, it.spent_by_question));
    let services: Vec<_> = verifiers.chain(generators).collect();
    let series = ["answered", "open"].into_iter().enumerate().map(|(index, status)| BarSeries {
        name: format!("on {status} questions"),
        role: [Role(0), Role(5)][index],
        bars: services
            .iter()
            .map(|(_, parts)| bar(parts.map_or(0.0, |it| it[index].units())))
            .collect(),
    });
    single(
        "Where the money went",
        "What was paid to each verifier and generator, by what became of the questions in the end."
            .into(),
        Content::Bars(BarChart {
            x_label: "verifier or generator".into(),
            y: Axis::linear(format!("spent ({})", overview.money.unit)),
            groups: services.iter().map(|(name, _)| printable(name)).collect(),
            series: series.collect(),
        }),
    )
}

fn noise(overview: &Overview) -> Figure {
    let share = |part: fn(&goodarm_record::view::noise::Noise) -> f64| {
        overview.verifiers.iter().map(|v| bar(v.noise.as_ref().map_or(f64::NAN, part))).collect()
    };
    let series = vec![
        BarSeries {
            name: "two calls on the same answer disagree".into(),
            role: Role(0),
            bars: share(|noise| noise.disagreement),
        },
        BarSeries {
            name: "answers with mixed verdicts".into(),
            role: Role(5),
            #[expect(clippy::cast_precision_loss, reason = "a share for people")]
            bars: share(|noise| noise.mixed as f64 / noise.answers as f64),
        },
    ];
    single(
        "How often verifiers contradict themselves",
        "Over the answers that a verifier scored at least twice. A verdict is whether a score reaches the verifier's threshold.".into(),
        Content::Bars(BarChart {
            x_label: "verifier".into(),
            y: Axis { range: Some((0.0, 1.0)), ..Axis::linear("share") },
            groups: names(overview),
            series,
        }),
    )
}

fn names(overview: &Overview) -> Vec<String> {
    overview.verifiers.iter().map(|verifier| printable(&verifier.name)).collect()
}

const fn bar(value: f64) -> Bar {
    Bar { value, error: None }
}

fn single(title: &str, caption: String, content: Content) -> Figure {
    let panels = vec![Panel { title: String::new(), content }];
    Figure { title: title.into(), caption, panels, columns: 1, key: Key::InPanels }
}

#[expect(clippy::cast_precision_loss, reason = "counts of answers on an axis")]
const fn real(count: usize) -> f64 {
    count as f64
}

const UNIFORM_SHOWN_MAX: f64 = 6.0;
