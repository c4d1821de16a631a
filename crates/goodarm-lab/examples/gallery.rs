//! One figure of each kind, to be looked at: `cargo run -p goodarm-lab --example gallery -- DIR`
//! writes `DIR/*.svg` and `DIR/*.png`. The numbers are invented.

use std::error::Error;
use std::path::Path;

use goodarm_plot::{
    Axis, Bar, BarChart, BarSeries, Figure, Legend, LineChart, Look, Panel, PanelContent, Point,
    Series, SeriesKind,
};

/// A method has its look everywhere.
const METHODS: [(&str, Look); 5] = [
    ("BMA-GAI", Look(0)),
    ("Successive elimination over all attributes", Look(1)),
    ("Uniform", Look(2)),
    ("Best-arm identification", Look(3)),
    ("Greedy by price", Look(4)),
];

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "gallery".to_owned());
    std::fs::create_dir_all(&directory)?;
    let figures = [
        ("coverage", coverage()),
        ("coinciding", coinciding()),
        ("coinciding-small", coinciding_small()),
        ("stopping-time", stopping_time()),
        ("bars", bars()),
        ("delta-sweep", delta_sweep()),
        ("three-panels", three_panels(Legend::Shared)),
        ("three-panels-named", three_panels(Legend::InPanels)),
        ("kinds", kinds()),
        ("awkward", awkward()),
    ];
    for (name, figure) in figures {
        let path = Path::new(&directory).join(name);
        std::fs::write(path.with_extension("svg"), goodarm_plot::svg(&figure))?;
        std::fs::write(path.with_extension("png"), goodarm_lab::png(&figure)?)?;
    }
    Ok(())
}

fn single(title: &str, caption: &str, content: PanelContent) -> Figure {
    let panels = vec![Panel { title: String::new(), content }];
    Figure {
        title: title.into(),
        caption: caption.into(),
        panels,
        columns: 1,
        legend: Legend::InPanels,
    }
}

fn series(method: usize, kind: SeriesKind, points: Vec<Point>) -> Series {
    let (name, look) = METHODS[method];
    Series { name: name.into(), look, kind, points }
}

fn reference(name: &str, y: f64) -> Series {
    let points = vec![Point { x: 0.0, y, error: None }];
    Series { name: name.into(), look: Look(0), kind: SeriesKind::Reference, points }
}

/// A curve that rises to `top`, the faster the larger `speed`.
fn rising(top: f64, speed: f64, steps: u32) -> Vec<Point> {
    (0..=steps)
        .map(|i| {
            let x = f64::from(i) / f64::from(steps);
            let y = top * (1.0 - (-speed * x * x).exp());
            Point { x: x * 1e6, y, error: Some(0.012 + 0.05 * x * (1.0 - x)) }
        })
        .collect()
}

fn staircase(top: f64, speed: f64, steps: u32) -> Vec<Point> {
    let step = |point: Point| Point { y: (point.y * 20.0).floor() / 20.0, ..point };
    rising(top, speed, steps).into_iter().map(step).collect()
}

fn coverage_chart(steps: u32) -> LineChart {
    LineChart {
        x: Axis::linear("budget (tokens)"),
        y: Axis::linear("reliable coverage"),
        series: vec![
            series(0, SeriesKind::Line, rising(0.93, 9.0, steps)),
            series(1, SeriesKind::Line, rising(0.90, 5.0, steps)),
            series(2, SeriesKind::Line, rising(0.72, 2.5, steps)),
            series(3, SeriesKind::Line, rising(0.70, 2.0, steps)),
            series(4, SeriesKind::Step, staircase(0.75, 1.6, 24)),
            reference("all good answers", 0.95),
        ],
    }
}

fn coverage() -> Figure {
    single(
        "Reliable coverage over the budget",
        "Figure 1: the part of the good answers that is certified, over the budget, δ = 0.05. Mean of \
         200 sessions; bands are one standard error. The staircase changes only where a call is paid.",
        PanelContent::Lines(coverage_chart(60)),
    )
}

/// Three methods on the same places, and one that ends before the budget does.
fn coinciding_chart(kind: SeriesKind, steps: u32) -> LineChart {
    let same = rising(0.9, 4.0, steps);
    let mut early = rising(0.95, 8.0, steps);
    early.truncate(early.len() * 3 / 4);
    LineChart {
        x: Axis::linear("budget (tokens)"),
        y: Axis::linear("reliable coverage"),
        series: vec![
            series(0, kind, same.clone()),
            series(1, kind, same.clone()),
            series(3, kind, same),
            series(4, SeriesKind::Step, early),
        ],
    }
}

fn coinciding() -> Figure {
    single(
        "Three methods, one trajectory",
        "Figure 2: with a single attribute three of the rules make the very same calls.",
        PanelContent::Lines(coinciding_chart(SeriesKind::Line, 24)),
    )
}

/// As staircases and with whiskers, in a small panel.
fn coinciding_small() -> Figure {
    let panel = |title: &str, kind: SeriesKind, steps: u32| Panel {
        title: title.into(),
        content: PanelContent::Lines(coinciding_chart(kind, steps)),
    };
    Figure {
        panels: vec![
            panel("(a) staircases", SeriesKind::Step, 16),
            panel("(b) whiskers", SeriesKind::ErrorBars, 8),
        ],
        columns: 2,
        ..coinciding()
    }
}

fn stopping_chart() -> LineChart {
    let times = |scale: f64| {
        (1..=8)
            .map(|i| {
                let x = f64::from(i) * 0.05;
                let y = scale / (x * x);
                Point { x, y, error: Some(0.12 * y) }
            })
            .collect::<Vec<Point>>()
    };
    LineChart {
        x: Axis::linear("gap to the threshold Δ"),
        y: Axis::log10("calls until the session stops"),
        series: vec![
            series(0, SeriesKind::ErrorBars, times(9.0)),
            series(1, SeriesKind::ErrorBars, times(14.0)),
            series(2, SeriesKind::ErrorBars, times(60.0)),
            series(3, SeriesKind::ErrorBars, times(15.0)),
        ],
    }
}

fn stopping_time() -> Figure {
    single(
        "Stopping time over the gap",
        "Figure 3: calls until every answer is decided; whiskers are one standard error.",
        PanelContent::Lines(stopping_chart()),
    )
}

fn bar_chart() -> BarChart {
    let rows = [[0.97, 0.88, 0.61], [0.93, 0.79, 0.44], [0.81, 0.52, 0.2], [0.78, 0.55, 0.004]];
    let bars = |row: [f64; 3]| row.map(|value| Bar { value, error: Some(0.03) }).to_vec();
    BarChart {
        x_label: "difficulty of the problem".into(),
        y_label: "reliable coverage".into(),
        groups: vec!["easy".into(), "medium".into(), "hard".into()],
        series: METHODS
            .iter()
            .zip(rows)
            .map(|(&(name, look), row)| BarSeries { name: name.into(), look, bars: bars(row) })
            .collect(),
    }
}

fn bars() -> Figure {
    single(
        "Coverage by difficulty",
        "Figure 4: reliable coverage at a budget of 0.5 M tokens; whiskers are one standard error.",
        PanelContent::Bars(bar_chart()),
    )
}

fn sweep_chart() -> LineChart {
    let calls = |slope: f64, start: f64| {
        (0..=16)
            .map(|i| {
                let exponent = 2.0 + f64::from(i) * 9.875;
                let y = start + slope * exponent;
                Point { x: 10f64.powf(-exponent), y, error: Some(0.03 * y) }
            })
            .collect::<Vec<Point>>()
    };
    let mut x = Axis::log10("error probability δ");
    x.range = Some((1e-2, 1e-160));
    LineChart {
        x,
        y: Axis::linear("calls per certificate"),
        series: vec![
            series(0, SeriesKind::Line, calls(4.0, 20.0)),
            series(1, SeriesKind::Line, calls(6.5, 35.0)),
            series(2, SeriesKind::Line, calls(6.6, 60.0)),
        ],
    }
}

fn delta_sweep() -> Figure {
    single(
        "The price of certainty",
        "Figure 5: calls per certificate grow with ln(1/δ), down to δ = 10⁻¹⁶⁰.",
        PanelContent::Lines(sweep_chart()),
    )
}

fn three_panels(legend: Legend) -> Figure {
    let short = |mut chart: LineChart| {
        for series in &mut chart.series {
            if series.look == Look(1) {
                series.name = "Succ. elimination".into();
            }
        }
        PanelContent::Lines(chart)
    };
    let panel = |title: &str, content: PanelContent| Panel { title: title.into(), content };
    Figure {
        title: String::new(),
        caption:
            "Figure 6: (a) reliable coverage over the budget, (b) calls per certificate over δ, \
                  (c) stopping time over the gap. Bands and whiskers are one standard error of 200 \
                  sessions."
                .into(),
        panels: vec![
            panel("(a) Reliable coverage", short(coverage_chart(40))),
            panel("(b) Price of certainty", short(sweep_chart())),
            panel("(c) Stopping time", short(stopping_chart())),
        ],
        columns: 3,
        legend,
    }
}

fn kinds() -> Figure {
    let panel = |title: &str, content: PanelContent| Panel { title: title.into(), content };
    Figure {
        title: "Kinds of chart in one figure".into(),
        caption: "Figure 7: axes are aligned in rows and in columns.".into(),
        panels: vec![
            panel("(a) Coverage", PanelContent::Lines(coverage_chart(40))),
            panel("(b) By difficulty", PanelContent::Bars(bar_chart())),
            panel("(c) Price of certainty", PanelContent::Lines(sweep_chart())),
        ],
        columns: 2,
        legend: Legend::InPanels,
    }
}

/// What must not break anything.
fn awkward() -> Figure {
    let point = |x: f64, y: f64| Point { x, y, error: Some(f64::NAN) };
    let hostile = Series {
        name: "</svg><script>alert(\"1\")</script> & an_endless_word_without_any_break".into(),
        look: Look(6),
        kind: SeriesKind::Line,
        points: vec![point(0.0, f64::NAN), point(1.0, -3.0), point(2.0, 1e300), point(3.0, 2.0)],
    };
    let mut cut = Axis::linear("an axis cut at ±5");
    cut.range = Some((-5.0, 5.0));
    let lines = LineChart { x: Axis::linear(""), y: cut, series: vec![hostile] };
    let empty = LineChart { x: Axis::log10("x"), y: Axis::linear("y"), series: vec![] };
    let many = LineChart {
        x: Axis::linear("x"),
        y: Axis::linear("many methods that end alike"),
        series: (0..18)
            .map(|i| Series {
                name: format!("method {i}"),
                look: Look(i),
                kind: SeriesKind::Line,
                points: (0..6_u32)
                    .map(|x| {
                        let rank = f64::from(u32::try_from(i).unwrap_or(0));
                        point(f64::from(x), f64::from(x).sqrt() + 0.01 * rank * f64::from(5 - x))
                    })
                    .collect(),
            })
            .collect(),
    };
    let partial = BarChart {
        x_label: "group".into(),
        y_label: "calls".into(),
        groups: vec!["a".into(), "b with a long name that wraps".into()],
        series: vec![BarSeries {
            name: "calls".into(),
            look: Look(1),
            bars: vec![
                Bar { value: f64::NAN, error: Some(900.0) },
                Bar { value: 6_000.0, error: None },
            ],
        }],
    };
    let panel = |title: &str, content: PanelContent| Panel { title: title.into(), content };
    Figure {
        title: "Awkward & hostile <input>".into(),
        caption: String::new(),
        panels: vec![
            panel("(a) hostile name, cut axis", PanelContent::Lines(lines)),
            panel("(b) nothing", PanelContent::Lines(empty)),
            panel("(c) many methods", PanelContent::Lines(many)),
            panel("(d) a bar that cannot be shown", PanelContent::Bars(partial)),
        ],
        columns: 2,
        legend: Legend::InPanels,
    }
}
