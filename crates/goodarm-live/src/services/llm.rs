//! A model that judges an answer, solves the question again, or answers it.

mod api;
mod chat;
mod freshness;
mod judge;
mod keys;
mod logprobs;
mod reply;
mod solver;
mod temperature;
mod usage;

use futures_util::future::join_all;
use goodarm_core::{Cost, CountedFailure};
use goodarm_data::candidates::Candidate;
use goodarm_data::problem::{KeyProblem, collect};
use goodarm_data::steps::BYTES_AT_ONCE;
use goodarm_data::template::{Template, TemplateError};
use goodarm_record::job_file::{Scores, Unit};
use goodarm_record::reply::{NOTHING, Reply, ServiceWarning, Usage, Verdict, shorten};

use self::chat::{Chat, ChatReply};
use self::freshness::Freshness;
use self::judge::Parser;
pub use self::keys::{Api, LlmKeys, LlmRole, ParseName, VerdictPosition};
use self::logprobs::Logprobs;
use self::solver::Solver;
pub use self::temperature::{Temperature, TemperatureWord};
use super::rubric::Rubric;
use super::{KindKeys, ServiceContext};
use crate::pricing::{Extent, Meter, Pricing};
use crate::service::{CallFuture, Manifest, Remote, Service, TYPICAL_TIME, on_blocking_thread};
use crate::throttle::Throttle;

impl KindKeys for LlmKeys {
    fn build(&self, context: &ServiceContext<'_>) -> Result<Service, Vec<KeyProblem>> {
        let llm = Llm::new(self, context)?;
        Ok(Service::remote(llm.manifest(context.unit), llm))
    }
}

/// A model that verifies, or answers questions.
#[derive(Debug)]
pub struct Llm {
    chat: Chat,
    prompt: Template,
    system: Option<Template>,
    task: Task,
    /// The most tokens of a prompt, from the job.
    input_tokens_max: Option<u32>,
    /// Whether replies have thoughts before the text, as models with `max_completion_tokens` may have.
    thinks: bool,
    freshness: Box<Freshness>,
}

#[derive(Debug)]
enum Task {
    Judge(Parser),
    ScoreByLogprobs(Logprobs),
    Solve(Solver),
    /// Answers the question. Replies that are votes must be fresh, so they are checked for signs of a cache.
    Answer {
        votes: bool,
    },
}

impl Task {
    fn new(
        keys: &LlmKeys,
        context: &ServiceContext<'_>,
        problems: &mut Vec<KeyProblem>,
    ) -> Option<Self> {
        match keys.role.unwrap_or_default() {
            _ if context.makes_answers => Some(Self::Answer { votes: context.has_votes() }),
            LlmRole::Judge if keys.parse == Some(ParseName::Logprobs) => {
                Logprobs::new(keys, context, problems).map(Self::ScoreByLogprobs)
            }
            LlmRole::Judge => {
                Parser::new(keys, Rubric::of(context.keys), problems).map(Self::Judge)
            }
            LlmRole::Solver => {
                Solver::new(keys, context.questions.is_some(), problems).map(Self::Solve)
            }
        }
    }
}

impl Llm {
    /// A verifier or a generator. Reads API keys from environment variables.
    pub fn new(keys: &LlmKeys, context: &ServiceContext<'_>) -> Result<Self, Vec<KeyProblem>> {
        let mut problems = if context.makes_answers {
            keys.generator_problems(context)
        } else {
            keys.problems(context)
        };
        // Like a solver, a generator gets only the question.
        let role =
            if context.makes_answers { LlmRole::Solver } else { keys.role.unwrap_or_default() };
        let problem_count_before = problems.len();
        let chat = Chat::new(keys, context.timeout).map_err(|more| problems.extend(more)).ok();
        let prompt = match (keys.prompt.as_deref(), role) {
            (Some(source), _) => Template::of_key("prompt", source),
            (None, LlmRole::Solver) => Template::of_key("prompt", "{{ question }}"),
            (None, LlmRole::Judge) => Err(KeyProblem::missing("prompt", "a template is needed")),
        };
        let prompt = collect(prompt, &mut problems);
        let system = keys.system.as_deref();
        let system = system.map(|source| Template::of_key("system", source)).transpose();
        let system = collect(system, &mut problems);
        if let (Some(prompt), Some(system)) = (&prompt, &system) {
            if let Some(message) = prompt.constant_text_problem()
                && system.as_ref().is_none_or(|system| system.constant_text_problem().is_some())
            {
                problems.push(KeyProblem::new("prompt", message));
            }
            if problems.len() == problem_count_before {
                // A solver gets the question, and its reply is compared with every answer to it.
                let questions = context.questions.filter(|_| role == LlmRole::Solver);
                let shown = questions.unwrap_or(context.candidates);
                problems.extend(prompt.missing_field_problem("prompt", shown));
                problems.extend(
                    system.as_ref().and_then(|it| it.missing_field_problem("system", shown)),
                );
            }
        }
        let task = Task::new(keys, context, &mut problems);
        match (chat, prompt, system, task) {
            (Some(chat), Some(prompt), Some(system), Some(task)) if problems.is_empty() => {
                let (input_tokens_max, freshness) = (keys.input_tokens_max, Box::default());
                let thinks = keys.max_completion_tokens.is_some();
                Ok(Self { chat, prompt, system, task, input_tokens_max, thinks, freshness })
            }
            _ => Err(problems),
        }
    }

    /// Facts about this service in a job with this unit.
    pub fn manifest(&self, unit: Unit) -> Manifest {
        let endpoint_manifest = self.chat.endpoint.manifest();
        let (answers_questions, final_answers) = match &self.task {
            Task::Answer { .. } => (true, None),
            Task::Solve(solver) => {
                let finals = (solver.votes == 1).then(|| solver.final_answers());
                (solver.answers_questions, finals)
            }
            Task::Judge(_) | Task::ScoreByLogprobs(_) => (false, None),
        };
        let mut fields = self.prompt.fields();
        fields.extend(self.system.iter().flat_map(Template::fields));
        if let Task::Solve(solver) = &self.task
            && !solver.answers_questions
        {
            fields.insert(solver.field.clone());
        }
        Manifest {
            fields,
            scores: self.scores(),
            price: price(unit),
            extent: Extent {
                input_tokens: Some(self.most_input_tokens(0)),
                output_tokens: self
                    .chat
                    .max_tokens
                    .map(|it| self.request_count_max() * u64::from(it)),
                ..endpoint_manifest.extent
            },
            criteria_count: match &self.task {
                Task::Judge(parser) => parser.criteria_count(),
                Task::ScoreByLogprobs(_) | Task::Solve(_) | Task::Answer { .. } => 0,
            },
            answers_questions,
            final_answers,
            ..endpoint_manifest
        }
    }

    /// The default model of the scores. Yes and no are binary, and so is a comparison of final answers. The
    /// probability of a first token is exact.
    const fn scores(&self) -> Scores {
        match &self.task {
            Task::ScoreByLogprobs(logprobs) if logprobs.is_exact() => Scores::Exact,
            Task::Judge(Parser::YesNo) | Task::Solve(_) | Task::Answer { .. } => Scores::Binary,
            Task::Judge(_) | Task::ScoreByLogprobs(_) => Scores::UNIT,
        }
    }

    /// The most input tokens of a call with messages of this length. A token is at least a byte, so a prompt has at
    /// most as many tokens as bytes, plus those that the server adds around messages. `input_tokens_max` from the
    /// job may lower this maximum.
    fn most_input_tokens(&self, message_bytes: usize) -> u64 {
        let most = message_bytes as u64 + CHAT_OVERHEAD_TOKENS;
        let prompt_tokens_max =
            self.input_tokens_max.map_or(most, |stated| most.min(u64::from(stated)));
        self.request_count_max() * prompt_tokens_max
    }

    /// A guess at the tokens of a reply. A verdict is a word, and JSON has a name and a number for each criterion.
    /// Text, with or without a number at its end, and thoughts are a third of what is allowed.
    fn typical_reply_tokens(&self) -> u64 {
        let most = self.chat.max_tokens.map_or(UNLIMITED_TOKENS, u64::from);
        let text = most.div_ceil(3);
        let typical = match &self.task {
            _ if self.thinks => text,
            Task::Judge(Parser::YesNo) => VERDICT_TOKENS,
            Task::Judge(Parser::Number(_)) if most <= SHORT_TOKENS => VERDICT_TOKENS,
            Task::Judge(parser @ (Parser::Json { .. } | Parser::Rubric { .. })) => {
                CRITERION_TOKENS * parser.criteria_count().max(1) as u64
            }
            Task::ScoreByLogprobs(logprobs) if logprobs.is_exact() => 1,
            Task::Judge(Parser::Number(_))
            | Task::ScoreByLogprobs(_)
            | Task::Solve(_)
            | Task::Answer { .. } => text,
        };
        typical.min(most)
    }

    /// The most requests that one call makes.
    fn request_count_max(&self) -> u64 {
        match &self.task {
            Task::Judge(_) | Task::Answer { .. } => 1,
            Task::ScoreByLogprobs(logprobs) => u64::from(logprobs.request_count_max()),
            Task::Solve(solver) => u64::from(solver.votes),
        }
    }

    /// Asks a judge, and reads its verdict. A reply that was cut off by the limit of tokens counts as failed,
    /// unless its first word decides.
    async fn judge(&self, parser: &Parser, candidate: &Candidate, throttle: &Throttle) -> Reply {
        let chat_reply = match self.ask_and_note(candidate, throttle).await {
            Ok(chat_reply) => chat_reply,
            Err(reply) => return reply,
        };
        let read = if chat_reply.text.len() <= BYTES_AT_ONCE {
            parser.verdict(&chat_reply.text)
        } else {
            let (parser, text) = (parser.clone(), chat_reply.text.clone());
            match on_blocking_thread(move || parser.verdict(&text)).await {
                Ok(read) => read,
                Err(died) => return died,
            }
        };
        let verdict = match read {
            Ok(verdict) if !chat_reply.is_cut || parser.is_decided_early() => verdict,
            _ if chat_reply.is_cut => {
                Verdict::Failed(CountedFailure::Truncated, CUT_OFF_MESSAGE.into())
            }
            Ok(verdict) => verdict,
            Err(reason) => Verdict::Failed(CountedFailure::Unreadable, reason),
        };
        Reply::new(verdict, chat_reply.usage, shorten(chat_reply.text))
    }

    /// Asks once. The whole reply is the answer; a reply that was cut off counts as failed.
    async fn answer(&self, votes: bool, question: &Candidate, throttle: &Throttle) -> Reply {
        let chat_reply = if votes {
            self.ask_and_note(question, throttle).await
        } else {
            self.ask(question, throttle).await
        };
        let ChatReply { text, is_cut, usage, .. } = match chat_reply {
            Ok(chat_reply) => chat_reply,
            Err(reply) => return reply,
        };
        let shown = shorten(text.clone());
        let verdict = if is_cut {
            Verdict::Failed(CountedFailure::Truncated, CUT_OFF_MESSAGE.into())
        } else {
            Verdict::answer(text, String::new())
        };
        Reply::new(verdict, usage, shown)
    }

    async fn solve(&self, solver: &Solver, candidate: &Candidate, throttle: &Throttle) -> Reply {
        let answer = if solver.answers_questions {
            None
        } else {
            match solver.own_answer(candidate).await {
                Ok(answer) => Some(answer),
                Err(reply) => return reply,
            }
        };
        let vote = async || {
            let reply = self.ask_and_note(candidate, throttle).await;
            if solver.is_quick_for(&reply) {
                return solver.vote(reply);
            }
            let other = solver.clone();
            let vote = on_blocking_thread(move || other.vote(reply)).await;
            vote.unwrap_or_else(|died| solver.vote(Err(died)))
        };
        let votes = (0..solver.votes).map(|_| vote());
        solver.count(answer.as_deref(), join_all(votes).await)
    }

    async fn score_by_logprobs(
        &self,
        logprobs: &Logprobs,
        candidate: &Candidate,
        throttle: &Throttle,
    ) -> Reply {
        let requests =
            (0..logprobs.request_count()).map(|_| self.ask_and_note(candidate, throttle));
        logprobs.count(join_all(requests).await)
    }

    /// Sends the messages for a candidate, with retries of void attempts. The error is the reply of a call that got
    /// no text from the server.
    async fn ask(&self, candidate: &Candidate, throttle: &Throttle) -> Result<ChatReply, Reply> {
        let (system, prompt) = self.messages(candidate).map_err(unrendered)?;
        self.chat.ask(system.as_deref(), &prompt, throttle).await
    }

    fn messages(&self, candidate: &Candidate) -> Result<(Option<String>, String), TemplateError> {
        let system = self.system.as_ref().map(|system| system.render(candidate)).transpose()?;
        Ok((system, self.prompt.render(candidate)?))
    }

    /// Like `ask`; also passes the reply to the cache detector.
    async fn ask_and_note(
        &self,
        candidate: &Candidate,
        throttle: &Throttle,
    ) -> Result<ChatReply, Reply> {
        let chat_reply = self.ask(candidate, throttle).await?;
        self.freshness.note(&candidate.id, &chat_reply.id, &chat_reply.text);
        Ok(chat_reply)
    }
}

impl Remote for Llm {
    fn preview(&self, candidate: &Candidate) -> String {
        let messages = match self.messages(candidate) {
            Ok((Some(system), prompt)) => format!("system: {system}\nuser: {prompt}"),
            Ok((None, prompt)) => prompt,
            Err(error) => error.to_string(),
        };
        format!("{}\n{messages}", self.chat.shown())
    }

    fn request(&self, candidate: &Candidate) -> String {
        match self.messages(candidate) {
            Ok((system, prompt)) => self.chat.request(system.as_deref(), &prompt),
            Err(error) => error.to_string(),
        }
    }

    fn call<'a>(&'a self, candidate: &'a Candidate, throttle: &'a Throttle) -> CallFuture<'a> {
        match &self.task {
            Task::Judge(parser) => Box::pin(self.judge(parser, candidate, throttle)),
            Task::ScoreByLogprobs(logprobs) => {
                Box::pin(self.score_by_logprobs(logprobs, candidate, throttle))
            }
            Task::Solve(solver) => Box::pin(self.solve(solver, candidate, throttle)),
            Task::Answer { votes } => Box::pin(self.answer(*votes, candidate, throttle)),
        }
    }

    fn input_tokens(&self, candidate: &Candidate) -> Option<u64> {
        let (system, prompt) = self.messages(candidate).ok()?;
        Some(self.most_input_tokens(system.map_or(0, |system| system.len()) + prompt.len()))
    }

    fn typical_usage(&self, candidate: &Candidate) -> Usage {
        let bytes = self
            .messages(candidate)
            .map_or(0, |(system, prompt)| system.map_or(0, |system| system.len()) + prompt.len());
        let prompt = (bytes as u64).div_ceil(TYPICAL_TOKEN_BYTES) + TYPICAL_OVERHEAD_TOKENS;
        let prompt = self.input_tokens_max.map_or(prompt, |most| prompt.min(u64::from(most)));
        let requests = match &self.task {
            // Only the first calls ask twice.
            Task::ScoreByLogprobs(_) => 1,
            _ => self.request_count_max(),
        };
        Usage {
            input_tokens: Some(requests * prompt),
            output_tokens: Some(requests * self.typical_reply_tokens()),
            cost: None,
            worked: TYPICAL_TIME,
        }
    }

    fn warnings(&self) -> Vec<ServiceWarning> {
        let margin = match &self.task {
            Task::ScoreByLogprobs(logprobs) => logprobs.warning(),
            _ => None,
        };
        let text = margin.or_else(|| self.freshness.warning());
        let doubt = text.map(|text| ServiceWarning { weakens_promise: true, text });
        self.chat.usage_check.warning().into_iter().chain(doubt).collect()
    }
}

fn price(unit: Unit) -> Option<Pricing> {
    let one = Some(Cost::from_units(1));
    let tokens = Meter { input: one, output: one, ..Meter::default() };
    (unit == Unit::Tokens).then_some(Pricing::Metered(tokens))
}

/// The reply of a call whose messages cannot be made from the candidate. Nothing was sent, but the failure counts,
/// because it may depend on the answer.
fn unrendered(error: TemplateError) -> Reply {
    let failed = Reply::failed(CountedFailure::Unreadable, format!("prompt: {error}"));
    Reply { usage: NOTHING, ..failed }
}

const CUT_OFF_MESSAGE: &str = "the limit of tokens (max_tokens) cut the reply off";
/// An upper bound of the tokens that a server's chat template adds to the messages.
const CHAT_OVERHEAD_TOKENS: u64 = 256;
/// What it adds typically.
const TYPICAL_OVERHEAD_TOKENS: u64 = 8;
const TYPICAL_TOKEN_BYTES: u64 = 4;
/// Yes or no, or a number, with a mark for the end.
const VERDICT_TOKENS: u64 = 2;
/// A reply that may not have more tokens is a number without text.
const SHORT_TOKENS: u64 = 16;
const CRITERION_TOKENS: u64 = 12;
/// Stands for the limit of a server whose requests have none.
const UNLIMITED_TOKENS: u64 = 1000;
