//! One series on the sheet: its points, its stroke and its markers.
//!
//! Series that coincide all stay visible: the first is the widest and palest, each next one is
//! narrower, the last is dashed on top, and markers alternate.

use super::{Lines, shown, style_of};
use crate::canvas::{Canvas, Stroke};
use crate::figure::{Series, SeriesKind};
use crate::geometry::{Rect, Spot, count, spot};
use crate::legend::{LINE_WIDTH, REFERENCE_WIDTH};
use crate::look::{Colour, Marker, Style};

/// A series in the coordinates of the sheet.
pub(super) struct Track<'a> {
    pub(super) series: &'a Series,
    pub(super) style: Style,
    spots: Vec<Spot>,
    /// Upper and lower end of the error of each spot, if it has one.
    errors: Vec<Option<(f64, f64)>>,
    /// How many series coincide with this one, itself included, and how many of them are drawn before it.
    crowd_size: usize,
    crowd_rank: usize,
    /// The index of the first of these series in the chart.
    crowd_leader: usize,
}

impl<'a> Track<'a> {
    pub(super) fn new(lines: &Lines<'a>, index: usize, series: &'a Series, plot: Rect) -> Self {
        let mut track = Self {
            series,
            style: style_of(series),
            spots: Vec::new(),
            errors: Vec::new(),
            crowd_size: 1,
            crowd_rank: 0,
            crowd_leader: index,
        };
        let y_of = |value: f64| {
            let y = plot.y_at(lines.y.span.place(value).unwrap_or(f64::NEG_INFINITY));
            y.clamp(plot.top - OUT_OF_SIGHT, plot.bottom + OUT_OF_SIGHT)
        };
        for point in shown(lines.chart, series) {
            let y = y_of(point.y);
            let Some(x) = point.x else {
                track.spots = vec![spot(plot.left, y), spot(plot.right, y)];
                track.errors = vec![None, None];
                break;
            };
            let x = plot.x_at(lines.x.place(x).unwrap_or(0.0));
            let x = x.clamp(plot.left - OUT_OF_SIGHT, plot.right + OUT_OF_SIGHT);
            track.spots.push(spot(x, y));
            let (high, low) = (point.y + point.error, point.y - point.error);
            track.errors.push((high > low).then(|| (y_of(high), y_of(low))));
        }
        track
    }

    /// The rightmost visible point: where the name belongs.
    pub(super) fn end(&self, plot: Rect) -> Option<Spot> {
        let inside = |at: &&Spot| at.x <= plot.right + 0.5;
        let last = self.spots.iter().filter(inside).max_by(|a, b| a.x.total_cmp(&b.x));
        // Without such a point, the line starts right of the plot; its first point gives the height.
        let at = last.or(self.spots.first())?;
        let x = at.x.clamp(plot.left, plot.right);
        Some(spot(x, at.y.clamp(plot.top, plot.bottom)))
    }

    pub(super) fn path(&self) -> Vec<Spot> {
        if self.series.kind == SeriesKind::Step {
            staircase(&self.spots)
        } else {
            self.spots.clone()
        }
    }

    pub(super) fn stroke(&self) -> Stroke<'static> {
        let Style { colour, dashes, .. } = self.style;
        if self.series.kind == SeriesKind::Reference {
            return Stroke { colour, width: REFERENCE_WIDTH, dashes };
        }
        let above = u8::try_from(self.crowd_size - 1 - self.crowd_rank).unwrap_or(u8::MAX);
        if self.crowd_size == 1 {
            Stroke { colour, width: LINE_WIDTH, dashes }
        } else if above == 0 {
            let dashes = if dashes.is_empty() { TOP_DASHES } else { dashes };
            Stroke { colour, width: LINE_WIDTH, dashes }
        } else {
            let width = LINE_WIDTH + CROWD_WIDTH * f64::from(above.min(CROWD_WIDER_MAX));
            // Light and dark in turn, so that neighbours differ in grey as well.
            let paler = if above % 2 == 1 { CROWD_PALE_PERCENT } else { CROWD_DARK_PERCENT };
            Stroke::solid(colour.paler(paler), width)
        }
    }

    pub(super) fn marker(&self) -> Option<(Marker, Colour)> {
        (self.series.kind != SeriesKind::Reference)
            .then_some((self.style.marker, self.style.colour))
    }

    /// Where markers are drawn: at each point if there are few, otherwise spaced out, and shifted against
    /// the markers of other series.
    pub(super) fn marked(&self) -> Vec<Spot> {
        if self.marker().is_none() {
            return Vec::new();
        }
        let candidates = if self.spots.len() <= MARK_ALL_MAX {
            self.spots.clone()
        } else {
            let phase = MARK_SPACING * (count(self.crowd_leader) * GOLDEN).fract();
            spaced(&self.spots, phase)
        };
        let mine = |i: &usize| i % self.crowd_size == self.crowd_rank;
        (0..candidates.len()).filter(mine).map(|i| candidates[i]).collect()
    }

    pub(super) fn draw_band(&self, canvas: &mut Canvas) {
        if self.series.kind != SeriesKind::Line || self.errors.iter().all(Option::is_none) {
            return;
        }
        let edges = self.spots.iter().zip(&self.errors);
        let (mut outline, lower): (Vec<Spot>, Vec<Spot>) = edges
            .map(|(at, error)| {
                let (high, low) = error.unwrap_or((at.y, at.y));
                (spot(at.x, high), spot(at.x, low))
            })
            .unzip();
        outline.extend(lower.into_iter().rev());
        canvas.polygon(&outline, (self.style.colour, BAND_OPACITY), None);
    }

    pub(super) fn draw_whiskers(&self, canvas: &mut Canvas) {
        if self.series.kind != SeriesKind::ErrorBars {
            return;
        }
        // Whiskers of series that coincide are drawn side by side.
        let middle = count(self.crowd_size - 1) / 2.0;
        let aside = (count(self.crowd_rank) - middle) * WHISKER_STEP;
        let stroke = Stroke::solid(self.style.colour, 1.2);
        for (at, error) in self.spots.iter().zip(&self.errors) {
            let Some((high, low)) = error else { continue };
            let x = at.x + aside;
            canvas.line(spot(x, *high), spot(x, *low), stroke);
            for y in [*high, *low] {
                canvas.line(spot(x - WHISKER_CAP, y), spot(x + WHISKER_CAP, y), stroke);
            }
        }
    }
}

/// Finds series that coincide.
pub(super) fn find_crowds(tracks: &mut [Track<'_>]) {
    let mut crowds: Vec<Vec<usize>> = Vec::new();
    for (i, track) in tracks.iter().enumerate() {
        let joined = crowds.iter_mut().find(|crowd| coincide(&tracks[crowd[0]], track));
        match joined {
            Some(crowd) => crowd.push(i),
            None => crowds.push(vec![i]),
        }
    }
    for crowd in crowds {
        for (rank, &i) in crowd.iter().enumerate() {
            tracks[i].crowd_size = crowd.len();
            tracks[i].crowd_rank = rank;
            tracks[i].crowd_leader = crowd[0];
        }
    }
}

fn coincide(a: &Track<'_>, b: &Track<'_>) -> bool {
    let is_data = |track: &Track<'_>| track.series.kind != SeriesKind::Reference;
    let near = |(a, b): (&Spot, &Spot)| (a.x - b.x).abs() < NEAR && (a.y - b.y).abs() < NEAR;
    is_data(a)
        && is_data(b)
        && (a.series.kind == SeriesKind::Step) == (b.series.kind == SeriesKind::Step)
        && a.spots.len() == b.spots.len()
        && a.spots.iter().zip(&b.spots).all(near)
}

/// A line with steps: each height holds until the next point.
fn staircase(spots: &[Spot]) -> Vec<Spot> {
    let mut stairs: Vec<Spot> = Vec::with_capacity(2 * spots.len());
    for at in spots {
        if let Some(last) = stairs.last() {
            stairs.push(spot(at.x, last.y));
        }
        stairs.push(*at);
    }
    stairs
}

fn spaced(spots: &[Spot], phase: f64) -> Vec<Spot> {
    let mut marked: Vec<Spot> = Vec::new();
    let Some(first) = spots.first() else { return marked };
    let distance = |a: Spot, b: Spot| f64::max((a.x - b.x).abs(), (a.y - b.y).abs());
    for at in spots {
        let far = match marked.last() {
            None => distance(*first, *at) >= phase,
            Some(last) => distance(*last, *at) >= MARK_SPACING,
        };
        if far {
            marked.push(*at);
        }
    }
    marked
}

/// Far enough outside the plot that slopes look right, and small enough for any renderer.
const OUT_OF_SIGHT: f64 = 10_000.0;
/// Lines this close print as one.
const NEAR: f64 = 0.75;
const BAND_OPACITY: f64 = 0.16;
const CROWD_WIDTH: f64 = 3.2;
const CROWD_WIDER_MAX: u8 = 4;
const CROWD_PALE_PERCENT: u8 = 70;
const CROWD_DARK_PERCENT: u8 = 15;
const TOP_DASHES: &[f64] = &[7.0, 5.0];
const MARK_ALL_MAX: usize = 14;
const MARK_SPACING: f64 = 44.0;
/// The inverse of the golden ratio: no two multiples of it have the same fractional part.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
const WHISKER_CAP: f64 = 3.2;
const WHISKER_STEP: f64 = 7.5;
