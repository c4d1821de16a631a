//! No words lie on other words or outside the picture, whatever the figure.

use std::sync::{Arc, LazyLock};

use goodarm_plot::svg;
use resvg::tiny_skia::Rect;
use resvg::usvg::{Group, Node, Options, Tree, fontdb};

use crate::random::Random;
use crate::random_figure::{Source, figure};

/// Numbers and names as an experiment might give them.
struct Plausible {
    /// Which numbers; in some figures, all of them.
    law: usize,
}

impl Source for Plausible {
    fn number(&self, random: &mut Random) -> f64 {
        let law = if self.law < 6 { self.law } else { random.below(6) };
        match law {
            0 => random.between(0.0, 1.0),
            1 => random.between(0.9, 0.91),
            2 => random.between(-5.0, 5.0),
            3 => random.between(0.0, 2e6),
            4 => 0.95,
            _ => libm::pow(10.0, random.between(-30.0, 3.0)),
        }
    }

    fn words(&self, random: &mut Random) -> String {
        let words =
            ["BMA-GAI", "uniform", "of", "successive", "elimination", "δ", "10⁻⁴⁰", "(ours)"];
        let count = random.below(7);
        (0..count).map(|_| words[random.below(8)]).collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn words_never_overlap_and_are_never_cut() {
    let mut random = Random::new(5);
    for i in 0..200 {
        let text = svg(&figure(&mut random, &Plausible { law: i % 8 }));
        check_words(&text).unwrap_or_else(|fault| panic!("figure {i}: {fault}\n{text}"));
    }
}

/// A check that never fails would prove nothing.
#[test]
fn the_check_finds_words_on_words_and_outside() {
    let page = |words: &str| {
        let head = r#"<svg xmlns="http://www.w3.org/2000/svg" width="99" height="99">"#;
        format!("{head}{words}</svg>")
    };
    assert_eq!(check_words(&page(r#"<text x="9" y="20">one</text>"#)), Ok(()));
    let overlapping = r#"<text x="9" y="20">one</text><text x="12" y="26">two</text>"#;
    assert!(check_words(&page(overlapping)).is_err());
    assert!(check_words(&page(r#"<text x="-5" y="20">one</text>"#)).is_err());
}

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    for bytes in [notosans::REGULAR_TTF, notosans::BOLD_TTF] {
        fonts.load_font_source(fontdb::Source::Binary(Arc::new(bytes)));
    }
    Arc::new(fonts)
});

fn check_words(text: &str) -> Result<(), String> {
    let font_family = "Noto Sans".to_owned();
    let options = Options { font_family, fontdb: Arc::clone(&FONTS), ..Options::default() };
    let tree = Tree::from_str(text, &options).map_err(|error| error.to_string())?;
    let mut words: Vec<(String, Rect)> = Vec::new();
    collect(tree.root(), &mut words);
    let size = tree.size();
    for (i, (text, ink)) in words.iter().enumerate() {
        let inside = ink.left() >= 0.0
            && ink.top() >= 0.0
            && ink.right() <= size.width()
            && ink.bottom() <= size.height();
        if !inside {
            return Err(format!("{text:?} is cut"));
        }
        for (other, other_ink) in &words[..i] {
            if overlap(ink, other_ink) {
                return Err(format!("{text:?} {ink:?} lies on {other:?} {other_ink:?}"));
            }
        }
    }
    Ok(())
}

/// Letters and the places that their ink covers.
fn collect(group: &Group, words: &mut Vec<(String, Rect)>) {
    for node in group.children() {
        match node {
            Node::Group(group) => collect(group, words),
            Node::Text(text) => {
                let letters = text.chunks().iter().map(|chunk| chunk.text()).collect();
                words.push((letters, text.flattened().abs_bounding_box()));
            }
            Node::Path(_) | Node::Image(_) => {}
        }
    }
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    a.left() < b.right() && b.left() < a.right() && a.top() < b.bottom() && b.top() < a.bottom()
}
