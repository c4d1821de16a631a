//! Runs to report on, made by goodarm itself from checks and recordings: no network, no waiting.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::tool::{goodarm, message, text};

/// A run in a folder of its own, which goes away with it.
pub(crate) struct Run {
    root: PathBuf,
}

/// One answer, and what share of the judge's recorded verdicts approves of it, in tenths.
pub(crate) struct Answer {
    pub(crate) object: Value,
    pub(crate) approval: usize,
}

/// One question, and the recorded answers that are drawn for it.
pub(crate) struct Question {
    pub(crate) object: Value,
    pub(crate) solutions: Vec<String>,
}

impl Run {
    /// Sixty sums, most of them right.
    pub(crate) fn ordinary(name: &str) -> Self {
        Self::sums(name, 60)
    }

    /// So many sums; every seventh answer is wrong, every tenth has no number.
    pub(crate) fn sums(name: &str, count: usize) -> Self {
        let answer = |index: usize| {
            let (a, b) = (index % 37 + 2, index % 23 + 3);
            let wrong = usize::from(index % 7 == 3);
            let text = if index % 10 == 9 {
                "I do not know.".into()
            } else {
                format!("It is {}.", a + b + wrong)
            };
            let object = json!({
                "id": format!("sum-{index}"), "question": format!("What is the sum of {a} and {b}?"), "answer": text,
            });
            Answer { object, approval: if wrong == 1 { 2 } else { 8 + index % 3 } }
        };
        Self::new(name, &(0..count).map(answer).collect::<Vec<_>>(), ["has a number", "judge"])
    }

    /// Runs a job with a check that looks for a digit or a hostile sign, and a recorded judge.
    pub(crate) fn new(name: &str, answers: &[Answer], verifiers: [&str; 2]) -> Self {
        let run = Self::empty(name);
        let mut lines = String::new();
        let mut recording = format!("{}\n", json!({"goodarm_recording": 1, "unit": "tokens"}));
        for Answer { object, approval } in answers {
            let _ = writeln!(lines, "{object}");
            let scores: Vec<Option<u8>> =
                (0..10).map(|i| (i != 5).then_some(u8::from(i < *approval))).collect();
            let costs: Vec<usize> = (0..10).map(|i| 40 + i).collect();
            let line = json!({"id": object["id"], "verifier": verifiers[1], "scores": scores, "costs": costs});
            let _ = writeln!(recording, "{line}");
        }
        fs::write(run.root.join("answers.jsonl"), lines).expect("written");
        fs::write(run.root.join("recording.jsonl"), recording).expect("written");
        fs::write(run.root.join("job.toml"), job(answers.len(), verifiers)).expect("written");
        run.go(&["--quiet"]);
        run
    }

    /// So many sums as questions, whose answers are made. Of every third one no two recorded answers
    /// are the same, and each first recorded answer has no number.
    pub(crate) fn questions(name: &str, count: usize) -> Self {
        let question = |index: usize| {
            let (a, b) = (index % 37 + 2, index % 23 + 3);
            let said = |draw: usize| match draw {
                0 => "I do not know.".to_owned(),
                _ if index % 3 == 2 => format!("It is {}.", 100 * draw + index),
                1 => format!("It is {}.", a + b + 1),
                _ => format!("It is {}.", a + b),
            };
            Question {
                object: json!({"id": format!("q-{index}"), "question": format!("What is the sum of {a} and {b}?")}),
                solutions: (0..10).map(said).collect(),
            }
        };
        let all: Vec<Question> = (0..count).map(question).collect();
        Self::asked(name, &all, ["has a number", "solver", "maker"])
    }

    /// Runs a job that has answers made, with a check like that of [`Self::new`] and a recorded solver.
    pub(crate) fn asked(name: &str, questions: &[Question], names: [&str; 3]) -> Self {
        let run = Self::empty(name);
        let (mut lines, mut pool) = (String::new(), String::new());
        for Question { object, solutions } in questions {
            let _ = writeln!(lines, "{object}");
            let solution = |(cost, text): (usize, &String)| json!({"answer": text, "tokens": cost});
            let solutions: Vec<Value> = (40..).zip(solutions).map(solution).collect();
            let _ = writeln!(pool, "{}", json!({"id": object["id"], "solutions": solutions}));
        }
        fs::write(run.root.join("questions.jsonl"), lines).expect("written");
        fs::write(run.root.join("pool.jsonl"), pool).expect("written");
        fs::write(run.root.join("job.toml"), asking_job(questions.len(), names)).expect("written");
        run.go(&["--quiet"]);
        run
    }

    fn empty(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}"));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).expect("a scratch folder");
        Self { root }
    }

    /// Runs its job; returns what it said.
    pub(crate) fn go(&self, arguments: &[&str]) -> String {
        let job = self.root.join("job.toml");
        let output = goodarm(&[&["run", job.to_str().expect("UTF-8")], arguments].concat());
        let told = text(&output) + &message(&output);
        assert_eq!(output.status.code(), Some(0), "{told}");
        told
    }

    /// The folder of the job file.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A file of the run's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join("run").join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }

    pub(crate) fn report(&self, arguments: &[&str]) -> Output {
        let folder = self.root.join("run");
        goodarm(&[&["report", folder.to_str().expect("UTF-8")], arguments].concat())
    }

    /// Makes the page anew.
    pub(crate) fn page(&self) -> String {
        let output = self.report(&[]);
        assert_eq!(output.status.code(), Some(0), "{}", message(&output));
        self.read("report.html")
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.root);
        }
    }
}

/// JSON texts are TOML texts, too.
fn job(count: usize, [check, judge]: [&str; 2]) -> String {
    let (check, judge) = (json!(check), json!(judge));
    let budget = count * 700;
    format!(
        r#"
candidates = "answers.jsonl"
budget = {budget}
unit = "tokens"
delta = 0.05

[[verifiers]]
name = {check}
kind = "check"
check = "regex"
pattern = "(?s)[0-9<].*"

[[verifiers]]
name = {judge}
kind = "replay"
recording = "recording.jsonl"
threshold = 0.6
"#
    )
}

fn asking_job(count: usize, [check, solver, generator]: [&str; 3]) -> String {
    let (check, solver, generator) = (json!(check), json!(solver), json!(generator));
    let budget = count * 2500;
    format!(
        r#"
questions = "questions.jsonl"
budget = {budget}
unit = "tokens"
delta = 0.05

[generator]
name = {generator}
kind = "pool"
pool = "pool.jsonl"

[[verifiers]]
name = {check}
kind = "check"
check = "regex"
pattern = "(?s).*[0-9<].*"

[[verifiers]]
name = {solver}
kind = "pool"
pool = "pool.jsonl"
threshold = 0.3
"#
    )
}
