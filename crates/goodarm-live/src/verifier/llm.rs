//! A model that judges an answer, or solves the question afresh.

mod chat;
mod freshness;
mod judge;
mod reply;
mod solver;

use std::collections::BTreeSet;
use std::path::Path;

use goodarm_core::CountedFailure;

pub use self::chat::{Chat, ChatReply};
use self::freshness::Freshness;
pub use self::freshness::Repeats;
use self::judge::Parser;
use self::solver::Solver;
use super::score::{NOTHING, shorten};
use super::wrong::{Wrong, sort_out};
use super::{Reply, Verdict};
use crate::candidates::Candidate;
use crate::job_file::{Role, ScoresFile, VerifierFile};
use crate::line::Line;
use crate::template::{Template, TemplateError};

/// A model behind a chat endpoint.
#[derive(Debug)]
pub struct Llm {
    chat: Chat,
    prompt: Template,
    system: Option<Template>,
    task: Task,
    freshness: Box<Freshness>,
}

#[derive(Debug)]
enum Task {
    Judge(Parser),
    Solve(Solver),
}

impl Llm {
    /// Keys of this kind, beyond those of every kind.
    pub const KEYS: &[&str] = &[
        "url",
        "api_key_env",
        "headers",
        "role",
        "model",
        "prompt",
        "system",
        "parse",
        "range",
        "votes",
        "temperature",
        "max_tokens",
        "parameters",
        "field",
        "extract",
        "pattern",
        "pointer",
    ];

    /// A verifier; keys are read from the environment now.
    pub fn new(file: &VerifierFile, _folder: &Path) -> Result<Self, Vec<Wrong>> {
        let mut wrongs = superfluous(file);
        let chat = Chat::new(file).map_err(|more| wrongs.extend(more)).ok();
        wrongs.extend(stale(file));
        wrongs.extend(unbounded(file));
        let role = file.role.unwrap_or_default();
        let prompt = match (file.prompt.as_deref(), role) {
            (Some(source), _) => template("prompt", source),
            (None, Role::Solver) => template("prompt", "{{ question }}"),
            (None, Role::Judge) => Err(Wrong::new("prompt", "a template is needed")),
        };
        let prompt = sort_out(prompt, &mut wrongs);
        let system = file.system.as_deref().map(|source| template("system", source)).transpose();
        let system = sort_out(system, &mut wrongs);
        let task = match role {
            Role::Judge => Parser::new(file, &mut wrongs).map(Task::Judge),
            Role::Solver => Solver::new(file, &mut wrongs).map(Task::Solve),
        };
        match (chat, prompt, system, task) {
            (Some(chat), Some(prompt), Some(system), Some(task)) if wrongs.is_empty() => {
                Ok(Self { chat, prompt, system, task, freshness: Box::default() })
            }
            _ => Err(wrongs),
        }
    }

    /// What is known of the scores if the job file says nothing: yes and no are binary, and so is
    /// being the same as another's final answer.
    pub const fn default_scores(&self) -> ScoresFile {
        match &self.task {
            Task::Judge(Parser::YesNo) | Task::Solve(_) => ScoresFile::Binary,
            Task::Judge(_) => ScoresFile::Bounded,
        }
    }

    /// The candidate's fields that prompts and comparisons need.
    pub fn fields(&self) -> BTreeSet<String> {
        let mut fields = self.prompt.fields();
        fields.extend(self.system.iter().flat_map(Template::fields));
        if let Task::Solve(solver) = &self.task {
            fields.insert(solver.field().to_owned());
        }
        fields
    }

    /// Bytes of one request's messages: no tokenizer makes more tokens of them, but a server's own
    /// marks around messages come on top.
    pub fn prompt_bytes(&self, candidate: &Candidate) -> Result<usize, TemplateError> {
        let (system, prompt) = self.messages(candidate)?;
        Ok(system.map_or(0, |system| system.len()) + prompt.len())
    }

    /// The most tokens of one reply, if the requests say.
    pub const fn max_tokens(&self) -> Option<u32> {
        self.chat.max_tokens()
    }

    /// Requests that one call makes.
    pub const fn votes(&self) -> u32 {
        match &self.task {
            Task::Judge(_) => 1,
            Task::Solve(solver) => solver.votes(),
        }
    }

    /// A sign that replies are not fresh.
    pub fn repeats(&self) -> Option<Repeats> {
        self.freshness.repeats()
    }

    /// Sends the prompt for a candidate once, and gives the text back unjudged.
    pub async fn chat(&self, candidate: &Candidate, line: &Line) -> Result<ChatReply, Reply> {
        let (system, prompt) = self.messages(candidate).map_err(unrendered)?;
        self.chat.ask(system.as_deref(), &prompt, line).await
    }

    /// Makes one call, void attempts and their retries included.
    pub async fn call(&self, candidate: &Candidate, line: &Line) -> Reply {
        match &self.task {
            Task::Judge(parser) => self.judge(parser, candidate, line).await,
            Task::Solve(solver) => self.solve(solver, candidate, line).await,
        }
    }

    /// A reply that the limit of tokens cut off counts as failed, unless its first word decides.
    async fn judge(&self, parser: &Parser, candidate: &Candidate, line: &Line) -> Reply {
        let said = match self.fresh(candidate, line).await {
            Ok(said) => said,
            Err(reply) => return reply,
        };
        let verdict = match parser.score(&said.text) {
            Ok(score) if !said.is_cut || parser.is_decided_early() => Verdict::Score(score),
            _ if said.is_cut => Verdict::Failed(CountedFailure::Truncated, CUT.into()),
            Ok(score) => Verdict::Score(score),
            Err(reason) => Verdict::Failed(CountedFailure::Unreadable, reason),
        };
        Reply { verdict, usage: said.usage, text: shorten(said.text) }
    }

    async fn solve(&self, solver: &Solver, candidate: &Candidate, line: &Line) -> Reply {
        let Ok(answer) = solver.own_answer(candidate) else {
            return solver.without_answer();
        };
        let votes = (0..solver.votes()).map(|_| self.fresh(candidate, line));
        solver.count(&answer, solver::all(votes).await)
    }

    /// One reply, of which note is taken.
    async fn fresh(&self, candidate: &Candidate, line: &Line) -> Result<ChatReply, Reply> {
        let said = self.chat(candidate, line).await?;
        self.freshness.note(&candidate.id, &said.id, &said.text);
        Ok(said)
    }

    fn messages(&self, candidate: &Candidate) -> Result<(Option<String>, String), TemplateError> {
        let system = self.system.as_ref().map(|system| system.render(candidate)).transpose()?;
        Ok((system, self.prompt.render(candidate)?))
    }
}

fn template(key: &'static str, source: &str) -> Result<Template, Wrong> {
    Template::new(source).map_err(|error| Wrong::new(key, error.to_string()))
}

/// Nothing was sent, but why depends on the answer, so it counts.
fn unrendered(error: TemplateError) -> Reply {
    let failed = Reply::failed(CountedFailure::Unreadable, format!("prompt: {error}"));
    Reply { usage: NOTHING, ..failed }
}

/// Keys that the role would silently ignore.
fn superfluous(file: &VerifierFile) -> Vec<Wrong> {
    let is_judge = file.role.unwrap_or_default() == Role::Judge;
    [
        ("parse", file.parse.is_some() && !is_judge, "a solver's reply is compared, not parsed"),
        ("range", file.range.is_some() && !is_judge, "a solver has no range"),
        ("votes", file.votes.is_some() && is_judge, "only a solver has votes"),
        ("field", file.field.is_some() && is_judge, "a judge sees what its prompt shows"),
        ("extract", file.extract.is_some() && is_judge, "only a solver has final answers"),
        ("pattern", file.pattern.is_some() && is_judge, "only a solver has a pattern"),
    ]
    .into_iter()
    .filter(|(_, is_wrong, _)| *is_wrong)
    .map(|(key, _, problem)| Wrong::new(key, problem))
    .collect()
}

/// Settings under which a second call tells nothing new, or under which one call does not tell all.
fn stale(file: &VerifierFile) -> Vec<Wrong> {
    let parameter = |name: &str| file.parameters.as_ref().and_then(|all| all.get(name));
    let temperature = file.temperature.unwrap_or(1.0);
    let is_seeded = parameter("seed").is_some_and(|seed| !seed.is_null());
    // A negative one is refused elsewhere.
    let is_cold = temperature.abs() <= 0.0;
    let is_greedy = is_cold
        || parameter("top_k").and_then(serde_json::Value::as_i64) == Some(1)
        || parameter("top_p").and_then(serde_json::Value::as_f64).is_some_and(|p| p <= 0.0);
    if file.scores == Some(ScoresFile::Exact) {
        let problem = "scores = \"exact\" says that every reply is the same: use 0";
        let is_same = is_greedy || is_seeded;
        return if is_same { Vec::new() } else { vec![Wrong::new("temperature", problem)] };
    }
    let mut wrongs = Vec::new();
    if is_cold {
        wrongs.push(Wrong::new("temperature", format!("0 {REPEATS}: use more than 0, {EXACT}")));
    } else if is_greedy {
        wrongs.push(Wrong::new("parameters", format!("top_k = 1 or top_p = 0 {REPEATS}: {EXACT}")));
    }
    if is_seeded {
        wrongs.push(Wrong::new(
            "parameters",
            format!("a fixed seed {REPEATS}: leave it out, {EXACT}"),
        ));
    }
    wrongs
}

/// Without a limit of tokens a metered reply has no ceiling.
fn unbounded(file: &VerifierFile) -> Option<Wrong> {
    let metered = file.metered?;
    let is_limited = file.max_tokens.is_some()
        || file.parameters.as_ref().is_some_and(|all| all.contains_key("max_completion_tokens"));
    let is_wrong = metered.ceiling.is_none() && metered.output.is_some() && !is_limited;
    is_wrong.then(|| {
        Wrong::new(
            "max_tokens",
            "a metered verifier needs it, or metered.ceiling: else a call has no highest price",
        )
    })
}

const CUT: &str = "max_tokens cut the reply off";
const REPEATS: &str = "gives the same reply again and again, and repeats are not evidence";
const EXACT: &str = "or declare scores = \"exact\"";
