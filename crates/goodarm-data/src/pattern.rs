//! Regular expressions of a job, and the work that a search takes.
//!
//! A search is one pass over a text. Most patterns take a few instructions per byte. A pattern whose automaton
//! grows too large, such as `.{1,800}`, takes a few instructions per byte for each of its states.

use regex::{Regex, RegexBuilder, bytes};

/// A regular expression, and its compiled size.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The compiled expression.
    pub regex: Regex,
    compiled_bytes: usize,
    /// The size without the tables of Unicode, which are large and fast. What is slow is repetition.
    plain_bytes: usize,
}

impl Pattern {
    /// Compiles a pattern.
    pub fn new(pattern: &str) -> Result<Self, regex::Error> {
        let regex = Regex::new(pattern)?;
        let compiled_bytes =
            smallest_size(|bytes| RegexBuilder::new(pattern).size_limit(bytes).build().is_ok());
        let plain_bytes = smallest_size(|bytes| {
            let plain = bytes::RegexBuilder::new(pattern).unicode(false).size_limit(bytes).build();
            // A pattern that needs Unicode has only one size.
            !matches!(plain, Err(regex::Error::CompiledTooBig(_)))
        });
        Ok(Self { regex, compiled_bytes, plain_bytes })
    }

    /// How many states of its repetitions may be searched one by one; 0 if the pattern is small.
    pub fn repeated_states(&self) -> usize {
        if self.plain_bytes > PLAIN_SIZE_OF_SLOW { self.plain_bytes / BYTES_PER_STATE } else { 0 }
    }

    /// The work of one pass over a text, as the number of bytes that a simple pattern could search with the
    /// same work.
    pub fn bytes_like(&self, text: &str) -> usize {
        let bytes = text.len();
        // Word boundaries beyond ASCII need a slower engine.
        let has_words = !text.is_ascii() && self.regex.as_str().to_lowercase().contains("\\b");
        let is_large = self.compiled_bytes > SIZE_OF_SLOW || bytes > BYTES_OF_SLOW;
        let by_size = if is_large { self.compiled_bytes / BYTES_PER_STATE } else { 1 };
        let by_words = if has_words { SLOWNESS_BEYOND_ASCII } else { 1 };
        let slowness = self.repeated_states().max(by_size).max(by_words);
        bytes.saturating_mul(slowness)
    }
}

/// The smallest of some sizes that is large enough.
fn smallest_size(fits: impl Fn(usize) -> bool) -> usize {
    let sizes = std::iter::successors(Some(SIZE_MIN), |bytes| Some(bytes * 2));
    sizes.take(SIZES).find(|bytes| fits(*bytes)).unwrap_or(SIZE_MIN << SIZES)
}

const SIZE_MIN: usize = 4 << 10;
/// How many sizes are tried, each twice the one before, up to the library's own limit.
const SIZES: usize = 12;
/// Larger patterns are likely to be searched state by state.
const SIZE_OF_SLOW: usize = 128 << 10;
const PLAIN_SIZE_OF_SLOW: usize = 16 << 10;
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
        for ordinary in [r"\w+", r"\p{L}+", r"\d{4}-\d{2}-\d{2}", r"[a-z]{1,100}"] {
            assert_eq!(slowness(ordinary), 1, "{ordinary}");
        }
        for repeated in [r"a[ab]{500}c", r"a[ab]{1000}c", r"(z(?:[abz]*a[ab]{500}c)?)"] {
            assert!(slowness(repeated) > 500, "{repeated}");
        }
    }

    #[test]
    fn long_texts_count_as_the_worst_case() {
        let pattern = Pattern::new("a+b").expect("a pattern");
        let [short, long] = [1 << 20, 2 << 20].map(|count| "a".repeat(count));
        assert_eq!(pattern.bytes_like(&short), short.len());
        assert!(pattern.bytes_like(&long) > 10 * long.len());
    }
}
