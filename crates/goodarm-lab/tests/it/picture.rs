//! The pixels: the size asked for, the same each time, and no series hidden.

use goodarm_lab::{PIXELS_MAX, png};
use resvg::tiny_skia::Pixmap;

use crate::random::Random;
use crate::random_figure::figure;
use crate::samples::{Hostile, coinciding};

#[test]
fn the_same_figure_gives_the_same_pixels() {
    assert_eq!(png(&coinciding(), 300).unwrap(), png(&coinciding(), 300).unwrap());
}

#[test]
fn a_picture_has_the_width_asked_for_and_is_opaque() {
    for pixel_width in [1, 64, 333, 1600] {
        let picture = Pixmap::decode_png(&png(&coinciding(), pixel_width).unwrap()).unwrap();
        assert_eq!(picture.width(), pixel_width);
        assert!(picture.pixels().iter().all(|pixel| pixel.alpha() == 255));
    }
}

#[test]
fn lines_that_coincide_are_all_seen() {
    let picture = Pixmap::decode_png(&png(&coinciding(), 1400).unwrap()).unwrap();
    // Left of the names, whose samples would be seen in any case.
    let plot = picture.pixels().iter().enumerate().filter(|(i, _)| i % 1400 < 900);
    let seen: Vec<(u8, u8, u8)> = plot.map(|(_, p)| (p.red(), p.green(), p.blue())).collect();
    for colour in [(0x00, 0x72, 0xb2), (0xd5, 0x5e, 0x00), (0x00, 0x9e, 0x73)] {
        assert!(seen.iter().filter(|pixel| **pixel == colour).count() > 100, "{colour:?}");
    }
}

#[test]
fn words_are_drawn_without_any_installed_font() {
    let with_words = png(&coinciding(), 400).unwrap();
    let mut figure = coinciding();
    figure.caption = "d".into();
    assert_ne!(with_words, png(&figure, 400).unwrap());
}

#[test]
fn sizes_that_are_no_picture_are_refused() {
    for pixel_width in [0, 100_000, u32::MAX] {
        let refused = png(&coinciding(), pixel_width).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("a picture {pixel_width} pixels wide has no pixels or more than {PIXELS_MAX}")
        );
    }
}

#[test]
fn any_input_gives_a_picture() {
    let mut random = Random::new(4);
    for _ in 0..30 {
        let bytes = png(&figure(&mut random, &Hostile), 200).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"));
    }
}
