//! A program that reads a candidate and answers with a score.

mod process;
mod worker;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use goodarm_core::{CountedFailure, VoidFailure};
use serde_json::Value;
use tokio::time::Instant;

use self::process::Process;
use self::worker::Pool;
use super::score::{NOTHING, cost_of, in_short, score_of, shorten};
use super::wire::timeout_of;
use super::wrong::{Wrong, sort_out};
use super::{Reply, Usage, Verdict};
use crate::candidates::Candidate;
use crate::job_file::{ScoresFile, VerifierFile};
use crate::line::{Line, Stopping, Turn};

/// A program: one process a call, or workers that live on.
#[derive(Debug)]
pub struct Command {
    program: Program,
    timeout: Duration,
    workers: Option<Pool>,
}

/// What is started, and where.
#[derive(Debug)]
struct Program {
    path: OsString,
    arguments: Vec<String>,
    folder: PathBuf,
    /// What the job file calls it.
    shown: String,
}

/// What a process has said, or why it has not.
enum Outcome {
    Answered(Vec<u8>),
    Failed { failure: CountedFailure, reason: String, output: Vec<u8> },
}

impl Command {
    /// Keys of this kind, beyond those of every kind.
    pub const KEYS: &[&str] = &["command", "shell", "worker"];

    /// A verifier that runs its program in the job file's folder. Nothing is started yet.
    pub fn new(file: &VerifierFile, folder: &Path) -> Result<Self, Vec<Wrong>> {
        let mut wrongs = Vec::new();
        let program = sort_out(Program::new(file, folder), &mut wrongs);
        let timeout = sort_out(timeout_of(file), &mut wrongs);
        let workers = file.worker.unwrap_or(false).then(Pool::default);
        match (program, timeout) {
            (Some(program), Some(timeout)) => Ok(Self { program, timeout, workers }),
            _ => Err(wrongs),
        }
    }

    /// What is known of the scores if the job file says nothing.
    pub const fn default_scores(&self) -> ScoresFile {
        ScoresFile::Bounded
    }

    /// A program gets all fields and needs none that we know of.
    pub const fn fields(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Kills the workers; a call that is out ends as crashed.
    pub fn shutdown(&self) {
        if let Some(pool) = &self.workers {
            pool.close();
        }
    }

    /// Makes one call. A program that cannot be started has not begun to work: it is tried again
    /// for as long as the line is patient.
    pub async fn call(&self, candidate: &Candidate, line: &Line) -> Reply {
        let mut attempts = 0;
        loop {
            let turn = match line.turn().await {
                Ok(turn) => turn,
                Err(Stopping) => return Reply::void(VoidFailure::NotConnected),
            };
            let began = Instant::now();
            let outcome = match &self.workers {
                Some(pool) => pool.call(&self.program, candidate, self.timeout).await,
                None => self.run(candidate).await,
            };
            match outcome {
                Ok(outcome) => return outcome.into_reply(turn, began.elapsed()),
                Err(error) => {
                    attempts += 1;
                    let reason = format!("cannot start {}: {error}", self.program.shown);
                    turn.refused(VoidFailure::NotConnected, None, reason.clone());
                    if line.is_given_up(attempts) {
                        let reason = format!("given up after {attempts} attempts: {reason}");
                        let failed = Reply::failed(CountedFailure::GivenUp, reason);
                        return Reply { usage: NOTHING, ..failed };
                    }
                }
            }
        }
    }

    /// One process for one call.
    async fn run(&self, candidate: &Candidate) -> io::Result<Outcome> {
        let mut process = Process::start(&self.program)?;
        let input = input_line(&candidate.json);
        Ok(match tokio::time::timeout(self.timeout, process.finish(&input)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                process.kill();
                Outcome::timed_out(self.timeout)
            }
        })
    }
}

impl Program {
    fn new(file: &VerifierFile, folder: &Path) -> Result<Self, Wrong> {
        let folder = std::path::absolute(folder)
            .map_err(|error| Wrong::new("command", format!("{}: {error}", folder.display())))?;
        let (shown, arguments) = match (&file.command, &file.shell) {
            (Some(words), None) => match words.split_first() {
                Some((program, arguments)) if !program.is_empty() => {
                    (program.clone(), arguments.to_vec())
                }
                _ => return Err(Wrong::new("command", "a program is needed first")),
            },
            (None, Some(line)) if !line.trim().is_empty() => {
                ("sh".to_owned(), vec!["-c".to_owned(), line.clone()])
            }
            (None, Some(_)) => return Err(Wrong::new("shell", "a line for sh is needed")),
            (None, None) => {
                return Err(Wrong::new("command", "a program and its arguments are needed"));
            }
            (Some(_), Some(_)) => return Err(Wrong::new("shell", "not together with command")),
        };
        if arguments.iter().any(|argument| argument.contains('\0')) || shown.contains('\0') {
            return Err(Wrong::new("command", "no argument may hold a zero byte"));
        }
        // A name with a slash is a file; where it is must not depend on where we were started.
        let path = if shown.contains(std::path::is_separator) {
            folder.join(&shown).into_os_string()
        } else {
            OsString::from(&shown)
        };
        let program = Self { path, arguments, folder, shown };
        if program.is_missing() {
            let shown = &program.shown;
            let reason = format!("there is no program {shown:?} here or in the PATH");
            return Err(Wrong::new("command", reason));
        }
        Ok(program)
    }

    /// Better now than after many attempts; whether it can be started is seen when it is.
    fn is_missing(&self) -> bool {
        let path = Path::new(&self.path);
        if path.is_absolute() {
            return !path.exists();
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let endings = ["", std::env::consts::EXE_SUFFIX];
        !std::env::split_paths(&folders)
            .flat_map(|folder| endings.map(|end| folder.join(format!("{}{end}", self.shown))))
            .any(|program| program.exists())
    }
}

impl Outcome {
    fn timed_out(timeout: Duration) -> Self {
        Self::Failed {
            failure: CountedFailure::TimedOut,
            reason: format!("no answer within {} s", timeout.as_secs_f64()),
            output: Vec::new(),
        }
    }

    fn into_reply(self, turn: Turn<'_>, worked: Duration) -> Reply {
        let usage = Usage { worked, ..Usage::default() };
        match self {
            Self::Answered(output) => {
                turn.answered();
                let text = String::from_utf8_lossy(&output).into_owned();
                let (verdict, cost) = read(&text);
                Reply { verdict, usage: Usage { cost, ..usage }, text: shorten(text) }
            }
            Self::Failed { failure, reason, output } => {
                turn.broke(&reason);
                let text = shorten(String::from_utf8_lossy(&output).into_owned());
                Reply { usage, text, ..Reply::failed(failure, reason) }
            }
        }
    }
}

/// A candidate as one line: white space between tokens may hold line ends, strings cannot.
fn input_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len() + 1);
    line.push_str(json.trim_end());
    if line.contains(['\n', '\r']) {
        line = line.replace(['\n', '\r'], " ");
    }
    line.push('\n');
    line
}

/// The score and the cost in what a program wrote: a bare number, or an object with `score`, in the
/// last line that is not empty, or as all of it.
fn read(output: &str) -> (Verdict, Option<f64>) {
    let unreadable = |reason| (Verdict::Failed(CountedFailure::Unreadable, reason), None);
    let Some(line) = output.lines().rev().find(|line| !line.trim().is_empty()) else {
        return unreadable("the program wrote nothing".to_owned());
    };
    let value = serde_json::from_str::<Value>(line.trim())
        .ok()
        .or_else(|| bare_number(line))
        .or_else(|| serde_json::from_str::<Value>(output).ok());
    let Some(value) = value else {
        return unreadable(format!("no score in the last line: {}", in_short(line)));
    };
    let score = if value.is_object() { value.get("score") } else { Some(&value) };
    match score.and_then(score_of) {
        Some(score) => (Verdict::Score(score), cost_of(value.get("cost"))),
        None => {
            let (verdict, _) = unreadable(format!("no score in {}", in_short(line)));
            (verdict, cost_of(value.get("cost")))
        }
    }
}

/// `.5`, `1.` and `+1` are numbers to everyone but JSON.
fn bare_number(line: &str) -> Option<Value> {
    let number: f64 = line.trim().parse().ok()?;
    serde_json::Number::from_f64(number).map(Value::Number)
}

#[cfg(test)]
mod tests;
