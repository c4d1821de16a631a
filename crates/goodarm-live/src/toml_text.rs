//! TOML in, a value or a helpful error out.

use serde::de::DeserializeOwned;

/// Parses TOML, and suggests the nearest right spelling of a wrong key.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let message = error.to_string();
        match suggestion(error.message()) {
            Some(name) => format!("{message}did you mean `{name}`?"),
            None => message.trim_end().to_owned(),
        }
    })
}

/// The nearest of the names that the parser expected, if one is near.
pub(crate) fn suggestion(message: &str) -> Option<&str> {
    let (found, expected) = message.split_once(", expected ")?;
    let found = found.split('`').nth(1)?;
    nearest(found, expected.split('`').skip(1).step_by(2))
}

/// The name that was probably meant.
pub fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(found, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .min()
        .map(|(_, name)| name)
}
