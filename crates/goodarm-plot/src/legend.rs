//! The legend: samples of lines and areas with the names of their methods.

use crate::area;
use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::font;
use crate::geometry::{Rect, Spot, spot};
use crate::look::{Colour, INK, Marker, Style};
use crate::sheet::NAME;

/// One method.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LegendEntry {
    pub(crate) name: String,
    pub(crate) style: Style,
    pub(crate) sample: LegendSample,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegendSample {
    Line,
    /// Thin, without a marker.
    Reference,
    Area,
    /// For a method that is a line in one panel and bars in another.
    LineAndArea,
}

impl LegendSample {
    const fn width(self) -> f64 {
        match self {
            Self::Line | Self::Reference => SAMPLE_WIDTH,
            Self::Area => AREA_SIDE,
            Self::LineAndArea => SAMPLE_WIDTH + SAMPLE_GAP + AREA_SIDE,
        }
    }
}

/// Each method once, in the order in which they first appear.
pub(crate) fn merged(entries: impl Iterator<Item = LegendEntry>) -> Vec<LegendEntry> {
    let mut merged: Vec<LegendEntry> = Vec::new();
    for entry in entries {
        let same =
            |known: &&mut LegendEntry| known.name == entry.name && known.style == entry.style;
        match merged.iter_mut().find(same) {
            None => merged.push(entry),
            Some(known) if known.sample != entry.sample => known.sample = LegendSample::LineAndArea,
            Some(_) => {}
        }
    }
    merged
}

/// Entries in rows, from left to right and from top to bottom.
pub(crate) struct LegendRows {
    placed: Vec<(Spot, String, LegendEntry)>,
    height: f64,
}

impl LegendRows {
    /// Puts as many entries into each row as fit into `width`.
    pub(crate) fn new(entries: Vec<LegendEntry>, width: f64) -> Self {
        let (mut x, mut y) = (0.0, 0.0);
        let mut placed = Vec::with_capacity(entries.len());
        for entry in entries {
            let indent = entry.sample.width() + SAMPLE_GAP;
            let name = NAME.cut(&font::clean(&entry.name), width - indent);
            let entry_width = indent + NAME.width(&name);
            if x > 0.0 && x + entry_width > width {
                (x, y) = (0.0, y + ROW_HEIGHT);
            }
            placed.push((spot(x, y), name, entry));
            x += entry_width + ENTRY_GAP;
        }
        let height = if placed.is_empty() { 0.0 } else { y + ROW_HEIGHT };
        Self { placed, height }
    }

    pub(crate) const fn height(&self) -> f64 {
        self.height
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas, origin: Spot) {
        for (offset, name, entry) in &self.placed {
            let at = spot(origin.x + offset.x, origin.y + offset.y + ROW_HEIGHT / 2.0);
            entry.draw_sample(canvas, at);
            let words = spot(at.x + entry.sample.width() + SAMPLE_GAP, at.y + NAME.drop());
            canvas.words(words, name, TextStyle::new(NAME, Anchor::Start, INK));
        }
    }
}

impl LegendEntry {
    fn draw_sample(&self, canvas: &mut Canvas, at: Spot) {
        let Style { colour, dashes, marker, .. } = self.style;
        let stroke = |width: f64| Stroke { colour, width, dashes };
        match self.sample {
            LegendSample::Line => {
                draw_line_sample(canvas, at, stroke(LINE_WIDTH), Some((marker, colour)));
            }
            LegendSample::Reference => draw_line_sample(canvas, at, stroke(REFERENCE_WIDTH), None),
            LegendSample::Area => self.draw_square(canvas, at),
            LegendSample::LineAndArea => {
                draw_line_sample(canvas, at, stroke(LINE_WIDTH), Some((marker, colour)));
                self.draw_square(canvas, spot(at.x + SAMPLE_WIDTH + SAMPLE_GAP, at.y));
            }
        }
    }

    fn draw_square(&self, canvas: &mut Canvas, at: Spot) {
        let (top, bottom) = (at.y - AREA_SIDE / 2.0, at.y + AREA_SIDE / 2.0);
        let square = Rect { left: at.x, top, right: at.x + AREA_SIDE, bottom };
        area::draw(canvas, square, self.style);
    }
}

/// A piece of line that starts at `at`.
pub(crate) fn draw_line_sample(
    canvas: &mut Canvas,
    at: Spot,
    stroke: Stroke<'_>,
    marker: Option<(Marker, Colour)>,
) {
    canvas.line(at, spot(at.x + SAMPLE_WIDTH, at.y), stroke);
    if let Some((marker, colour)) = marker {
        canvas.marker(spot(at.x + SAMPLE_WIDTH / 2.0, at.y), marker, colour);
    }
}

pub(crate) const LINE_WIDTH: f64 = 2.0;
pub(crate) const REFERENCE_WIDTH: f64 = 1.1;
pub(crate) const SAMPLE_WIDTH: f64 = 24.0;
pub(crate) const SAMPLE_GAP: f64 = 5.0;
const AREA_SIDE: f64 = 13.0;
const ENTRY_GAP: f64 = 18.0;
const ROW_HEIGHT: f64 = 18.0;
