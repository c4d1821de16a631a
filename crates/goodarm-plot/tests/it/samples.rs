//! Figures and texts for tests, here and where pictures are made of figures.

use goodarm_plot::{
    Axis, Figure, Legend, LineChart, Look, Panel, PanelContent, Point, Series, SeriesKind,
};

use crate::random::Random;
use crate::random_figure::Source;

/// Three series on the same places.
pub(crate) fn coinciding() -> Figure {
    let points: Vec<Point> = (0..9)
        .map(|i| Point { x: f64::from(i), y: f64::from(i * i), error: Some(f64::from(i)) })
        .collect();
    let series = |look: usize| Series {
        name: format!("method {look}"),
        look: Look(look),
        kind: SeriesKind::Line,
        points: points.clone(),
    };
    let chart = LineChart {
        x: Axis::linear("x"),
        y: Axis::linear("y"),
        series: (0..3).map(series).collect(),
    };
    Figure {
        title: "t".into(),
        caption: "c".into(),
        panels: vec![Panel { title: "p".into(), content: PanelContent::Lines(chart) }],
        columns: 1,
        legend: Legend::InPanels,
    }
}

/// Text that would be markup.
pub(crate) const HOSTILE: &str =
    "</text></svg><script>alert('1' & \"2\")</script>\u{0}\u{7}\u{1b}\u{202e}]]>\u{fffe}";

/// Numbers and words that no experiment gives.
pub(crate) struct Hostile;

impl Source for Hostile {
    fn number(&self, random: &mut Random) -> f64 {
        let numbers = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            1e300,
            -1e300,
            0.0,
            -0.0,
            1.0,
            1.0 + f64::EPSILON,
            random.between(-1.0, 1.0),
        ];
        numbers[random.below(15)]
    }

    fn words(&self, random: &mut Random) -> String {
        let words = ["", " ", "\n", "a", HOSTILE, "&amp;", "日本語", "e\u{301}⁻⁴⁰", "\u{1f600}"];
        match random.below(10) {
            9 => "endless".repeat(1 + random.below(800)),
            i => words[i].to_owned(),
        }
    }
}
