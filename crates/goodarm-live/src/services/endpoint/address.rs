//! Checks the addresses of a service in a job. Each has its own connections.

use std::time::Duration;

use goodarm_data::problem::KeyProblem;
use reqwest::Url;
use reqwest::header::HeaderMap;

use super::EndpointKeys;
use super::transport::{Transport, is_this_machine};
use crate::secrets::Secrets;

/// One address with its connections.
pub(super) struct Address {
    pub(super) transport: Box<Transport>,
    /// The address as in the job, without secrets.
    pub(super) shown: String,
    /// The full address of requests, without its query.
    pub(super) target: String,
    /// The name of the server, with the port if it is not the default one.
    pub(super) host: String,
}

impl Address {
    pub(super) fn new(
        AddressInput { text, url, .. }: &AddressInput<'_>,
        headers: HeaderMap,
        timeout: Duration,
        secrets: &Secrets,
    ) -> Result<Self, KeyProblem> {
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Ok(Self {
            shown: secrets.remove((*text).to_owned()),
            target: target_of(url),
            host,
            transport: Box::new(Transport::new(url.clone(), headers, timeout)?),
        })
    }
}

/// An address as it is written in the job, and the URL that requests go to.
pub(super) struct AddressInput<'a> {
    text: &'a str,
    pub(super) url: Url,
    /// Its number in the list `urls`, counted from 1; `None` for the key `url`.
    number: Option<usize>,
}

impl AddressInput<'_> {
    /// A problem with this address, under the key `url` or `urls`.
    pub(super) fn problem(&self, problem: KeyProblem) -> KeyProblem {
        placed(self.number, problem)
    }
}

/// The addresses of `url` or `urls`, each completed by `complete`, or all problems with them.
pub(super) fn read<'a>(
    keys: EndpointKeys<'a>,
    complete: impl Fn(Url) -> Result<Url, KeyProblem>,
) -> Result<Vec<AddressInput<'a>>, Vec<KeyProblem>> {
    let texts: Vec<(Option<usize>, &str)> = match (keys.url, keys.urls) {
        (Some(_), Some(_)) => return Err(one("either url or urls, not both")),
        (None, None) => return Err(vec![KeyProblem::missing("url", "an address is needed")]),
        (Some(url), None) => vec![(None, url)],
        (None, Some([])) => return Err(one("at least one address is needed")),
        (None, Some(urls)) if urls.len() > ADDRESSES_MAX => {
            return Err(one(&format!("{} addresses are more than {ADDRESSES_MAX}", urls.len())));
        }
        (None, Some(urls)) => {
            urls.iter().enumerate().map(|(at, url)| (Some(at + 1), url.as_str())).collect()
        }
    };
    let mut problems = Vec::new();
    let mut read: Vec<AddressInput<'_>> = Vec::new();
    for (number, text) in texts {
        let url = match url_of(text).and_then(&complete) {
            Ok(url) => url,
            Err(problem) => {
                problems.push(placed(number, problem));
                continue;
            }
        };
        let earlier = read.iter().find(|earlier| earlier.url == url);
        if let Some(earlier) = earlier.and_then(|earlier| earlier.number) {
            let message = format!("the same as address {earlier}");
            problems.push(placed(number, KeyProblem::new("url", message)));
        }
        read.push(AddressInput { text, url, number });
    }
    if problems.is_empty() { Ok(read) } else { Err(problems) }
}

fn one(message: &str) -> Vec<KeyProblem> {
    vec![KeyProblem::new("urls", message)]
}

/// A problem with an address, under the key `url` or `urls`. The message does not show the address, which may be a
/// pasted API key.
fn placed(number: Option<usize>, problem: KeyProblem) -> KeyProblem {
    let Some(number) = number else { return problem };
    let message = format!("address {number}: {}", problem.message);
    KeyProblem { key: "urls".into(), message, ..problem }
}

/// An address for people, without its query and user name, which may be API keys.
fn target_of(url: &Url) -> String {
    let query = if url.query().is_some() { "?(hidden)" } else { "" };
    format!("{}{}{query}", url.origin().ascii_serialization(), url.path())
}

/// A warning if an API key is sent without encryption.
pub(super) fn exposed_key(
    keys: EndpointKeys<'_>,
    addresses: &[AddressInput<'_>],
) -> Option<String> {
    let mut headers = keys.headers.into_iter().flat_map(|headers| headers.values());
    if keys.api_key_env.is_none() && !headers.any(|value| value.starts_with("env:")) {
        return None;
    }
    let mut urls = addresses.iter().map(|it| &it.url);
    let open = urls.find(|url| url.scheme() == "http" && !is_this_machine(url))?;
    let host = open.host_str().unwrap_or_default();
    Some(format!(
        "sends its key to {host} without encryption, where others on the network can read it: use https://"
    ))
}

/// Reads an address that requests are posted to.
fn url_of(written: &str) -> Result<Url, KeyProblem> {
    match Url::parse(written) {
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            let message = "a name or a password in an address (http://name:password@host) is not sent, and \
                           the job is kept with the run: put it in an environment variable, as \"Basic \" \
                           and the base64 of name:password, and write headers = { authorization = \
                           \"env:NAME\" }, with the variable's name";
            Err(KeyProblem::new("url", message))
        }
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        Err(error) if written.starts_with("http://") || written.starts_with("https://") => {
            Err(KeyProblem::new("url", error.to_string()))
        }
        _ => {
            let hint = goodarm_files::hint(with_scheme(written).as_deref());
            let message = format!("an address begins with http:// or https://{hint}");
            Err(KeyProblem::new("url", message))
        }
    }
}

/// An address without a scheme, with the scheme that was probably meant; `None` if the text may contain a secret.
fn with_scheme(written: &str) -> Option<String> {
    if written.contains("//") || written.contains(['@', '?', '#']) {
        return None;
    }
    let url = Url::parse(&format!("https://{written}")).ok()?;
    let host = url.host_str().unwrap_or_default();
    let is_near = url.port().is_some() || host == "localhost";
    // A key has no port and no path, and rarely only small letters.
    let is_name = host.contains('.') && written.contains('/') && written.starts_with(host);
    if !is_near && !is_name {
        return None;
    }
    Some(format!("{}://{written}", if is_near { "http" } else { "https" }))
}

/// The most addresses of a service: the throttle compares all of them for each request.
const ADDRESSES_MAX: usize = 256;
