//! The keys of an `llm` service, and problems with their combination.

use std::collections::BTreeMap;

use goodarm_data::answer::ExtractName;
use goodarm_data::problem::KeyProblem;
use goodarm_record::job_file::Scores;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::temperature::Temperature;
use crate::services::ServiceContext;
use crate::services::endpoint::{has_pasted_key, pasted_key_problem};
use crate::services::kind::problems_of;

/// A model behind an endpoint with the API of OpenAI or Anthropic.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LlmKeys {
    /// The API of the endpoint: openai (chat completions) if not given, or anthropic (messages).
    pub api: Option<Api>,
    /// The base address: with openai it ends in /v1.
    pub url: Option<String>,
    /// Several addresses of the same model in place of `url`: calls are spread over them.
    pub urls: Option<Vec<String>>,
    /// The environment variable that holds the key: sent as a bearer token, or to anthropic as
    /// x-api-key.
    pub api_key_env: Option<String>,
    /// More headers; a value `env:NAME` is read from the environment.
    pub headers: Option<BTreeMap<String, String>>,
    /// Statuses that are void with any body: some of 429, 502, 503, 529. Without it 429,
    /// 503 and 529 with Retry-After, and 503 while a model is being loaded.
    pub void_status: Option<Vec<u16>>,
    /// judge or solver.
    pub role: Option<LlmRole>,
    /// The model's name.
    pub model: Option<String>,
    /// A template of the prompt: `{{ question }}` is the candidate's field.
    pub prompt: Option<String>,
    /// A template of a system message before it.
    pub system: Option<String>,
    /// More than 0, since at 0 all replies are the same; 1 if not given. "default" leaves it
    /// out of the request and asserts that replies are fresh samples.
    pub temperature: Option<Temperature>,
    /// The most tokens of a reply.
    pub max_tokens: Option<u32>,
    /// The same under the name that newer models of OpenAI require; thoughts count as well.
    pub max_completion_tokens: Option<u32>,
    /// The most tokens that a prompt can have, if that is known better than one token a byte: for the
    /// ceiling of metered prices.
    pub input_tokens_max: Option<u32>,
    /// More keys of the request, such as top_p.
    pub parameters: Option<BTreeMap<String, Value>>,
    /// (judge) How a reply becomes a score; yes-no if not given.
    pub parse: Option<ParseName>,
    /// (judge) What becomes 0 and what becomes 1; [0, 1] if not given.
    pub range: Option<[f64; 2]>,
    /// A JSON pointer to the score or the final answer in a reply that is JSON.
    pub pointer: Option<String>,
    /// (logprobs) Which token is the verdict: the first one if not given.
    pub verdict: Option<VerdictPosition>,
    /// (logprobs) How many tokens the server lists for a place, from 1 to 100; 20 if not given.
    pub top_logprobs: Option<u32>,
    /// (logprobs, first token) How much the server's numbers may differ from call to call; taken off
    /// the score. 0.02 if not given.
    pub margin: Option<f64>,
    /// (solver) Solutions a call; the most frequent final answer counts. 1 if not given.
    pub votes: Option<u32>,
    /// (solver) The candidate's field that is compared; answer if not given.
    pub field: Option<String>,
    /// (solver) Where the final answer is; last-number if not given.
    pub extract: Option<ExtractName>,
    /// (solver) A regular expression for the final answer.
    pub pattern: Option<String>,
}

/// The role of an LLM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Role")]
pub enum LlmRole {
    /// Reads the answer and scores it.
    #[default]
    Judge,
    /// Solves the question again, and final answers are compared.
    Solver,
}

/// How the score in a judge's reply is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ParseName {
    /// The first word, which must be yes or no: 1 or 0.
    #[default]
    YesNo,
    /// The last number, scaled from `range` to 0 to 1.
    Number,
    /// The value at `pointer` of a JSON reply: true or false, or a number scaled from `range`.
    Json,
    /// The probability of yes, by the log-probabilities that the endpoint gives.
    Logprobs,
}

/// Which token of a reply is the verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "VerdictPlace")]
pub enum VerdictPosition {
    /// The first one. It does not depend on sampling, so one call is enough.
    #[default]
    First,
    /// The last yes or no, after sampled reasoning.
    Last,
}

impl LlmKeys {
    /// The key in the request that limits the tokens of a reply, and the limit; `None` if there is no limit.
    pub(super) fn limit(&self) -> Option<(&'static str, u32)> {
        let newer = self.max_completion_tokens.map(|count| ("max_completion_tokens", count));
        let one_token = self.exact_verdict().then_some(("max_tokens", 1));
        newer.or_else(|| self.max_tokens.map(|count| ("max_tokens", count))).or(one_token)
    }

    /// Whether the score is the probability of a first token, which does not depend on sampling.
    pub(super) fn exact_verdict(&self) -> bool {
        self.parse == Some(ParseName::Logprobs)
            && self.verdict.unwrap_or_default() == VerdictPosition::First
    }

    /// All problems with the combination of keys of a verifier.
    pub(super) fn problems(&self, context: &ServiceContext<'_>) -> Vec<KeyProblem> {
        let mut problems = self.superfluous();
        problems.extend(self.stale(context.keys.scores));
        problems.extend(self.unsound(context));
        problems
    }

    /// All problems with the combination of keys of a generator. Its answers may repeat unless they are votes.
    pub(super) fn generator_problems(&self, context: &ServiceContext<'_>) -> Vec<KeyProblem> {
        let why = "a generator's reply is the answer";
        let mut problems = problems_of([
            ("role", self.role.is_some(), why),
            ("parse", self.parse.is_some(), why),
            ("range", self.range.is_some(), why),
            ("votes", self.votes.is_some(), why),
            ("verdict", self.verdict.is_some(), why),
            ("top_logprobs", self.top_logprobs.is_some(), why),
            ("margin", self.margin.is_some(), why),
        ]);
        if context.has_votes() {
            problems.extend(self.stale(None));
        }
        problems.extend(self.unsound(context));
        problems
    }

    fn unsound(&self, context: &ServiceContext<'_>) -> Vec<KeyProblem> {
        let mut problems = Vec::new();
        if self.input_tokens_max == Some(0) {
            problems.push(KeyProblem::new("input_tokens_max", "at least 1 is needed"));
        }
        problems.extend(self.unbounded(context));
        problems.extend(self.pasted_keys());
        problems
    }

    /// Problems for keys that the role or the way of parsing would otherwise silently ignore.
    fn superfluous(&self) -> Vec<KeyProblem> {
        let is_judge = self.role.unwrap_or_default() == LlmRole::Judge;
        let has_logprobs = self.parse == Some(ParseName::Logprobs);
        let logprobs_only = "needs parse = \"logprobs\"";
        problems_of([
            (
                "parse",
                self.parse.is_some() && !is_judge,
                "a solver's reply is compared, not parsed",
            ),
            ("range", self.range.is_some() && !is_judge, "a solver has no range"),
            ("votes", self.votes.is_some() && is_judge, "only a solver has votes"),
            ("field", self.field.is_some() && is_judge, "a judge sees what its prompt shows"),
            (
                "extract",
                self.extract.is_some() && is_judge,
                "only a solver has final answers: role = \"solver\"?",
            ),
            ("pattern", self.pattern.is_some() && is_judge, "only a solver has a pattern"),
            ("verdict", self.verdict.is_some() && !has_logprobs, logprobs_only),
            ("top_logprobs", self.top_logprobs.is_some() && !has_logprobs, logprobs_only),
            (
                "margin",
                self.margin.is_some() && !self.exact_verdict(),
                "needs parse = \"logprobs\" and verdict = \"first\"",
            ),
        ])
    }

    /// Problems for settings under which a second call is not new evidence, or under which the replies of an exact
    /// verifier may differ.
    fn stale(&self, scores: Option<Scores>) -> Vec<KeyProblem> {
        if self.exact_verdict() {
            return Vec::new();
        }
        let parameter = |name: &str| self.parameters.as_ref().and_then(|all| all.get(name));
        let is_seeded = parameter("seed").is_some_and(|seed| !seed.is_null());
        let is_cold = self.temperature.unwrap_or_default().is_cold();
        let is_greedy = is_cold
            || parameter("top_k").and_then(Value::as_i64) == Some(1)
            || parameter("top_p").and_then(Value::as_f64).is_some_and(|p| p <= 0.0);
        if scores == Some(Scores::Exact) {
            let message = "scores = \"exact\" says that every reply is the same: use 0";
            let is_same = is_greedy || is_seeded;
            return if is_same {
                Vec::new()
            } else {
                vec![KeyProblem::new("temperature", message)]
            };
        }
        let mut problems = Vec::new();
        if is_cold {
            let message = format!("0 {REPEATS}: use more than 0, {EXACT}");
            problems.push(KeyProblem::new("temperature", message));
        } else if is_greedy {
            let message = format!("top_k = 1 or top_p = 0 {REPEATS}: {EXACT}");
            problems.push(KeyProblem::new("parameters", message));
        }
        if is_seeded {
            let message = format!("a fixed seed {REPEATS}: leave it out, {EXACT}");
            problems.push(KeyProblem::new("parameters", message));
        }
        problems
    }

    /// Problems for API keys in texts that are sent. These texts are shown to people and kept with the run.
    fn pasted_keys(&self) -> Vec<KeyProblem> {
        let parameters = self.parameters.as_ref().map(|it| json!(it).to_string());
        let texts =
            [("parameters", &parameters), ("prompt", &self.prompt), ("system", &self.system)];
        let pasted =
            texts.into_iter().filter(|(_, text)| text.as_deref().is_some_and(has_pasted_key));
        pasted.map(|(key, _)| pasted_key_problem(key)).collect()
    }

    /// The problem of a metered service without a limit of tokens: its calls have no ceiling.
    fn unbounded(&self, context: &ServiceContext<'_>) -> Option<KeyProblem> {
        let metered = context.keys.metered?;
        let is_wrong =
            metered.ceiling.is_none() && metered.output.is_some() && self.limit().is_none();
        // Anthropic always requires a limit; `Api::problems` reports a missing one.
        (is_wrong && self.api.unwrap_or_default() == Api::OpenAi).then(|| {
            let message = "a metered verifier needs it (or max_completion_tokens, or metered.ceiling): \
                           else a call has no highest price";
            KeyProblem::new("max_tokens", message)
        })
    }
}

const REPEATS: &str = "gives the same reply again and again, and repeats are not evidence";
const EXACT: &str = "or declare scores = \"exact\"";

/// The form of requests and replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// Chat completions, as OpenAI, Azure, vLLM, llama.cpp, Ollama and LiteLLM have them.
    #[default]
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
}
