//! The results of calls to servers that reply with arbitrary bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::*;

/// The result of a response.
#[derive(Debug, PartialEq)]
enum Made {
    Body(u16, String),
    NoResponse,
    Cut,
    TooLong,
}

/// Answers every request with these bytes, in two pieces, and closes.
async fn serve(response: &'static str) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            read_request(&mut stream).await;
            let (first, rest) = response.as_bytes().split_at(response.len() / 2);
            for piece in [first, rest] {
                let _ = stream.write_all(piece).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    });
    Url::parse(&format!("http://{address}/score")).expect("an address")
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while !request.ends_with(BODY.as_bytes()) {
        stream.read_buf(&mut request).await.expect("a request");
    }
    String::from_utf8(request).expect("a text")
}

fn transport(url: &Url) -> Transport {
    Transport::new(url.clone(), HeaderMap::new(), Duration::from_secs(10)).expect("a client")
}

/// A transport whose connections are reused, as over `https://`.
fn reusing_transport(url: &Url) -> Transport {
    let headers = HeaderMap::from_iter([(CONNECTION, HeaderValue::from_static("keep-alive"))]);
    Transport::new(url.clone(), headers, Duration::from_secs(10)).expect("a client")
}

async fn made_of(response: &'static str) -> Made {
    let response = match transport(&serve(response).await).post(BODY).await {
        Ok(response) => response,
        Err(SendError::NoResponse(_)) => return Made::NoResponse,
        Err(SendError::NotConnected(cause)) => panic!("it listens: {cause}"),
    };
    let status = response.status().as_u16();
    match body_of(response, 1000).await {
        Ok(body) => Made::Body(status, String::from_utf8_lossy(&body).into_owned()),
        Err(BodyError::Broken(_)) => Made::Cut,
        Err(BodyError::TooLong) => Made::TooLong,
    }
}

#[tokio::test]
async fn valid_responses_are_read() {
    for (response, status, body) in RESPONSES {
        let expected = Made::Body(*status, (*body).to_owned());
        assert_eq!(made_of(response).await, expected, "{response:?}");
    }
}

#[tokio::test]
async fn an_invalid_response_is_never_a_complete_reply() {
    for (response, expected) in WRONG_RESPONSES {
        assert_eq!(made_of(response).await, *expected, "{response:?}");
    }
}

#[tokio::test]
async fn endless_responses_are_cut_off() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (endless, expected) in [
        (format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20)), Made::NoResponse),
        (format!("HTTP/1.1 200 OK\r\n{}", "x: y\r\n".repeat(10_000)), Made::NoResponse),
        (format!("{chunked}1;{}", "e".repeat(1 << 20)), Made::Cut),
        (format!("{chunked}0\r\n{}", "x: y\r\n".repeat(10_000)), Made::Cut),
        (format!("{chunked}{}", "1\r\nx\r\n".repeat(1001)), Made::TooLong),
    ] {
        let begin = endless[..60].to_owned();
        assert_eq!(made_of(endless.leak()).await, expected, "{begin:?}");
    }
}

#[tokio::test]
async fn a_request_has_its_path_headers_and_length() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let url = Url::parse(&format!("http://{address}/score?k=v")).expect("an address");
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        read_request(&mut stream).await
    });
    assert!(transport(&url).post(BODY).await.is_err());
    let expected = format!(
        "POST /score?k=v HTTP/1.1\r\nconnection: close\r\naccept: */*\r\nuser-agent: {USER_AGENT}\r\nhost: {address}\r\n\
         content-length: 13\r\n\r\n{BODY}"
    );
    assert_eq!(server.await.expect("a request"), expected);
}

/// A server may refuse a request before it has read all of it.
#[tokio::test]
async fn a_refusal_before_the_end_of_a_long_request_is_read() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.read_buf(&mut Vec::with_capacity(1000)).await.expect("a beginning");
        let reply = b"HTTP/1.1 413 Too Large\r\nContent-Length: 8\r\n\r\ntoo long";
        stream.write_all(reply).await.expect("a reply");
        // It neither reads more nor closes the connection.
        std::future::pending::<()>().await;
    });
    let url = Url::parse(&url).expect("an address");
    let long = "x".repeat(32 << 20);
    let answer = transport(&url).post(&long).await.ok().expect("an answer");
    assert_eq!(answer.status().as_u16(), 413);
    assert_eq!(body_of(answer, 1000).await.ok().as_deref(), Some(&b"too long"[..]));
}

/// Some servers report success first and then read the rest of the request.
#[tokio::test]
async fn a_success_before_the_end_of_a_long_request_does_not_end_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let long = "x".repeat(32 << 20);
    let length = long.len();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = Vec::with_capacity(length + 4096);
        stream.read_buf(&mut request).await.expect("a beginning");
        let head = request.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n").await.expect("a head");
        while request.len() < head + length {
            assert!(stream.read_buf(&mut request).await.expect("the rest") > 0);
        }
        stream.write_all(b"done").await.expect("a body");
    });
    let url = Url::parse(&url).expect("an address");
    let answer = transport(&url).post(&long).await.ok().expect("an answer");
    let body = tokio::time::timeout(Duration::from_secs(20), body_of(answer, 1000)).await;
    assert_eq!(body.expect("in time").ok().as_deref(), Some(&b"done"[..]));
}

/// The next request must not be read as a part of an incomplete one.
#[tokio::test]
async fn a_connection_is_used_again_only_after_a_complete_exchange() {
    let used_again = |response: &'static str| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let connection_count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connection_count);
        let server = tokio::spawn(async move {
            let mut streams = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                streams.spawn(async move {
                    let mut request = Vec::new();
                    while stream.read_buf(&mut request).await.is_ok_and(|count| count > 0) {
                        if request.ends_with(BODY.as_bytes()) {
                            request.clear();
                            stream.write_all(response.as_bytes()).await.expect("a reply");
                        }
                    }
                });
            }
        });
        let transport = reusing_transport(&Url::parse(&url).expect("an address"));
        for _ in 0..3 {
            let answer = transport.post(BODY).await.ok().expect("an answer");
            assert!(body_of(answer, 1000).await.is_ok());
        }
        server.abort();
        connection_count.load(Ordering::SeqCst) == 1
    };
    assert!(used_again("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await);
    assert!(used_again(RESPONSES[8].0).await, "chunks as well");
    assert!(
        !used_again("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok").await
    );
    assert!(!used_again("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more").await);
}

/// A request that was written may have arrived, so it must not be written to a closed connection.
#[tokio::test]
async fn a_connection_that_was_closed_while_idle_is_replaced() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    // By name, which may have several addresses of which only one listens.
    let url = Url::parse(&format!("http://localhost:{}/", address.port())).expect("an address");
    let transport = reusing_transport(&url);
    for _ in 0..3 {
        let server = async {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            read_request(&mut stream).await;
            stream.write_all(RESPONSES[0].0.as_bytes()).await.expect("a reply");
            stream
        };
        let call = async {
            let answer = transport.post(BODY).await.ok().expect("an answer");
            body_of(answer, 1000).await.ok().expect("a body")
        };
        let (stream, body) = tokio::join!(server, call);
        assert_eq!(body, b"hello");
        drop(stream);
        // Once another connection is open, the client has seen the end of this one.
        let (other, _) = tokio::join!(TcpStream::connect(address), listener.accept());
        other.expect("a connection");
    }
}

/// The client has no setting for this limit, which SECURITY.md states.
#[tokio::test]
async fn heads_are_limited() {
    let head =
        |bytes| format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: {}\r\n\r\n", "x".repeat(bytes));
    let [fits, too_long] =
        [400 << 10, 816 << 10].map(|bytes| -> &'static str { head(bytes).leak() });
    assert_eq!(made_of(fits).await, Made::Body(200, String::new()));
    assert_eq!(made_of(too_long).await, Made::NoResponse);
}

/// The memory of replies is limited for any number of calls, and all replies arrive in the end.
#[tokio::test]
async fn long_replies_wait_for_room() {
    const COUNT: usize = 200;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let (go, gone) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut gone = gone.clone();
            tokio::spawn(async move {
                read_request(&mut stream).await;
                let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
                stream.write_all(head).await.expect("a head");
                let chunk = format!("{:x}\r\n{}\r\n", 20 << 10, "x".repeat(20 << 10));
                stream.write_all(chunk.as_bytes()).await.expect("a chunk");
                gone.wait_for(|gone| *gone).await.expect("it comes");
                stream.write_all(format!("{chunk}0\r\n\r\n").as_bytes()).await.expect("the rest");
            });
        }
    });
    let transport = Arc::new(transport(&Url::parse(&url).expect("an address")));
    let mut calls = JoinSet::new();
    for _ in 0..COUNT {
        let transport = Arc::clone(&transport);
        calls.spawn(async move {
            let answer = transport.post(BODY).await.ok().expect("an answer");
            body_of(answer, 4 << 20).await.ok().expect("a body").len()
        });
    }
    while ROOM.available_permits() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    go.send(true).expect("the server listens");
    assert_eq!(calls.join_all().await, [40 << 10; COUNT]);
}

const BODY: &str = "{\"answer\": 7}";

/// Responses with their status and body.
const RESPONSES: &[(&str, u16, &str)] = &[
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
    ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 200, ""),
    ("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
    ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
    ("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304, ""),
    ("HTTP/1.1 200 OK\r\n\r\nup to the end", 200, "up to the end"),
    ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, "ok"),
    ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 200, "ok"),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
        200,
        "hello world",
    ),
    (
        "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\nA\r\n0123456789\r\n000\r\nDigest: x\r\n\r\n",
        200,
        "0123456789",
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        200,
        "x",
    ),
    (
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nwait",
        429,
        "wait",
    ),
    (
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        200,
        "ok",
    ),
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200, "ok"),
    ("HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno", 500, "no"),
    ("HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n", 302, ""),
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500", 200, "ok"),
];

const WRONG_RESPONSES: &[(&str, Made)] = &[
    ("", Made::NoResponse),
    ("hello", Made::NoResponse),
    ("HTTP/1.1", Made::NoResponse),
    ("HTTP/1.1 200 OK\r\nContent-Le", Made::NoResponse),
    ("HTTP/1.1 abc\r\n\r\n", Made::NoResponse),
    ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nok", Made::NoResponse),
    ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", Made::NoResponse),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", Made::Cut),
    ("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nhello", Made::TooLong),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", Made::Cut),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", Made::Cut),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\r\n\r\n", Made::Cut),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n;x\r\n\r\n", Made::Cut),
    (
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        Made::NoResponse,
    ),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n", Made::Cut),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", Made::Cut),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\nhello", Made::Cut),
];
