//! Unexpected input must give a well-formed picture of what can be shown.

use goodarm_plot::{
    Axis, Bar, BarChart, BarSeries, Figure, Legend, LineChart, Look, Panel, PanelContent, Point,
    Series, SeriesKind, svg,
};
use roxmltree::{Document, Node};

use crate::random::Random;
use crate::random_figure::figure;
use crate::samples::{HOSTILE, Hostile};

#[test]
fn any_input_gives_well_formed_finite_svg() {
    let mut random = Random::new(3);
    for _ in 0..200 {
        let text = svg(&figure(&mut random, &Hostile));
        let document = Document::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        document.descendants().filter(Node::is_element).for_each(|element| check_element(&element));
    }
}

/// Elements that do nothing but draw, and numbers that are numbers.
fn check_element(element: &Node<'_, '_>) {
    let drawing = ["svg", "title", "desc", "rect", "path", "circle", "text", "tspan"];
    assert!(drawing.contains(&element.tag_name().name()), "{element:?}");
    for attribute in element.attributes() {
        let (name, value) = (attribute.name(), attribute.value());
        assert!(!name.starts_with("on") && !name.contains("href") && name != "id", "{name}");
        let numeric = ["x", "y", "width", "height", "cx", "cy", "r", "font-size", "stroke-width"];
        if numeric.contains(&name) {
            assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{name}={value}");
        }
        if name == "d" {
            let letters = value.chars().filter(|letter| letter.is_ascii_alphabetic());
            assert!(letters.clone().all(|letter| "MLZ".contains(letter)), "{value}");
        }
    }
}

fn panel(content: PanelContent) -> Figure {
    Figure {
        title: HOSTILE.into(),
        caption: HOSTILE.into(),
        panels: vec![Panel { title: HOSTILE.into(), content }],
        columns: 1,
        legend: Legend::InPanels,
    }
}

#[test]
fn hostile_words_are_text_and_nothing_else() {
    let series = Series {
        name: "<b>&\"'".into(),
        look: Look(0),
        kind: SeriesKind::Line,
        points: vec![Point { x: 0.0, y: 1.0, error: None }],
    };
    let chart =
        LineChart { x: Axis::linear(HOSTILE), y: Axis::linear(HOSTILE), series: vec![series] };
    let text = svg(&panel(PanelContent::Lines(chart)));
    let document = Document::parse(&text).unwrap();
    assert!(document.descendants().any(|node| node.text() == Some("<b>&\"'")));
    let title = document.descendants().find(|node| node.has_tag_name("title"));
    assert!(title.and_then(|title| title.text()).is_some_and(|title| title.contains("<script>")));
    assert!(!text.contains("<script"));
}

#[test]
fn panels_without_data_say_so() {
    let nothing = [
        PanelContent::Lines(LineChart { x: Axis::linear(""), y: Axis::linear(""), series: vec![] }),
        PanelContent::Bars(BarChart {
            x_label: String::new(),
            y_label: String::new(),
            groups: vec!["a".into()],
            series: vec![BarSeries {
                name: "b".into(),
                look: Look(0),
                bars: vec![Bar { value: -1.0, error: None }],
            }],
        }),
    ];
    for content in nothing {
        let figure = panel(content);
        assert!(svg(&figure).contains(">no data<"));
        let no_panels = Figure { panels: vec![], ..figure };
        assert!(Document::parse(&svg(&no_panels)).is_ok());
    }
}

#[test]
fn long_tables_are_drawn() {
    let points = (0..200_000).map(|i| Point { x: f64::from(i), y: f64::from(i % 7), error: None });
    let series = Series {
        name: "long".into(),
        look: Look(0),
        kind: SeriesKind::Step,
        points: points.collect(),
    };
    let chart = LineChart { x: Axis::linear("x"), y: Axis::linear("y"), series: vec![series] };
    assert!(Document::parse(&svg(&panel(PanelContent::Lines(chart)))).is_ok());
}
