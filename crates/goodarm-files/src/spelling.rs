//! The spelling that was probably meant.

/// The name that was probably meant.
pub fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Comparing takes time that grows with the length, and no name of ours is as long.
    let found: String = found.chars().take(SPELLING_CHARS_MAX).collect();
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&found, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .min()
        .map(|(_, name)| name)
}

/// What serde says of an unknown word or key: the word, and the names that it expected.
pub(crate) fn unknown(message: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
    let start = message.find('`')? + 1;
    if !message.starts_with("unknown ") {
        return None;
    }
    // The word may itself contain anything, the names do not.
    let (found, expected) = message[start..].rsplit_once("`, expected ")?;
    Some((found, expected.split('`').skip(1).step_by(2)))
}

const SPELLING_CHARS_MAX: usize = 100;

/// The name that was probably meant, where a parser says that it found one that it does not know.
pub fn suggestion(message: &str) -> Option<&str> {
    unknown(message).and_then(|(found, names)| nearest(found, names))
}
