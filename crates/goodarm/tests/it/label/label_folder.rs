//! Runs that are labelled.

use std::io::Write;
use std::ops::Deref;
use std::process::{Command, Output, Stdio};

use goodarm_testing::TestFolder;
use serde_json::{Value, json};

use crate::report::hostile;
use crate::served_page::ServedPage;
use crate::tool::{message, ok, text};

/// A folder with a run that has certified all of its answers.
pub(crate) struct LabelFolder(TestFolder);

impl Deref for LabelFolder {
    type Target = TestFolder;

    fn deref(&self) -> &TestFolder {
        &self.0
    }
}

impl LabelFolder {
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

    /// Of solutions that end with their number behind ####, as a check of the job says; the fourth is wrong.
    pub(crate) fn of_solutions() -> Self {
        let answer = |index: usize| {
            let said = 2 * index + usize::from(index == 3);
            json!({
                "id": format!("sum-{index}"), "question": format!("What is {index} + {index}?"),
                "answer": format!("The sum of {index} and {index} is {said}.\n#### {said}"),
                "gold": format!("{}.00", 2 * index), "other": "none",
            })
        };
        let answers: Vec<Value> = (0..20).map(answer).collect();
        let check = "[[verifiers]]\nname = \"final\"\nkind = \"check\"\ncheck = \"final-answer\"\nextract = \"gsm8k\"\n";
        let place = Self(TestFolder::new(&[("answers.jsonl", &lines(&answers))]));
        place.run(&format!("{JOB}{check}"), &["--quiet"]);
        place
    }

    /// Of these answers, by verifiers of these names.
    pub(crate) fn of(answers: &[Value], verifiers: [&str; 2]) -> Self {
        let place = Self(TestFolder::new(&[("answers.jsonl", &lines(answers))]));
        let check = |name: &str| {
            let name = json!(name);
            format!(
                "[[verifiers]]\nname = {name}\nkind = \"check\"\ncheck = \"regex\"\npattern = \".\"\n"
            )
        };
        place.run(&format!("{JOB}{}", verifiers.map(check).concat()), &["--quiet"]);
        place
    }

    /// Writes a file; returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        self.write(name, text);
        self.argument(name)
    }

    /// Runs a job.
    pub(crate) fn run(&self, job: &str, arguments: &[&str]) -> String {
        self.write("job.toml", job);
        ok(&[&["run", &self.argument("job.toml")], arguments].concat())
    }

    /// `goodarm label RUN` with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
        command.arg("label").arg(self.argument("run")).args(arguments);
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

    /// What it prints in the terminal when this is typed, after the terms of the claim.
    pub(crate) fn typed(&self, arguments: &[&str], input: &str) -> String {
        self.typed_as_is(arguments, &format!("\n{input}"))
    }

    /// What it prints in the terminal when this is typed.
    pub(crate) fn typed_as_is(&self, arguments: &[&str], input: &str) -> String {
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
        self.json("run/summary.json")["claim"].clone()
    }

    /// The number of claims that have begun.
    pub(crate) fn begun(&self) -> usize {
        let text = std::fs::read_to_string(self.join("run/labels.jsonl")).unwrap_or_default();
        text.matches("{\"begun\":").count()
    }

    pub(crate) fn assert_clean(&self) {
        ok(&["audit", &self.argument("run")]);
    }

    /// The page.
    pub(crate) fn page(&self, arguments: &[&str]) -> ServedPage {
        ServedPage::start(&mut self.command(arguments), "label: ")
    }
}

const JOB: &str = "candidates = \"answers.jsonl\"\nbudget = 1\nunit = \"dollars\"\ndelta = 0.05\n";

fn lines(answers: &[Value]) -> String {
    answers.iter().map(|answer| format!("{answer}\n")).collect()
}

/// The same with answers and verifiers that want to be more than texts.
pub(crate) fn hostile_folder() -> LabelFolder {
    let answers: Vec<Value> = hostile::answers().into_iter().map(|answer| answer.object).collect();
    LabelFolder::of(&answers, hostile::NAMES)
}
