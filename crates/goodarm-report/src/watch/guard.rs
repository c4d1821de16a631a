//! Who is let in: a request for exactly our address, with the token, from our own page or typed by
//! a person. Everybody else learns nothing, not even what was wrong.

use std::hint::black_box;

use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, Request};

/// The part of the address that nobody can guess.
pub(super) struct Token(String);

impl Token {
    /// A new one.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Whether it is this; the time that takes does not tell how much of a guess is right.
    fn is(&self, guess: &str) -> bool {
        let (token, guess) = (self.0.as_bytes(), guess.as_bytes());
        let is_as_long = token.len() == guess.len();
        let pairs = token.iter().zip(guess);
        let difference = pairs.fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
        is_as_long && black_box(difference) == 0
    }
}

/// What a request that is let in asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// The page itself.
    Page,
    /// How the run is doing; the asker knows the certificates up to this one.
    State { rank_known: usize },
    /// Everything about one answer.
    Answer { arm: u32 },
    /// Make no new calls, or make them again.
    Pause(bool),
}

/// Knows our address.
pub(super) struct Guard {
    /// Names under which a browser on this machine may know us. A page from elsewhere that has its
    /// own name point here (DNS rebinding) sends that name.
    hosts: [String; 2],
    token: Token,
}

impl Guard {
    pub(super) fn new(port: u16, token: Token) -> Self {
        Self { hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")], token }
    }

    /// What a request asks for, or nothing.
    pub(super) fn admit<B>(&self, request: &Request<B>) -> Option<Wish> {
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
        match *request.method() {
            Method::GET => reading(path, uri.query()),
            // Only our own page changes anything: whoever merely follows a link does not.
            Method::POST if is_own_origin || site == Some("same-origin") => changing(path),
            _ => None,
        }
    }
}

fn reading(path: &str, query: Option<&str>) -> Option<Wish> {
    match (path, query) {
        ("", _) => Some(Wish::Page),
        ("state", query) => {
            let known = query?.strip_prefix("known=")?.parse().ok()?;
            Some(Wish::State { rank_known: known })
        }
        (path, None) => Some(Wish::Answer { arm: path.strip_prefix("answer/")?.parse().ok()? }),
        _ => None,
    }
}

fn changing(path: &str) -> Option<Wish> {
    match path {
        "pause" => Some(Wish::Pause(true)),
        "resume" => Some(Wish::Pause(false)),
        _ => None,
    }
}

/// The value of a header that may stand there once: none if it does not, nothing at all if it is
/// there twice or is no text.
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

    fn wish(method: &str, uri: &str, headers: &[(&str, &str)]) -> Option<Wish> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Guard::new(8000, Token("secret".into())).admit(&request.body(()).unwrap())
    }

    #[test]
    fn our_own_page_is_let_in() {
        assert_eq!(wish("GET", "/secret/", &[OWN]), Some(Wish::Page));
        assert_eq!(wish("GET", "/secret/", &[("host", "localhost:8000")]), Some(Wish::Page));
        assert_eq!(wish("GET", "/secret/", &[OWN, ("sec-fetch-site", "none")]), Some(Wish::Page));
        let own = [OWN, ("origin", "http://127.0.0.1:8000"), ("sec-fetch-site", "same-origin")];
        let state = wish("GET", "/secret/state?known=12", &own);
        assert_eq!(state, Some(Wish::State { rank_known: 12 }));
        assert_eq!(wish("GET", "/secret/answer/7", &own), Some(Wish::Answer { arm: 7 }));
        assert_eq!(wish("POST", "/secret/pause", &own), Some(Wish::Pause(true)));
        assert_eq!(wish("POST", "/secret/resume", &own[..2]), Some(Wish::Pause(false)));
    }

    #[test]
    fn everybody_else_is_not() {
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
            ("GET", "/secret/pause"),
            ("GET", "/secret/state"),
            ("GET", "/secret/state?known=-1"),
            ("GET", "/secret/answer/4294967296"),
            ("GET", "/secret/answer/../../etc/passwd"),
            ("HEAD", "/secret/"),
            ("OPTIONS", "/secret/state?known=0"),
            ("POST", "/secret/"),
            ("POST", "/secret/state?known=0"),
            ("PUT", "/secret/pause"),
            ("DELETE", "/secret/answer/1"),
        ] {
            assert_eq!(wish(method, uri, &own), None, "{method} {uri}");
        }
    }

    #[test]
    fn other_names_origins_and_sites_get_nothing() {
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
            assert_eq!(wish("GET", "/secret/", headers), None, "{headers:?}");
            assert_eq!(wish("POST", "/secret/pause", headers), None, "{headers:?}");
        }
        // Nothing wrong with these, but nothing says that our own page asks.
        assert_eq!(wish("POST", "/secret/pause", &[OWN]), None);
        assert_eq!(wish("POST", "/secret/pause", &[OWN, ("sec-fetch-site", "none")]), None);
    }

    #[test]
    fn no_two_tokens_are_alike() {
        let [one, two] = [Token::random().unwrap(), Token::random().unwrap()];
        assert_eq!(one.text().len(), 2 * TOKEN_BYTES);
        assert!(one.is(one.text()) && !one.is(two.text()) && !one.is(""));
    }
}
