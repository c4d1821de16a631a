use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

use super::*;

const FACE: Face = Face::regular(12.0);

#[test]
fn wrapped_lines_fit_and_keep_every_word() {
    let text = "Multi-verifier successive elimination with pooled evidence";
    let lines = FACE.wrap(text, 110.0, 9);
    assert!(lines.len() > 2);
    assert!(lines.iter().all(|line| FACE.width(line) <= 110.0));
    assert_eq!(lines.join(" "), text);
}

#[test]
fn what_does_not_fit_ends_in_an_ellipsis() {
    for text in [
        "antidisestablishmentarianism",
        "one two three four five six seven",
        "a bbbbbbbbbbbbbbbbbb",
    ] {
        for lines_max in 1..4 {
            let lines = FACE.wrap(text, 50.0, lines_max);
            assert!(lines.len() <= lines_max, "{lines:?}");
            assert!(lines.iter().all(|line| FACE.width(line) <= 50.0), "{lines:?}");
            assert!(
                lines.join(" ") == text || lines.iter().any(|line| line.ends_with('…')),
                "{lines:?}"
            );
        }
    }
}

#[test]
fn no_width_is_too_small() {
    assert_eq!(FACE.wrap("word", 0.0, 2), ["…"]);
    assert!(FACE.wrap("", 0.0, 2).is_empty());
}

#[test]
fn exponents_are_raised_and_narrower() {
    let runs = runs("10⁻⁴⁰ calls");
    assert_eq!(
        runs.iter().map(|run| run.text.as_str()).collect::<Vec<_>>(),
        ["10", "−40", " calls"]
    );
    let levels: Vec<TextLevel> = runs.iter().map(|run| run.level).collect();
    assert_eq!(levels, [TextLevel::Base, TextLevel::Raised, TextLevel::Base]);
    assert!(FACE.width("10⁻⁴⁰") < FACE.width("10−40"));
}

#[test]
fn clean_text_has_no_controls() {
    assert_eq!(clean("a\u{0}b\u{1b}c\nd\u{202e}e"), "a b c d\u{fffd}e");
}

#[test]
fn digits_have_the_width_the_typeface_gives_them() {
    // 572 of 1000 units, from the hmtx table of Noto Sans Regular 1.04.
    assert!((FACE.width("0123456789") - 10.0 * 0.572 * 12.0).abs() < 0.1);
}

#[test]
fn every_letter_has_the_width_the_typeface_gives_it() {
    let faces = [(Weight::Regular, notosans::REGULAR_TTF), (Weight::Bold, notosans::BOLD_TTF)];
    for (weight, bytes) in faces {
        let font = FontRef::new(bytes).unwrap();
        let metrics = font.glyph_metrics(Size::unscaled(), LocationRef::default());
        let em = font.metrics(Size::unscaled(), LocationRef::default()).units_per_em;
        let mut known = 0;
        for letter in '\0'..=char::MAX {
            let units = font.charmap().map(letter).and_then(|glyph| metrics.advance_width(glyph));
            known += usize::from(units.is_some());
            let expected = units.map_or(UNKNOWN_WIDTH, |units| f64::from(units) / f64::from(em));
            assert_eq!(weight.advance(letter).to_bits(), expected.to_bits(), "{letter:?}");
        }
        assert_eq!(known, 2187);
    }
}
