//! Regular expressions of a job, and how much work it is to search with them.
//!
//! A search goes through a text once. Most take a few instructions for each byte; one whose automaton
//! grows too large, such as `.{1,800}`, takes as many for each of its states.

use regex::{Regex, RegexBuilder};

/// A regular expression, and how large it is.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// To search with.
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

    /// How many bytes of plain text a pass over these is like.
    pub fn bytes_like(&self, text: &str) -> usize {
        self.bytes_like_of(text.len(), !text.is_ascii())
    }

    /// The same for a text of which only the length is known.
    pub fn slowness(&self) -> usize {
        self.bytes_like_of(1, true)
    }

    fn bytes_like_of(&self, bytes: usize, is_beyond_ascii: bool) -> usize {
        let is_large = self.compiled_bytes > SIZE_OF_SLOW || bytes > BYTES_OF_SLOW;
        // The ends of words in any script are found by a slower engine.
        let has_words = is_beyond_ascii && self.regex.as_str().to_lowercase().contains("\\b");
        let by_size = if is_large { self.compiled_bytes / BYTES_PER_STATE } else { 1 };
        let slowness = by_size.max(if has_words { SLOWNESS_BEYOND_ASCII } else { 1 });
        bytes.saturating_mul(slowness)
    }
}

const SIZE_MIN: usize = 4 << 10;
/// No more than the library allows.
const SIZES: usize = 12;
/// Larger ones are likely to be searched state by state,
const SIZE_OF_SLOW: usize = 128 << 10;
/// and so may be others, in texts that are made for it: short ones do no harm.
const BYTES_OF_SLOW: usize = 1 << 20;
const BYTES_PER_STATE: usize = 80;
const SLOWNESS_BEYOND_ASCII: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_searched_state_by_state_is_dear() {
        let slowness = |pattern| Pattern::new(pattern).expect("a pattern").slowness();
        assert_eq!(slowness(r"#### *(-?\d+)"), 1);
        assert_eq!(slowness(r"(?s)<answer>(.*?)</answer>"), 1);
        assert!(slowness(r"(?s)<answer>.{1,800}</answer>") > 1000);
        assert_eq!(slowness(r"\byes\b"), 32);
    }

    #[test]
    fn a_text_of_megabytes_is_searched_at_the_price_of_the_worst() {
        let pattern = Pattern::new("a+b").expect("a pattern");
        let [short, long] = [1 << 20, 2 << 20].map(|count| "a".repeat(count));
        assert_eq!(pattern.bytes_like(&short), short.len());
        assert!(pattern.bytes_like(&long) > 10 * long.len());
    }
}
