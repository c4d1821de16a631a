//! Keeps a page small: long texts are cut, all at the same length, which is the largest that fits.

use std::borrow::Cow;
use std::fmt::Write;

/// Finds the limit at which all texts, or all lists, fit together.
pub(super) struct LengthCounts {
    /// The number of texts of each length; the last entry includes all longer ones.
    counts: Vec<u64>,
}

impl LengthCounts {
    /// No lengths so far. The limit that is found is at most `limit_max`.
    pub(super) fn new(limit_max: usize) -> Self {
        Self { counts: vec![0; limit_max + 1] }
    }

    /// Adds the length of a text or of a list.
    pub(super) fn take(&mut self, length: usize) {
        let last = self.counts.len() - 1;
        self.counts[length.min(last)] += 1;
    }

    /// The largest limit at which all texts, each cut to it, together stay within `total_max`.
    pub(super) fn limit(&self, total_max: u64) -> usize {
        let mut total = 0;
        // Texts that are longer than the limit.
        let mut longer: u64 = self.counts.iter().skip(1).sum();
        for limit in 1..self.counts.len() {
            // Each text of at least this length takes one unit more.
            total += longer;
            if total > total_max {
                return limit - 1;
            }
            longer -= self.counts[limit];
        }
        self.counts.len() - 1
    }
}

/// The beginning of a text: at most this many bytes, and whole characters.
pub(crate) fn beginning(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// JSON that is safe inside a script element, and that editors show in the order of its bytes. The unsafe characters
/// occur only inside the texts of JSON, so they can be written as escapes.
pub(super) fn script_safe(json: &str) -> Cow<'_, str> {
    if !json.contains(is_unsafe) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + json.len() / 8);
    for character in json.chars() {
        if is_unsafe(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(character);
        }
    }
    Cow::Owned(safe)
}

/// Characters that could end a script element, begin a comment, end a line, or change the direction of writing.
const fn is_unsafe(character: char) -> bool {
    matches!(
        character,
        '<' | '>' | '&'
            | '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff0}'..='\u{ffff}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_largest_that_fits() {
        let mut lengths = LengthCounts::new(100);
        [1, 5, 10, 1000].into_iter().for_each(|length| lengths.take(length));
        // Everything, the longest cut to 100.
        assert_eq!(lengths.limit(116), 100);
        assert_eq!(lengths.limit(115), 99);
        // 1 + 5 + 7 + 7 = 20.
        assert_eq!(lengths.limit(20), 7);
        assert_eq!(lengths.limit(21), 7);
        assert_eq!(lengths.limit(0), 0);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(beginning("aé😀", 3), "aé");
        assert_eq!(beginning("aé😀", 2), "a");
        assert_eq!(beginning("aé😀", 100), "aé😀");
    }

    #[test]
    fn no_text_can_end_its_script_element() {
        let text = "</script><!--\u{2028}\u{202e}\u{e0041}&amp;é😀";
        let json = serde_json::to_string(text).unwrap();
        let safe = script_safe(&json);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{202e}', '\u{e0041}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
    }
}
