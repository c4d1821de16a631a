//! A page that the tool serves while it runs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::tool::{message, text};

/// The tool with its page.
pub(crate) struct ServedPage {
    child: Child,
    lines: Receiver<String>,
    /// Lines on standard error that were read.
    messages: Vec<String>,
    pub(crate) address: String,
}

impl ServedPage {
    /// Starts a command, and waits for the address behind a prefix on standard error.
    pub(crate) fn start(command: &mut Command, prefix: &str) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the tool starts");
        let (sender, lines) = channel();
        let errors = BufReader::new(child.stderr.take().expect("a pipe"));
        thread::spawn(move || {
            errors.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut page = Self { child, lines, messages: Vec::new(), address: String::new() };
        while page.address.is_empty() {
            let line = page.lines.recv_timeout(PATIENCE).expect("the address of the page");
            if let Some(address) = line.strip_prefix(prefix) {
                page.address = address.to_owned();
            }
            page.messages.push(line);
        }
        page
    }

    pub(crate) fn host(&self) -> &str {
        self.address.trim_start_matches("http://").split('/').next().expect("a host")
    }

    pub(crate) fn token(&self) -> &str {
        self.address.trim_end_matches('/').rsplit('/').next().expect("a token")
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.host()).expect("a server");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream
    }

    /// Sends bytes; returns the whole reply.
    pub(crate) fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A client that is refused may be cut off in the middle of its request.
        let _ = stream.write_all(bytes);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8(reply).expect("UTF-8")
    }

    /// A request for a path below the token, with these headers and its length.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> String {
        let mut head = headers.iter().map(|header| format!("{header}\r\n")).collect::<String>();
        if !body.is_empty() {
            head += &format!("content-length: {}\r\n", body.len());
        }
        let token = self.token();
        self.send(format!("{method} /{token}/{path} HTTP/1.1\r\n{head}\r\n{body}").as_bytes())
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().expect("kill runs").success());
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signal("-INT");
    }

    /// Waits for the end; returns what it has printed.
    pub(crate) fn end(mut self) -> Output {
        self.messages.extend(self.lines.iter());
        let mut output = self.child.wait_with_output().expect("it ends");
        output.stderr = self.messages.join("\n").into_bytes();
        output
    }

    /// Ctrl-C, and a good end; returns the output.
    pub(crate) fn stop(self) -> String {
        self.interrupt();
        let output = self.end();
        assert_eq!(output.status.code(), Some(0), "{}", message(&output));
        text(&output)
    }

    /// kill -9.
    pub(crate) fn kill(mut self) {
        self.signal("-KILL");
        self.child.wait().expect("it ends");
    }
}

/// Long enough for the slowest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
