//! Reads API keys, and keeps them out of everything but requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};

use goodarm_data::problem::{KeyProblem, collect};

use super::EndpointKeys;
use crate::secrets::{SECRET_BYTES_MIN, Secrets};

/// Adds the parts of an address that may be keys: user name, password, fragment and query.
pub(crate) fn add_from_url(secrets: &mut Secrets, url: &Url) {
    let parts = [url.username(), url.password().unwrap_or_default()];
    for part in parts.into_iter().chain(url.fragment()) {
        secrets.add(part);
        secrets.add(&percent_decoded(url, part));
    }
    // Azure has the version of its API in the query, and people may want to see it.
    let pairs = url.query_pairs().filter(|(name, _)| name != "api-version");
    pairs.for_each(|(name, value)| secrets.add(if value.is_empty() { &name } else { &value }));
    // Also the values as they are written, before they are decoded.
    for pair in url.query().unwrap_or_default().split('&') {
        match pair.split_once('=') {
            Some(("api-version", _)) => {}
            Some((_, value)) => secrets.add(value),
            None => secrets.add(pair),
        }
    }
}

/// A part of this address, percent-decoded.
fn percent_decoded(url: &Url, part: &str) -> String {
    let mut url = url.clone();
    // These characters have a meaning in a query.
    url.set_query(Some(&part.replace('+', "%2B").replace('&', "%26").replace('=', "%3D")));
    url.query_pairs().map(|(name, _)| name).collect()
}

/// Adds the logins of the proxies in the environment, which are keys as well. Returns the name of a variable that is
/// not the address of a proxy: the client would ignore it, and send the key of the job directly.
pub(super) fn add_from_proxies(secrets: &mut Secrets) -> Option<String> {
    let names = ["http_proxy", "https_proxy", "all_proxy"];
    let names = names.iter().flat_map(|name| [(*name).to_owned(), name.to_uppercase()]);
    let mut malformed = None;
    for name in names {
        let Some(value) = std::env::var_os(&name).filter(|value| !value.is_empty()) else {
            continue;
        };
        match value.to_str().and_then(proxy_url) {
            Some(url) => add_from_url(secrets, &url),
            None => malformed = Some(name),
        }
    }
    malformed
}

/// The address of a proxy, which may be written without `http://`, as in `name:password@host:port`.
fn proxy_url(value: &str) -> Option<Url> {
    let has_scheme = value.contains("://");
    let url = if has_scheme { value.to_owned() } else { format!("http://{value}") };
    let url = Url::parse(&url).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// The headers that the job sets for every request. Adds the secrets in them to `secrets`.
pub(super) fn headers(
    keys: EndpointKeys<'_>,
    secrets: &mut Secrets,
    problems: &mut Vec<KeyProblem>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(variable) = keys.api_key_env
        && let Some(key) = collect(key_from_environment("api_key_env", variable), problems)
    {
        secrets.add(&key);
        let name = HeaderName::from_static(keys.key_header);
        let text = if name == AUTHORIZATION { format!("Bearer {key}") } else { key };
        let value = sensitive("api_key_env", variable, &text);
        collect(value, problems).map(|value| headers.insert(name, value));
    }
    for (name, value) in keys.headers.into_iter().flatten() {
        let Ok(header) = HeaderName::try_from(name.as_str()) else {
            problems
                .push(KeyProblem::new("headers", format!("{name:?} is not the name of a header")));
            continue;
        };
        if header == CONTENT_LENGTH || header == TRANSFER_ENCODING {
            let message = format!("{name} follows from the body and cannot be set");
            problems.push(KeyProblem::new("headers", message));
            continue;
        }
        let is_secret = is_secret(&header, value);
        let is_key = |word: &str| (is_secret && looks_like_a_key(word)) || word.starts_with("sk-");
        let value = match value.strip_prefix("env:") {
            Some(variable) if is_about_a_secret(header.as_str()) => {
                collect(key_from_environment("headers", variable), problems)
            }
            Some(variable) => collect(from_environment("headers", variable), problems),
            None if value.split_whitespace().any(is_key) => {
                let message = format!(
                    "{name} looks like a key, and the job is kept with the run: put the key in an \
                     environment variable and write \"env:NAME\", with the variable's name"
                );
                problems.push(KeyProblem::new("headers", message));
                None
            }
            None => Some(value.clone()),
        };
        let Some(value) = value else { continue };
        if is_secret {
            value.split_whitespace().for_each(|word| secrets.add(word));
            add_login(secrets, &value);
        }
        let value = sensitive("headers", name, &value);
        collect(value, problems).map(|value| headers.insert(header, value));
    }
    headers
}

/// The headers of the job for people. Only values of known public headers are shown.
pub(super) fn shown(headers: &HeaderMap) -> String {
    let shown = |(name, value): (&HeaderName, &HeaderValue)| {
        let is_known = PUBLIC_HEADERS.contains(&name.as_str());
        let value = value.to_str().ok().filter(|_| is_known).unwrap_or("(hidden)");
        format!("{name}: {value}\n")
    };
    headers.iter().map(shown).collect()
}

/// Whether a text that is sent, such as a prompt or a template of JSON, probably contains a key.
pub(crate) fn has_pasted_key(text: &str) -> bool {
    let parts: Vec<&str> = text.split('"').collect();
    let is_field = |part: &[&str]| {
        let [name, between, value] = part else { return false };
        // The value may be the first one of a list.
        let is_its_value = between.trim_end_matches([' ', '[']).trim() == ":";
        let is_secret = is_its_value && is_about_a_secret(&name.to_lowercase());
        is_secret && words(value).any(looks_like_a_key)
    };
    words(text).any(is_surely_a_key) || parts.windows(3).any(is_field)
}

/// A problem with a key in the text at `key` of the job.
pub(crate) fn pasted_key_problem(key: &'static str) -> KeyProblem {
    let message = "a part of it looks like a key, and the job is kept with the run: put the key in an \
                   environment variable, and name that in api_key_env, or in headers as \"env:NAME\"";
    KeyProblem::new(key, message)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |sign: char| sign.is_whitespace() || "\"'`=,;:(){}[]<>".contains(sign);
    text.split(is_between)
}

/// Whether a word of a prompt is a key. The prefix is not enough, since a prompt may mention sk-learn.
fn is_surely_a_key(word: &str) -> bool {
    word.starts_with("sk-")
        && word.len() >= KEY_BYTES_MIN
        && word.contains(|c: char| c.is_ascii_digit())
}

fn is_secret(header: &HeaderName, written: &str) -> bool {
    written.starts_with("env:") || is_about_a_secret(header.as_str())
}

/// Whether a name in lower case is the name of a secret.
fn is_about_a_secret(name: &str) -> bool {
    ["auth", "key", "token", "secret", "cookie", "passw", "credential"]
        .iter()
        .any(|part| name.contains(part))
}

/// Adds the password of `Basic …`, which a server may repeat in plain text.
fn add_login(secrets: &mut Secrets, value: &str) {
    let login = value.strip_prefix("Basic ").and_then(|it| STANDARD.decode(it.trim()).ok());
    let login = login.and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some((_, password)) = login.as_deref().and_then(|login| login.split_once(':')) {
        secrets.add(password);
    }
}

/// Reads an API key from a variable: it must be long enough to be removed from texts, or a word such as `none`.
pub(crate) fn key_from_environment(
    key: &'static str,
    variable: &str,
) -> Result<String, KeyProblem> {
    let value = from_environment(key, variable)?;
    let longest = value.split_whitespace().map(str::len).max().unwrap_or_default();
    if longest >= SECRET_BYTES_MIN || NO_KEYS.contains(&value.to_lowercase().as_str()) {
        return Ok(value);
    }
    let message = format!(
        "the environment variable {variable} holds fewer than {SECRET_BYTES_MIN} bytes, and a key that \
         short cannot be told from ordinary words, so that it could not be kept out of the run's texts: \
         use a longer one, or `none` where no key is needed"
    );
    Err(KeyProblem::new(key, message))
}

fn from_environment(key: &'static str, variable: &str) -> Result<String, KeyProblem> {
    let problem = match std::env::var(variable) {
        Ok(value) if !value.trim().is_empty() => return Ok(value.trim().to_owned()),
        Ok(_) => "is empty",
        Err(std::env::VarError::NotPresent) => "is not set",
        Err(std::env::VarError::NotUnicode(_)) => "is not text",
    };
    // A key that was pasted instead of the name must not be shown.
    let message = if is_name(variable) {
        format!("the environment variable {variable} {problem}")
    } else {
        "this is not the name of an environment variable: write the NAME of the one that holds the key, \
         such as OPENAI_API_KEY, and not the key itself"
            .into()
    };
    Err(KeyProblem::new(key, message))
}

/// Whether a text can be the name of a variable, and does not look like a key.
fn is_name(text: &str) -> bool {
    let is_part = |sign: char| sign == '_' || sign.is_ascii_alphanumeric();
    !text.is_empty() && text.chars().all(is_part) && !looks_like_a_key(text)
}

/// Whether a word is probably an API key. Keys are long and mix digits with small letters, unlike the names of
/// variables and teams.
pub(crate) fn looks_like_a_key(word: &str) -> bool {
    let is_long = word.len() >= KEY_BYTES_MIN;
    let is_mixed = word.contains(|sign: char| sign.is_ascii_digit())
        && word.contains(|sign: char| sign.is_ascii_lowercase());
    (is_long && is_mixed && !word.contains("://")) || word.starts_with("sk-")
}

fn sensitive(key: &'static str, name: &str, value: &str) -> Result<HeaderValue, KeyProblem> {
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        KeyProblem::new(key, format!("{name} has characters that a header cannot have"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Headers without secrets that people want to see.
const PUBLIC_HEADERS: [&str; 5] =
    ["anthropic-version", "anthropic-beta", "api-version", "openai-beta", "content-type"];
/// What people write where no key is needed.
const NO_KEYS: [&str; 8] =
    ["none", "null", "empty", "dummy", "unused", "ollama", "no-key", "nokey"];
const KEY_BYTES_MIN: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_login_of_a_proxy_is_found_with_and_without_a_scheme() {
        for value in ["http://user:secret-pass@host:3128", "user:secret-pass@host:3128"] {
            assert_eq!(proxy_url(value).unwrap().password(), Some("secret-pass"), "{value}");
        }
        assert_eq!(proxy_url("host:3128").unwrap().host_str(), Some("host"));
        for value in ["http://", "http://host:port", "ftp://host", "host:99999", ":3128", "a b"] {
            assert_eq!(proxy_url(value), None, "{value}");
        }
    }

    #[test]
    fn a_password_is_removed_as_it_is_and_as_an_address_has_it() {
        let mut secrets = Secrets::default();
        add_from_url(&mut secrets, &proxy_url("user:p%40ss+w%2frd&x@host:3128").unwrap());
        let text = "p%40ss+w%2frd&x p@ss+w/rd&x".to_owned();
        assert_eq!(secrets.remove(text), "*** ***");
    }
}
