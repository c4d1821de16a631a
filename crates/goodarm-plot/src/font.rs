//! Widths of words in Noto Sans, from a table, without the typeface itself.
//!
//! Noto Sans is wider than Helvetica and similar typefaces: where an SVG is shown in one of those, names
//! take less room than is reserved for them, never more.

mod widths;

use widths::{UNITS_PER_EM, WIDTHS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Regular,
    Bold,
}

impl Weight {
    /// The width of a letter in ems.
    fn advance(self, letter: char) -> f64 {
        let code = u32::from(letter);
        let after = WIDTHS.partition_point(|row| row.first <= code);
        let units = after.checked_sub(1).and_then(|index| {
            let row = &WIDTHS[index];
            let [regular, bold] = *row.widths.get(usize::try_from(code - row.first).ok()?)?;
            Some(if self == Self::Bold { bold } else { regular })
        });
        units.map_or(UNKNOWN_WIDTH, |units| f64::from(units) / UNITS_PER_EM)
    }
}

/// Size and weight of some words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Face {
    pub(crate) size: f64,
    pub(crate) weight: Weight,
}

impl Face {
    pub(crate) const fn regular(size: f64) -> Self {
        Self { size, weight: Weight::Regular }
    }

    pub(crate) const fn bold(size: f64) -> Self {
        Self { size, weight: Weight::Bold }
    }

    /// The distance from baseline to baseline.
    pub(crate) const fn line_height(self) -> f64 {
        self.size * 1.3
    }

    /// The distance from the middle of a lowercase line down to its baseline.
    pub(crate) const fn drop(self) -> f64 {
        self.size * 0.35
    }

    pub(crate) fn width(self, text: &str) -> f64 {
        runs(text).iter().map(|run| self.run_width(run)).sum()
    }

    fn run_width(self, run: &TextRun) -> f64 {
        let size = self.size * run.level.size();
        run.text.chars().map(|letter| self.weight.advance(letter)).sum::<f64>() * size
    }

    /// Lines no wider than `width`, broken between words. A word or a last line that does not fit is
    /// cut, with an ellipsis.
    pub(crate) fn wrap(self, text: &str, width: f64, lines_max: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in clean(text).split(' ').filter(|word| !word.is_empty()) {
            let word = self.cut(word, width);
            match lines.last_mut() {
                Some(line) if self.width(&format!("{line} {word}")) <= width => {
                    line.push(' ');
                    line.push_str(&word);
                }
                _ => lines.push(word),
            }
        }
        if lines.len() > lines_max {
            let rest = lines.split_off(lines_max.saturating_sub(1)).join(" ");
            lines.push(self.cut(&rest, width));
        }
        lines
    }

    /// The text, or as many of its letters as fit and an ellipsis.
    pub(crate) fn cut(self, text: &str, width: f64) -> String {
        if self.width(text) <= width {
            return text.to_owned();
        }
        let letters: Vec<char> = text.chars().collect();
        let shortened = |kept: usize| {
            let mut text: String = letters[..kept].iter().collect();
            text.truncate(text.trim_end().len());
            text.push('…');
            text
        };
        let lengths: Vec<usize> = (1..letters.len()).collect();
        let kept = lengths.partition_point(|&kept| self.width(&shortened(kept)) <= width);
        shortened(kept)
    }
}

/// Letters on one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextRun {
    pub(crate) text: String,
    pub(crate) level: TextLevel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextLevel {
    Base,
    Raised,
}

impl TextLevel {
    /// The size of letters on this level, as a part of the size of their text.
    pub(crate) const fn size(self) -> f64 {
        match self {
            Self::Base => 1.0,
            Self::Raised => 0.72,
        }
    }

    /// How far letters on this level are above the baseline, as a part of the size of their text.
    pub(crate) const fn rise(self) -> f64 {
        match self {
            Self::Base => 0.0,
            Self::Raised => 0.36,
        }
    }
}

/// Splits a text into runs. Superscript digits become ordinary digits on another level: few typefaces have all
/// superscripts, and digits of a substitute typeface look different.
pub(crate) fn runs(text: &str) -> Vec<TextRun> {
    let mut runs: Vec<TextRun> = Vec::new();
    for letter in clean(text).chars() {
        let (letter, level) = levelled(letter);
        match runs.last_mut() {
            Some(run) if run.level == level => run.text.push(letter),
            _ => runs.push(TextRun { text: letter.into(), level }),
        }
    }
    runs
}

fn levelled(letter: char) -> (char, TextLevel) {
    // Most letters need no search.
    if letter.is_ascii() {
        return (letter, TextLevel::Base);
    }
    let mut pairs = SUPERSCRIPTS.chars().zip(PLAIN.chars());
    match pairs.find(|(raised, _)| *raised == letter) {
        Some((_, plain)) => (plain, TextLevel::Raised),
        None => (letter, TextLevel::Base),
    }
}

/// Text without characters that XML forbids or that reorder their neighbours, cut to a maximal length.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .take(TEXT_CHARS_MAX)
        .map(|letter| match letter {
            _ if letter.is_control() => ' ',
            '\u{2028}' | '\u{2029}' => ' ',
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                '\u{fffd}'
            }
            '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
            _ => letter,
        })
        .collect()
}

/// Letters in the order of the plain ones in [`PLAIN`].
pub(crate) const SUPERSCRIPTS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻";
pub(crate) const PLAIN: &str = "0123456789+−";

/// The width in ems of a letter that the typeface lacks; generous, because the letter comes from another typeface.
const UNKNOWN_WIDTH: f64 = 1.0;

/// Longer labels and captions are cut.
const TEXT_CHARS_MAX: usize = 2_000;

#[cfg(test)]
mod tests;
