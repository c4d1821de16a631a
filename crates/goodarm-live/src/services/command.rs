//! A program that reads a candidate and writes a score or an answer.

mod environment;
mod process;
mod tracker;
pub(crate) mod worker;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use goodarm_core::{Cost, CountedFailure, VoidFailure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::Instant;

use self::environment::Environment;
use self::process::ChildProcess;
use self::worker::WorkerPool;
use super::score::{ExpectedReply, answer_at, cost_of, score_at, score_of};
use super::{KindKeys, ServiceContext};
use crate::pricing::Extent;
use crate::secrets::Secrets;
use crate::service::attempt::{Attempt, attempts};
use crate::service::{CallFuture, Manifest, Remote, Service};
use crate::throttle::Throttle;
use crate::transcript::Transcript;
use goodarm_data::candidates::Candidate;
use goodarm_data::problem::{KeyProblem, collect};
use goodarm_files::words::in_short;
use goodarm_record::fingerprint::Fingerprint;
use goodarm_record::reply::{Contact, Reply, ServiceWarning, Usage, Verdict, shorten};

/// A program that reads a candidate and answers with a score.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandKeys {
    /// The program and its arguments: no shell.
    pub command: Option<Vec<String>>,
    /// A line for `sh -c`, instead of `command`.
    pub shell: Option<String>,
    /// The environment variables that the program gets, beside plain ones such as PATH and HOME.
    pub env: Option<Vec<String>>,
    /// true: the program lives on and answers one JSON line for each JSON line.
    pub worker: Option<bool>,
    /// (worker) Seconds that a new one may take longer for its first answer; 60 if not given.
    pub startup: Option<f64>,
}

impl KindKeys for CommandKeys {
    fn build(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>> {
        let mut command = CommandService::new(self, context.folder, context.timeout)?;
        command.program.wanted = ExpectedReply::of(context);
        Ok(Service::remote(command.manifest(), command))
    }
}

/// A program: one process for each call, or workers for many calls.
#[derive(Debug)]
pub struct CommandService {
    program: Program,
    timeout: Duration,
    workers: Option<WorkerPool>,
    files: Vec<Fingerprint>,
}

/// The program to start.
#[derive(Debug, Default)]
struct Program {
    path: OsString,
    arguments: Vec<String>,
    folder: PathBuf,
    /// The program as the job file names it.
    shown: String,
    environment: Environment,
    secrets: Arc<Secrets>,
    wanted: ExpectedReply,
}

/// The output of a process, or why it is missing.
enum ProcessOutcome {
    Answered(Vec<u8>),
    Failed {
        failure: CountedFailure,
        reason: String,
        output: Vec<u8>,
    },
    /// The process wrote unsolicited output, so it is unknown which request its other lines belong to.
    Mistrusted {
        /// The unsolicited output, shortened and without secrets.
        unasked: String,
        output: Vec<u8>,
    },
}

impl CommandService {
    /// A service that runs its program in `folder`. Nothing is started yet.
    pub fn new(
        keys: &CommandKeys,
        folder: &Path,
        timeout: Duration,
    ) -> Result<Self, Vec<KeyProblem>> {
        let mut problems = Vec::new();
        let program = collect(Program::new(keys, folder), &mut problems);
        let startup = collect(startup(keys), &mut problems);
        let mut secrets = Secrets::default();
        let named = keys.env.as_deref().unwrap_or_default();
        let environment = Environment::new(named, &mut secrets, &mut problems);
        match (program, startup) {
            (Some(program), Some(startup)) if problems.is_empty() => {
                let program = Program { environment, secrets: Arc::new(secrets), ..program };
                let files = program.files(keys);
                let workers = keys.worker.unwrap_or(false).then(|| WorkerPool::new(startup));
                Ok(Self { program, timeout, workers, files })
            }
            _ => Err(problems),
        }
    }

    fn manifest(&self) -> Manifest {
        Manifest {
            extent: Extent { timeout: self.timeout, ..Extent::default() },
            // Standard input, output and error.
            files_per_request: 3,
            files: self.files.clone(),
            secrets: Some(Arc::clone(&self.program.secrets)),
            ..self.program.wanted.manifest(Manifest::default())
        }
    }

    /// Makes one attempt. It is void or hopeless if the program cannot be started.
    async fn attempt(&self, candidate: &Candidate, transcript: &Transcript) -> Attempt<Reply> {
        let began = Instant::now();
        let outcome = match &self.workers {
            Some(pool) => pool.call(&self.program, candidate, self.timeout, transcript).await,
            None => self.run(candidate).await.map(|outcome| (outcome, began.elapsed())),
        };
        match outcome {
            // A new worker may take longer than the timeout for its first reply; the rest is not charged.
            Ok((outcome, worked)) => outcome.into_attempt(&self.program, worked.min(self.timeout)),
            Err(error) => {
                let reason = format!("cannot start {}: {error}", self.program.shown);
                if is_for_good(&error) {
                    return Attempt::Hopeless { reason };
                }
                let failure = VoidFailure::NotConnected;
                Attempt::Void { failure, retry_after: None, reason }
            }
        }
    }

    /// Starts a process for one call, and waits for its end.
    async fn run(&self, candidate: &Candidate) -> io::Result<ProcessOutcome> {
        let mut process = ChildProcess::start(&self.program)?;
        let input = input_line(&candidate.json);
        Ok(match tokio::time::timeout(self.timeout, process.finish(&input)).await {
            Ok(outcome) => outcome,
            Err(_) => {
                process.kill();
                ProcessOutcome::timed_out(self.timeout)
            }
        })
    }
}

impl Remote for CommandService {
    fn preview(&self, candidate: &Candidate) -> String {
        format!("$ {}\n{}", self.program.line(), candidate.json)
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, throttle: &'a Throttle) -> CallFuture<'a> {
        Box::pin(async move {
            let attempt = || self.attempt(candidate, throttle.transcript());
            attempts(throttle, attempt).await.unwrap_or_else(|reply| reply)
        })
    }

    fn warnings(&self) -> Vec<ServiceWarning> {
        self.workers.as_ref().and_then(WorkerPool::warning).into_iter().collect()
    }
}

impl Program {
    fn new(keys: &CommandKeys, folder: &Path) -> Result<Self, KeyProblem> {
        let folder = std::path::absolute(folder).map_err(|error| {
            KeyProblem::new("command", format!("{}: {error}", folder.display()))
        })?;
        let (shown, arguments) = match (&keys.command, &keys.shell) {
            (Some(words), None) => match words.split_first() {
                Some((program, arguments)) if !program.is_empty() => {
                    (program.clone(), arguments.to_vec())
                }
                _ => return Err(KeyProblem::new("command", "a program is needed first")),
            },
            (None, Some(line)) if !line.trim().is_empty() => {
                ("sh".to_owned(), vec!["-c".to_owned(), line.clone()])
            }
            (None, Some(_)) => return Err(KeyProblem::new("shell", "a line for sh is needed")),
            (None, None) => {
                let needed = "a program and its arguments are needed";
                return Err(KeyProblem::missing("command", needed));
            }
            (Some(_), Some(_)) => {
                return Err(KeyProblem::new("shell", "not together with command"));
            }
        };
        if arguments.iter().any(|argument| argument.contains('\0')) || shown.contains('\0') {
            return Err(KeyProblem::new("command", "an argument cannot contain a zero byte"));
        }
        // A name with a slash is a file, relative to the folder of the job and not to the current one.
        let path = if shown.contains(std::path::is_separator) {
            folder.join(&shown).into_os_string()
        } else {
            OsString::from(&shown)
        };
        let program = Self { path, arguments, folder, shown, ..Self::default() };
        match program.obstacle() {
            Some(reason) => Err(KeyProblem::new("command", reason)),
            None => Ok(program),
        }
    }

    /// The files that the scores visibly depend on: a program that is named by its path, and every argument that is
    /// a file, or has a file after a `=`. In a shell line only words with a `.` or a slash count, since a bare word
    /// may be anything, and only if the line does not write to them.
    fn files(&self, keys: &CommandKeys) -> Vec<Fingerprint> {
        let mut words: Vec<&str> = Vec::new();
        if let Some(line) = &keys.shell {
            let is_named =
                |word: &str| word.contains(std::path::is_separator) || word.contains('.');
            let is_writer = |word: &str| word.ends_with('>') || word.ends_with("tee");
            let mut before = "";
            for word in line.split_whitespace() {
                if is_named(word) && !word.contains('>') && !is_writer(before) {
                    words.push(word.trim_matches(['"', '\'', '(', ')', ';', '&', '|', '<']));
                }
                // The file after `tee -a` is written to.
                if !(is_writer(before) && word.starts_with('-')) {
                    before = word;
                }
            }
        } else {
            let is_path = self.shown.contains(std::path::is_separator);
            words.extend(is_path.then_some(&*self.shown));
            words.extend(self.arguments.iter().map(String::as_str));
        }
        let behind: Vec<&str> =
            words.iter().filter_map(|word| word.split_once('=')).map(|(_, file)| file).collect();
        words.extend(behind);
        let read = |word: &str| {
            let place = self.folder.join(word);
            place.is_file().then(|| Fingerprint::read(word, &place).ok()).flatten()
        };
        words.into_iter().filter_map(read).collect()
    }

    /// The output of the program as text, without secrets.
    fn text(&self, output: &[u8]) -> String {
        self.secrets.remove(String::from_utf8_lossy(output).into_owned())
    }

    /// The command line as a person would type it.
    fn line(&self) -> String {
        match self.arguments.as_slice() {
            [flag, line] if self.shown == "sh" && flag == "-c" => line.clone(),
            arguments => {
                let words = [&self.shown].into_iter().chain(arguments);
                words.map(String::as_str).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// Why the program cannot be executed; `None` if no reason is visible before the first call.
    fn obstacle(&self) -> Option<String> {
        let (path, shown) = (Path::new(&self.path), &self.shown);
        if !path.is_absolute() {
            return (!is_in_search_path(shown))
                .then(|| format!("there is no program {shown:?} here or in the PATH"));
        }
        match path.metadata() {
            Err(_) => Some(format!("there is no program {shown:?}")),
            Ok(found) if found.is_dir() => Some(format!("{shown:?} is a folder")),
            Ok(found) if !is_executable(&found) => Some(format!(
                "{shown:?} may not be executed: make it executable (chmod +x), or name its interpreter first, as in [\"python3\", {shown:?}]"
            )),
            Ok(_) => None,
        }
    }
}

/// Whether a program that is named without a path is found.
fn is_in_search_path(name: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let endings = ["", std::env::consts::EXE_SUFFIX];
    std::env::split_paths(&folders)
        .flat_map(|folder| endings.map(|end| folder.join(format!("{name}{end}"))))
        .any(|program| program.exists())
}

#[cfg(unix)]
fn is_executable(found: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
const fn is_executable(_: &std::fs::Metadata) -> bool {
    true
}

/// Whether a program that could not be started will not start later either: it does not exist, may not be
/// executed, or has no executable format.
fn is_for_good(error: &io::Error) -> bool {
    const NOT_A_PROGRAM: i32 = 8;
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
        || error.raw_os_error() == Some(NOT_A_PROGRAM)
}

fn startup(keys: &CommandKeys) -> Result<Duration, KeyProblem> {
    let wrong = |message| Err(KeyProblem::new("startup", message));
    match keys.startup {
        Some(_) if !keys.worker.unwrap_or(false) => wrong("only a worker has it: worker = true"),
        None => Ok(STARTUP),
        Some(seconds) => match Duration::try_from_secs_f64(seconds) {
            Ok(startup) if startup <= STARTUP_MAX => Ok(startup),
            _ => wrong("seconds are needed, from 0 to 86400"),
        },
    }
}

impl ProcessOutcome {
    fn timed_out(timeout: Duration) -> Self {
        Self::Failed {
            failure: CountedFailure::TimedOut,
            reason: format!("no reply within {} s", timeout.as_secs_f64()),
            output: Vec::new(),
        }
    }

    /// The outcome after an unsolicited line.
    fn mistrusted(program: &Program, unasked: &[u8], output: Vec<u8>) -> Self {
        let unasked = in_short(&program.text(unasked));
        let unasked = if unasked.is_empty() { "half a line".to_owned() } else { unasked };
        Self::Mistrusted { unasked, output }
    }

    fn output(&self) -> &[u8] {
        match self {
            Self::Answered(output)
            | Self::Failed { output, .. }
            | Self::Mistrusted { output, .. } => output,
        }
    }

    fn into_attempt(self, program: &Program, worked: Duration) -> Attempt<Reply> {
        let usage = Usage { worked, ..Usage::default() };
        match self {
            Self::Answered(output) => {
                let text = program.text(&output);
                let (verdict, cost) = read(&text, &program.wanted);
                let usage = Usage { cost, ..usage };
                Attempt::Answered(Reply::new(verdict, usage, shorten(text)))
            }
            Self::Failed { failure, reason, output } => {
                let mut reason = in_short(&program.secrets.remove(reason));
                reason.extend(program.environment.hint(&reason));
                let text = shorten(program.text(&output));
                // What it wrote may be a verdict.
                let contact = if text.is_empty() { Contact::Nothing } else { Contact::Read };
                Attempt::Broke(Reply { usage, text, contact, ..Reply::failed(failure, reason) })
            }
            Self::Mistrusted { unasked, output } => {
                let reason = format!(
                    "it wrote more than one line for one request, so the answer is unknown: {unasked:?} was not \
                     asked for. Let it repeat the request's \"call\" in its answers, or write \
                     nothing else to standard output: logs belong on stderr"
                );
                let text = shorten(program.text(&output));
                let failed = Reply::failed(CountedFailure::Crashed, reason);
                Attempt::Mistrusted(Reply { usage, text, ..failed })
            }
        }
    }
}

/// A candidate as one line. Line ends in JSON are only between tokens, never in strings, so spaces can replace them.
fn input_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len() + 1);
    line.push_str(json.trim_end());
    if line.contains(['\n', '\r']) {
        line = line.replace(['\n', '\r'], " ");
    }
    line.push('\n');
    line
}

/// The verdict and the cost in the output of a program: a bare number, or an object with `score` or with the
/// scores of all criteria, as the last line that is not empty, or as the whole output.
pub(crate) fn read(output: &str, wanted: &ExpectedReply) -> (Verdict, Option<Cost>) {
    if matches!(wanted, ExpectedReply::Answer) {
        return read_answer(output);
    }
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
    if let ExpectedReply::Scores(rubric) = wanted {
        return (rubric.verdict(&value, score_at), cost_of(value.get("cost")));
    }
    let score = if value.is_object() { value.get("score") } else { Some(&value) };
    match score.and_then(score_of) {
        Some(score) => (Verdict::Score(score), cost_of(value.get("cost"))),
        None => {
            let (verdict, _) = unreadable(format!("no score in {}", in_short(line)));
            (verdict, cost_of(value.get("cost")))
        }
    }
}

/// The answer to a question and the cost in the output of a program: an object with `answer` as the last line
/// that is not empty, or as the whole output. Any other output is the answer itself.
fn read_answer(output: &str) -> (Verdict, Option<Cost>) {
    let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text.trim()).ok();
    match object(last).or_else(|| object(output)) {
        Some(object) => {
            let cost = cost_of(object.get("cost"));
            (answer_at(object.get("answer"), "/answer"), cost)
        }
        None if output.trim().is_empty() => {
            let reason = "the program wrote nothing".to_owned();
            (Verdict::Failed(CountedFailure::Unreadable, reason), None)
        }
        None => (Verdict::answer(output.trim().to_owned(), String::new()), None),
    }
}

/// Whether the output of a program is a reply of the wanted form. An answer to a question must be a JSON object here:
/// otherwise a worker's greeting would count as an answer.
fn is_wanted(output: &[u8], wanted: &ExpectedReply) -> bool {
    let (verdict, _) = read(&String::from_utf8_lossy(output), wanted);
    match verdict {
        Verdict::Score(_) | Verdict::Scores(_) => true,
        Verdict::Answer(_) => serde_json::from_slice::<Map<String, Value>>(output).is_ok(),
        _ => false,
    }
}

/// A number that JSON does not allow: `.5`, `1.` or `+1`.
fn bare_number(line: &str) -> Option<Value> {
    let number: f64 = line.trim().parse().ok()?;
    serde_json::Number::from_f64(number).map(Value::Number)
}

/// The default of `startup`, enough to load a model.
const STARTUP: Duration = Duration::from_secs(60);
const STARTUP_MAX: Duration = Duration::from_secs(86_400);

#[cfg(test)]
mod tests;
