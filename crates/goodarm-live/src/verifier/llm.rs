//! A model that judges an answer, or solves the question afresh.

mod chat;
mod freshness;
mod judge;
mod reply;
mod solver;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use goodarm_core::{Cost, CountedFailure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::chat::Chat;
pub use self::chat::ChatReply;
use self::freshness::Freshness;
pub use self::freshness::Repeats;
use self::judge::Parser;
use self::solver::Solver;
use super::problem::{Problem, collect};
use super::score::{NOTHING, shorten};
use super::{Called, FinalAnswers, KindKeys, Remark, Reply, Setting, Verdict, Verifier};
use crate::candidates::{Candidate, Candidates};
use crate::job_file::{ExtractName, Scores, Unit};
use crate::pricing::{Extent, Meter, Pricing};
use crate::template::{Template, TemplateError};
use crate::throttle::Throttle;

/// A model behind an OpenAI-compatible endpoint.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LlmKeys {
    /// The base address, which ends in /v1.
    pub url: Option<String>,
    /// The environment variable that holds the key, sent as a bearer token.
    pub api_key_env: Option<String>,
    /// More headers; a value `env:NAME` is read from the environment.
    pub headers: Option<BTreeMap<String, String>>,
    /// judge or solver.
    pub role: Option<Role>,
    /// The model's name.
    pub model: Option<String>,
    /// A template of the prompt: `{{ question }}` is the candidate's field.
    pub prompt: Option<String>,
    /// A template of a system message before it.
    pub system: Option<String>,
    /// More than 0, or the same reply comes back again and again; 1 if not given.
    pub temperature: Option<f64>,
    /// The most tokens of a reply.
    pub max_tokens: Option<u32>,
    /// More keys of the request, such as top_p.
    pub parameters: Option<BTreeMap<String, Value>>,
    /// (judge) How a reply becomes a score; yes-no if not given.
    pub parse: Option<ParseName>,
    /// (judge) What becomes 0 and what becomes 1; [0, 1] if not given.
    pub range: Option<[f64; 2]>,
    /// A JSON pointer to the score or the final answer in a reply that is JSON.
    pub pointer: Option<String>,
    /// (solver) Solutions a call; the most frequent final answer counts. 1 if not given.
    pub votes: Option<u32>,
    /// (solver) The candidate's field that is compared; answer if not given.
    pub field: Option<String>,
    /// (solver) Where the final answer is; last-number if not given.
    pub extract: Option<ExtractName>,
    /// (solver) A regular expression for the final answer.
    pub pattern: Option<String>,
}

/// What an LLM does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads the answer and scores it.
    #[default]
    Judge,
    /// Solves the question afresh, and final answers are compared.
    Solver,
}

/// How a judge's reply becomes a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ParseName {
    /// The first word, which must be yes or no: 1 or 0.
    #[default]
    YesNo,
    /// The last number, brought from `range` to 0 to 1.
    Number,
    /// What is at `pointer` of a JSON reply: true or false, or a number brought from `range`.
    Json,
}

impl KindKeys for LlmKeys {
    fn build(&self, setting: &Setting<'_>) -> Result<Box<dyn Verifier>, Vec<Problem>> {
        Ok(Box::new(Llm::new(self, setting)?))
    }
}

/// A model and what it is asked about a candidate.
#[derive(Debug)]
pub struct Model {
    chat: Chat,
    prompt: Template,
    system: Option<Template>,
}

/// A model that verifies.
#[derive(Debug)]
pub struct Llm {
    model: Model,
    task: Task,
    freshness: Box<Freshness>,
}

#[derive(Debug)]
enum Task {
    Judge(Parser),
    Solve(Solver),
}

impl Model {
    /// A model; keys are read from the environment now.
    pub fn new(keys: &LlmKeys, timeout: Duration) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let chat = Chat::new(keys, timeout).map_err(|more| problems.extend(more)).ok();
        let prompt = match (keys.prompt.as_deref(), keys.role.unwrap_or_default()) {
            (Some(source), _) => Template::of_key("prompt", source),
            (None, Role::Solver) => Template::of_key("prompt", "{{ question }}"),
            (None, Role::Judge) => Err(Problem::missing("prompt", "a template is needed")),
        };
        let prompt = collect(prompt, &mut problems);
        let system = keys.system.as_deref();
        let system = system.map(|source| Template::of_key("system", source)).transpose();
        match (chat, prompt, collect(system, &mut problems)) {
            (Some(chat), Some(prompt), Some(system)) => Ok(Self { chat, prompt, system }),
            _ => Err(problems),
        }
    }

    /// The candidate's fields that the messages need.
    pub fn fields(&self) -> BTreeSet<String> {
        let mut fields = self.prompt.fields();
        fields.extend(self.system.iter().flat_map(Template::fields));
        fields
    }

    /// Sends the messages for a candidate once, void attempts and their retries included. What is
    /// no text is a call's reply already.
    pub async fn ask(
        &self,
        candidate: &Candidate,
        throttle: &Throttle,
    ) -> Result<ChatReply, Reply> {
        let (system, prompt) = self.messages(candidate).map_err(unrendered)?;
        self.chat.ask(system.as_deref(), &prompt, throttle).await
    }

    /// What is sent for a candidate, for people.
    fn preview(&self, candidate: &Candidate) -> String {
        let messages = match self.messages(candidate) {
            Ok((Some(system), prompt)) => format!("system: {system}\nuser: {prompt}"),
            Ok((None, prompt)) => prompt,
            Err(error) => error.to_string(),
        };
        format!("{}\n{messages}", self.chat.shown())
    }

    fn messages(&self, candidate: &Candidate) -> Result<(Option<String>, String), TemplateError> {
        let system = self.system.as_ref().map(|system| system.render(candidate)).transpose()?;
        Ok((system, self.prompt.render(candidate)?))
    }

    /// Bytes of one request's messages.
    fn message_bytes(&self, candidate: &Candidate) -> Result<usize, TemplateError> {
        let (system, prompt) = self.messages(candidate)?;
        Ok(system.map_or(0, |system| system.len()) + prompt.len())
    }
}

impl Llm {
    /// A verifier; keys are read from the environment now.
    pub fn new(keys: &LlmKeys, setting: &Setting<'_>) -> Result<Self, Vec<Problem>> {
        let mut problems = superfluous(keys);
        let model = Model::new(keys, setting.timeout).map_err(|more| problems.extend(more)).ok();
        problems.extend(stale(keys, setting.keys.scores));
        problems.extend(unbounded(keys, setting));
        let task = match keys.role.unwrap_or_default() {
            Role::Judge => Parser::new(keys, &mut problems).map(Task::Judge),
            Role::Solver => Solver::new(keys, &mut problems).map(Task::Solve),
        };
        match (model, task) {
            (Some(model), Some(task)) if problems.is_empty() => {
                Ok(Self { model, task, freshness: Box::default() })
            }
            _ => Err(problems),
        }
    }

    /// A sign that replies are not fresh.
    pub fn repeats(&self) -> Option<Repeats> {
        self.freshness.repeats()
    }

    /// Requests that one call makes.
    const fn votes(&self) -> u32 {
        match &self.task {
            Task::Judge(_) => 1,
            Task::Solve(solver) => solver.votes(),
        }
    }

    /// A reply that the limit of tokens cut off counts as failed, unless its first word decides.
    async fn judge(&self, parser: &Parser, candidate: &Candidate, throttle: &Throttle) -> Reply {
        let said = match self.fresh(candidate, throttle).await {
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

    async fn solve(&self, solver: &Solver, candidate: &Candidate, throttle: &Throttle) -> Reply {
        let Ok(answer) = solver.own_answer(candidate) else {
            return solver.without_answer();
        };
        let votes = (0..solver.votes()).map(|_| self.fresh(candidate, throttle));
        solver.count(&answer, solver::all(votes).await)
    }

    /// One reply, of which note is taken.
    async fn fresh(&self, candidate: &Candidate, throttle: &Throttle) -> Result<ChatReply, Reply> {
        let said = self.model.ask(candidate, throttle).await?;
        self.freshness.note(&candidate.id, &said.id, &said.text);
        Ok(said)
    }
}

impl Verifier for Llm {
    fn preview(&self, candidate: &Candidate) -> String {
        self.model.preview(candidate)
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, throttle: &'a Throttle) -> Called<'a> {
        match &self.task {
            Task::Judge(parser) => Box::pin(self.judge(parser, candidate, throttle)),
            Task::Solve(solver) => Box::pin(self.solve(solver, candidate, throttle)),
        }
    }

    fn fields(&self) -> BTreeSet<String> {
        let mut fields = self.model.fields();
        if let Task::Solve(solver) = &self.task {
            fields.insert(solver.field().to_owned());
        }
        fields
    }

    /// Yes and no are binary, and so is being the same as another's final answer.
    fn default_scores(&self) -> Scores {
        match &self.task {
            Task::Judge(Parser::YesNo) | Task::Solve(_) => Scores::Binary,
            Task::Judge(_) => Scores::UNIT,
        }
    }

    fn default_pricing(&self, unit: Unit) -> Option<Pricing> {
        let one = Some(Cost::from_units(1));
        match unit {
            Unit::Tokens => {
                Some(Pricing::Metered(Meter { input: one, output: one, ..Meter::default() }))
            }
            unit => Pricing::by_unit(unit),
        }
    }

    /// A token is at least a byte, so no prompt has more tokens than bytes; a server's own marks
    /// around messages come on top.
    fn extent(&self, candidates: &Candidates) -> Extent {
        let votes = u64::from(self.votes());
        let bytes = |arm| self.model.message_bytes(&candidates.get(arm)).unwrap_or(0);
        let longest = candidates.arms().map(bytes).max().unwrap_or(0) as u64;
        let max_tokens = self.model.chat.max_tokens();
        Extent {
            input_tokens: Some(votes * (longest + CHAT_OVERHEAD_TOKENS)),
            output_tokens: max_tokens.map(|tokens| votes * u64::from(tokens)),
            timeout: self.model.chat.timeout(),
        }
    }

    fn remark(&self) -> Option<Remark> {
        self.repeats().map(|repeats| Remark { is_doubt: true, text: repeats.to_string() })
    }

    fn final_answers(&self) -> Option<FinalAnswers<'_>> {
        match &self.task {
            Task::Solve(solver) if solver.votes() == 1 => Some(solver.final_answers()),
            _ => None,
        }
    }
}

/// Nothing was sent, but why depends on the answer, so it counts.
fn unrendered(error: TemplateError) -> Reply {
    let failed = Reply::failed(CountedFailure::Unreadable, format!("prompt: {error}"));
    Reply { usage: NOTHING, ..failed }
}

/// Keys that the role would silently ignore.
fn superfluous(keys: &LlmKeys) -> Vec<Problem> {
    let is_judge = keys.role.unwrap_or_default() == Role::Judge;
    [
        ("parse", keys.parse.is_some() && !is_judge, "a solver's reply is compared, not parsed"),
        ("range", keys.range.is_some() && !is_judge, "a solver has no range"),
        ("votes", keys.votes.is_some() && is_judge, "only a solver has votes"),
        ("field", keys.field.is_some() && is_judge, "a judge sees what its prompt shows"),
        ("extract", keys.extract.is_some() && is_judge, "only a solver has final answers"),
        ("pattern", keys.pattern.is_some() && is_judge, "only a solver has a pattern"),
    ]
    .into_iter()
    .filter(|(_, is_wrong, _)| *is_wrong)
    .map(|(key, _, message)| Problem::new(key, message))
    .collect()
}

/// Settings under which a second call tells nothing new, or under which one call does not tell all.
fn stale(keys: &LlmKeys, scores: Option<Scores>) -> Vec<Problem> {
    let parameter = |name: &str| keys.parameters.as_ref().and_then(|all| all.get(name));
    let temperature = keys.temperature.unwrap_or(1.0);
    let is_seeded = parameter("seed").is_some_and(|seed| !seed.is_null());
    // A negative one is refused elsewhere.
    let is_cold = temperature.abs() <= 0.0;
    let is_greedy = is_cold
        || parameter("top_k").and_then(Value::as_i64) == Some(1)
        || parameter("top_p").and_then(Value::as_f64).is_some_and(|p| p <= 0.0);
    if scores == Some(Scores::Exact) {
        let message = "scores = \"exact\" says that every reply is the same: use 0";
        let is_same = is_greedy || is_seeded;
        return if is_same { Vec::new() } else { vec![Problem::new("temperature", message)] };
    }
    let mut problems = Vec::new();
    if is_cold {
        problems
            .push(Problem::new("temperature", format!("0 {REPEATS}: use more than 0, {EXACT}")));
    } else if is_greedy {
        problems
            .push(Problem::new("parameters", format!("top_k = 1 or top_p = 0 {REPEATS}: {EXACT}")));
    }
    if is_seeded {
        problems.push(Problem::new(
            "parameters",
            format!("a fixed seed {REPEATS}: leave it out, {EXACT}"),
        ));
    }
    problems
}

/// Without a limit of tokens a metered reply has no ceiling.
fn unbounded(keys: &LlmKeys, setting: &Setting<'_>) -> Option<Problem> {
    let metered = setting.keys.metered?;
    let is_limited = keys.max_tokens.is_some()
        || keys.parameters.as_ref().is_some_and(|all| all.contains_key("max_completion_tokens"));
    let is_wrong = metered.ceiling.is_none() && metered.output.is_some() && !is_limited;
    is_wrong.then(|| {
        Problem::new(
            "max_tokens",
            "a metered verifier needs it, or metered.ceiling: else a call has no highest price",
        )
    })
}

const CUT: &str = "max_tokens cut the reply off";
const REPEATS: &str = "gives the same reply again and again, and repeats are not evidence";
const EXACT: &str = "or declare scores = \"exact\"";
/// What a chat template adds to a prompt, and more.
const CHAT_OVERHEAD_TOKENS: u64 = 256;
