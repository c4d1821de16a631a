//! Regular expressions of a job, and the work that a search takes.
//!
//! A search is one pass over a text. Most patterns take a few instructions per byte. A pattern whose automaton
//! grows too large, such as `.{1,800}`, takes a few instructions per byte for each of its states.

use regex::{Regex, RegexBuilder};

/// A regular expression, and its compiled size.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The compiled expression.
    pub regex: Regex,
    compiled_bytes: usize,
}

impl Pattern {
    /// Compiles a pattern.
    pub fn new(pattern: &str) -> Result<Self, regex::Error> {
        let fits = |&bytes: &usize| RegexBuilder::new(pattern).size_limit(bytes).build().is_ok();
        let sizes = std::iter::successors(Some(SIZE_MIN), |bytes| Some(bytes * 2));
        let regex = Regex::new(pattern)?;
        let compiled_bytes = sizes.take(SIZES).find(fits).unwrap_or(SIZE_MIN << SIZES);
        Ok(Self { regex, compiled_bytes })
    }

    /// The work of one pass over a text, as the number of bytes that a simple pattern could search with the
    /// same work.
    pub fn bytes_like(&self, text: &str) -> usize {
        let bytes = text.len();
        let is_large = self.compiled_bytes > SIZE_OF_SLOW || bytes > BYTES_OF_SLOW;
        // Word boundaries beyond ASCII need a slower engine.
        let has_words = !text.is_ascii() && self.regex.as_str().to_lowercase().contains("\\b");
        let by_size = if is_large { self.compiled_bytes / BYTES_PER_STATE } else { 1 };
        let slowness = by_size.max(if has_words { SLOWNESS_BEYOND_ASCII } else { 1 });
        bytes.saturating_mul(slowness)
    }
}

const SIZE_MIN: usize = 4 << 10;
/// How many sizes are tried, each twice the one before, up to the library's own limit.
const SIZES: usize = 12;
/// Larger patterns are likely to be searched state by state.
const SIZE_OF_SLOW: usize = 128 << 10;
/// In longer texts, which may be crafted to be slow, small patterns may be as slow as large ones.
const BYTES_OF_SLOW: usize = 1 << 20;
const BYTES_PER_STATE: usize = 80;
const SLOWNESS_BEYOND_ASCII: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_automata_are_expensive() {
        let slowness = |pattern| Pattern::new(pattern).expect("a pattern").bytes_like("é") / 2;
        assert_eq!(slowness(r"#### *(-?\d+)"), 1);
        assert_eq!(slowness(r"(?s)<answer>(.*?)</answer>"), 1);
        assert!(slowness(r"(?s)<answer>.{1,800}</answer>") > 1000);
        assert_eq!(slowness(r"\byes\b"), 32);
    }

    #[test]
    fn long_texts_count_as_the_worst_case() {
        let pattern = Pattern::new("a+b").expect("a pattern");
        let [short, long] = [1 << 20, 2 << 20].map(|count| "a".repeat(count));
        assert_eq!(pattern.bytes_like(&short), short.len());
        assert!(pattern.bytes_like(&long) > 10 * long.len());
    }
}
