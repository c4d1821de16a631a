//! How each method looks: colour, dashes, marker and hatching.
//!
//! A grey print has no colour, and not everyone sees it, so looks also differ in dashes, marker and
//! hatching.

/// The look of a method, by number. Give each method its number once and use it in every figure.
///
/// | Look | Colour | Line | Marker |
/// |---|---|---|---|
/// | 0 | blue | solid | disc |
/// | 1 | vermilion | dashed | open square |
/// | 2 | bluish green | dotted | triangle |
/// | 3 | reddish purple | dash-dot | open diamond |
/// | 4 | orange | long dashes | triangle pointing down |
/// | 5 | sky blue | dash-dot-dot | open disc |
/// | 6 | black | short dashes | square |
/// | 7 | dark yellow | long dash-dot | diamond |
///
/// The colours are those of Okabe and Ito, with their yellow darkened for a white background. Numbers
/// from 8 on use the same colours with other dashes and markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Look(pub usize);

/// Red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Colour(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl Colour {
    pub(crate) fn css(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// This colour mixed with white.
    pub(crate) fn paler(self, white_percent: u8) -> Self {
        let white = u16::from(white_percent.min(100));
        let mix = |channel: u8| {
            let mixed = (u16::from(channel) * (100 - white) + 255 * white) / 100;
            u8::try_from(mixed).unwrap_or(u8::MAX)
        };
        Self(mix(self.0), mix(self.1), mix(self.2))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkerShape {
    Disc,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) shape: MarkerShape,
    pub(crate) filled: bool,
}

/// The lines drawn over a pale area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hatch {
    /// No lines, and the area is not pale.
    Full,
    Rising,
    Level,
    Falling,
    Crossed,
    /// No lines.
    Pale,
    Upright,
    Squared,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    pub(crate) colour: Colour,
    pub(crate) dashes: &'static [f64],
    pub(crate) marker: Marker,
    pub(crate) hatch: Hatch,
}

/// Looks below this number differ in colour.
const COLOUR_COUNT: usize = 8;

pub(crate) const WHITE: Colour = Colour(255, 255, 255);
/// Titles and names.
pub(crate) const INK: Colour = Colour(0x1c, 0x20, 0x26);
/// Numbers, captions, axes.
pub(crate) const QUIET: Colour = Colour(0x4b, 0x51, 0x5a);
/// Auxiliary lines that are not data.
pub(crate) const FAINT: Colour = Colour(0x9a, 0xa0, 0xa8);
pub(crate) const GRID: Colour = Colour(0xe4, 0xe6, 0xea);

pub(crate) const REFERENCE: Style = Style {
    colour: Colour(0x74, 0x7a, 0x83),
    dashes: &[4.0, 3.0],
    marker: Marker { shape: MarkerShape::Disc, filled: true },
    hatch: Hatch::Pale,
};

impl Look {
    /// From [`COLOUR_COUNT`] on, dashes and markers are shifted against the colours by different steps,
    /// so that the first 64 styles all differ.
    pub(crate) fn style(self) -> Style {
        let turn = self.0 / COLOUR_COUNT;
        let pick =
            |step: usize| (self.0 % COLOUR_COUNT + turn % COLOUR_COUNT * step) % COLOUR_COUNT;
        Style {
            colour: COLOURS[pick(0)],
            dashes: DASHES[pick(1)],
            marker: MARKERS[pick(3)],
            hatch: HATCHES[pick(1)],
        }
    }
}

/// Okabe and Ito, "Color Universal Design", 2008; the last is their yellow, darkened.
const COLOURS: [Colour; COLOUR_COUNT] = [
    Colour(0x00, 0x72, 0xb2),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x00, 0x9e, 0x73),
    Colour(0xcc, 0x79, 0xa7),
    Colour(0xe6, 0x9f, 0x00),
    Colour(0x56, 0xb4, 0xe9),
    Colour(0x00, 0x00, 0x00),
    Colour(0x9a, 0x8a, 0x00),
];

const DASHES: [&[f64]; COLOUR_COUNT] = [
    &[],
    &[7.0, 3.0],
    &[2.0, 2.2],
    &[8.0, 2.6, 2.0, 2.6],
    &[12.0, 3.6],
    &[6.0, 2.2, 1.6, 2.2, 1.6, 2.2],
    &[4.0, 3.0],
    &[13.0, 3.0, 3.0, 3.0],
];

const MARKERS: [Marker; COLOUR_COUNT] = [
    Marker { shape: MarkerShape::Disc, filled: true },
    Marker { shape: MarkerShape::Square, filled: false },
    Marker { shape: MarkerShape::Triangle, filled: true },
    Marker { shape: MarkerShape::Diamond, filled: false },
    Marker { shape: MarkerShape::TriangleDown, filled: true },
    Marker { shape: MarkerShape::Disc, filled: false },
    Marker { shape: MarkerShape::Square, filled: true },
    Marker { shape: MarkerShape::Diamond, filled: true },
];

const HATCHES: [Hatch; COLOUR_COUNT] = [
    Hatch::Full,
    Hatch::Rising,
    Hatch::Level,
    Hatch::Falling,
    Hatch::Crossed,
    Hatch::Pale,
    Hatch::Upright,
    Hatch::Squared,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_64_looks_differ_even_without_colour_from_others_of_their_colour() {
        let looks: Vec<Style> = (0..64).map(|n| Look(n).style()).collect();
        for (i, a) in looks.iter().enumerate() {
            for b in &looks[..i] {
                assert!(a != b);
            }
        }
    }

    #[test]
    fn the_first_8_looks_differ_in_grey() {
        for i in 0..COLOUR_COUNT {
            for j in 0..i {
                let (a, b) = (Look(i).style(), Look(j).style());
                assert!(a.dashes != b.dashes && a.marker != b.marker && a.hatch != b.hatch);
            }
        }
    }

    #[test]
    fn any_number_is_a_look() {
        let _ = Look(usize::MAX).style();
    }
}
