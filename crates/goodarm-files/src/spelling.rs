//! Suggestions for misspelt words, and messages about unknown words and keys.

use crate::visible::visible_line;

/// The name that is spelled most like `found`, if any resembles it. Case does not matter.
pub fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The comparison takes time that grows with the length, and none of our names is as long.
    let found = found.chars().take(SPELLING_CHARS_MAX).collect::<String>().to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&found, &name.to_lowercase());
    let resembles = |distance: usize, name: &str| {
        2 * distance <= found.len().max(name.len()) && distance <= 1 + name.len() / 3
    };
    names
        .into_iter()
        .map(|name| (distance(name), name))
        .filter(|(distance, name)| resembles(*distance, name))
        .min()
        .map(|(_, name)| name)
}

/// The end of a message about `found`: a question whether one of these names was meant, or nothing if none
/// resembles it.
pub fn did_you_mean<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    hint(nearest(found, names))
}

/// The same question about a name that is already found; nothing if it is `None`.
pub fn hint(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |name| format!("; did you mean {name:?}?"))
}

/// A message about a word that is not in a list.
pub fn none_of(word: &str, names: &[&str]) -> String {
    let hint = did_you_mean(word, names.iter().copied());
    format!("{word:?} is not one of {}{hint}", names.join(", "))
}

/// The first [`PROBLEMS_MAX`] problems, and the number of the others.
pub fn first_of(mut problems: Vec<String>) -> Vec<String> {
    let more = problems.len().saturating_sub(PROBLEMS_MAX);
    problems.truncate(PROBLEMS_MAX);
    problems.extend((more > 0).then(|| format!("and {more} more")));
    problems
}

/// The word in serde's message about an unknown word or key, and the names that it expected.
pub(crate) fn unknown(message: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let start = message.find('`')? + 1;
    if !message.starts_with("unknown ") {
        return None;
    }
    // The word may contain any characters; the names do not.
    let (found, expected) = message[start..].rsplit_once("`, expected ")?;
    Some((found, expected.split('`').skip(1).step_by(2)))
}

/// A parser's message, in the words that all files share: `budgt: no such key; did you mean `budget`?`.
pub fn plain_message(message: &str) -> String {
    for (start, fault) in FAULTS {
        if let Some(key) = message.strip_prefix(&format!("{start} field `")) {
            return format!("{}: {fault}", key.trim_end_matches('`'));
        }
    }
    let (fault, meant) = reworded(message);
    match unknown(message) {
        Some((key, _)) if message.starts_with("unknown field") => {
            format!("{}: {fault}{}", shortened(key, PART_CHARS_MAX), key_hint(meant.as_deref()))
        }
        _ => fault + &key_hint(meant.as_deref()),
    }
}

/// A message about an unknown key, with the most similar name, or with all names.
pub fn no_such_key<'a>(key: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match nearest(key, names.iter().copied()) {
        Some(name) => format!("{NO_SUCH_KEY}{}", key_hint(Some(name))),
        None => format!("{NO_SUCH_KEY}; there are {}", names.join(", ")),
    }
}

pub(crate) fn key_hint(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Serde's message with words of files instead of words of Rust, and the name that was probably meant.
/// Without such a name, the message lists all of them.
pub(crate) fn reworded(text: &str) -> (String, Option<String>) {
    if let Some((found, names)) = unknown(text) {
        // The path before the message names an unknown key, but not an unknown word.
        let fault = match text.starts_with("unknown field") {
            true => NO_SUCH_KEY.to_owned(),
            false => format!("unknown word `{}`", shortened(found, PART_CHARS_MAX)),
        };
        let names: Vec<&str> = names.collect();
        return match nearest(found, names.iter().copied()) {
            Some(name) => (fault, Some(name.to_owned())),
            None => (format!("{fault}; there are {}", names.join(", ")), None),
        };
    }
    let invalid = ["invalid type: ", "invalid value: ", "invalid length "]
        .into_iter()
        .find_map(|start| text.strip_prefix(start)?.rsplit_once(", expected "));
    let Some((found, expected)) = invalid else {
        return (text.to_owned(), None);
    };
    let expected = match expected {
        "f64" => "a number",
        "u32" | "u64" | "usize" => "a whole number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a string" => "a text",
        "enum" => "an object with one key",
        _ if expected.starts_with("struct ") => "an object",
        _ => expected,
    };
    let found = match found {
        "sequence" => "a list",
        "map" => "an object",
        _ if text.starts_with("invalid length ") => "a list",
        // Otherwise a kind and a value, such as: string "two", integer `2`.
        _ => found.strip_prefix("string ").or(found.split('`').nth(1)).unwrap_or(found),
    };
    (format!("expected {expected}, found {}", shortened(found, PART_CHARS_MAX)), None)
}

/// A part of a file, which may be long and contain control characters, for a message.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    let dots = if text.chars().nth(chars_max).is_some() { "…" } else { "" };
    visible_line(text.chars().take(chars_max)) + dots
}

/// The beginnings of serde's messages, and our words for them.
pub(crate) const FAULTS: [(&str, &str); 2] =
    [("missing", "this key is missing"), ("duplicate", "this key is given twice")];
const NO_SUCH_KEY: &str = "no such key";
const SPELLING_CHARS_MAX: usize = 100;
/// Problems of a file that are listed; the others are counted.
pub const PROBLEMS_MAX: usize = 20;
pub(crate) const PART_CHARS_MAX: usize = 60;
