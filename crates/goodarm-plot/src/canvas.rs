//! SVG text, element by element. Every number is finite, every text is escaped.
//!
//! No element has an id or refers to one, so that a page can contain many figures.

use crate::font::{self, Face, TextLevel, Weight};
use crate::geometry::{Rect, Spot, count, spot};
use crate::look::{Colour, Marker, MarkerShape, WHITE};

/// A document being written.
pub(crate) struct Canvas {
    text: String,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stroke<'a> {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    pub(crate) dashes: &'a [f64],
}

impl Stroke<'_> {
    pub(crate) const fn solid(colour: Colour, width: f64) -> Self {
        Self { colour, width, dashes: &[] }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextStyle {
    pub(crate) face: Face,
    pub(crate) anchor: Anchor,
    pub(crate) colour: Colour,
    /// Bottom to top instead of left to right.
    pub(crate) upward: bool,
}

impl TextStyle {
    pub(crate) const fn new(face: Face, anchor: Anchor, colour: Colour) -> Self {
        Self { face, anchor, colour, upward: false }
    }
}

impl Canvas {
    pub(crate) fn new(width: f64, height: f64, title: &str, description: &str) -> Self {
        let (w, h) = (number(width), number(height));
        let mut canvas = Self { text: String::new() };
        canvas.push(&format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img" aria-label="{}" font-family="{FONT_FAMILIES}">"#,
            escape(title)
        ));
        canvas.push(&format!("<title>{}</title>", escape(title)));
        canvas.push(&format!("<desc>{}</desc>", escape(description)));
        canvas.push(&format!(r#"<rect width="{w}" height="{h}" fill="{}"/>"#, WHITE.css()));
        canvas
    }

    pub(crate) fn finish(mut self) -> String {
        self.push("</svg>");
        self.text
    }

    /// Clips everything that is drawn until [`Canvas::close_window`] to the box. A nested `svg` needs no id for that.
    pub(crate) fn open_window(&mut self, window: Rect) {
        let (x, y) = (number(window.left), number(window.top));
        let (w, h) = (number(window.width()), number(window.height()));
        self.push(&format!(
            r#"<svg x="{x}" y="{y}" width="{w}" height="{h}" viewBox="{x} {y} {w} {h}">"#
        ));
    }

    pub(crate) fn close_window(&mut self) {
        self.push("</svg>");
    }

    pub(crate) fn line(&mut self, from: Spot, to: Spot, stroke: Stroke<'_>) {
        self.polyline(&[from, to], stroke);
    }

    pub(crate) fn polyline(&mut self, spots: &[Spot], stroke: Stroke<'_>) {
        if spots.len() > 1 {
            self.path(&trail(spots), None, Some(stroke));
        }
    }

    /// `fill` is a colour and how opaque it is.
    pub(crate) fn polygon(
        &mut self,
        spots: &[Spot],
        fill: (Colour, f64),
        stroke: Option<Stroke<'_>>,
    ) {
        if spots.len() > 2 {
            self.path(&(trail(spots) + "Z"), Some(fill), stroke);
        }
    }

    pub(crate) fn rect(&mut self, area: Rect, fill: Option<Colour>, stroke: Option<Stroke<'_>>) {
        let corners = [
            spot(area.left, area.top),
            spot(area.right, area.top),
            spot(area.right, area.bottom),
            spot(area.left, area.bottom),
        ];
        self.path(&(trail(&corners) + "Z"), fill.map(|fill| (fill, 1.0)), stroke);
    }

    /// `fill` is a colour and how opaque it is.
    pub(crate) fn path(
        &mut self,
        data: &str,
        fill: Option<(Colour, f64)>,
        stroke: Option<Stroke<'_>>,
    ) {
        let mut element = format!(r#"<path d="{data}""#);
        match fill {
            None => element += r#" fill="none""#,
            Some((colour, opacity)) => {
                element += &format!(r#" fill="{}""#, colour.css());
                if opacity < 1.0 {
                    element += &format!(r#" fill-opacity="{}""#, number(opacity));
                }
            }
        }
        if let Some(stroke) = stroke {
            let (colour, width) = (stroke.colour.css(), number(stroke.width));
            element +=
                &format!(r#" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round""#);
            if !stroke.dashes.is_empty() {
                let dashes: Vec<String> = stroke.dashes.iter().map(|&dash| number(dash)).collect();
                element += &format!(r#" stroke-dasharray="{}""#, dashes.join(" "));
            }
        }
        self.push(&(element + "/>"));
    }

    /// Words on a baseline.
    pub(crate) fn words(&mut self, at: Spot, text: &str, style: TextStyle) {
        let runs = font::runs(text);
        if runs.iter().all(|run| run.text.trim().is_empty()) {
            return;
        }
        let (x, y) = (number(at.x), number(at.y));
        let size = style.face.size;
        let mut element = format!(r#"<text x="{x}" y="{y}" font-size="{}""#, number(size));
        match style.anchor {
            Anchor::Start => {}
            Anchor::Middle => element += r#" text-anchor="middle""#,
            Anchor::End => element += r#" text-anchor="end""#,
        }
        if style.face.weight == Weight::Bold {
            element += r#" font-weight="700""#;
        }
        if style.upward {
            element += &format!(r#" transform="rotate(-90 {x} {y})""#);
        }
        element += &format!(r#" fill="{}">"#, style.colour.css());
        let mut level = TextLevel::Base;
        for run in runs {
            let words = escape(&run.text);
            if run.level == level {
                element += &words;
                continue;
            }
            let shift = number(size * (level.rise() - run.level.rise()));
            let run_size = number(size * run.level.size());
            element += &format!(r#"<tspan dy="{shift}" font-size="{run_size}">{words}</tspan>"#);
            level = run.level;
        }
        self.push(&(element + "</text>"));
    }

    /// Lines of text, one below the other; those that are read upward, one to the right of the other. `at` is on
    /// the baseline of the first.
    pub(crate) fn text_lines(&mut self, at: Spot, lines: &[String], style: TextStyle) {
        for (i, line) in lines.iter().enumerate() {
            let offset = count(i) * style.face.line_height();
            let (dx, dy) = if style.upward { (offset, 0.0) } else { (0.0, offset) };
            self.words(spot(at.x + dx, at.y + dy), line, style);
        }
    }

    pub(crate) fn marker(&mut self, at: Spot, marker: Marker, colour: Colour) {
        let Spot { x, y } = at;
        let r = MARKER_RADIUS;
        // A white rim separates a marker from the line below it; an open marker is white inside.
        let (fill, stroke) = if marker.filled {
            (colour, Stroke::solid(WHITE, 0.9))
        } else {
            (WHITE, Stroke::solid(colour, 1.5))
        };
        let corner = |(dx, dy): (f64, f64)| spot(x + r * dx, y + r * dy);
        let corners: Vec<Spot> =
            match marker.shape {
                MarkerShape::Disc => return self.push(&format!(
                    r#"<circle cx="{}" cy="{}" r="{}" fill="{}" stroke="{}" stroke-width="{}"/>"#,
                    number(x),
                    number(y),
                    number(r),
                    fill.css(),
                    stroke.colour.css(),
                    number(stroke.width)
                )),
                MarkerShape::Square => SQUARE.map(corner).into(),
                MarkerShape::Triangle => TRIANGLE.map(corner).into(),
                MarkerShape::TriangleDown => TRIANGLE.map(|(dx, dy)| corner((dx, -dy))).into(),
                MarkerShape::Diamond => DIAMOND.map(corner).into(),
            };
        self.polygon(&corners, (fill, 1.0), Some(stroke));
    }

    fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.text.push('\n');
    }
}

/// The data of a path through these points.
fn trail(spots: &[Spot]) -> String {
    let mut data = String::new();
    let mut last = None;
    for at in spots {
        let point = (number(at.x), number(at.y));
        // A point that is written like the last one would only make the file longer.
        if last.as_ref() != Some(&point) {
            data += if data.is_empty() { "M" } else { "L" };
            data += &format!("{} {}", point.0, point.1);
            last = Some(point);
        }
    }
    data
}

/// A number with two digits after the point, which is finer than any printer. Never NaN, and never too large for the
/// arithmetic of a renderer.
pub(crate) fn number(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-NUMBER_MAX, NUMBER_MAX) } else { 0.0 };
    let digits = format!("{value:.2}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    if digits == "-0" { "0".to_owned() } else { digits.to_owned() }
}

/// Escaped text, for use between tags and in attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in font::clean(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}

pub(crate) const MARKER_RADIUS: f64 = 3.6;

const SQUARE: [(f64, f64); 4] = [(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)];
const TRIANGLE: [(f64, f64); 3] = [(0.0, -1.2), (1.12, 0.82), (-1.12, 0.82)];
const DIAMOND: [(f64, f64); 4] = [(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)];

/// The first of these typefaces that is installed is used. Each is a free typeface, or has the widths of one.
const FONT_FAMILIES: &str =
    "'Noto Sans', 'Open Sans', 'Liberation Sans', Arimo, Helvetica, Arial, sans-serif";

const NUMBER_MAX: f64 = 100_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_finite() {
        let cases = [
            (0.0, "0"),
            (-0.001, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (7.77777, "7.78"),
            (100.0, "100"),
            (f64::NAN, "0"),
            (f64::INFINITY, "0"),
            (1e300, "100000"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn hostile_text_means_only_itself() {
        assert_eq!(
            escape("</svg><script>alert('x' & \"y\")</script>\u{0}\u{8}"),
            "&lt;/svg&gt;&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;  "
        );
    }

    #[test]
    fn points_on_one_place_are_written_once() {
        let spots = [spot(1.0, 1.0), spot(1.001, 1.0), spot(2.0, 1.0)];
        assert_eq!(trail(&spots), "M1 1L2 1");
    }
}
