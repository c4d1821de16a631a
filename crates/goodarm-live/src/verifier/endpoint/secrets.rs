//! Keys: where they come from, and that they go nowhere else.

use reqwest::Url;
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};

use super::{EndpointKeys, KeyHeader};
use crate::verifier::problem::{Problem, collect};

/// What must not appear in any text. It has no `Debug`, so that it cannot.
#[derive(Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// The text with every secret struck out.
    pub(crate) fn remove(&self, mut text: String) -> String {
        for secret in &self.0 {
            if text.contains(secret) {
                text = text.replace(secret, STRUCK_OUT);
            }
        }
        text
    }

    /// Passwords and queries of an address may be keys.
    pub(super) fn add_from_url(&mut self, url: &Url) {
        url.password().into_iter().for_each(|password| self.add(password));
        // Azure has its version there, which a person may want to see.
        let pairs = url.query_pairs().filter(|(name, _)| name != "api-version");
        pairs.for_each(|(_, value)| self.add(&value));
    }

    fn add(&mut self, secret: &str) {
        // Keys of local servers are placeholders such as `none`; striking out a word hides texts.
        if secret.len() >= SECRET_BYTES_MIN && !self.0.iter().any(|known| known == secret) {
            self.0.push(secret.to_owned());
        }
    }
}

/// The headers of every request.
pub(super) fn headers(
    keys: EndpointKeys<'_>,
    secrets: &mut Secrets,
    problems: &mut Vec<Problem>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(variable) = keys.api_key_env
        && let Some(key) = collect(from_environment("api_key_env", variable), problems)
    {
        secrets.add(&key);
        let (name, text) = match keys.key_header {
            KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
            KeyHeader::Named(name) => (HeaderName::from_static(name), key),
        };
        let value = sensitive("api_key_env", variable, &text);
        collect(value, problems).map(|value| headers.insert(name, value));
    }
    for (name, value) in keys.headers.into_iter().flatten() {
        let Ok(header) = HeaderName::try_from(name.as_str()) else {
            problems.push(Problem::new("headers", format!("{name:?} is not the name of a header")));
            continue;
        };
        if header == CONTENT_LENGTH || header == TRANSFER_ENCODING {
            let message = format!("{name} follows from the body and cannot be set");
            problems.push(Problem::new("headers", message));
            continue;
        }
        let value = match value.strip_prefix("env:") {
            Some(variable) => collect(from_environment("headers", variable), problems),
            None => Some(value.clone()),
        };
        let Some(value) = value else { continue };
        if is_secret(&header, keys.headers.and_then(|headers| headers.get(name))) {
            value.split_whitespace().for_each(|word| secrets.add(word));
        }
        let value = sensitive("headers", name, &value);
        collect(value, problems).map(|value| headers.insert(header, value));
    }
    headers
}

fn is_secret(header: &HeaderName, written: Option<&String>) -> bool {
    let name = header.as_str();
    written.is_some_and(|value| value.starts_with("env:"))
        || ["auth", "key", "token", "secret", "cookie"].iter().any(|part| name.contains(part))
}

fn from_environment(key: &'static str, variable: &str) -> Result<String, Problem> {
    let problem = match std::env::var(variable) {
        Ok(value) if !value.trim().is_empty() => return Ok(value.trim().to_owned()),
        Ok(_) => "is empty",
        Err(std::env::VarError::NotPresent) => "is not set",
        Err(std::env::VarError::NotUnicode(_)) => "is not text",
    };
    Err(Problem::new(key, format!("the environment variable {variable} {problem}")))
}

fn sensitive(key: &'static str, name: &str, value: &str) -> Result<HeaderValue, Problem> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| Problem::new(key, format!("{name} holds what no header may hold")))?;
    value.set_sensitive(true);
    Ok(value)
}

const STRUCK_OUT: &str = "***";
const SECRET_BYTES_MIN: usize = 8;
