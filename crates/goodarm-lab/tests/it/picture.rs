//! The pixels: the same each time, and no series hidden.

use goodarm_lab::png;
use resvg::tiny_skia::Pixmap;

use crate::random::Random;
use crate::random_figure::figure;
use crate::samples::{Hostile, coinciding};

#[test]
fn the_same_figure_gives_the_same_pixels() {
    assert_eq!(png(&coinciding()).unwrap(), png(&coinciding()).unwrap());
}

#[test]
fn a_picture_has_its_width_and_is_opaque() {
    let picture = Pixmap::decode_png(&png(&coinciding()).unwrap()).unwrap();
    assert_eq!(picture.width(), 1600);
    assert!(picture.pixels().iter().all(|pixel| pixel.alpha() == 255));
}

#[test]
fn lines_that_coincide_are_all_seen() {
    let picture = Pixmap::decode_png(&png(&coinciding()).unwrap()).unwrap();
    // Left of the names, whose samples would be seen in any case.
    let plot = picture.pixels().iter().enumerate().filter(|(i, _)| i % 1600 < 1028);
    let seen: Vec<(u8, u8, u8)> = plot.map(|(_, p)| (p.red(), p.green(), p.blue())).collect();
    for colour in [(0x00, 0x72, 0xb2), (0xd5, 0x5e, 0x00), (0x00, 0x9e, 0x73)] {
        assert!(seen.iter().filter(|pixel| **pixel == colour).count() > 100, "{colour:?}");
    }
}

#[test]
fn words_are_drawn_without_any_installed_font() {
    let with_words = png(&coinciding()).unwrap();
    let mut figure = coinciding();
    figure.caption = "d".into();
    assert_ne!(with_words, png(&figure).unwrap());
}

#[test]
fn any_input_gives_a_picture() {
    let mut random = Random::new(4);
    for _ in 0..30 {
        let bytes = png(&figure(&mut random, &Hostile)).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"));
    }
}
