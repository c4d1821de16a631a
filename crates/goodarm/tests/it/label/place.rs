//! Runs that are labelled.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::report::hostile;
use crate::tool::{goodarm, message, text};

/// A folder with a run that has certified all of its answers.
pub(crate) struct Place(TempDir);

impl Place {
    /// Of twenty sums, of which the fourth is wrong.
    pub(crate) fn new() -> Self {
        let answer = |index: usize| {
            let said = 2 * index + usize::from(index == 3);
            json!({
                "id": format!("sum-{index}"), "question": format!("What is {index} + {index}?"),
                "answer": format!("{said}.0"), "gold": 2 * index,
            })
        };
        Self::of(&(0..20).map(answer).collect::<Vec<_>>(), ["has text", "judge"])
    }

    /// Of these answers, by verifiers of these names.
    pub(crate) fn of(answers: &[Value], verifiers: [&str; 2]) -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        place.write(
            "answers.jsonl",
            &answers.iter().map(|it| format!("{it}\n")).collect::<String>(),
        );
        let check = |name: &str| {
            let name = json!(name);
            format!(
                "[[verifiers]]\nname = {name}\nkind = \"check\"\ncheck = \"regex\"\npattern = \".\"\n"
            )
        };
        let job = "candidates = \"answers.jsonl\"\nbudget = 1\nunit = \"dollars\"\ndelta = 0.05\n";
        place.run(&format!("{job}{}", verifiers.map(check).concat()), &["--quiet"]);
        place
    }

    /// Runs a job.
    pub(crate) fn run(&self, job: &str, arguments: &[&str]) -> String {
        let job = self.write("job.toml", job);
        let output = goodarm(&[&["run", &job], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", message(&output));
        text(&output)
    }

    pub(crate) fn folder(&self) -> String {
        self.path("run")
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).expect("the folder takes files");
        self.path(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    /// `goodarm label RUN` with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
        command.arg("label").arg(self.folder()).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("USER", "me");
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the tool starts")
    }

    /// What it prints, if all goes well.
    pub(crate) fn label(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", message(&output));
        text(&output)
    }

    /// What it says is wrong.
    pub(crate) fn refusal(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
        message(&output)
    }

    /// What it prints in the terminal when this is typed.
    pub(crate) fn typed(&self, arguments: &[&str], input: &str) -> String {
        let mut command = self.command(&[&["--terminal"], arguments].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().expect("the tool starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("it reads all of it");
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", message(&output));
        text(&output)
    }

    pub(crate) fn status(&self) -> Value {
        serde_json::from_str(&self.label(&["--status", "--json"])).expect("JSON")
    }

    /// The claim of the summary.
    pub(crate) fn claim(&self) -> Value {
        let summary: Value = serde_json::from_str(&self.read("run/summary.json")).expect("JSON");
        summary["claim"].clone()
    }

    pub(crate) fn assert_clean(&self) {
        let output = goodarm(&["audit", &self.folder()]);
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output), message(&output));
    }

    /// The page.
    pub(crate) fn page(&self, arguments: &[&str]) -> Desk {
        let mut child = self.command(arguments).spawn().expect("the tool starts");
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        errors.read_line(&mut line).expect("it says where the page is");
        let address = line.trim().strip_prefix("label: ").expect("an address").to_owned();
        Desk { child, address, _errors: errors }
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        Path::new(&self.path(name)).exists()
    }
}

/// The same with answers and verifiers that want to be more than texts.
pub(crate) fn hostile_place() -> Place {
    let answers: Vec<Value> = hostile::answers().into_iter().map(|answer| answer.object).collect();
    Place::of(&answers, hostile::NAMES)
}

/// A page that is served.
pub(crate) struct Desk {
    child: Child,
    pub(crate) address: String,
    /// It would have no one to talk to.
    _errors: BufReader<ChildStderr>,
}

impl Desk {
    pub(crate) fn host(&self) -> &str {
        self.address.trim_start_matches("http://").split('/').next().expect("a host")
    }

    /// A request with this body; everything that comes back.
    pub(crate) fn ask(&self, line: &str, headers: &[&str], body: &str) -> String {
        let token = self.address.trim_end_matches('/').rsplit('/').next().expect("a token");
        let (method, path) = line.split_once(' ').expect("a method and a path");
        let mut stream = TcpStream::connect(self.host()).expect("someone listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let head = headers.iter().map(|header| format!("{header}\r\n")).collect::<String>();
        let length = body.len();
        let request = format!(
            "{method} /{token}/{path} HTTP/1.1\r\n{head}content-length: {length}\r\n\r\n{body}"
        );
        // Who is refused may be cut off in the middle of the request.
        let _ = stream.write_all(request.as_bytes());
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        String::from_utf8(reply).expect("UTF-8")
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().expect("kill runs").success());
    }

    /// Ctrl-C; what it prints at its end.
    pub(crate) fn end(self) -> String {
        self.signal("-INT");
        let output = self.child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0));
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
