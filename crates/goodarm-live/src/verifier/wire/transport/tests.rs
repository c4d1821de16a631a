//! Our own connections and the full client must make the same of whatever a server says.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// What a call makes of a response.
#[derive(Debug, PartialEq)]
enum Made {
    Body(u16, String),
    NoReply,
    Cut,
    TooLong,
}

/// Answers every request with these bytes, in two pieces, and closes.
async fn serve(response: &'static str) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(BODY.as_bytes()) {
                stream.read_buf(&mut request).await.expect("a request");
            }
            let (first, rest) = response.as_bytes().split_at(response.len() / 2);
            for piece in [first, rest] {
                let _ = stream.write_all(piece).await;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    });
    Url::parse(&format!("http://{address}/score")).expect("an address")
}

async fn made_by(transport: Transport) -> Made {
    let answer = match transport.post(BODY).await {
        Ok(answer) => answer,
        Err(Unanswered::NoReply(_)) => return Made::NoReply,
        Err(Unanswered::NotConnected(cause)) => panic!("it is there: {cause}"),
    };
    let status = answer.status().as_u16();
    match answer.body(1000).await {
        Ok(body) => Made::Body(status, String::from_utf8_lossy(&body).into_owned()),
        Err(Cut::Broken(_)) => Made::Cut,
        Err(Cut::TooLong) => Made::TooLong,
    }
}

#[tokio::test]
async fn both_ways_to_a_server_make_the_same_of_its_reply() {
    let mut success_count = 0;
    for response in RESPONSES {
        let url = serve(response).await;
        let time = Duration::from_secs(5);
        let full = Transport::Full {
            client: client(&url, time).expect("a client"),
            url: url.clone(),
            headers: HeaderMap::new(),
        };
        let direct = Direct::new(&url, HeaderMap::new(), time).map(Transport::Direct);
        let by_full = made_by(full).await;
        assert_eq!(made_by(direct.expect("a way")).await, by_full, "{response:?}");
        success_count += usize::from(matches!(by_full, Made::Body(..)));
    }
    assert!(success_count > 12, "{success_count}");
}

/// A server that has seen enough says so before everything is sent.
#[tokio::test]
async fn a_refusal_in_the_middle_of_a_long_request_is_heard() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        stream.read_buf(&mut Vec::with_capacity(1000)).await.expect("a beginning");
        let reply = b"HTTP/1.1 413 Too Large\r\nContent-Length: 8\r\n\r\ntoo long";
        stream.write_all(reply).await.expect("a reply");
        // It takes nothing more, and does not close either.
        std::future::pending::<()>().await;
    });
    let url = Url::parse(&url).expect("an address");
    let direct = Direct::new(&url, HeaderMap::new(), Duration::from_secs(5)).expect("a way");
    let long = "x".repeat(32 << 20);
    let answer = direct.post(&long).await.ok().expect("an answer");
    assert_eq!(answer.status().as_u16(), 413);
    assert_eq!(answer.body(1000).await.ok().as_deref(), Some(&b"too long"[..]));
}

/// Some say that all is well before they have read everything, and then want to read it.
#[tokio::test]
async fn a_success_in_the_middle_of_a_long_request_does_not_end_it() {
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
    let direct = Direct::new(&url, HeaderMap::new(), Duration::from_secs(5)).expect("a way");
    let answer = direct.post(&long).await.ok().expect("an answer");
    let body = tokio::time::timeout(Duration::from_secs(20), answer.body(1000)).await;
    assert_eq!(body.expect("in time").ok().as_deref(), Some(&b"done"[..]));
}

/// Nothing of the next request may be taken for a part of one that was not sent whole.
#[tokio::test]
async fn a_connection_is_used_again_only_after_a_whole_exchange() {
    let used_again = |response: &'static str| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let server = tokio::spawn(async move {
            let mut connection_count = 0;
            let mut streams = Vec::new();
            while let Ok(Ok((mut stream, _))) =
                tokio::time::timeout(Duration::from_millis(200), listener.accept()).await
            {
                connection_count += 1;
                streams.push(tokio::spawn(async move {
                    let mut request = Vec::new();
                    while stream.read_buf(&mut request).await.is_ok_and(|count| count > 0) {
                        if request.ends_with(BODY.as_bytes()) {
                            request.clear();
                            stream.write_all(response.as_bytes()).await.expect("a reply");
                        }
                    }
                }));
            }
            streams.iter().for_each(tokio::task::JoinHandle::abort);
            connection_count
        });
        let url = Url::parse(&url).expect("an address");
        let direct = Direct::new(&url, HeaderMap::new(), Duration::from_secs(5)).expect("a way");
        for _ in 0..3 {
            let answer = direct.post(BODY).await.ok().expect("an answer");
            assert!(answer.body(1000).await.is_ok());
        }
        server.await.expect("a count") == 1
    };
    assert!(used_again("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await);
    assert!(used_again(RESPONSES[8]).await, "chunks, too");
    assert!(
        !used_again("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok").await
    );
    assert!(!used_again("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok, and more").await);
}

const BODY: &str = "{\"answer\": 7}";

const RESPONSES: &[&str] = &[
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\nup to the end",
    "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\nA\r\n0123456789\r\n000\r\nDigest: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nwait",
    "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno",
    "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500",
    // And what no server should say.
    "",
    "hello",
    "HTTP/1.1",
    "HTTP/1.1 200 OK\r\nContent-Le",
    "HTTP/1.1 abc\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
    "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n;x\r\n\r\n",
    "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\nhello",
];
