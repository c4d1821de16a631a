//! Foreign text, made safe for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with an escape for every character that could control a terminal or is invisible: colours and
/// titles, changes of the writing direction, characters without a width. Line ends and tabs stay. JSON
/// keeps its meaning, since only its strings can hold such a character.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_kept = |c: char| matches!(c, '\n' | '\t') || is_visible(c);
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(escaped(text.chars(), is_kept))
}

/// The same on one line: line ends and tabs are escaped as well.
pub fn visible_line(text: impl Iterator<Item = char>) -> String {
    escaped(text, is_visible)
}

fn escaped(text: impl Iterator<Item = char>, is_kept: impl Fn(char) -> bool) -> String {
    let mut shown = String::new();
    for c in text {
        if is_kept(c) { shown.push(c) } else { push_escaped(&mut shown, c) }
    }
    shown
}

/// Writes the escape that JSON uses, so that escaped JSON keeps its meaning.
fn push_escaped(shown: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(shown, "\\u{unit:04x}");
    }
}

fn is_visible(c: char) -> bool {
    let is_hidden = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    !is_hidden && !c.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        for (text, expected) in [
            ("plain, naïve, 日本語　, a\tb\n", "plain, naïve, 日本語　, a\tb\n"),
            ("\u{1b}]0;title\u{7}\u{1b}[31m", "\\u001b]0;title\\u0007\\u001b[31m"),
            ("a\rb\u{7f}\u{9b}31m\u{85}", "a\\u000db\\u007f\\u009b31m\\u0085"),
            ("\u{202e}cba\u{2066}\u{200f}\u{feff}", "\\u202ecba\\u2066\\u200f\\ufeff"),
            ("\u{2028}\u{e0041}", "\\u2028\\udb40\\udc41"),
        ] {
            assert_eq!(visible(text), expected);
        }
        assert_eq!(visible_line("a\nb\tc".chars()), "a\\u000ab\\u0009c");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({"a\u{9b}": "\u{202e}\u{7f}\u{1b}\\\u{e0041}é"});
        let shown = visible(&value.to_string()).into_owned();
        assert!(shown.chars().all(is_visible), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
    }
}
