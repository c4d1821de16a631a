//! Calls a second over HTTP with the durable journal on, beside `wrk` on the same server in the same
//! run: `cargo bench -p goodarm-live --bench http_calls`. Without wrk its line is left out.
//!
//! The server answers at once, in its own thread of this process. Both sides take turns, have as many
//! connections and send the same body, and the best of several rounds counts.

mod field;

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use goodarm_live::run::Run;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::field::{Field, drive, say};

fn main() {
    let address = serve();
    let field = Field::new(CANDIDATES);
    let body = fs::read_to_string(field.path().join("answers.jsonl")).expect("answers");
    let body = body.lines().next().expect("an answer").to_owned();
    let (mut ours, mut theirs) = (0.0_f64, None);
    for _ in 0..ROUNDS {
        if let Some(rate) = wrk(&field, &address, &body) {
            theirs = Some(theirs.unwrap_or(0.0_f64).max(rate));
        }
        ours = ours.max(goodarm(&field, &address));
    }
    say("| loopback, 64 at once | calls/s | ratio |");
    say("|---|---:|---:|");
    if let Some(theirs) = theirs {
        say(&format!("| wrk | {theirs:.0} | |"));
        say(&format!("| goodarm, durable journal | {ours:.0} | {:.2} |", ours / theirs));
    } else {
        say("| wrk (not installed) | | |");
        say(&format!("| goodarm, durable journal | {ours:.0} | |"));
    }
}

fn goodarm(field: &Field, address: &str) -> f64 {
    field.clear();
    field.write_job(&format!(
        "candidates = \"answers.jsonl\"\nbudget = {CALLS}\nunit = \"calls\"\ndelta = 0.05\n\
         concurrency = 64\nstop_when_hopeless = false\n\
         [[verifiers]]\nname = \"server\"\nkind = \"http\"\nurl = \"http://{address}/score\"\n\
         threshold = 0.6\nscores = \"binary\"\nconcurrency = 64\n"
    ));
    let mut run = Run::begin(field.job()).expect("a new run");
    let begin = Instant::now();
    drive(&mut run);
    #[expect(clippy::cast_precision_loss, reason = "some hundred thousand")]
    let count = run.account().call_count() as f64;
    count / begin.elapsed().as_secs_f64()
}

/// Requests a second, if wrk is installed.
fn wrk(field: &Field, address: &str, body: &str) -> Option<f64> {
    let script = field.path().join("post.lua");
    let text = format!(
        "wrk.method = \"POST\"\nwrk.headers[\"Content-Type\"] = \"application/json\"\nwrk.body = [==[{body}]==]\n"
    );
    fs::write(&script, text).expect("a new file");
    let url = format!("http://{address}/score");
    let output = Command::new("wrk")
        .args(["-t1", "-c64", "-d3s", "-s", script.to_str().expect("a path in UTF-8"), &url])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"));
    line.and_then(|number| number.trim().parse().ok())
}

/// A server that answers every request at once: three of five scores are 1.
fn serve() -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let serve = async move {
        let counter = Arc::new(AtomicU64::new(0));
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, Arc::clone(&counter)));
        }
    };
    let thread = std::thread::Builder::new().name("server".into());
    thread.spawn(move || runtime.block_on(serve)).expect("a thread");
    address
}

async fn answer(mut stream: TcpStream, counter: Arc<AtomicU64>) {
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::with_capacity(4096);
    loop {
        if let Some(length) = request_length(&buffer) {
            buffer.drain(..length);
            let score = u8::from(counter.fetch_add(1, Ordering::Relaxed) % 5 < 3);
            let reply = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{{\"score\": {score}}}"
            );
            if stream.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        } else if stream.read_buf(&mut buffer).await.unwrap_or(0) == 0 {
            return;
        }
    }
}

/// The bytes of the first request, if it is whole.
fn request_length(buffer: &[u8]) -> Option<usize> {
    let head = buffer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&buffer[..head]).ok()?.to_ascii_lowercase();
    let length = text.split("content-length:").nth(1)?.split("\r\n").next()?;
    let whole = head + length.trim().parse::<usize>().ok()?;
    (buffer.len() >= whole).then_some(whole)
}

const CANDIDATES: usize = 5_000;
const CALLS: usize = 200_000;
const ROUNDS: usize = 3;
