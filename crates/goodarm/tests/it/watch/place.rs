//! Jobs whose verifier waits until a test lets it go on, and runs of them that are watched.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::report::run::Question;

/// A folder with a job. Its verifier makes no call while there is no file `go`, and notes each in
/// `made`; answers that say "hold" wait for a file `end`.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// Twelve answers; every fourth never passes.
    pub(crate) fn ordinary() -> Self {
        let answer = |index: usize| {
            let word = if index % 4 == 3 { "wrong" } else { "right" };
            json!({"id": format!("q{index}"), "question": format!("{index}?"), "answer": word})
        };
        Self::new(&(0..12).map(answer).collect::<Vec<_>>(), "judge", 1)
    }

    pub(crate) fn new(answers: &[Value], verifier: &str, concurrency: usize) -> Self {
        let place = Self { folder: tempfile::tempdir().expect("a folder") };
        let lines: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
        place.write("answers.jsonl", &lines);
        let name = json!(verifier);
        place.write(
            "job.toml",
            &format!(
                r#"
candidates = "answers.jsonl"
budget = 600
delta = 0.05
concurrency = {concurrency}

[[verifiers]]
name = {name}
kind = "command"
shell = '''
read -r line
while [ ! -e go ]; do [ -e job.toml ] || exit; sleep 0.02; done
case "$line" in *hold*) while [ ! -e end ]; do [ -e job.toml ] || exit; sleep 0.02; done;; esac
sleep "$(cat go)"
echo x >> made
case "$line" in *wrong*) echo 0;; *) echo 1;; esac
'''
threshold = 0.5
scores = "binary"
"#
            ),
        );
        place
    }

    /// The same judge of answers to questions: those that are given, and those that are drawn from a pool
    /// for a question, which also votes.
    pub(crate) fn asked(questions: &[Question], given: &[Value], names: [&str; 2]) -> Self {
        let place = Self::new(given, names[0], 16);
        let lines = |list: Vec<Value>| list.iter().map(|it| format!("{it}\n")).collect::<String>();
        let pool = |it: &Question| {
            let solution = |text: &String| json!({"answer": text, "cost": 1});
            let solutions: Vec<Value> = it.solutions.iter().map(solution).collect();
            json!({"id": it.object["id"], "solutions": solutions})
        };
        place.write(
            "questions.jsonl",
            &lines(questions.iter().map(|it| it.object.clone()).collect()),
        );
        place.write("pool.jsonl", &lines(questions.iter().map(pool).collect()));
        let maker = json!(names[1]);
        let asking = format!(
            r#"
[[verifiers]]
name = "solver"
kind = "pool"
pool = "pool.jsonl"
threshold = 0.3

[generator]
name = {maker}
kind = "pool"
pool = "pool.jsonl"
"#
        );
        let job = place.read("job.toml").replace("budget = 600", "budget = 6000");
        place.write("job.toml", &format!("questions = \"questions.jsonl\"{job}{asking}"));
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("the folder takes files");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    /// Lets the verifier answer.
    pub(crate) fn go(&self) {
        self.write("go", "0");
    }

    /// The same, but so that a test can do something before the run ends.
    pub(crate) fn go_slowly(&self) {
        self.write("go", "0.05");
    }

    /// Calls that the verifier has answered.
    pub(crate) fn made_count(&self) -> usize {
        fs::read_to_string(self.path("made")).map_or(0, |text| text.lines().count())
    }

    /// `goodarm run` with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
        command.arg("run").arg(self.path("job.toml")).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A run that is watched.
    pub(crate) fn watch(&self, arguments: &[&str]) -> Watched {
        let mut child =
            self.command(&[&["--watch"], arguments].concat()).spawn().expect("the tool starts");
        let (sender, lines) = channel();
        let errors = BufReader::new(child.stderr.take().expect("a pipe"));
        thread::spawn(move || {
            errors.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut watched = Watched { child, lines, said: Vec::new(), address: String::new() };
        while watched.address.is_empty() {
            let line = watched.lines.recv_timeout(PATIENCE).expect("it says where the page is");
            if let Some(address) = line.strip_prefix("watch: ") {
                watched.address = address.to_owned();
            }
            watched.said.push(line);
        }
        watched
    }
}

/// A run with a page.
pub(crate) struct Watched {
    child: Child,
    lines: Receiver<String>,
    /// On standard error, as far as it was read.
    pub(crate) said: Vec<String>,
    pub(crate) address: String,
}

impl Watched {
    pub(crate) fn host(&self) -> &str {
        self.address.trim_start_matches("http://").split('/').next().expect("a host")
    }

    pub(crate) fn token(&self) -> &str {
        self.address.trim_end_matches('/').rsplit('/').next().expect("a token")
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.host()).expect("someone listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream
    }

    /// Sends these bytes; everything that comes back.
    pub(crate) fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A client that is refused may be cut off in the middle of its request.
        let _ = stream.write_all(bytes);
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8(reply).expect("UTF-8")
    }

    /// A request like those of our own page, but for what is added.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str]) -> String {
        let (token, host) = (self.token(), self.host());
        let mut request = format!("{method} /{token}/{path} HTTP/1.1\r\nhost: {host}\r\n");
        headers.iter().for_each(|header| request += &format!("{header}\r\n"));
        self.send((request + "\r\n").as_bytes())
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        let reply = self.ask("GET", path, &["sec-fetch-site: same-origin"]);
        let (head, body) = reply.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.1 200").then(|| serde_json::from_str(body).expect("JSON"))
    }

    pub(crate) fn state(&self) -> Value {
        self.get("state?known=0").expect("a state")
    }

    /// Waits until the run is like that.
    pub(crate) fn state_when(&self, is_there: impl Fn(&Value) -> bool) -> Value {
        let started = Instant::now();
        loop {
            let state = self.state();
            if is_there(&state) {
                return state;
            }
            assert!(started.elapsed() < PATIENCE, "{state}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn post(&self, path: &str) {
        let reply = self.ask("POST", path, &[&format!("origin: http://{}", self.host())]);
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill runs").success());
    }

    /// What it says and how it ends.
    pub(crate) fn end(mut self) -> Output {
        self.said.extend(self.lines.iter());
        let mut output = self.child.wait_with_output().expect("it ends");
        output.stderr = self.said.join("\n").into_bytes();
        output
    }
}

/// Long enough for the slowest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
