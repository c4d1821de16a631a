//! The job file as a person writes it: every key, and nothing else. What the keys mean together is
//! decided in [`crate::job`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A job: which answers to certify, with which verifiers, for how much.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobFile {
    /// The answers to be certified: a .jsonl, .csv or .parquet file. All paths are relative to the
    /// job file.
    pub candidates: String,
    /// The field that names a candidate; no two alike.
    #[serde(default = "id_field")]
    pub id_field: String,
    /// The most that may be spent, in `unit`.
    pub budget: f64,
    /// What the budget and all prices count.
    #[serde(default)]
    pub unit: Unit,
    /// With probability 1 − delta no certificate is wrong.
    pub delta: f64,
    /// What delta bounds: `holm` and `union` the probability that any certificate is wrong, `fdr`
    /// the expected share of wrong certificates.
    #[serde(default)]
    pub guarantee: GuaranteeName,
    /// Which rule chooses the next call: rcb (the default), bma-gai, cb-gai, uniform, round-robin,
    /// hdoc, lucb-g or apt-g. It cannot make a certificate wrong.
    #[serde(default = "policy")]
    pub policy: String,
    /// Calls that may be out at once, over all verifiers.
    #[serde(default = "concurrency")]
    pub concurrency: usize,
    /// Draws of `replay` verifiers depend on this.
    #[serde(default)]
    pub seed: u64,
    /// The folder for the journal and everything the run writes; relative to the job file.
    #[serde(default = "output")]
    pub output: String,
    /// How every call is written down for others: jsonl or parquet.
    #[serde(default)]
    pub calls: CallsName,
    /// Stop when no answer has a realistic chance with the money that is left, and keep the money.
    #[serde(default = "yes")]
    pub stop_when_hopeless: bool,
    /// The verifiers; an answer is certified when its mean score reaches every one's threshold.
    pub verifiers: Vec<VerifierFile>,
    /// A guess at the answers, for the forecast of `--dry-run` only.
    pub expect: Option<ExpectFile>,
}

/// What money counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Tokens, in and out.
    Tokens,
    /// US dollars.
    Dollars,
    /// Seconds of a verifier's time.
    Seconds,
    /// Calls.
    #[default]
    Calls,
}

/// What delta bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuaranteeName {
    /// P(any certificate is wrong) ≤ delta, stepping down: the default.
    #[default]
    Holm,
    /// P(any certificate is wrong) ≤ delta, each answer at delta / N.
    Union,
    /// E(share of wrong certificates) ≤ delta.
    Fdr,
    /// The paper's own certificates, for comparison: valid, and far more expensive.
    Paper,
}

/// How calls are written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallsName {
    /// `calls.jsonl`.
    #[default]
    Jsonl,
    /// `calls.parquet`.
    Parquet,
}

/// What a verifier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Built in and exact.
    Check,
    /// A program.
    Command,
    /// A POST.
    Http,
    /// An OpenAI-compatible chat endpoint.
    Llm,
    /// Recorded outcomes.
    Replay,
}

/// One verifier: the keys of all kinds; a key that the kind does not know is an error.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifierFile {
    /// What reports call it; no two alike.
    pub name: String,
    /// check, command, http, llm or replay.
    pub kind: Kind,
    /// The mean score that an answer must reach, between 0 and 1. Checks have 0.5 if none is given.
    pub threshold: Option<f64>,
    /// What is known of the scores before any is seen; each kind has a default.
    pub scores: Option<ScoresFile>,
    /// What every call costs, in the job's unit.
    pub price: Option<f64>,
    /// Prices for what a call turns out to take, instead of `price`.
    pub metered: Option<MeteredFile>,
    /// Seconds until a call counts as failed; 60 if not given.
    pub timeout: Option<f64>,
    /// The most requests that are sent per second.
    pub rate: Option<f64>,
    /// Calls of this verifier that may be out at once; the job's concurrency if not given.
    pub concurrency: Option<usize>,
    /// How often a call that never reached the verifier is sent again before it counts as the
    /// lowest score; without limit if not given.
    pub retries: Option<u32>,
    /// Seconds that the verifier may be down before the run stops, to be resumed; 300 if not given.
    pub patience: Option<f64>,

    /// (check) What is asked for.
    pub check: Option<CheckName>,
    /// (check, llm solver) The candidate's field that is looked at; answer if not given.
    pub field: Option<String>,
    /// (check) The field to compare with.
    pub with: Option<String>,
    /// (check) A JSON Schema: a path, or a table.
    pub schema: Option<serde_json::Value>,
    /// (check, llm solver) Where the final answer is; last-number if not given.
    pub extract: Option<ExtractName>,
    /// (check, llm) A regular expression.
    pub pattern: Option<String>,
    /// (check, http, llm) A JSON pointer; of an http reply's score /score if not given.
    pub pointer: Option<String>,

    /// (command) The program and its arguments: no shell.
    pub command: Option<Vec<String>>,
    /// (command) A line for `sh -c`, instead of `command`.
    pub shell: Option<String>,
    /// (command) true: the program lives on and answers one JSON line for each JSON line.
    pub worker: Option<bool>,

    /// (http) Where to POST; (llm) the base address, which ends in /v1.
    pub url: Option<String>,
    /// (http, llm) The environment variable that holds the key, sent as a bearer token.
    pub api_key_env: Option<String>,
    /// (http, llm) More headers; a value `env:NAME` is read from the environment.
    pub headers: Option<BTreeMap<String, String>>,
    /// (http) A template of the body, which must come out as JSON; the candidate if not given.
    pub body: Option<String>,

    /// (llm) judge or solver.
    pub role: Option<Role>,
    /// (llm) The model's name.
    pub model: Option<String>,
    /// (llm) A template of the prompt: `{{ question }}` is the candidate's field.
    pub prompt: Option<String>,
    /// (llm) A template of a system message before it.
    pub system: Option<String>,
    /// (llm judge) How a reply becomes a score; yes-no if not given.
    pub parse: Option<ParseName>,
    /// (llm judge) What becomes 0 and what becomes 1; [0, 1] if not given.
    pub range: Option<[f64; 2]>,
    /// (llm solver) Solutions a call; the most frequent final answer counts. 1 if not given.
    pub votes: Option<u32>,
    /// (llm) More than 0, or the same reply comes back again and again; 1 if not given.
    pub temperature: Option<f64>,
    /// (llm) The most tokens of a reply.
    pub max_tokens: Option<u32>,
    /// (llm) More keys of the request, such as top_p.
    pub parameters: Option<BTreeMap<String, serde_json::Value>>,

    /// (replay) The recording that `goodarm record` made.
    pub recording: Option<String>,
    /// (replay) The verifier's name in the recording; this one's name if not given.
    pub of: Option<String>,
    /// (replay) with-replacement (the default) or in-order.
    pub draws: Option<Draws>,
}

impl VerifierFile {
    /// A verifier with nothing but a name and a kind.
    pub fn new(name: &str, kind: Kind) -> Self {
        serde_json::from_value(serde_json::json!({ "name": name, "kind": kind }))
            .expect("all other keys may be missing")
    }
}

/// What is known of scores.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScoresFile {
    /// 0 or 1.
    Binary,
    /// Anything from 0 to 1.
    Bounded,
    /// The verifier always answers the same, so one call tells all.
    Exact,
    /// Noise of at most sigma around the mean.
    SubGaussian {
        /// An upper bound on the noise: declared, never estimated.
        sigma: f64,
        /// The lowest score there can be, which a failed call counts as.
        lowest: Option<f64>,
    },
}

/// Prices for what a call turns out to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeteredFile {
    /// For each token of the prompt, per `per`.
    pub input: Option<f64>,
    /// For each token of the reply, per `per`.
    pub output: Option<f64>,
    /// How many tokens `input` and `output` pay for; 1 if not given, vendors' lists have 1000000.
    pub per: Option<f64>,
    /// For each second that a call takes.
    pub second: Option<f64>,
    /// true: the reply of a command or http verifier says what it cost, in its field `cost`.
    pub reported: Option<bool>,
    /// The most that a call may cost: reserved before it starts, charged if the cost is not known.
    pub ceiling: Option<f64>,
}

/// What a built-in check asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckName {
    /// A final answer can be found by `extract`.
    FinalAnswer,
    /// The regular expression `pattern` matches somewhere.
    Regex,
    /// It is JSON that `schema` accepts.
    JsonSchema,
    /// It is the same text as the field `with`, white space at the ends aside.
    Equals,
    /// Its final answer, by `extract`, is the same number as the field `with`'s.
    NumberEquals,
}

/// Where the final answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExtractName {
    /// After the last ####, as in GSM8K.
    Gsm8k,
    /// In the last \\boxed{}.
    Boxed,
    /// The last number: the default.
    #[default]
    LastNumber,
    /// The first word, without punctuation, in lower case.
    FirstWord,
    /// All of it, white space at the ends aside.
    Whole,
    /// At the JSON pointer `pointer`.
    Json,
    /// What the first group of `pattern` matches last.
    Regex,
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

/// How recorded outcomes are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Draws {
    /// Independent draws: certifies the mean of the recording.
    #[default]
    WithReplacement,
    /// Each outcome once: certifies the verifier's mean, as long as there are outcomes.
    InOrder,
}

/// A guess at the answers.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectFile {
    /// The share of good answers.
    pub good: f64,
    /// The mean score of a good answer on a noisy verifier; half-way from the threshold to 1 if not
    /// given.
    pub good_mean: Option<f64>,
    /// The mean score of a bad one; half the threshold if not given.
    pub bad_mean: Option<f64>,
}

/// The JSON Schema of a job file.
pub fn schema() -> String {
    let schema = schemars::schema_for!(JobFile);
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}

fn policy() -> String {
    "rcb".into()
}

const fn concurrency() -> usize {
    8
}

fn output() -> String {
    "run".into()
}

const fn yes() -> bool {
    true
}

fn id_field() -> String {
    "id".into()
}
