//! Servers, programs, names and file names that would do something to the terminal: nothing of it gets
//! there, whatever the command is.

use std::process::{Command, Output};

use goodarm_testing::{Action, Server, TestFolder};
use serde_json::{Value, json};

/// A title, a colour, a clipboard, a C1 control, a turned line, a hidden one, a line that overwrites.
const EVIL: &str = "\u{1b}]0;owned\u{7}\u{1b}[31m\u{1b}]52;c;aGk=\u{7}\u{9b}2J\u{9d}0;x\u{9c}\u{202e}\u{2066}\u{200f}\u{feff}\u{2028}\u{e0041}\u{7f}\r";

/// The address of a server that answers every request with a status and a body.
pub(crate) fn server(status: u16, body: &str) -> String {
    let server = Server::start([Action::Status(status, ("", String::new()), body.to_owned())]);
    let url = server.url("/v1");
    // It serves until the tests end.
    std::mem::forget(server);
    url
}

struct HostileFolder(TestFolder);

impl HostileFolder {
    fn new(verifier: &str) -> Self {
        let answers: String = (0..3)
            .map(|index| {
                json!({"id": format!("q{index}{EVIL}"), "answer": EVIL}).to_string() + "\n"
            })
            .collect();
        let name = Value::from(format!("judge{EVIL}")).to_string().replace("\\u2066", "\u{2066}");
        let job = format!(
            "candidates = \"answers.jsonl\"\nbudget = 30\ndelta = 0.05\n[[verifiers]]\nname = {name}\n\
             threshold = 0.5\nscores = \"binary\"\n{verifier}\n"
        );
        // TOML takes neither of these as they are.
        let job = job.replace('\u{7f}', "\\u007f");
        Self(TestFolder::new(&[("answers.jsonl", &answers), ("job.toml", &job)]))
    }

    fn goodarm(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodarm"));
        let output = command.args(arguments).current_dir(self.0.path()).output();
        let output = output.expect("the tool starts");
        assert_harmless(arguments, &output);
        output
    }
}

#[track_caller]
fn assert_harmless(arguments: &[&str], output: &Output) {
    for bytes in [&output.stdout, &output.stderr] {
        let text = std::str::from_utf8(bytes).expect("UTF-8");
        let is_evil = |c: char| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        };
        let found = text.char_indices().find(|(_, c)| is_evil(*c));
        assert_eq!(found, None, "{arguments:?}: {text:?}");
    }
}

fn every_command(place: &HostileFolder) {
    for arguments in [
        &["run", "job.toml", "--dry-run"][..],
        &["try", "job.toml"],
        &["try", "job.toml", "--json"],
        &["run", "job.toml"],
        &["run", "job.toml", "--again", "--json"],
        &["run", "job.toml"],
        &["run", "job.toml", "--resume", "--budget", "40"],
        &["report", "run"],
        &["report", "run", "--json"],
        &["audit", "run"],
        &["audit", "run", "--json"],
        &["export", "run", "csv"],
        &["plan", "job.toml"],
        &["run", "job.toml", "--policy", "fixed", "-k", "2", "--output", "pilot"],
        &["run", "\u{1b}[31m\u{9b}.toml"],
        &["run", "--\u{1b}[31m\u{202e}"],
        &["\u{1b}]0;x\u{7}"],
        &["try", "job.toml", "--id", "\u{1b}[31m\u{9b}"],
    ] {
        let output = place.goodarm(arguments);
        assert!(!output.stdout.is_empty() || !output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_hostile_program_does_nothing_to_the_terminal() {
    let score = json!({"score": 1, "reason": EVIL}).to_string();
    every_command(&HostileFolder::new(&format!(
        "kind = \"command\"\nshell = '''echo '{score}' '''"
    )));
    let place = HostileFolder::new("kind = \"command\"\ncommand = [\"sh\", \"evil.sh\"]");
    place.0.write(
        "evil.sh",
        &format!("cat <<'END' >&2\n{EVIL}\nEND\ncat <<'END'\n{EVIL}\nEND\nexit 3\n"),
    );
    every_command(&place);
    let said = place.goodarm(&["run", "job.toml", "--again"]);
    let said = String::from_utf8(said.stderr).expect("UTF-8");
    assert!(said.contains("\\u001b]0;owned\\u0007"), "what it was can be seen: {said}");
}

#[test]
fn a_hostile_server_does_nothing_to_the_terminal() {
    for status in [200, 400, 401, 500] {
        let url = server(status, EVIL);
        let place = HostileFolder::new(&format!("kind = \"http\"\nurl = \"{url}\"\nretries = 0"));
        for arguments in [&["try", "job.toml"][..], &["run", "job.toml", "--json"]] {
            place.goodarm(arguments);
        }
    }
}

#[test]
fn hostile_files_do_nothing_to_the_terminal() {
    let place = HostileFolder::new("kind = \"check\"\nnumeric = true");
    for (name, text) in [
        ("a.toml", format!("budget = 1\n{EVIL} = 2\n")),
        (
            "b.toml",
            "candidates = \"answers.jsonl\"\nbudget = 1\n\"x\u{9b}\u{202e}\" = 2\n".to_owned(),
        ),
        ("c.toml", "candidates = \"n\u{202e}\u{9b}.jsonl\"\nbudget = 1\ndelta = 0.1\n".to_owned()),
        ("d.json", format!("{{\"x{EVIL}\": 1}}")),
    ] {
        place.0.write(name, &text);
        for command in ["run", "try", "plan", "audit", "report", "init"] {
            assert_ne!(place.goodarm(&[command, name]).status.code(), Some(0), "{command} {name}");
        }
    }
}

#[test]
fn json_says_what_there_is_all_the_same() {
    let place = HostileFolder::new("kind = \"command\"\nshell = \"echo 1\"");
    let output = place.goodarm(&["try", "job.toml", "--json"]);
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["trials"][0]["id"], format!("q0{EVIL}"));
}
