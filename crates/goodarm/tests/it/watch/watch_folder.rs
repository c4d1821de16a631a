//! Jobs whose verifier waits for a test, and runs of them with a page.

use std::ops::Deref;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use goodarm_testing::TestFolder;
use serde_json::{Value, json};

use crate::report::run::Question;
use crate::served_page::{PATIENCE, ServedPage};

/// A folder with a job. Its verifier makes no call while there is no file `go`, and notes each in
/// `made`; answers that say "hold" wait for a file `end`.
pub(crate) struct WatchFolder(TestFolder);

impl Deref for WatchFolder {
    type Target = TestFolder;

    fn deref(&self) -> &TestFolder {
        &self.0
    }
}

impl WatchFolder {
    /// Twelve answers; every fourth never passes.
    pub(crate) fn ordinary() -> Self {
        let answer = |index: usize| {
            let word = if index % 4 == 3 { "wrong" } else { "right" };
            json!({"id": format!("q{index}"), "question": format!("{index}?"), "answer": word})
        };
        Self::new(&(0..12).map(answer).collect::<Vec<_>>(), "judge", 1)
    }

    pub(crate) fn new(answers: &[Value], verifier: &str, concurrency: usize) -> Self {
        let lines: String = answers.iter().map(|answer| format!("{answer}\n")).collect();
        let place = Self(TestFolder::new(&[("answers.jsonl", &lines)]));
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

    /// Lets the verifier answer.
    pub(crate) fn go(&self) {
        self.write("go", "0");
    }

    /// The same, but so that a test can do something before the run ends.
    pub(crate) fn go_slowly(&self) {
        self.write("go", "0.05");
    }

    /// `goodarm run` with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
        command.arg("run").arg(self.join("job.toml")).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A run with its page.
    pub(crate) fn watch(&self, arguments: &[&str]) -> ServedPage {
        ServedPage::start(&mut self.command(&[&["--watch"], arguments].concat()), "watch: ")
    }
}

impl ServedPage {
    /// A request with the right host.
    pub(crate) fn call(&self, method: &str, path: &str, headers: &[&str]) -> String {
        let host = format!("host: {}", self.host());
        self.ask(method, path, &[&[&*host], headers].concat(), "")
    }

    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        let reply = self.call("GET", path, &["sec-fetch-site: same-origin"]);
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
        let reply = self.call("POST", path, &[&format!("origin: http://{}", self.host())]);
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    }
}
