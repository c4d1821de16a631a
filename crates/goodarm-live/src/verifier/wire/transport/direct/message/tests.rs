use proptest::prelude::*;
use reqwest::header::CONTENT_TYPE;

use super::*;

/// What a client makes of a response that ends with its connection.
#[derive(Debug, PartialEq)]
struct Read {
    status: u16,
    /// Whether it could be read, and what is left for the next response.
    body: Result<(String, String), String>,
    keeps_open: bool,
}

/// Reads a response that arrives in pieces.
fn read(pieces: &[&[u8]]) -> Result<Read, String> {
    let mut pieces = pieces.iter();
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(head) = Head::take(&mut bytes)? {
            break head;
        }
        bytes.extend_from_slice(pieces.next().ok_or("closed")?);
    };
    let (status, keeps_open) = (head.status.as_u16(), head.keeps_open);
    let said = |cut| match cut {
        Cut::TooLong => "too long".to_owned(),
        Cut::Broken(cause) => cause,
    };
    let mut body = match Body::new(&head, 1000) {
        Ok(body) => body,
        Err(cut) => return Ok(Read { status, body: Err(said(cut)), keeps_open }),
    };
    let result = loop {
        match body.take(&mut bytes) {
            Ok(true) => break Ok(()),
            Ok(false) => {}
            Err(cut) => break Err(said(cut)),
        }
        match pieces.next() {
            Some(piece) => bytes.extend_from_slice(piece),
            None => break body.end().map_err(said),
        }
    };
    pieces.for_each(|piece| bytes.extend_from_slice(piece));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let body = result.map(|()| (text(body.into_bytes()), text(bytes)));
    Ok(Read { status, body, keeps_open })
}

fn whole(status: u16, body: &str, keeps_open: bool) -> Result<Read, String> {
    Ok(Read { status, body: Ok((body.to_owned(), String::new())), keeps_open })
}

/// All that follows RFC 9112, and what must become of it.
fn responses() -> Vec<(&'static str, Result<Read, String>)> {
    vec![
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", whole(200, "hello", true)),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", whole(200, "", true)),
        ("HTTP/1.1 200\r\ncontent-length:  5 \r\n\r\nhello", whole(200, "hello", true)),
        ("HTTP/1.1 204 No Content\r\n\r\n", whole(204, "", true)),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", whole(304, "", true)),
        ("HTTP/1.1 200 OK\r\n\r\nup to the end", whole(200, "up to the end", false)),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", whole(200, "ok", false)),
        (
            "HTTP/1.1 200 OK\r\nConnection: Keep-Alive, Close\r\nContent-Length: 2\r\n\r\nok",
            whole(200, "ok", false),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
            whole(200, "hello world", true),
        ),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\nA\r\n0123456789\r\n000\r\nDigest: x\r\nY: z\r\n\r\n",
            whole(200, "0123456789", true),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            whole(200, "x", true),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            whole(200, "x", false),
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\nrest", whole(200, "rest", false)),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nwait",
            whole(429, "wait", true),
        ),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", whole(101, "", false)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", whole(200, "ok", true)),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500",
            Ok(Read {
                status: 200,
                body: Ok(("ok".into(), "HTTP/1.1 500".into())),
                keeps_open: true,
            }),
        ),
    ]
}

#[test]
fn responses_are_read_as_they_are_meant_wherever_they_are_cut() {
    for (response, expected) in responses() {
        let bytes = response.as_bytes();
        assert_eq!(read(&[bytes]), expected, "{response:?}");
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single), expected, "{response:?} byte by byte");
        for cut in 1..bytes.len() {
            let (first, rest) = bytes.split_at(cut);
            assert_eq!(read(&[first, rest]), expected, "{response:?} cut at {cut}");
        }
    }
}

#[test]
fn a_response_that_ends_too_early_is_never_taken_for_a_whole_one() {
    for (response, _) in responses() {
        // One that ends with its connection has no other end.
        let (head, body) = response.rsplit_once("\r\n\r\n").expect("a head");
        if read(&[response.as_bytes()]).expect("a response").body.is_err()
            || body == "up to the end"
            || body == "rest"
            || body.contains("HTTP/1.1 500")
            || head.contains("HTTP/1.0")
        {
            continue;
        }
        for len in 0..response.len() {
            let is_whole = read(&[&response.as_bytes()[..len]]).is_ok_and(|read| read.body.is_ok());
            assert!(!is_whole, "{response:?} cut off at {len}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_response_is_said() {
    let wrong = [
        ("hello", "not HTTP"),
        ("HTTP/1.1 abc\r\n\r\n", "not HTTP"),
        ("HTTP/1.1 099 OK\r\n\r\n", "no status"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "no number"),
        ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx", "no number"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", "two lengths"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx", "no number"),
    ];
    for (response, problem) in wrong {
        let said = read(&[response.as_bytes()]).expect_err(response);
        assert!(said.contains(problem), "{response:?}: {said}");
    }
    let broken = [
        ("Transfer-Encoding: chunked\r\n\r\nx\r\n", "no length"),
        ("Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "no length"),
        ("Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n", "longer than it says"),
        ("Transfer-Encoding: chunked\r\n\r\nffffff\r\n", "in the middle"),
        ("Content-Length: 5\r\n\r\nhell", "in the middle"),
        ("Content-Length: 1001\r\n\r\n", "too long"),
    ];
    for (rest, problem) in broken {
        let response = format!("HTTP/1.1 200 OK\r\n{rest}");
        let said = read(&[response.as_bytes()]).expect("a head").body.expect_err(rest);
        assert!(said.contains(problem), "{response:?}: {said}");
    }
}

#[test]
fn nothing_without_end_is_read_to_its_end() {
    let head = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(HEAD_BYTES_MAX));
    assert!(read(&[head.as_bytes()]).expect_err("a head").contains("longer than"));
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(HEAD_BYTES_MAX / 20);
    assert!(read(&[interim.as_bytes()]).expect_err("no end").contains("longer than"));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (endless, problem) in [
        (format!("{chunked}1;{}", "e".repeat(LINE_BYTES_MAX)), "no length"),
        (format!("{chunked}0\r\n{}", "x: y\r\n".repeat(HEAD_BYTES_MAX)), "behind its end"),
        (format!("{chunked}{}", "1\r\nx\r\n".repeat(1001)), "too long"),
    ] {
        let said = read(&[endless.as_bytes()]).expect("a head").body.expect_err("a body");
        assert!(said.contains(problem), "{said}");
    }
}

#[test]
fn a_request_says_where_to_and_how_long_it_is() {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let request = Request::new("/score?k=v", &headers);
    let mut bytes = b"what was there".to_vec();
    request.write("{\"a\": \"ä\"}", &mut bytes);
    let text = String::from_utf8(bytes).expect("a text");
    let expected = "POST /score?k=v HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"a\": \"ä\"}";
    assert_eq!(text, expected);
}

proptest! {
    /// Whatever a server says, in whatever pieces, it is read the same and nothing panics.
    #[test]
    fn pieces_do_not_matter(
        words in prop::collection::vec(prop::sample::select(vec![
            "HTTP/1.1 200 OK", "\r\n", "\r\n\r\n", "Content-Length: 3", "Transfer-Encoding: chunked",
            "HTTP/1.1 100 Continue", "Connection: close", "3", "0", "abc", "\n", "\r", ":", "\0", "ä",
        ]), 0..20),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut text = String::from("HTTP/1.1 200 OK\r\n");
        text.extend(words);
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut begin = 0;
        for end in cuts.into_iter().chain([bytes.len()]) {
            pieces.push(&bytes[begin..end]);
            begin = end;
        }
        let (at_once, piecewise) = (read(&[bytes]), read(&pieces));
        prop_assert_eq!(at_once.is_ok(), piecewise.is_ok());
        if let (Ok(at_once), Ok(piecewise)) = (at_once, piecewise) {
            prop_assert_eq!(at_once, piecewise);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&[&bytes]);
        let _ = read(&[b"HTTP/1.1 200 OK\r\n", &bytes]);
        let _ = read(&[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &bytes]);
    }
}
