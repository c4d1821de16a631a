//! HTTP/1.1 as bytes: the request that is sent, and the response as far as it has arrived.

use std::io::Write;
use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Response, Status};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::super::{Bounded, Cut};

/// A request without its body: the same for every call to an address.
pub(super) struct Request {
    /// Up to the number of the content's length.
    head: Vec<u8>,
}

impl Request {
    /// A POST to `path`, which is what stands behind the host in an address.
    pub(super) fn new(path: &str, headers: &HeaderMap) -> Self {
        let mut head = format!("POST {path} HTTP/1.1\r\n").into_bytes();
        for (name, value) in headers {
            head.extend_from_slice(name.as_str().as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"content-length: ");
        Self { head }
    }

    /// Puts the bytes of a request with this body into `bytes`, instead of what was there.
    pub(super) fn write(&self, body: &str, bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.extend_from_slice(&self.head);
        write!(bytes, "{}\r\n\r\n", body.len()).expect("memory takes everything");
        bytes.extend_from_slice(body.as_bytes());
    }
}

/// What the head of a response says.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    /// Of a response without success; nobody reads the others.
    pub(super) headers: HeaderMap,
    framing: Framing,
    /// Whether the server takes another request on this connection.
    pub(super) keeps_open: bool,
}

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Framing {
    Length(u64),
    Chunked,
    Close,
}

impl Head {
    /// Takes the head of the final response from the front of `bytes`, or nothing if it is not there
    /// yet. An error says what is wrong with it.
    pub(super) fn take(bytes: &mut Vec<u8>) -> Result<Option<Self>, String> {
        let mut begin = 0;
        loop {
            let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
            let mut response = Response::new(&mut []);
            // As lenient as other clients.
            let mut config = ParserConfig::default();
            config.allow_multiple_spaces_in_response_status_delimiters(true);
            let status = config
                .parse_response_with_uninit_headers(&mut response, &bytes[begin..], &mut headers)
                .map_err(|error| format!("its reply is not HTTP: {error}"))?;
            // Those of interim responses stay there, so they count, too.
            if begin > HEAD_BYTES_MAX || status.is_partial() && bytes.len() > HEAD_BYTES_MAX {
                return Err(format!("the head of its reply is longer than {HEAD_BYTES_MAX} bytes"));
            }
            let Status::Complete(length) = status else { return Ok(None) };
            begin += length;
            // Some say that they go on before they say how it went.
            let head = Self::of(&response)?;
            let is_interim = head.status.is_informational();
            if !is_interim || head.status == StatusCode::SWITCHING_PROTOCOLS {
                bytes.drain(..begin);
                return Ok(Some(head));
            }
        }
    }

    fn of(response: &Response<'_, '_>) -> Result<Self, String> {
        let code = response.code.unwrap_or_default();
        let status = StatusCode::from_u16(code).map_err(|_| format!("{code} is no status"))?;
        if response.version == Some(0) && tokens(response.headers, "transfer-encoding").count() > 0
        {
            return Err("its reply is of HTTP/1.0, which knows no chunks".into());
        }
        let has_body = !matches!(code, 100..200 | 204 | 304);
        let framing = if has_body { framing(response.headers)? } else { Framing::Length(0) };
        // Such a reply may have been meant to be read in two ways.
        let is_ambiguous = framing == Framing::Chunked
            && tokens(response.headers, "content-length").next().is_some();
        let keeps_open = response.version == Some(1)
            && framing != Framing::Close
            && code != StatusCode::SWITCHING_PROTOCOLS
            && !is_ambiguous
            && !tokens(response.headers, "connection")
                .any(|token| token.eq_ignore_ascii_case(b"close"));
        let headers = if status.is_success() { HeaderMap::new() } else { map_of(response.headers) };
        Ok(Self { status, headers, framing, keeps_open })
    }
}

/// RFC 9112, section 6.3.
fn framing(headers: &[Header<'_>]) -> Result<Framing, String> {
    if let Some(coding) = tokens(headers, "transfer-encoding").last() {
        let is_chunked = coding.eq_ignore_ascii_case(b"chunked");
        return Ok(if is_chunked { Framing::Chunked } else { Framing::Close });
    }
    let mut length = None;
    for token in tokens(headers, "content-length") {
        let is_number = !token.is_empty() && token.iter().all(u8::is_ascii_digit);
        let number = str::from_utf8(token).ok().filter(|_| is_number);
        let number = number.and_then(|text| text.parse::<u64>().ok());
        let number = number.ok_or("its reply has a length that is no number")?;
        if length.is_some_and(|before| before != number) {
            return Err("its reply has two lengths".into());
        }
        length = Some(number);
    }
    Ok(length.map_or(Framing::Close, Framing::Length))
}

/// All parts of a header, which may stand there several times.
fn tokens<'a>(headers: &'a [Header<'_>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name))
        .flat_map(|header| header.value.split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
}

fn map_of(headers: &[Header<'_>]) -> HeaderMap {
    let parsed = headers.iter().filter_map(|header| {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(header.value).ok()?))
    });
    parsed.collect()
}

/// A body that is being read.
pub(super) struct Body {
    bounded: Bounded,
    stage: Stage,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// So many bytes of content.
    Content(u64),
    /// Content up to the end of the connection.
    Rest,
    /// The line with a chunk's length.
    ChunkLine,
    /// So many bytes of a chunk.
    Chunk(u64),
    /// The line's end behind a chunk.
    ChunkEnd,
    /// Headers behind the last chunk, up to an empty line; so many bytes so far.
    Trailers(usize),
    /// Nothing.
    End,
}

impl Body {
    pub(super) fn new(head: &Head, bytes_max: usize) -> Result<Self, Cut> {
        let (announced, stage) = match head.framing {
            Framing::Length(length) => (Some(length), Stage::Content(length)),
            Framing::Chunked => (None, Stage::ChunkLine),
            Framing::Close => (None, Stage::Rest),
        };
        Ok(Self { bounded: Bounded::new(announced, bytes_max)?, stage })
    }

    /// Takes what belongs to it from the front of `bytes`; whether it is whole now.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) -> Result<bool, Cut> {
        let mut used = 0;
        let result = loop {
            match self.step(&bytes[used..]) {
                Ok(0) => break Ok(self.stage == Stage::End),
                Ok(count) => used += count,
                Err(cut) => break Err(cut),
            }
        };
        if used == bytes.len() {
            bytes.clear();
        } else {
            bytes.drain(..used);
        }
        result
    }

    /// The connection has ended.
    pub(super) fn end(&mut self) -> Result<(), Cut> {
        match self.stage {
            Stage::Rest | Stage::End => Ok(()),
            _ => Err(Cut::Broken("the connection was closed in the middle of it".into())),
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bounded.bytes
    }

    /// Goes one stage on if it can; how many bytes that used.
    fn step(&mut self, bytes: &[u8]) -> Result<usize, Cut> {
        match &mut self.stage {
            Stage::Content(left) | Stage::Chunk(left) if *left > 0 => {
                let count =
                    usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.bounded.push(&bytes[..count])?;
                *left -= count as u64;
                if self.stage == Stage::Content(0) {
                    self.stage = Stage::End;
                }
                Ok(count)
            }
            Stage::Content(_) => {
                self.stage = Stage::End;
                Ok(0)
            }
            Stage::Chunk(_) => {
                self.stage = Stage::ChunkEnd;
                self.step(bytes)
            }
            Stage::Rest => {
                self.bounded.push(bytes)?;
                Ok(bytes.len())
            }
            // The parser takes no digit for 0.
            Stage::ChunkLine if bytes.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) => {
                Err(Cut::Broken("a chunk has no length".into()))
            }
            Stage::ChunkLine => match httparse::parse_chunk_size(bytes) {
                Ok(Status::Complete((used, length))) => {
                    self.stage =
                        if length == 0 { Stage::Trailers(0) } else { Stage::Chunk(length) };
                    Ok(used)
                }
                Ok(Status::Partial) if bytes.len() <= LINE_BYTES_MAX => Ok(0),
                _ => Err(Cut::Broken("a chunk has no length".into())),
            },
            Stage::ChunkEnd => match bytes {
                [] | [b'\r'] => Ok(0),
                [b'\r', b'\n', ..] => {
                    self.stage = Stage::ChunkLine;
                    Ok(2)
                }
                _ => Err(Cut::Broken("a chunk is longer than it says".into())),
            },
            Stage::Trailers(seen) => {
                let line = bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1);
                let Some(length) = line else {
                    let is_short = *seen + bytes.len() <= HEAD_BYTES_MAX;
                    return is_short.then_some(0).ok_or_else(too_many_trailers);
                };
                *seen += length;
                if *seen > HEAD_BYTES_MAX {
                    return Err(too_many_trailers());
                }
                if matches!(&bytes[..length], b"\n" | b"\r\n") {
                    self.stage = Stage::End;
                }
                Ok(length)
            }
            Stage::End => Ok(0),
        }
    }
}

fn too_many_trailers() -> Cut {
    Cut::Broken("too much stands behind its end".into())
}

const HEADERS_MAX: usize = 100;
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Of the line with a chunk's length.
const LINE_BYTES_MAX: usize = 4 << 10;

#[cfg(test)]
mod tests;
