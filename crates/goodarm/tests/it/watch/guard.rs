//! Who is let in, over real connections.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use super::watch_folder::WatchFolder;
use crate::served_page::ServedPage;
use crate::tool::{message, text};

const NOTHING: &str = "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

fn ends_well(place: &WatchFolder, watched: ServedPage) {
    place.go();
    let output = watched.end();
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));
    assert!(text(&output).contains("9 of 12 answers certified"), "{}", text(&output));
}

#[test]
fn strangers_get_nothing_and_no_hint() {
    let place = WatchFolder::ordinary();
    let watched = place.watch(&[]);
    let (host, token) = (watched.host().to_owned(), watched.token().to_owned());
    let port = host.rsplit(':').next().expect("a port");
    let wrong = token.chars().rev().collect::<String>();
    let request = |line: &str, headers: &[&str]| {
        watched.send(format!("{line} HTTP/1.1\r\n{}\r\n\r\n", headers.join("\r\n")).as_bytes())
    };
    let (own, page) = (format!("host: {host}"), format!("GET /{token}/"));
    assert!(request(&page, &[&own]).starts_with("HTTP/1.1 200"), "the page is there");
    let evil = format!("host: evil.example:{port}");
    let pause = format!("POST /{token}/pause");
    for (line, headers) in [
        ("GET /", vec![own.as_str()]),
        (&format!("GET /{wrong}/"), vec![&own]),
        (&format!("GET /{}/", &token[1..]), vec![&own]),
        (&format!("GET /{wrong}/state?known=0"), vec![&own]),
        (&page, vec![]),
        (&page, vec![&evil]),
        (&page, vec!["host: 127.0.0.1"]),
        (&page, vec![&own, "origin: http://evil.example"]),
        (&page, vec![&own, "origin: null"]),
        (&page, vec![&own, "sec-fetch-site: cross-site"]),
        (&page, vec![&own, "sec-fetch-site: same-site"]),
        (&format!("OPTIONS /{token}/state?known=0"), vec![&own, "origin: http://evil.example"]),
        (&format!("GET /{token}/pause"), vec![&own]),
        (&format!("GET /{token}/answer/0"), vec![&own]),
        (&pause, vec![&own]),
        (&pause, vec![&evil, &format!("origin: http://evil.example:{port}")]),
        (&pause, vec![&own, "sec-fetch-site: none"]),
        (&pause, vec![&own, "sec-fetch-site: cross-site", &format!("origin: http://{host}")]),
    ] {
        assert_eq!(request(line, &headers), NOTHING, "{line} {headers:?}");
    }
    assert_eq!(watched.state()["phase"], "running", "no one has paused it");
    ends_well(&place, watched);
}

#[test]
fn what_is_sent_tells_browsers_to_be_careful() {
    let place = WatchFolder::ordinary();
    let watched = place.watch(&[]);
    for path in ["", "state?known=0"] {
        let reply = watched.call("GET", path, &[]);
        let head = reply.split("\r\n\r\n").next().expect("a head").to_lowercase();
        for header in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "x-frame-options: deny",
            "cross-origin-resource-policy: same-origin",
            "cross-origin-opener-policy: same-origin",
            "content-security-policy: default-src 'none'; script-src 'sha256-",
            "connect-src 'self'; frame-ancestors 'none'",
        ] {
            assert!(head.contains(header), "{header}: {head}");
        }
        assert!(!head.contains("access-control"), "{head}");
    }
    ends_well(&place, watched);
}

/// Dozens that never finish their request, some that send too much, and nonsense: our own page is
/// served all the same, and the run ends as it would alone.
#[test]
fn a_hostile_crowd_does_not_change_the_run() {
    let alone = WatchFolder::ordinary();
    alone.go();
    let output = alone.command(&["--quiet"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", message(&output));

    let place = WatchFolder::ordinary();
    let watched = place.watch(&[]);
    let mut crowd = Vec::new();
    for _ in 0..100 {
        let mut stream = watched.connect();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nhost: 127");
        crowd.push(stream);
    }
    let long = format!("x: {}", "x".repeat(1 << 20));
    assert!(!watched.call("GET", "", &[&long]).contains("HTTP/1.1 200"), "too long a header");
    let many: Vec<String> = (0..200).map(|index| format!("x-{index}: 1")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(!watched.call("GET", "", &many).contains("HTTP/1.1 200"), "too many headers");
    for nonsense in [&b"\0\xff\xfe"[..], b"GET\r\n\r\n", b"\r\n\r\n\r\n", &[b'A'; 100_000]] {
        assert!(!watched.send(nonsense).contains("HTTP/1.1 200"));
    }
    let body = ["content-length: 1000000000", "sec-fetch-site: same-origin"];
    assert!(watched.call("POST", "state", &body).starts_with("HTTP/1.1 404"));
    assert_eq!(watched.state()["candidates"], 12, "our own page is served");
    for stream in &mut crowd {
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
        let cut = stream.read_to_end(&mut Vec::new());
        let is_waiting = cut.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(!is_waiting, "idle connections are closed");
    }
    ends_well(&place, watched);
    for file in ["certified.jsonl", "rejected.jsonl", "undecided.jsonl"] {
        let [with, without] = [&place, &alone].map(|place| place.read(&format!("run/{file}")));
        assert_eq!(with, without, "{file}");
    }
    assert_eq!(place.line_count("made"), alone.line_count("made"));
}

#[test]
fn a_taken_port_is_told_before_anything_begins() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let place = WatchFolder::ordinary();
    let output =
        place.command(&["--watch", "--watch-port", &port]).output().expect("the tool starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains(&format!("port {port}")), "{}", message(&output));
    assert!(!place.join("run").exists(), "nothing has begun");
    let output = place.command(&["--watch-port", &port]).output().expect("the tool starts");
    assert_eq!(output.status.code(), Some(2), "a port of nothing");
}
