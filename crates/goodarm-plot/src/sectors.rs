//! Parts of a whole, as a ring with names around it.

use crate::canvas::{Anchor, Canvas, Stroke, TextStyle, number};
use crate::chart::Chart;
use crate::figure::{Donut, Sector};
use crate::geometry::{Rect, Spot, count, spot};
use crate::look::{FAINT, INK, QUIET, WHITE};
use crate::numbers;
use crate::place::{LabelBox, spread};
use crate::sheet::{AXIS_LABEL, NAME, PANEL_TITLE, Sheet};

/// A ring whose parts and names are settled.
pub(crate) struct Sectors<'a> {
    donut: &'a Donut,
    parts: Vec<Part<'a>>,
    radius: f64,
    height: f64,
}

/// One part: where it begins and ends, in turns clockwise from the top.
struct Part<'a> {
    sector: &'a Sector,
    from: f64,
    to: f64,
    percentage: String,
    name: Vec<String>,
}

impl Part<'_> {
    fn middle(&self) -> f64 {
        self.from.midpoint(self.to)
    }

    fn is_left(&self) -> bool {
        self.middle() > 0.5
    }

    /// Where its leader begins: the point of the part that is nearest to its name.
    fn nearest_turn(&self) -> f64 {
        let beside: f64 = if self.is_left() { 0.75 } else { 0.25 };
        let rim = (self.to - self.from) * 0.25;
        beside.clamp(self.from + rim, self.to - rim)
    }

    /// From the height of the percentage, where the leader ends, to the middle of the words.
    fn below_leader(&self) -> f64 {
        (self.height() - PART_GAP - PERCENTAGE.line_height()) / 2.0
    }

    fn height(&self) -> f64 {
        PERCENTAGE.line_height() + count(self.name.len()) * NAME.line_height() + PART_GAP
    }
}

impl<'a> Sectors<'a> {
    /// `None` if no part is positive.
    pub(crate) fn plan(donut: &'a Donut, sheet: Sheet) -> Option<Self> {
        let shown: Vec<&Sector> = donut
            .sectors
            .iter()
            .filter(|sector| sector.value > 0.0 && sector.value <= VALUE_MAX)
            .collect();
        let largest = shown.iter().map(|sector| sector.value).reduce(f64::max)?;
        // Divided first, because a sum of large parts may overflow.
        let total: f64 = shown.iter().map(|sector| sector.value / largest).sum();
        let values: Vec<f64> = shown.iter().map(|sector| sector.value).collect();
        // A smaller ring, if the longest word would have to be cut otherwise.
        let words = shown.iter().flat_map(|sector| sector.name.split_whitespace());
        let longest = words.map(|word| NAME.width(word)).fold(0.0, f64::max);
        let radius = (sheet.cell_width / 2.0 - LEADER - longest - 1.0)
            .clamp(RADIUS_PART_MIN * sheet.cell_width, RADIUS_PART_MAX * sheet.cell_width);
        let name_width = sheet.cell_width / 2.0 - radius - LEADER;
        let mut from = 0.0;
        let mut parts = Vec::with_capacity(shown.len());
        for (sector, percentage) in shown.into_iter().zip(numbers::percentages(&values)) {
            let to = from + sector.value / largest / total;
            let name = NAME.wrap(&sector.name, name_width, NAME_LINES_MAX);
            parts.push(Part { sector, from, to, percentage, name });
            from = to;
        }
        let side = |left: bool| parts.iter().filter(move |part| part.is_left() == left);
        let side_height = |left: bool| side(left).map(Part::height).sum::<f64>();
        let height = side_height(true).max(side_height(false)).max(2.0 * (radius + LEADER));
        Some(Self { donut, parts, radius, height })
    }

    fn draw_part(&self, canvas: &mut Canvas, part: &Part<'_>, centre: Spot) {
        let (outer, inner) = (self.radius, self.radius * HOLE);
        // An arc cannot end where it begins, so a part is drawn as two halves.
        let corners = [part.from, part.middle(), part.to];
        let along = |radius: f64, turn: f64| {
            let at = around(centre, radius, turn);
            format!("{} {}", number(at.x), number(at.y))
        };
        let (r, s) = (number(outer), number(inner));
        let data = format!(
            "M{}A{r} {r} 0 0 1 {}A{r} {r} 0 0 1 {}L{}A{s} {s} 0 0 0 {}A{s} {s} 0 0 0 {}Z",
            along(outer, corners[0]),
            along(outer, corners[1]),
            along(outer, corners[2]),
            along(inner, corners[2]),
            along(inner, corners[1]),
            along(inner, corners[0]),
        );
        let colour = part.sector.look.style().colour;
        canvas.path(&data, Some((colour, 1.0)), None);
    }

    /// White lines between the parts, narrower than the thinnest part.
    fn draw_gaps(&self, canvas: &mut Canvas, centre: Spot) {
        let previous = self.parts.iter().cycle().skip(self.parts.len() - 1);
        for (part, before) in self.parts.iter().zip(previous) {
            let thinner = f64::min(part.to - part.from, before.to - before.from);
            let arc = thinner * std::f64::consts::TAU * self.radius;
            let width = f64::min(GAP, arc * 0.4);
            let from = around(centre, self.radius * HOLE - 0.5, part.from);
            let to = around(centre, self.radius + 0.5, part.from);
            if thinner < 1.0 {
                canvas.line(from, to, Stroke::solid(WHITE, width));
            }
        }
    }

    /// The names on one side, as close to the heights of their parts as there is room.
    fn draw_names(&self, canvas: &mut Canvas, cell: Rect, left: bool) {
        let centre = cell.centre();
        let mut parts: Vec<&Part<'_>> =
            self.parts.iter().filter(|part| part.is_left() == left).collect();
        if left {
            parts.reverse(); // clockwise is upwards there
        }
        let labels: Vec<LabelBox> = parts
            .iter()
            .map(|part| {
                let out = around(centre, self.radius + STUB, part.nearest_turn());
                LabelBox { middle: out.y + part.below_leader(), height: part.height() }
            })
            .collect();
        let side = if left { -1.0 } else { 1.0 };
        let x = centre.x + side * (self.radius + LEADER);
        for (part, middle) in parts.iter().zip(spread(&labels, cell.top, cell.bottom)) {
            // Outwards, then level until beside the ring, then to the name: it never crosses the ring.
            let turn = part.nearest_turn();
            let from = around(centre, self.radius + 1.0, turn);
            let out = around(centre, self.radius + STUB, turn);
            let beside = spot(centre.x + side * (self.radius + STUB), out.y);
            let to = spot(x - side * 3.0, middle - part.below_leader());
            canvas.polyline(&[from, out, beside, to], Stroke::solid(FAINT, 0.9));
            draw_name(canvas, part, spot(x, middle), left);
        }
    }
}

impl Chart for Sectors<'_> {
    fn plot_height(&self, _sheet: Sheet) -> f64 {
        self.height
    }

    fn draw(&self, canvas: &mut Canvas, plot: Rect, cell: Rect) {
        let cell = Rect { top: plot.top, bottom: cell.bottom, ..cell };
        let centre = cell.centre();
        for part in &self.parts {
            self.draw_part(canvas, part, centre);
        }
        self.draw_gaps(canvas, centre);
        let hole = 2.0 * self.radius * HOLE * 0.82;
        let lines = AXIS_LABEL.wrap(&self.donut.centre, hole, CENTRE_LINES_MAX);
        let above = (count(lines.len()) - 1.0) / 2.0;
        let y = centre.y - above * AXIS_LABEL.line_height() + AXIS_LABEL.drop();
        let style = TextStyle::new(AXIS_LABEL, Anchor::Middle, QUIET);
        canvas.text_lines(spot(centre.x, y), &lines, style);
        self.draw_names(canvas, cell, true);
        self.draw_names(canvas, cell, false);
    }
}

/// Percentage and name; their middle is at the height of `at`.
fn draw_name(canvas: &mut Canvas, part: &Part<'_>, at: Spot, left: bool) {
    let anchor = if left { Anchor::End } else { Anchor::Start };
    let top = at.y - part.height() / 2.0 + PART_GAP / 2.0;
    let baseline = top + PERCENTAGE.size;
    canvas.words(spot(at.x, baseline), &part.percentage, TextStyle::new(PERCENTAGE, anchor, INK));
    let first = spot(at.x, baseline + NAME.line_height());
    canvas.text_lines(first, &part.name, TextStyle::new(NAME, anchor, INK));
}

/// The point at this distance from the centre, this many turns clockwise from the top.
fn around(centre: Spot, radius: f64, turns: f64) -> Spot {
    let angle = turns * std::f64::consts::TAU;
    spot(centre.x + radius * libm::sin(angle), centre.y - radius * libm::cos(angle))
}

const PERCENTAGE: crate::font::Face = PANEL_TITLE;
/// As parts of the width of a panel, and of the radius.
const RADIUS_PART_MAX: f64 = 0.2;
const RADIUS_PART_MIN: f64 = 0.14;
const HOLE: f64 = 0.58;
/// Between the ring and the names, and the part of it in which a leader runs outwards.
const LEADER: f64 = 19.0;
const STUB: f64 = 6.0;
/// Between parts of the ring, and between their names.
const GAP: f64 = 2.0;
const PART_GAP: f64 = 5.0;
const NAME_LINES_MAX: usize = 4;
const CENTRE_LINES_MAX: usize = 3;
const VALUE_MAX: f64 = 1e300;
