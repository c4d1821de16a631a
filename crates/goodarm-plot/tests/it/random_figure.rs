//! Figures of all kinds, the same for the same seed.

use goodarm_plot::{
    Axis, Bar, BarChart, BarSeries, Figure, Legend, LineChart, Look, Panel, PanelContent, Point,
    Scale, Series, SeriesKind,
};

use crate::random::Random;

/// Where numbers and words come from.
pub(crate) trait Source {
    fn number(&self, random: &mut Random) -> f64;
    fn words(&self, random: &mut Random) -> String;
}

pub(crate) fn figure(random: &mut Random, source: &dyn Source) -> Figure {
    let panels = (0..random.below(6))
        .map(|_| Panel { title: source.words(random), content: content(random, source) })
        .collect();
    Figure {
        title: source.words(random),
        caption: source.words(random),
        panels,
        columns: random.below(5),
        legend: if random.below(3) == 0 { Legend::Shared } else { Legend::InPanels },
    }
}

fn content(random: &mut Random, source: &dyn Source) -> PanelContent {
    match random.below(4) {
        0 => PanelContent::Bars(bars(random, source)),
        _ => PanelContent::Lines(lines(random, source)),
    }
}

fn axis(random: &mut Random, source: &dyn Source) -> Axis {
    let scale = if random.below(3) == 0 { Scale::Log10 } else { Scale::Linear };
    let range = (random.below(4) == 0).then(|| (source.number(random), source.number(random)));
    let ticks = (random.below(6) == 0).then(|| {
        (0..random.below(20)).map(|_| (source.number(random), source.words(random))).collect()
    });
    Axis { label: source.words(random), scale, range, ticks }
}

fn lines(random: &mut Random, source: &dyn Source) -> LineChart {
    let kinds = [SeriesKind::Line, SeriesKind::ErrorBars, SeriesKind::Step, SeriesKind::Reference];
    let mut series: Vec<Series> = Vec::new();
    for i in 0..random.below(9) {
        let fresh = (0..random.below(40)).map(|_| point(random, source)).collect();
        // Every third series runs where the one before does.
        let points = match series.last() {
            Some(last) if random.below(3) == 0 => last.points.clone(),
            _ => fresh,
        };
        let kind = kinds[random.below(4)];
        series.push(Series { name: source.words(random), look: Look(i), kind, points });
    }
    LineChart { x: axis(random, source), y: axis(random, source), series }
}

fn point(random: &mut Random, source: &dyn Source) -> Point {
    let (x, y) = (source.number(random), source.number(random));
    Point { x, y, error: (random.below(2) == 0).then(|| source.number(random)) }
}

fn bars(random: &mut Random, source: &dyn Source) -> BarChart {
    let groups: Vec<String> = (0..random.below(6)).map(|_| source.words(random)).collect();
    let series = (0..random.below(6))
        .map(|i| BarSeries {
            name: source.words(random),
            look: Look(i),
            bars: (0..groups.len()).map(|_| bar(random, source)).collect(),
        })
        .collect();
    BarChart { x_label: source.words(random), y_label: source.words(random), groups, series }
}

fn bar(random: &mut Random, source: &dyn Source) -> Bar {
    let value = source.number(random);
    Bar { value, error: (random.below(2) == 0).then(|| source.number(random)) }
}
