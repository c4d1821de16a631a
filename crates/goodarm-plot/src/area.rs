//! Areas that differ even without colour: pale, with hatching in the full colour.

use crate::canvas::{Canvas, Stroke};
use crate::geometry::{Rect, Spot, spot};
use crate::look::{Hatch, Style};

/// A box in the style of a method.
pub(crate) fn draw(canvas: &mut Canvas, area: Rect, style: Style) {
    let is_full = style.hatch == Hatch::Full;
    let fill = if is_full { style.colour } else { style.colour.paler(PALER_PERCENT) };
    canvas.rect(area, Some(fill), None);
    let stroke = Stroke::solid(style.colour, 1.1);
    for (from, to) in hatching(area, style.hatch) {
        canvas.line(from, to, stroke);
    }
    canvas.rect(area, None, Some(stroke));
}

fn hatching(area: Rect, hatch: Hatch) -> Vec<(Spot, Spot)> {
    match hatch {
        Hatch::Full | Hatch::Pale => Vec::new(),
        Hatch::Rising => rising(area),
        Hatch::Falling => falling(area),
        Hatch::Crossed => [rising(area), falling(area)].concat(),
        Hatch::Level => level(area),
        Hatch::Upright => upright(area),
        Hatch::Squared => [level(area), upright(area)].concat(),
    }
}

/// Lines on which x + y is constant.
fn rising(area: Rect) -> Vec<(Spot, Spot)> {
    steps(area.width() + area.height(), DIAGONAL_STEP)
        .map(|step| {
            let sum = area.left + area.top + step;
            let (from, to) = (area.left.max(sum - area.bottom), area.right.min(sum - area.top));
            (spot(from, sum - from), spot(to, sum - to))
        })
        .collect()
}

/// Lines on which x - y is constant.
fn falling(area: Rect) -> Vec<(Spot, Spot)> {
    steps(area.width() + area.height(), DIAGONAL_STEP)
        .map(|step| {
            let difference = area.left - area.bottom + step;
            let from = area.left.max(difference + area.top);
            let to = area.right.min(difference + area.bottom);
            (spot(from, from - difference), spot(to, to - difference))
        })
        .collect()
}

fn level(area: Rect) -> Vec<(Spot, Spot)> {
    steps(area.height(), STEP)
        .map(|step| (spot(area.left, area.bottom - step), spot(area.right, area.bottom - step)))
        .collect()
}

fn upright(area: Rect) -> Vec<(Spot, Spot)> {
    steps(area.width(), STEP)
        .map(|step| (spot(area.left + step, area.top), spot(area.left + step, area.bottom)))
        .collect()
}

/// Multiples of the step inside the length.
fn steps(length: f64, step: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(step), move |at| Some(at + step))
        .take_while(move |at| *at < length)
        .take(LINES_MAX)
}

const PALER_PERCENT: u8 = 66;
const STEP: f64 = 4.5;
const DIAGONAL_STEP: f64 = 6.5;
const LINES_MAX: usize = 2_000;
