//! Admits requests to exactly our address, with the token, from our own page or typed by a person. All others
//! get the same empty response.

use std::hint::black_box;

use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, Request};

/// The secret part of the address.
pub(super) struct Token(String);

impl Token {
    /// A new token.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Whether the guess is right, in constant time.
    fn is(&self, guess: &str) -> bool {
        let (token, guess) = (self.0.as_bytes(), guess.as_bytes());
        let is_as_long = token.len() == guess.len();
        let pairs = token.iter().zip(guess);
        let difference = pairs.fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
        is_as_long && black_box(difference) == 0
    }
}

/// An admitted request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SiteRequest<'r> {
    /// The path after the token.
    pub(crate) path: &'r str,
    pub(crate) query: Option<&'r str>,
    /// Whether it may change state: only requests of our own page may.
    pub(crate) may_change: bool,
}

/// Checks address, token and origin.
pub(super) struct Guard {
    /// The host names that a browser on this machine uses for us. A foreign page whose name resolves to this
    /// address (DNS rebinding) sends its own name.
    hosts: [String; 2],
    token: Token,
}

impl Guard {
    pub(super) fn new(port: u16, token: Token) -> Self {
        Self { hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")], token }
    }

    /// `None` if the request is not admitted.
    pub(super) fn admit<'r, B>(&self, request: &'r Request<B>) -> Option<SiteRequest<'r>> {
        let (headers, uri) = (request.headers(), request.uri());
        if uri.authority().is_some() {
            return None; // meant for a proxy
        }
        let host = only(headers, &HOST)?.filter(|host| self.hosts.iter().any(|own| own == host))?;
        let origin = only(headers, &ORIGIN)?;
        let is_own_origin = origin.is_some_and(|from| from.strip_prefix("http://") == Some(host));
        let site = only(headers, &SEC_FETCH_SITE)?;
        let is_foreign = (origin.is_some() && !is_own_origin)
            || site.is_some_and(|site| site != "same-origin" && site != "none");
        let (token, path) = uri.path().strip_prefix('/')?.split_once('/')?;
        if is_foreign || !self.token.is(token) {
            return None;
        }
        let may_change = match *request.method() {
            Method::GET => false,
            // Following a link must not change anything.
            Method::POST if is_own_origin || site == Some("same-origin") => true,
            _ => return None,
        };
        Some(SiteRequest { path, query: uri.query(), may_change })
    }
}

/// The value of a header that may occur once: `Some(None)` if it is absent, `None` if it occurs twice or is not
/// text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Option<&'a str>> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(|value| value.to_str().ok());
    match (value, values.next()) {
        (None, _) => Some(None),
        (Some(Some(text)), None) => Some(Some(text)),
        _ => None,
    }
}

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const TOKEN_BYTES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: (&str, &str) = ("host", "127.0.0.1:8000");

    fn request(method: &str, uri: &str, headers: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    fn is_admitted(method: &str, uri: &str, headers: &[(&str, &str)]) -> bool {
        guard().admit(&request(method, uri, headers)).is_some()
    }

    fn guard() -> Guard {
        Guard::new(8000, Token("secret".into()))
    }

    #[test]
    fn our_own_page_is_admitted() {
        assert!(is_admitted("GET", "/secret/", &[OWN]));
        assert!(is_admitted("GET", "/secret/", &[("host", "localhost:8000")]));
        assert!(is_admitted("GET", "/secret/", &[OWN, ("sec-fetch-site", "none")]));
        let own = [OWN, ("origin", "http://127.0.0.1:8000"), ("sec-fetch-site", "same-origin")];
        let state = request("GET", "/secret/state?known=12", &own);
        let asked = SiteRequest { path: "state", query: Some("known=12"), may_change: false };
        assert_eq!(guard().admit(&state), Some(asked));
        let pause = request("POST", "/secret/pause", &own[..2]);
        let asked = SiteRequest { path: "pause", query: None, may_change: true };
        assert_eq!(guard().admit(&pause), Some(asked));
    }

    #[test]
    fn other_requests_are_not() {
        let own = [OWN, ("sec-fetch-site", "same-origin")];
        for (method, uri) in [
            ("GET", "/"),
            ("GET", "/secret"),
            ("GET", "//"),
            ("GET", "/secre/"),
            ("GET", "/secrets/"),
            ("GET", "/Secret/"),
            ("GET", "/xecret/state?known=0"),
            ("GET", "/x/secret/"),
            ("GET", "http://127.0.0.1:8000/secret/"),
            ("HEAD", "/secret/"),
            ("OPTIONS", "/secret/state?known=0"),
            ("PUT", "/secret/pause"),
            ("DELETE", "/secret/answer/1"),
        ] {
            assert!(!is_admitted(method, uri, &own), "{method} {uri}");
        }
    }

    #[test]
    fn other_names_origins_and_sites_are_not_admitted() {
        let foreign: [&[(&str, &str)]; 16] = [
            &[],
            &[("host", "evil.example:8000")],
            &[("host", "127.0.0.1")],
            &[("host", "127.0.0.1:8001")],
            &[("host", "127.0.0.1:8000.evil.example")],
            &[("host", "LOCALHOST:8000")],
            &[("host", "[::1]:8000")],
            &[OWN, OWN],
            &[OWN, ("origin", "http://evil.example")],
            &[OWN, ("origin", "null")],
            &[OWN, ("origin", "https://127.0.0.1:8000")],
            &[OWN, ("origin", "http://localhost:8000")],
            &[OWN, ("origin", "http://127.0.0.1:9000")],
            &[OWN, ("sec-fetch-site", "cross-site")],
            &[OWN, ("sec-fetch-site", "same-site")],
            &[OWN, ("origin", "http://127.0.0.1:8000"), ("sec-fetch-site", "cross-site")],
        ];
        for headers in foreign {
            assert!(!is_admitted("GET", "/secret/", headers), "{headers:?}");
            assert!(!is_admitted("POST", "/secret/pause", headers), "{headers:?}");
        }
        // Well-formed, but not provably from our own page.
        assert!(!is_admitted("POST", "/secret/pause", &[OWN]));
        assert!(!is_admitted("POST", "/secret/pause", &[OWN, ("sec-fetch-site", "none")]));
    }

    #[test]
    fn no_two_tokens_are_alike() {
        let [one, two] = [Token::random().unwrap(), Token::random().unwrap()];
        assert_eq!(one.text().len(), 2 * TOKEN_BYTES);
        assert!(one.is(one.text()) && !one.is(two.text()) && !one.is(""));
    }
}
